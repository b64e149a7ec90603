# lib/reduce: the work of nn-allreduce
lib_libnn_la_SOURCES += \
	lib/reduce/agree.c \
	lib/reduce/allreduce.h \
	lib/reduce/arrays.c lib/reduce/arrays.h \
	lib/reduce/bench.c \
	lib/reduce/compare.c \
	lib/reduce/files.c \
	lib/reduce/found.c \
	lib/reduce/launch.c \
	lib/reduce/metadata.c \
	lib/reduce/options.c \
	lib/reduce/rank-run.c \
	lib/reduce/rank.c lib/reduce/rank.h \
	lib/reduce/sizes.c \
	lib/reduce/stream.c
