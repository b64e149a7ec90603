# lib/bench: measuring
lib_libnn_la_SOURCES += \
	lib/bench/advise.c \
	lib/bench/batch.c \
	lib/bench/bench.c \
	lib/bench/bench.h \
	lib/bench/machine/busy.c \
	lib/bench/machine/busy.h \
	lib/bench/check.c \
	lib/bench/crossover.c \
	lib/bench/curve.c \
	lib/bench/curve.h \
	lib/bench/device.c \
	lib/bench/devices.c \
	lib/bench/comparison.c \
	lib/bench/comparison.h \
	lib/bench/machine/copies.c \
	lib/bench/machine/copies.h \
	lib/bench/explain.c \
	lib/bench/input/input.c \
	lib/bench/input/file.c lib/bench/input/file.h \
	lib/bench/input/stages.c lib/bench/input/stages.h \
	lib/bench/speedup.c \
	lib/bench/speedup.h \
	lib/bench/channel.c \
	lib/bench/channel.h \
	lib/bench/link.c \
	lib/bench/load.c lib/bench/load.h \
	lib/bench/load/answer.c lib/bench/load/answer.h \
	lib/bench/load/arrivals.c lib/bench/load/arrivals.h \
	lib/bench/load/body.c lib/bench/load/body.h \
	lib/bench/load/client.c lib/bench/load/client.h \
	lib/bench/load/latency.c lib/bench/load/latency.h \
	lib/bench/load/model.c lib/bench/load/model.h \
	lib/bench/load/pass.c lib/bench/load/pass.h \
	lib/bench/load/plot.c lib/bench/load/plot.h \
	lib/bench/load/report.c lib/bench/load/report.h \
	lib/bench/load/search.c lib/bench/load/search.h \
	lib/bench/load/server.c lib/bench/load/server.h \
	lib/bench/machine/machine.c \
	lib/bench/machine/machine.h \
	lib/bench/measure.c \
	lib/bench/measure.h \
	lib/bench/memory.c \
	lib/bench/op/call.c \
	lib/bench/op/check.c \
	lib/bench/op/cost.c \
	lib/bench/op/lists.c \
	lib/bench/op/reference.c \
	lib/bench/op/reference-recurrent.c \
	lib/bench/op/reference.h \
	lib/bench/op/reference-image.c \
	lib/bench/op/site.c \
	lib/bench/op/site.h \
	lib/bench/op/sites.c \
	lib/bench/op/trial.h \
	lib/bench/ops.c \
	lib/bench/options.c \
	lib/bench/padding.c \
	lib/bench/padding.h \
	lib/bench/machine/peak-device.c \
	lib/bench/machine/peak-inside.h \
	lib/bench/machine/peak.c \
	lib/bench/machine/peak.h \
	lib/bench/phases.c \
	lib/bench/phases.h \
	lib/bench/pick.c \
	lib/bench/report/formats.c \
	lib/bench/report/report-terminal.c lib/bench/report/report-terminal.h \
	lib/bench/report/report.c \
	lib/bench/report/report.h \
	lib/bench/machine/roof.c \
	lib/bench/machine/roof.h \
	lib/bench/roofline.c \
	lib/bench/roofline.h \
	lib/bench/run.c \
	lib/bench/start.c \
	lib/bench/start.h \
	lib/bench/model.c \
	lib/bench/model.h \
	lib/bench/trial-inside.h \
	lib/bench/trial.c \
	lib/bench/trial.h \
	lib/bench/verbs.def
