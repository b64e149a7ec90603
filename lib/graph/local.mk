# lib/graph
lib_libnn_la_SOURCES += \
	lib/graph/arena.c \
	lib/graph/bind.c \
	lib/graph/bound.h \
	lib/graph/copies.c \
	lib/graph/door.c \
	lib/graph/fold.c \
	lib/graph/fuse.c \
	lib/graph/graph.h \
	lib/graph/lower.c \
	lib/graph/params.c \
	lib/graph/part.c \
	lib/graph/plan.c \
	lib/graph/run.c \
	lib/graph/split-rows.c \
	lib/graph/split-weights.c \
	lib/graph/split.c \
	lib/graph/tables.c
