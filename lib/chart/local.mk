# lib/chart: plots as SVG
lib_libnn_la_SOURCES += \
	lib/chart/axis.c \
	lib/chart/axis.h \
	lib/chart/chart.h \
	lib/chart/confusion.c \
	lib/chart/draw.c \
	lib/chart/draw.h \
	lib/chart/gallery.c \
	lib/chart/mark.c \
	lib/chart/page.c \
	lib/chart/series.c
