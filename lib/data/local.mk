# lib/data
lib_libnn_la_SOURCES += \
	lib/data/data.h \
	lib/data/schema.h
