# lib/op
lib_libnn_la_SOURCES += \
	lib/op/activation.c \
	lib/op/attention.c \
	lib/op/common.c \
	lib/op/common.h \
	lib/op/conv-transpose2d.c \
	lib/op/conv2d.c \
	lib/op/dense.c \
	lib/op/embedding.c \
	lib/op/join.c \
	lib/op/norm.c \
	lib/op/notation.c \
	lib/op/notation.h \
	lib/op/op.h \
	lib/op/activations.def lib/op/ops.def \
	lib/op/pool.c \
	lib/op/position.c \
	lib/op/program.c \
	lib/op/program.h \
	lib/op/recurrent.c \
	lib/op/reshape.c \
	lib/op/slice.c \
	lib/op/step.c \
	lib/op/table.c \
	lib/op/upsample.c
