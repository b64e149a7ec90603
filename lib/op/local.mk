# lib/op
lib_libnn_la_SOURCES += \
	lib/op/op.h \
	lib/op/program.h
