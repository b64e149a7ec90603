# lib/device/cpu: the wing that computes. NN_CPU_SRC is compiled once per instruction set and type;
# what exists once (the choice between them, tables) belongs to lib_libnn_la_SOURCES.
lib_libnn_la_SOURCES += \
	lib/device/cpu/activation.h \
	lib/device/cpu/norm/batchnorm.h \
	lib/device/cpu/blas.h \
	lib/device/cpu/conv2d.h \
	lib/device/cpu/cpu.h \
	lib/device/cpu/int8.h \
	lib/device/cpu/vec/kernel.h \
	lib/device/cpu/kernels.h \
	lib/device/cpu/leaf.h \
	lib/device/cpu/leaves.c \
	lib/device/cpu/leaves.h \
	lib/device/cpu/loss.h \
	lib/device/cpu/vec/math.h \
	lib/device/cpu/open.c \
	lib/device/cpu/optimizer.h \
	lib/device/cpu/optimizer-step.h \
	lib/device/cpu/pooling.h \
	lib/device/cpu/product/product.h \
	lib/device/cpu/product/axis.h \
	lib/device/cpu/product/bytes.h \
	lib/device/cpu/product/dense.h \
	lib/device/cpu/product/depthwise.h \
	lib/device/cpu/product/outer.h \
	lib/device/cpu/product/pack.h \
	lib/device/cpu/product/shape.c \
	lib/device/cpu/product/tile.h \
	lib/device/cpu/sequence/recurrent.h \
	lib/device/cpu/softmax.h \
	lib/device/cpu/split.c \
	lib/device/cpu/split.h \
	lib/device/cpu/sum.h \
	lib/device/cpu/tail.h \
	lib/device/cpu/upsample.h \
	lib/device/cpu/vec/vec.h \
	lib/device/cpu/vec/avx2.h \
	lib/device/cpu/vec/avx512.h \
	lib/device/cpu/vec/generic.h \
	lib/device/cpu/vec/lane.h \
	lib/device/cpu/vec/neon.h \
	lib/device/cpu/wisdom.c

NN_CPU_SRC = \
	lib/device/cpu/activation.c \
	lib/device/cpu/sequence/attention.c \
	lib/device/cpu/norm/batchnorm-back.c \
	lib/device/cpu/norm/batchnorm.c \
	lib/device/cpu/conv-transpose2d.c \
	lib/device/cpu/conv2d-back.c \
	lib/device/cpu/conv2d.c \
	lib/device/cpu/count.c \
	lib/device/cpu/dense-blas.c \
	lib/device/cpu/dense.c \
	lib/device/cpu/dropout.c \
	lib/device/cpu/embedding.c \
	lib/device/cpu/join.c \
	lib/device/cpu/norm/layernorm.c \
	lib/device/cpu/leaf.c \
	lib/device/cpu/loss.c \
	lib/device/cpu/vec/math.c \
	lib/device/cpu/move.c \
	lib/device/cpu/optimizer.c \
	lib/device/cpu/pack-rotate.c \
	lib/device/cpu/pack.c \
	lib/device/cpu/peak.c \
	lib/device/cpu/pool2d.c \
	lib/device/cpu/pooling.c \
	lib/device/cpu/sequence/position.c \
	lib/device/cpu/product/conv-weights.c \
	lib/device/cpu/product/conv.c \
	lib/device/cpu/product/dense-input.c \
	lib/device/cpu/product/dense-weights.c \
	lib/device/cpu/product/dense.c \
	lib/device/cpu/product/depthwise-weights.c \
	lib/device/cpu/product/depthwise.c \
	lib/device/cpu/product/outer.c \
	lib/device/cpu/product/tile.c \
	lib/device/cpu/sequence/recurrent-back.c \
	lib/device/cpu/sequence/recurrent.c \
	lib/device/cpu/row-sum.c \
	lib/device/cpu/scalars.c \
	lib/device/cpu/slice.c \
	lib/device/cpu/softmax.c \
	lib/device/cpu/sum.c \
	lib/device/cpu/table.c \
	lib/device/cpu/upsample.c

# of f32 alone
NN_CPU_F32_SRC = \
	$(NN_CPU_SRC) \
	lib/device/cpu/int8-conv2d.c \
	lib/device/cpu/int8-dense.c \
	lib/device/cpu/product/int8.c

NN_CPU_CFLAGS = $(AM_CFLAGS) $(KERNEL_OPT)
NN_AVX512 = -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma $(KERNEL_TWIN)
NN_AVX2 = -mavx2 -mfma
NN_CPU_LIBS = lib/device/cpu/libgeneric-f32.la lib/device/cpu/libgeneric-f64.la

lib_device_cpu_libgeneric_f32_la_SOURCES = $(NN_CPU_F32_SRC)
lib_device_cpu_libgeneric_f32_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_generic=1 -DNN_T_f32=1
lib_device_cpu_libgeneric_f32_la_CFLAGS = $(NN_CPU_CFLAGS)
lib_device_cpu_libgeneric_f64_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libgeneric_f64_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_generic=1 -DNN_T_f64=1
lib_device_cpu_libgeneric_f64_la_CFLAGS = $(NN_CPU_CFLAGS) $(KERNEL_TWIN)

if NN_X86
NN_CPU_LIBS += lib/device/cpu/libavx2-f32.la lib/device/cpu/libavx2-f64.la \
	lib/device/cpu/libavx512-f32.la lib/device/cpu/libavx512-f64.la

lib_device_cpu_libavx2_f32_la_SOURCES = $(NN_CPU_F32_SRC)
lib_device_cpu_libavx2_f32_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_avx2=1 -DNN_T_f32=1
lib_device_cpu_libavx2_f32_la_CFLAGS = $(NN_CPU_CFLAGS) $(NN_AVX2)
lib_device_cpu_libavx2_f64_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libavx2_f64_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_avx2=1 -DNN_T_f64=1
lib_device_cpu_libavx2_f64_la_CFLAGS = $(NN_CPU_CFLAGS) $(NN_AVX2)

lib_device_cpu_libavx512_f32_la_SOURCES = $(NN_CPU_F32_SRC)
lib_device_cpu_libavx512_f32_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_avx512=1 -DNN_T_f32=1
lib_device_cpu_libavx512_f32_la_CFLAGS = $(NN_CPU_CFLAGS) $(NN_AVX512)
lib_device_cpu_libavx512_f64_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libavx512_f64_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_avx512=1 -DNN_T_f64=1
lib_device_cpu_libavx512_f64_la_CFLAGS = $(NN_CPU_CFLAGS) $(NN_AVX512)
endif

if NN_ARM
NN_CPU_LIBS += lib/device/cpu/libneon-f32.la lib/device/cpu/libneon-f64.la

lib_device_cpu_libneon_f32_la_SOURCES = $(NN_CPU_F32_SRC)
lib_device_cpu_libneon_f32_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_neon=1 -DNN_T_f32=1
lib_device_cpu_libneon_f32_la_CFLAGS = $(NN_CPU_CFLAGS)
lib_device_cpu_libneon_f64_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libneon_f64_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_neon=1 -DNN_T_f64=1
lib_device_cpu_libneon_f64_la_CFLAGS = $(NN_CPU_CFLAGS)
endif

noinst_LTLIBRARIES += $(NN_CPU_LIBS)
lib_libnn_la_LIBADD += $(NN_CPU_LIBS)

# the module with OpenBLAS
if HAVE_OPENBLAS
pkglib_LTLIBRARIES += lib/nn-openblas.la
lib_nn_openblas_la_SOURCES = lib/device/cpu/blas.c
lib_nn_openblas_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENBLAS_CFLAGS)
lib_nn_openblas_la_LDFLAGS = $(LDFLAGS_MODULE)
lib_nn_openblas_la_LIBADD = $(OPENBLAS_LIBS)
endif
