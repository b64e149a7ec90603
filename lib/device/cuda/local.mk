# lib/device/cuda: the wing of NVIDIA's devices, a module. What runs on a device is in *.cu, written in phases
# (phase.h); tests compile it for the host, too.
NN_CUDA_SRC = \
	lib/device/cuda/sequence/attention.c \
	lib/device/cuda/conv-transpose2d.c \
	lib/device/cuda/cuda.h \
	lib/device/cuda/elements.c \
	lib/device/cuda/functions.c \
	lib/device/cuda/kernels.def \
	lib/device/cuda/kernels.h \
	lib/device/cuda/launch.h lib/device/cuda/leaves.h \
	lib/device/cuda/matmul.h \
	lib/device/cuda/move.c \
	lib/device/cuda/norm/norm.c \
	lib/device/cuda/ops.c \
	lib/device/cuda/product/panels.h lib/device/cuda/product/pixels.h \
	lib/device/cuda/peak.c \
	lib/device/cuda/plain.c \
	lib/device/cuda/phase.h lib/device/cuda/product/taps.h \
	lib/device/cuda/product/chain.h lib/device/cuda/product/gradient.h \
	lib/device/cuda/product/product.c \
	lib/device/cuda/product/product.h \
	lib/device/cuda/sequence/recurrent.c \
	lib/device/cuda/sequence/recurrent.h \
	lib/device/cuda/rows.c lib/device/cuda/rowsum.h \
	lib/device/cuda/step.h \
	lib/device/cuda/table.c \
	lib/device/cuda/product/tiles.c \
	lib/device/cuda/product/tiny.h \
	lib/device/cuda/product/weights.c \
	lib/device/cuda/windows.c \
	lib/device/cuda/windows.h lib/device/cuda/wide.h
NN_CUDA_CU = \
	lib/device/cuda/sequence/attention.cu \
	lib/device/cuda/elements.cu \
	lib/device/cuda/norm/layernorm.cu \
	lib/device/cuda/norm/norm.cu \
	lib/device/cuda/peak.cu \
	lib/device/cuda/product/columns.cu \
	lib/device/cuda/product/few-rows.cu \
	lib/device/cuda/product/gradients.cu \
	lib/device/cuda/product/gradients-large.cu \
	lib/device/cuda/product/leaves.cu \
	lib/device/cuda/product/pixels.cu \
	lib/device/cuda/product/pixels-large.cu \
	lib/device/cuda/product/product.cu \
	lib/device/cuda/sequence/recurrent.cu \
	lib/device/cuda/rows.cu \
	lib/device/cuda/table.cu \
	lib/device/cuda/product/tiny.cu \
	lib/device/cuda/update.cu \
	lib/device/cuda/windows.cu
NN_CUDA_CPPFLAGS = -DNN_ISA_lane=1
EXTRA_DIST += $(NN_CUDA_CU) lib/device/cuda/blas.c lib/device/cuda/blas-none.c

# what asks for kernels, for both types
nn_cuda_asks = lib/device/cuda/libask_f32.la lib/device/cuda/libask_f64.la
lib_device_cuda_libask_f32_la_SOURCES = $(NN_CUDA_SRC)
lib_device_cuda_libask_f32_la_CPPFLAGS = $(AM_CPPFLAGS) $(NN_CUDA_CPPFLAGS) -DNN_T_f32=1
lib_device_cuda_libask_f64_la_SOURCES = $(NN_CUDA_SRC)
lib_device_cuda_libask_f64_la_CPPFLAGS = $(AM_CPPFLAGS) $(NN_CUDA_CPPFLAGS) -DNN_T_f64=1

if HAVE_CUDA
noinst_LTLIBRARIES += $(nn_cuda_asks)
nn_cuda_kernels = $(NN_CUDA_CU:.cu=-f32.lo) $(NN_CUDA_CU:.cu=-f64.lo)
pkglib_LTLIBRARIES += lib/nn-cuda.la
lib_nn_cuda_la_SOURCES = lib/device/cuda/open.c lib/device/cuda/queue.c lib/device/cuda/blas.h
if HAVE_CUBLASLT
lib_nn_cuda_la_SOURCES += lib/device/cuda/blas.c
else
lib_nn_cuda_la_SOURCES += lib/device/cuda/blas-none.c
endif
lib_nn_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
lib_nn_cuda_la_LDFLAGS = $(LDFLAGS_MODULE) -Wl,--exclude-libs,ALL
lib_nn_cuda_la_LIBADD = $(nn_cuda_asks) $(nn_cuda_kernels) $(CUDA_LIBS) -lm
lib_nn_cuda_la_DEPENDENCIES = $(nn_cuda_asks) $(nn_cuda_kernels)
# libtool takes -Xcompiler for itself: options of the host's compiler stand bare; the headers of each file are in its .d
nn_nvcc = $(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile $(NVCC) -prefer-pic -ccbin $(CUDA_CXX) $(NVCCFLAGS) $(NVCC_ARCH) \
	-I. $(AM_CPPFLAGS) $(NN_CUDA_CPPFLAGS)
$(NN_CUDA_CU:.cu=-f32.lo): %-f32.lo: %.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(nn_nvcc) -DNN_T_f32=1 -MD -MP -MT $@ -MF $(@:.lo=.d) -c -o $@ $<
$(NN_CUDA_CU:.cu=-f64.lo): %-f64.lo: %.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(nn_nvcc) -DNN_T_f64=1 -MD -MP -MT $@ -MF $(@:.lo=.d) -c -o $@ $<
-include $(wildcard $(nn_cuda_kernels:.lo=.d))
CLEANFILES += $(nn_cuda_kernels) $(nn_cuda_kernels:.lo=.o) $(nn_cuda_kernels:.lo=.d)
else
check_LTLIBRARIES += $(nn_cuda_asks)
endif
