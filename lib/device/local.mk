# lib/device
lib_libnn_la_SOURCES += \
	lib/device/device.c \
	lib/device/device.h \
	lib/device/optimizers.def \
	lib/device/queue.c lib/device/queue.h \
	lib/device/ratio.h \
	lib/device/products.c lib/device/products.h \
	lib/device/stored.c lib/device/stored.h \
	lib/device/wings.h
