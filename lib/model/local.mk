# lib/model
lib_libnn_la_SOURCES += \
	lib/model/argument.c \
	lib/model/canonical.c \
	lib/model/category.c \
	lib/model/expand.c \
	lib/model/fail.c \
	lib/model/file.c \
	lib/model/fold.c lib/model/fold.h \
	lib/model/initial.c lib/model/initial.h \
	lib/model/key.c \
	lib/model/layer.h \
	lib/model/layers.c lib/model/layers.def \
	lib/model/length.c lib/model/lex.c lib/model/lex.h \
	lib/model/match/keras.c lib/model/match/keras-cells.c lib/model/match/keras.h \
	lib/model/match/match.c lib/model/match/match-fail.c lib/model/match/match-names.c lib/model/match/match-shape.c \
	lib/model/match/match.h lib/model/match/weight-name.c lib/model/match/weight-name.h \
	lib/model/model.h \
	lib/model/names.c \
	lib/model/net.c lib/model/net.h \
	lib/model/onnx.c lib/model/onnx.h \
	lib/model/open.c \
	lib/model/parse.c \
	lib/model/resolve.c \
	lib/model/statement.c \
	lib/model/stored.c lib/model/stored.h \
	lib/model/take.c \
	lib/model/weights.c lib/model/weights.h \
	lib/model/widen.c lib/model/widen.h \
	lib/model/layer/activation.c \
	lib/model/layer/attention.c \
	lib/model/layer/batchnorm.c \
	lib/model/layer/conv1d.c \
	lib/model/layer/conv-transpose2d.c \
	lib/model/layer/conv2d.c \
	lib/model/layer/dense.c \
	lib/model/layer/dropout.c \
	lib/model/layer/embedding.c \
	lib/model/layer/join.c \
	lib/model/layer/layernorm.c \
	lib/model/layer/pool.c \
	lib/model/layer/position.c \
	lib/model/layer/recurrent.c \
	lib/model/layer/shape.c \
	lib/model/layer/slice.c \
	lib/model/layer/softmax.c \
	lib/model/layer/upsample.c
