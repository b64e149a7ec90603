# lib/serve: models behind a socket; linked into nn-serve alone, with libmicrohttpd
if HAVE_MICROHTTPD
noinst_LTLIBRARIES += lib/libserve.la
lib_libserve_la_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS)
lib_libserve_la_LIBADD = $(MICROHTTPD_LIBS)
lib_libserve_la_SOURCES = \
	lib/serve/access-log.c \
	lib/serve/access-log.h \
	lib/serve/keys.c \
	lib/serve/keys.h \
	lib/serve/batch-explain.c \
	lib/serve/batch-inside.h \
	lib/serve/batch-queue.c \
	lib/serve/batch-seat.c \
	lib/serve/batch-work.c \
	lib/serve/batch.c \
	lib/serve/batch.h \
	lib/serve/cost.c \
	lib/serve/cost.h \
	lib/serve/datatype.c \
	lib/serve/datatype.h \
	lib/serve/dispatch.c \
	lib/serve/dispatch.h \
	lib/serve/feed-rows.c \
	lib/serve/feed.c \
	lib/serve/feed.h \
	lib/serve/gaps.c \
	lib/serve/gaps.h \
	lib/serve/give.c \
	lib/serve/give.h \
	lib/serve/health.c \
	lib/serve/health.h \
	lib/serve/http-accept.c \
	lib/serve/http-answer.c \
	lib/serve/http-check.c \
	lib/serve/http-listen.c \
	lib/serve/http-loop.c \
	lib/serve/http-loop.h \
	lib/serve/http-request.c \
	lib/serve/http.c \
	lib/serve/http.h \
	lib/serve/metrics-triton.c \
	lib/serve/metrics.c \
	lib/serve/metrics.h \
	lib/serve/models-files.c \
	lib/serve/models-files.h \
	lib/serve/models-folders.c \
	lib/serve/models-inside.h \
	lib/serve/models-labels.c \
	lib/serve/models-operand.c \
	lib/serve/models-ports.c \
	lib/serve/models-reload.c \
	lib/serve/models-version.c \
	lib/serve/models-version.h \
	lib/serve/models-watch.c \
	lib/serve/models.c \
	lib/serve/models.h \
	lib/serve/options.c \
	lib/serve/protocol.c \
	lib/serve/protocol.h \
	lib/serve/query.c \
	lib/serve/query.h \
	lib/serve/run.c lib/serve/serve.h \
	lib/serve/v1-classify.c \
	lib/serve/v1-status.c \
	lib/serve/v1.c \
	lib/serve/v1.h \
	lib/serve/v2-answer.c \
	lib/serve/v2-models.c \
	lib/serve/v2-repository.c \
	lib/serve/v2-stats.c \
	lib/serve/v2.c \
	lib/serve/v2.h \
	lib/serve/wait.c \
	lib/serve/wait.h
endif
