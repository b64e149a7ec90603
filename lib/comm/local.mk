# lib/comm: ranks talking, and what they add
lib_libnn_la_SOURCES += \
	lib/comm/allreduce.c \
	lib/comm/attach.c \
	lib/comm/comm.c lib/comm/comm.h \
	lib/comm/env.c \
	lib/comm/halving.c \
	lib/comm/launch.c lib/comm/launch-job.h lib/comm/launch-life.c lib/comm/launch-outcome.c lib/comm/launch-socket.c \
	lib/comm/launch-start.c lib/comm/launch-sweep.c lib/comm/launch.h \
	lib/comm/link.c lib/comm/link.h \
	lib/comm/loops.h \
	lib/comm/options.c lib/comm/options.h \
	lib/comm/pairs.c lib/comm/pairs.h \
	lib/comm/peers.c lib/comm/peers.h \
	lib/comm/program.c \
	lib/comm/pump.c lib/comm/pump.h \
	lib/comm/reduce.c lib/comm/reduce.h \
	lib/comm/ring.c \
	lib/comm/self/self.c \
	lib/comm/steps.h \
	lib/comm/transport.h \
	lib/comm/tree.c \
	lib/comm/shared.c lib/comm/shared.h

# plain loops that the compiler turns into vectors
noinst_LTLIBRARIES += lib/comm/libloops.la
lib_comm_libloops_la_SOURCES = lib/comm/loops.c
lib_comm_libloops_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_OPT)
lib_libnn_la_LIBADD += lib/comm/libloops.la

# the module with Open MPI
if HAVE_MPI
pkglib_LTLIBRARIES += lib/nn-mpi.la
lib_nn_mpi_la_SOURCES = lib/comm/mpi/mpi.c
lib_nn_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
lib_nn_mpi_la_LDFLAGS = $(LDFLAGS_MODULE)
lib_nn_mpi_la_LIBADD = $(MPI_LIBS)
endif
