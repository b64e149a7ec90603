# lib/step: one training step
lib_libnn_la_SOURCES += \
	lib/step/counters.h \
	lib/step/cut.c \
	lib/step/cut.h \
	lib/step/evaluate.c \
	lib/step/evaluate.h \
	lib/step/made.c \
	lib/step/made.h \
	lib/step/noise.c \
	lib/step/noise.h \
	lib/step/optimizer-inside.h \
	lib/step/optimizer-state.c \
	lib/step/optimizer-table.c \
	lib/step/optimizer-table.h \
	lib/step/optimizer-update.c \
	lib/step/optimizer.c \
	lib/step/optimizer.h \
	lib/step/output.c \
	lib/step/output.h \
	lib/step/recipe.h \
	lib/step/schedule.c \
	lib/step/schedule.h \
	lib/step/stages.c \
	lib/step/stages.h \
	lib/step/step-batch.c \
	lib/step/step-inside.h \
	lib/step/step-plan.c \
	lib/step/step-resident.c \
	lib/step/step-run.c \
	lib/step/step-tell.c \
	lib/step/step-transfer.c \
	lib/step/step.c \
	lib/step/step.h \
	lib/step/task.h
