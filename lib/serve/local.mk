# lib/serve: models behind a socket; linked into nn-serve alone, with libmicrohttpd
if HAVE_MICROHTTPD
noinst_LTLIBRARIES += lib/libserve.la
lib_libserve_la_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS)
lib_libserve_la_LIBADD = lib/libnn.la $(MICROHTTPD_LIBS)
lib_libserve_la_SOURCES = \
	lib/serve/batch.c \
	lib/serve/batch.h \
	lib/serve/batch-explain.c \
	lib/serve/batch-inside.h \
	lib/serve/batch-queue.c \
	lib/serve/batch-seat.c \
	lib/serve/batch-work.c \
	lib/serve/cost.c \
	lib/serve/cost.h \
	lib/serve/dispatch.c \
	lib/serve/dispatch.h \
	lib/serve/http.h \
	lib/serve/models.h \
	lib/serve/protocol.h \
	lib/serve/wait.c \
	lib/serve/wait.h
endif
