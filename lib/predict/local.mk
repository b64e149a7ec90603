# lib/predict
lib_libnn_la_SOURCES += \
	lib/predict/door.c \
	lib/predict/emit.c \
	lib/predict/emit.h \
	lib/predict/metrics-blocks.c \
	lib/predict/metrics-figures.c \
	lib/predict/metrics-sums.h \
	lib/predict/metrics.c \
	lib/predict/metrics.h \
	lib/predict/model.c \
	lib/predict/model.h \
	lib/predict/options.c \
	lib/predict/predict.c \
	lib/predict/predict.h \
	lib/predict/run.c \
	lib/predict/run.h \
	lib/predict/session.c \
	lib/predict/write-npy.c \
	lib/predict/write.c \
	lib/predict/write.h
