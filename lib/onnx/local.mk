# lib/onnx: the module that reads and writes ONNX files
EXTRA_DIST += lib/onnx/onnx.proto
if HAVE_PROTOBUF_C
pkglib_LTLIBRARIES += lib/nn-onnx.la
lib_nn_onnx_la_SOURCES = \
	lib/onnx/affine.c \
	lib/onnx/attribute.c \
	lib/onnx/cell.c lib/onnx/cell.h \
	lib/onnx/constant.c lib/onnx/constant.h \
	lib/onnx/external.c lib/onnx/external.h \
	lib/onnx/fold.c \
	lib/onnx/graph.c lib/onnx/graph.h \
	lib/onnx/import.c \
	lib/onnx/line.c \
	lib/onnx/match.c \
	lib/onnx/message.c lib/onnx/message.h \
	lib/onnx/module.c lib/onnx/module.h \
	lib/onnx/op-activation.c \
	lib/onnx/op-grow.c \
	lib/onnx/op-join.c \
	lib/onnx/op-move.c \
	lib/onnx/op-norm.c \
	lib/onnx/op-product.c \
	lib/onnx/op-recurrent.c \
	lib/onnx/op-shape.c \
	lib/onnx/op-table.c \
	lib/onnx/op-window.c \
	lib/onnx/ops.c lib/onnx/ops.h \
	lib/onnx/scale.c \
	lib/onnx/skeleton.c lib/onnx/skeleton.h \
	lib/onnx/text.c \
	lib/onnx/export/export.c lib/onnx/export/export.h \
	lib/onnx/export/image.c \
	lib/onnx/export/message.c \
	lib/onnx/export/move.c \
	lib/onnx/export/op.c lib/onnx/export/op.h \
	lib/onnx/export/recurrent.c
nodist_lib_nn_onnx_la_SOURCES = lib/onnx/onnx.pb-c.c lib/onnx/onnx.pb-c.h
lib_nn_onnx_la_CPPFLAGS = $(AM_CPPFLAGS) -Ilib $(PROTOBUF_C_CFLAGS)
lib_nn_onnx_la_LDFLAGS = $(LDFLAGS_MODULE)
lib_nn_onnx_la_LIBADD = $(PROTOBUF_C_LIBS) -lm
BUILT_SOURCES += lib/onnx/onnx.pb-c.h
CLEANFILES += lib/onnx/onnx.pb-c.c lib/onnx/onnx.pb-c.h

lib/onnx/onnx.pb-c.h: lib/onnx/onnx.proto
	@$(MKDIR_P) lib/onnx
	$(AM_V_GEN)$(PROTOC_C) --proto_path=$(srcdir)/lib/onnx --c_out=lib/onnx $(srcdir)/lib/onnx/onnx.proto
lib/onnx/onnx.pb-c.c: lib/onnx/onnx.pb-c.h
	@test -f $@ && touch $@
endif
