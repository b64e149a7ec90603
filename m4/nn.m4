dnl The questions that configure asks for nntools itself.

dnl NN_CPU: which instruction sets the CPU kernels are compiled for.
AC_DEFUN([NN_CPU], [
	AC_REQUIRE([AC_CANONICAL_HOST])
	AS_CASE([$host_cpu],
		[x86_64|amd64], [nn_isas="avx512 avx2 generic"; nn_audit=AUDIT_ARCH_X86_64],
		[aarch64], [nn_isas="neon generic"; nn_audit=AUDIT_ARCH_AARCH64],
		[nn_isas=generic; nn_audit=0])
	AC_DEFINE_UNQUOTED([NN_AUDIT_ARCH], [$nn_audit], [What the filter of --sandbox calls this CPU; 0: no filter])
	AM_CONDITIONAL([NN_X86], [test "$nn_isas" = "avx512 avx2 generic"])
	AM_CONDITIONAL([NN_ARM], [test "$nn_isas" = "neon generic"])
])

dnl NN_CROSS: the generators of pages run while building, so the build machine's compiler makes them.
AC_DEFUN([NN_CROSS], [
	AC_ARG_VAR([CC_FOR_BUILD], [C compiler of the build machine, for a cross build (default: cc)])
	: ${CC_FOR_BUILD=cc}
	AM_CONDITIONAL([CROSS], [test "$cross_compiling" = yes])
])

dnl NN_BUILD_KINDS: --enable-asan, ubsan, tsan, coverage, werror.
AC_DEFUN([NN_BUILD_KINDS], [
	KIND_CFLAGS= KIND_LDFLAGS= nn_kinds=
	_NN_KIND([asan], [address sanitizer], [-fsanitize=address -fno-omit-frame-pointer], [-fsanitize=address])
	_NN_KIND([ubsan], [undefined behaviour sanitizer],
		[-fsanitize=undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer],
		[-fsanitize=undefined])
	_NN_KIND([tsan], [thread sanitizer], [-fsanitize=thread -fno-omit-frame-pointer], [-fsanitize=thread])
	_NN_KIND([coverage], [gcov counters], [--coverage], [--coverage])
	_NN_KIND([werror], [warnings as errors], [-Werror], [])
	AS_IF([test "x$enable_asan$enable_tsan" = xyesyes],
		[AC_MSG_ERROR([--enable-asan and --enable-tsan exclude each other])])
	AS_CASE(["$enable_asan$enable_ubsan$enable_tsan"],
		[*yes*], [LDFLAGS_DEFS= KERNEL_OPT=-O1],
		[LDFLAGS_DEFS=-Wl,-z,defs KERNEL_OPT=-O3])
	dnl sanitizers at -O3 take a minute per kernel source; -O1 finds the same, and so do the kernels of two sets of instructions
	AS_IF([test "x$enable_asan$enable_ubsan" != x], [KERNEL_TWIN=-fno-sanitize=all], [KERNEL_TWIN=])
	AC_SUBST([KERNEL_OPT])
	AC_SUBST([KERNEL_TWIN])
	AC_SUBST([KIND_CFLAGS])
	AC_SUBST([KIND_LDFLAGS])
	AC_SUBST([LDFLAGS_DEFS])
])
AC_DEFUN([_NN_KIND], [
	AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [build with $2])])
	AS_IF([test "x$enable_$1" = xyes], [
		KIND_CFLAGS="$KIND_CFLAGS $3"
		KIND_LDFLAGS="$KIND_LDFLAGS $4"
		nn_kinds="$nn_kinds +$1"
	])
])

dnl NN_WITH_OPENBLAS: the module nn-openblas.so, for --reproducible=no and as referee.
AC_DEFUN([NN_WITH_OPENBLAS], [
	AC_ARG_WITH([openblas],
		[AS_HELP_STRING([--with-openblas], [build the module nn-openblas.so (default: if found)])],
		[], [with_openblas=auto])
	have_openblas=no openblas_says=no
	AS_IF([test "x$with_openblas" != xno], [
		PKG_CHECK_MODULES([OPENBLAS], [openblas],
			[have_openblas=yes; openblas_says=`$PKG_CONFIG --modversion openblas`],
			[AS_IF([test "x$with_openblas" != xauto],
				[AC_MSG_ERROR([--with-openblas: openblas was not found by pkg-config])])
			openblas_says="no (not found)"])
	])
	AM_CONDITIONAL([HAVE_OPENBLAS], [test "$have_openblas" = yes])
])

dnl NN_WITH_CUDA: the module nn-cuda.so, for --device=cuda. Code for Ampere and Hopper, PTX for all from Turing on. A cross
dnl build takes the toolkit's libraries for its target (targets/sbsa-linux: Arm of 64 bits) and calls that one's g++.
AC_DEFUN([NN_WITH_CUDA], [
	AC_ARG_WITH([cuda],
		[AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
			[build the module nn-cuda.so with nvcc (of DIR/bin; default: if found)])],
		[], [with_cuda=auto])
	AC_ARG_VAR([NVCC], [CUDA compiler])
	AC_ARG_VAR([NVCC_ARCH], [devices to make code for, as options of nvcc])
	AC_ARG_VAR([CUDA_CXX], [C++ compiler that nvcc calls])
	have_cuda=no cuda_says=no
	AS_CASE([$with_cuda],
		[no], [NVCC=],
		[yes|auto], [AC_PATH_PROG([NVCC], [nvcc], [], [${CUDA_HOME:+$CUDA_HOME/bin:}$PATH:/usr/local/cuda/bin])],
		[AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])
	AC_CHECK_TOOL([CUDA_CXX], [g++], [g++])
	: ${NVCC_ARCH="-gencode arch=compute_75,code=compute_75 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90"}
	NVCCFLAGS="-std=c++20 -O3 -fmad=false -ftz=true -prec-div=true -prec-sqrt=true"
	NVCCFLAGS="$NVCCFLAGS -forward-unknown-to-host-compiler -ffp-contract=off -fno-exceptions -fno-threadsafe-statics"
	AS_IF([test -n "$NVCC"], [
		cuda_dir=`AS_DIRNAME(["$(readlink -f "$NVCC")"])`
		cuda_dir=`AS_DIRNAME(["$cuda_dir"])`
		CUDA_CPPFLAGS="-isystem $cuda_dir/include"
		CUDA_LIBS=
		AS_CASE([$host_cpu], [aarch64], [nn_dirs=targets/sbsa-linux/lib], [nn_dirs=targets/$host_cpu-linux/lib])
		AS_IF([test "$cross_compiling" != yes], [nn_dirs="lib64 lib $nn_dirs"])
		for nn_dir in $nn_dirs; do
			for nn_lib in "$cuda_dir"/$nn_dir/libcudart_static.a; do
				AS_IF([test -z "$CUDA_LIBS" && test -f "$nn_lib"],
					[CUDA_LIBS="$nn_lib -lpthread -ldl -lrt"])
			done
		done
		AC_MSG_CHECKING([whether $NVCC works])
		cat >conftest.cu <<NN_END
extern "C" __global__ void f(const __grid_constant__ int n, float *x) { x[[0]] = __fmaf_rn(x[[0]], x[[1]], n); }
NN_END
		AS_IF([test -n "$CUDA_LIBS" && $NVCC -ccbin "$CUDA_CXX" $NVCCFLAGS -arch=compute_75 -c conftest.cu -o conftest.$ac_objext >&AS_MESSAGE_LOG_FD 2>&1],
			[have_cuda=yes; cuda_says=`"$NVCC" --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p'`],
			[cuda_says="no ($NVCC does not work: see config.log)"])
		rm -f conftest.cu conftest.$ac_objext
		AC_MSG_RESULT([$have_cuda])])
	AS_IF([test $have_cuda = no && test "x$with_cuda" != xno && test "x$with_cuda" != xauto],
		[AC_MSG_ERROR([--with-cuda=$with_cuda: no nvcc that works was found])])
	AS_IF([test $have_cuda = yes], [cuda_version=$cuda_says], [cuda_version=none])
	have_cublaslt=no
	AS_IF([test $have_cuda = yes], [
		AC_MSG_CHECKING([for cublasLt.h])
		nn_cppflags=$CPPFLAGS
		CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS"
		AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <cublasLt.h>]])], [have_cublaslt=yes])
		CPPFLAGS=$nn_cppflags
		AC_MSG_RESULT([$have_cublaslt])])
	AS_IF([test $have_cublaslt = yes],
		[cuda_version="$cuda_version, cuBLASLt with --precision=tf32 and --reproducible=no"; cuda_says="$cuda_says, with cuBLASLt"])
	AM_CONDITIONAL([HAVE_CUBLASLT], [test $have_cublaslt = yes])
	AC_DEFINE_UNQUOTED([NN_CUDA_VERSION], ["$cuda_version"], [CUDA that nn-cuda.so was built with])
	AC_SUBST([NVCCFLAGS])
	AC_SUBST([CUDA_CPPFLAGS])
	AC_SUBST([CUDA_LIBS])
	AM_CONDITIONAL([HAVE_CUDA], [test $have_cuda = yes])
])

dnl NN_WITH_MPI: the module nn-mpi.so, for --ranks.
AC_DEFUN([NN_WITH_MPI], [
	AC_ARG_WITH([mpi],
		[AS_HELP_STRING([--with-mpi], [build the module nn-mpi.so with Open MPI (default: if found)])],
		[], [with_mpi=auto])
	have_mpi=no mpi_says=no mpi_version=none
	AS_IF([test "x$with_mpi" != xno], [
		PKG_CHECK_MODULES([MPI], [ompi-c],
			[have_mpi=yes; mpi_says="Open MPI `$PKG_CONFIG --modversion ompi-c`"
			mpi_version="$mpi_says through nn-mpi.so for ranks"],
			[AS_IF([test "x$with_mpi" != xauto],
				[AC_MSG_ERROR([--with-mpi: ompi-c was not found by pkg-config])])
			mpi_says="no (not found)"])
	])
	AC_DEFINE_UNQUOTED([NN_MPI_VERSION], ["$mpi_version"], [What --version says of MPI])
	AM_CONDITIONAL([HAVE_MPI], [test "$have_mpi" = yes])
])

dnl NN_WITH_ONNX: the module nn-onnx.so, which reads and writes ONNX files with protobuf-c.
AC_DEFUN([NN_WITH_ONNX], [
	AC_ARG_WITH([onnx],
		[AS_HELP_STRING([--with-onnx], [build the module nn-onnx.so with protobuf-c (default: if found)])],
		[], [with_onnx=auto])
	have_protobuf_c=no onnx_says=no onnx_version=none
	AS_IF([test "x$with_onnx" != xno], [
		PKG_CHECK_MODULES([PROTOBUF_C], [libprotobuf-c],
			[AC_PATH_PROG([PROTOC_C], [protoc-c])
			have_protobuf_c=${PROTOC_C:+yes}], [])
		AS_IF([test "x$have_protobuf_c" = xyes],
			[onnx_says="protobuf-c `$PKG_CONFIG --modversion libprotobuf-c`"
			onnx_version="opsets 7 to 22 in, 13 out, through nn-onnx.so"],
			[test "x$with_onnx" != xauto],
			[AC_MSG_ERROR([--with-onnx: libprotobuf-c or protoc-c was not found])],
			[onnx_says="no (libprotobuf-c or protoc-c not found)"])
	])
	AC_DEFINE_UNQUOTED([NN_ONNX_VERSION], ["$onnx_version"], [What --version says of ONNX])
	AM_CONDITIONAL([HAVE_PROTOBUF_C], [test "x$have_protobuf_c" = xyes])
])

dnl NN_WITH_MICROHTTPD: nn-serve, which speaks HTTP with libmicrohttpd.
AC_DEFUN([NN_WITH_MICROHTTPD], [
	AC_ARG_WITH([microhttpd],
		[AS_HELP_STRING([--with-microhttpd], [build nn-serve with libmicrohttpd (default: if found)])],
		[], [with_microhttpd=auto])
	have_microhttpd=no microhttpd_says=no
	AS_IF([test "x$with_microhttpd" != xno], [
		PKG_CHECK_MODULES([MICROHTTPD], [libmicrohttpd >= 0.9.75],
			[have_microhttpd=yes
			microhttpd_says="libmicrohttpd `$PKG_CONFIG --modversion libmicrohttpd`"],
			[AS_IF([test "x$with_microhttpd" != xauto],
				[AC_MSG_ERROR([--with-microhttpd: libmicrohttpd of at least 0.9.75 was not found])])
			microhttpd_says="no (libmicrohttpd of at least 0.9.75 not found)"])
	])
	AM_CONDITIONAL([HAVE_MICROHTTPD], [test "x$have_microhttpd" = xyes])
])

dnl NN_WITH_LIBRARY(NAME, VARIABLE, PKG-CONFIG MODULE): the module nn-NAME.so, which needs one library.
AC_DEFUN([NN_WITH_LIBRARY], [
	AC_ARG_WITH([$1],
		[AS_HELP_STRING([--with-$1], [build the module nn-$1.so with $3 (default: if found)])],
		[], [with_$1=auto])
	$1_says=no have_$1=no
	AS_IF([test "x$with_$1" != xno], [
		PKG_CHECK_MODULES([$2], [$3],
			[have_$1=yes; $1_says="$3 `$PKG_CONFIG --modversion $3`"],
			[AS_IF([test "x$with_$1" != xauto],
				[AC_MSG_ERROR([--with-$1: $3 was not found by pkg-config])])
			$1_says="no ($3 not found)"])
	])
	AM_CONDITIONAL([HAVE_$2], [test "x$have_$1" = xyes])
])

dnl NN_PYTHON: the Python that brings most referees (numpy, then torch). PYTHON=... decides otherwise.
AC_DEFUN([NN_PYTHON], [
	AC_ARG_VAR([PYTHON], [Python for tests; the more of numpy and torch it has, the more tests run])
	AC_CACHE_CHECK([for a Python with referees], [nn_cv_python], [
		nn_cv_python=$PYTHON nn_most=-1
		AS_IF([test -z "$PYTHON"], [
			nn_IFS=$IFS; IFS=:
			for nn_dir in $PATH /opt/*/bin; do
				IFS=$nn_IFS
				nn_has=`"$nn_dir/python3" -c '
from importlib.util import find_spec
print(sum(find_spec(m) is not None for m in ("numpy", "torch")))' 2>/dev/null` || continue
				AS_IF([test "$nn_has" -gt "$nn_most"], [nn_cv_python=$nn_dir/python3 nn_most=$nn_has])
			done
			IFS=$nn_IFS
		])
	])
	PYTHON=$nn_cv_python
])
