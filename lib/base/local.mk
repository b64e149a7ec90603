# lib/base
lib_libnn_la_SOURCES += \
	lib/base/clock.h \
	lib/base/error.h \
	lib/base/memory.h \
	lib/base/module.h \
	lib/base/number.h \
	lib/base/option.h \
	lib/base/output.h \
	lib/base/pool.h \
	lib/base/random.h \
	lib/base/sha256.c \
	lib/base/sha256.h \
	lib/base/shape.h \
	lib/base/text.h
