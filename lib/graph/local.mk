# lib/graph
lib_libnn_la_SOURCES += \
	lib/graph/graph.h
