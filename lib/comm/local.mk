# lib/comm: ranks talking, and what they add
lib_libnn_la_SOURCES += \
	lib/comm/loops.h \
	lib/comm/reduce.c lib/comm/reduce.h

# plain loops that the compiler turns into vectors
noinst_LTLIBRARIES += lib/comm/libloops.la
lib_comm_libloops_la_SOURCES = lib/comm/loops.c
lib_comm_libloops_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_OPT)
lib_libnn_la_LIBADD += lib/comm/libloops.la
