# lib/predict
lib_libnn_la_SOURCES += \
	lib/predict/generate.c \
	lib/predict/idle.c \
	lib/predict/idle.h \
	lib/predict/info.c \
	lib/predict/emit.c \
	lib/predict/emit.h \
	lib/predict/encode.c \
	lib/predict/encode.h \
	lib/predict/ensemble.c \
	lib/predict/ensemble.h \
	lib/predict/lengths.c lib/predict/lengths.h \
	lib/predict/loss.c \
	lib/predict/loss.h \
	lib/predict/score/auc.c \
	lib/predict/score/auc.h \
	lib/predict/score/metrics-blocks.c \
	lib/predict/score/metrics-counts.c \
	lib/predict/score/metrics-figures.c \
	lib/predict/score/metrics-probabilities.c \
	lib/predict/score/metrics-report.c \
	lib/predict/score/metrics-sums.h \
	lib/predict/score/metrics.c \
	lib/predict/score/metrics.h \
	lib/predict/model-weights.c \
	lib/predict/model.c \
	lib/predict/model.h \
	lib/predict/options.c \
	lib/predict/part.c \
	lib/predict/part.h \
	lib/predict/write/pictures.c lib/predict/write/pictures.h \
	lib/predict/predict.h \
	lib/predict/run-against.c \
	lib/predict/run-blocks.c \
	lib/predict/run-ensemble.c \
	lib/predict/run-log.c \
	lib/predict/run-loop.c \
	lib/predict/run-members.c \
	lib/predict/run-open.c \
	lib/predict/run-score.c \
	lib/predict/run-write.c \
	lib/predict/run.h \
	lib/predict/nn.c \
	lib/predict/session.c \
	lib/predict/session.h \
	lib/predict/score/threshold.c \
	lib/predict/score/threshold.h \
	lib/predict/transform.c \
	lib/predict/transform.h \
	lib/predict/write/write-inside.h \
	lib/predict/write/json.c \
	lib/predict/write/npy.c lib/predict/write/npz.c lib/predict/write/png.c \
	lib/predict/write/table.c \
	lib/predict/write/write.c \
	lib/predict/write/write.h
