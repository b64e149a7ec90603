# lib/file
lib_libnn_la_SOURCES += \
	lib/file/input.h \
	lib/file/json.h \
	lib/file/npy.h \
	lib/file/safetensors.h
