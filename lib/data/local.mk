# lib/data
lib_libnn_la_SOURCES += \
	lib/data/array.c \
	lib/data/array.h \
	lib/data/coding.c \
	lib/data/coding.h \
	lib/data/columns.c \
	lib/data/columns.h \
	lib/data/csv.c \
	lib/data/csv.h \
	lib/data/cut.h \
	lib/data/data.h \
	lib/data/dataset-array.c \
	lib/data/dataset-category.c \
	lib/data/dataset-made.c \
	lib/data/dataset-open.c \
	lib/data/dataset-table.c \
	lib/data/dataset.c \
	lib/data/dataset.h \
	lib/data/formats.def \
	lib/data/measure.c \
	lib/data/missing.c \
	lib/data/options.c \
	lib/data/order.c \
	lib/data/plan-order.c \
	lib/data/plan.c \
	lib/data/plan.h \
	lib/data/rows-array.c \
	lib/data/rows-out.c \
	lib/data/rows-table.c \
	lib/data/rows.c \
	lib/data/rows.h \
	lib/data/sample.c \
	lib/data/sample.h \
	lib/data/schema-parse.c \
	lib/data/schema.c \
	lib/data/schema.h \
	lib/data/size.c \
	lib/data/table-read.c \
	lib/data/table-text.c \
	lib/data/table-text.h \
	lib/data/table.c \
	lib/data/table.h \
	lib/data/target.c \
	lib/data/walk.h \
	lib/data/words.c \
	lib/data/words.h

# loops over bytes and values, for the vectorizer
noinst_LTLIBRARIES += lib/data/libloops.la
lib_data_libloops_la_SOURCES = \
	lib/data/cut.c \
	lib/data/hash.c \
	lib/data/fill.c \
	lib/data/record.c \
	lib/data/scan.c \
	lib/data/walk.c
lib_data_libloops_la_CFLAGS = $(AM_CFLAGS) -O3
lib_libnn_la_LIBADD += lib/data/libloops.la
