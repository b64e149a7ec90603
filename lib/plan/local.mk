# lib/plan: what a run will take
lib_libnn_la_SOURCES += \
	lib/plan/alone.c \
	lib/plan/alone.h \
	lib/plan/critical.c \
	lib/plan/critical.h \
	lib/plan/explain-json.c \
	lib/plan/explain.c \
	lib/plan/explain.h \
	lib/plan/fit-choose.c \
	lib/plan/fit-device.c \
	lib/plan/fit-inside.h \
	lib/plan/fit-largest.c \
	lib/plan/fit-ranks.c \
	lib/plan/fit.c \
	lib/plan/fit.h \
	lib/plan/forecast.c \
	lib/plan/forecast.h \
	lib/plan/ranks.c \
	lib/plan/ranks.h \
	lib/plan/layers.c \
	lib/plan/layers.h \
	lib/plan/plan.h \
	lib/plan/rates.c \
	lib/plan/rates.h \
	lib/plan/trial-steps.c \
	lib/plan/trial-steps.h \
	lib/plan/scaling.c \
	lib/plan/scaling.h \
	lib/plan/suggest-command.c \
	lib/plan/suggest.c \
	lib/plan/suggest.h
