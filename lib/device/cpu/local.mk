# lib/device/cpu: the wing that computes. NN_CPU_SRC is compiled once per instruction set and type;
# what exists once (the choice between them, tables) belongs to lib_libnn_la_SOURCES.
lib_libnn_la_SOURCES += \
	lib/device/cpu/kernel.h \
	lib/device/cpu/product.h \
	lib/device/cpu/product-axis.h \
	lib/device/cpu/product-dense.h \
	lib/device/cpu/product-depthwise.h \
	lib/device/cpu/product-outer.h \
	lib/device/cpu/product-pack.h \
	lib/device/cpu/product-shape.c \
	lib/device/cpu/product-tile.h \
	lib/device/cpu/vec.h \
	lib/device/cpu/vec-avx2.h \
	lib/device/cpu/vec-avx512.h \
	lib/device/cpu/vec-generic.h

NN_CPU_SRC = \
	lib/device/cpu/pack.c \
	lib/device/cpu/pack-rotate.c \
	lib/device/cpu/peak.c \
	lib/device/cpu/product-conv.c \
	lib/device/cpu/product-conv-weights.c \
	lib/device/cpu/product-dense.c \
	lib/device/cpu/product-dense-input.c \
	lib/device/cpu/product-dense-weights.c \
	lib/device/cpu/product-depthwise.c \
	lib/device/cpu/product-depthwise-weights.c \
	lib/device/cpu/product-outer.c \
	lib/device/cpu/product-tile.c

NN_CPU_CFLAGS = $(AM_CFLAGS) -O3
NN_AVX512 = -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma
NN_AVX2 = -mavx2 -mfma
NN_CPU_LIBS = lib/device/cpu/libgeneric-f32.la lib/device/cpu/libgeneric-f64.la

lib_device_cpu_libgeneric_f32_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libgeneric_f32_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_generic=1 -DNN_T_f32=1
lib_device_cpu_libgeneric_f32_la_CFLAGS = $(NN_CPU_CFLAGS)
lib_device_cpu_libgeneric_f64_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libgeneric_f64_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_generic=1 -DNN_T_f64=1
lib_device_cpu_libgeneric_f64_la_CFLAGS = $(NN_CPU_CFLAGS)

if NN_X86
NN_CPU_LIBS += lib/device/cpu/libavx2-f32.la lib/device/cpu/libavx2-f64.la \
	lib/device/cpu/libavx512-f32.la lib/device/cpu/libavx512-f64.la

lib_device_cpu_libavx2_f32_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libavx2_f32_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_avx2=1 -DNN_T_f32=1
lib_device_cpu_libavx2_f32_la_CFLAGS = $(NN_CPU_CFLAGS) $(NN_AVX2)
lib_device_cpu_libavx2_f64_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libavx2_f64_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_avx2=1 -DNN_T_f64=1
lib_device_cpu_libavx2_f64_la_CFLAGS = $(NN_CPU_CFLAGS) $(NN_AVX2)

lib_device_cpu_libavx512_f32_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libavx512_f32_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_avx512=1 -DNN_T_f32=1
lib_device_cpu_libavx512_f32_la_CFLAGS = $(NN_CPU_CFLAGS) $(NN_AVX512)
lib_device_cpu_libavx512_f64_la_SOURCES = $(NN_CPU_SRC)
lib_device_cpu_libavx512_f64_la_CPPFLAGS = $(AM_CPPFLAGS) -DNN_ISA_avx512=1 -DNN_T_f64=1
lib_device_cpu_libavx512_f64_la_CFLAGS = $(NN_CPU_CFLAGS) $(NN_AVX512)
endif

noinst_LTLIBRARIES += $(NN_CPU_LIBS)
lib_libnn_la_LIBADD += $(NN_CPU_LIBS)
