# lib/device/cuda: the wing of NVIDIA's devices, a module. What runs on a device is in *.cu, written in phases
# (phase.h); tests compile it for the host, too.
NN_CUDA_SRC = \
	lib/device/cuda/attention.c \
	lib/device/cuda/conv-transpose2d.c \
	lib/device/cuda/elements.c \
	lib/device/cuda/functions.c \
	lib/device/cuda/kernels.def \
	lib/device/cuda/kernels.h \
	lib/device/cuda/launch.h \
	lib/device/cuda/move.c \
	lib/device/cuda/norm.c \
	lib/device/cuda/ops.c \
	lib/device/cuda/panels.h \
	lib/device/cuda/phase.h \
	lib/device/cuda/product.c \
	lib/device/cuda/product.h \
	lib/device/cuda/recurrent.c \
	lib/device/cuda/rows.c \
	lib/device/cuda/table.c \
	lib/device/cuda/tiles.c \
	lib/device/cuda/weights.c \
	lib/device/cuda/windows.c \
	lib/device/cuda/windows.h
NN_CUDA_CU = \
	lib/device/cuda/elements.cu \
	lib/device/cuda/norm.cu \
	lib/device/cuda/product.cu \
	lib/device/cuda/rows.cu \
	lib/device/cuda/sequence.cu \
	lib/device/cuda/table.cu \
	lib/device/cuda/tiles.cu \
	lib/device/cuda/update.cu \
	lib/device/cuda/windows.cu
NN_CUDA_CPPFLAGS = -DNN_T_f32=1 -DNN_ISA_lane=1
EXTRA_DIST += $(NN_CUDA_CU)

if HAVE_CUDA
pkglib_LTLIBRARIES += lib/nn-cuda.la
lib_nn_cuda_la_SOURCES = lib/device/cuda/cuda.h lib/device/cuda/open.c lib/device/cuda/queue.c $(NN_CUDA_SRC)
lib_nn_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(NN_CUDA_CPPFLAGS) $(CUDA_CPPFLAGS)
lib_nn_cuda_la_LDFLAGS = $(LDFLAGS_MODULE) -Wl,--exclude-libs,ALL
lib_nn_cuda_la_LIBADD = $(NN_CUDA_CU:.cu=.lo) $(CUDA_LIBS) -lm
lib_nn_cuda_la_DEPENDENCIES = $(NN_CUDA_CU:.cu=.lo)
$(NN_CUDA_CU:.cu=.lo): lib/device/cuda/kernels.def lib/device/cuda/kernels.h lib/device/cuda/phase.h \
	$(srcdir)/lib/device/device.h $(srcdir)/lib/op/op.h
# libtool takes -Xcompiler for itself: options of the host's compiler stand bare
.cu.lo:
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile $(NVCC) -prefer-pic -ccbin $(CUDA_CXX) $(NVCCFLAGS) $(NVCC_ARCH) \
		-I. $(AM_CPPFLAGS) $(NN_CUDA_CPPFLAGS) -c -o $@ $<
CLEANFILES += $(NN_CUDA_CU:.cu=.lo) $(NN_CUDA_CU:.cu=.o)
SUFFIXES = .cu
endif
