# lib/bench: measuring
lib_libnn_la_SOURCES += \
	lib/bench/batch.c \
	lib/bench/bench.c \
	lib/bench/bench.h \
	lib/bench/busy.c \
	lib/bench/busy.h \
	lib/bench/check.c \
	lib/bench/crossover.c \
	lib/bench/curve.c \
	lib/bench/curve.h \
	lib/bench/device.c \
	lib/bench/devices.c \
	lib/bench/duel.c \
	lib/bench/duel.h \
	lib/bench/explain.c \
	lib/bench/machine.c \
	lib/bench/machine.h \
	lib/bench/measure.c \
	lib/bench/measure.h \
	lib/bench/op-check.c \
	lib/bench/op-site.c \
	lib/bench/op-site.h \
	lib/bench/op-trial.c \
	lib/bench/op-trial.h \
	lib/bench/ops.c \
	lib/bench/options.c \
	lib/bench/peak.c \
	lib/bench/peak.h \
	lib/bench/phases.c \
	lib/bench/phases.h \
	lib/bench/reference.c \
	lib/bench/reference.h \
	lib/bench/report-formats.c \
	lib/bench/report.c \
	lib/bench/report.h \
	lib/bench/roof.c \
	lib/bench/roof.h \
	lib/bench/peak.c lib/bench/peak.h \
	lib/bench/pick.c \
	lib/bench/reference.c lib/bench/reference.h \
	lib/bench/report.c lib/bench/report-formats.c lib/bench/report.h \
	lib/bench/roof.c lib/bench/roof.h \
	lib/bench/run.c \
	lib/bench/start.c \
	lib/bench/start.h \
	lib/bench/subject.c \
	lib/bench/subject.h \
	lib/bench/trial-inside.h \
	lib/bench/trial.c \
	lib/bench/trial.h \
	lib/bench/verbs.def \
	lib/bench/widen.c \
	lib/bench/widen.h
