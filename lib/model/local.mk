# lib/model
lib_libnn_la_SOURCES += \
	lib/model/model.h
