# lib/data
lib_libnn_la_SOURCES += \
	lib/data/augment/apply.c lib/data/augment/augment.c lib/data/augment/augment.h lib/data/augment/draw.c \
	lib/data/augment/augment-inside.h lib/data/augment/pixels.h \
	lib/data/sequence/arrays.c lib/data/sequence/line.c lib/data/sequence/line.h lib/data/sequence/lines.c \
	lib/data/sequence/sequence.c lib/data/sequence/sequence.h \
	lib/data/cache/cache.h lib/data/cache/key.c lib/data/cache/read.c lib/data/cache/write.c \
	lib/data/array/array.c lib/data/array/array.h lib/data/array/dataset.c \
	lib/data/array/file-rows.c lib/data/array/file-rows.h lib/data/array/stay.c \
	lib/data/bad-rows.c \
	lib/data/batch.c \
	lib/data/characters.c \
	lib/data/cifar.c \
	lib/data/coding.c \
	lib/data/coding.h \
	lib/data/columns-text.c \
	lib/data/data.h \
	lib/data/dataset-category.c \
	lib/data/dataset-made.c \
	lib/data/dataset-open.c \
	lib/data/dataset-svm.c \
	lib/data/dataset-table.c \
	lib/data/dataset.c \
	lib/data/dataset.h \
	lib/data/format.c \
	lib/data/format.h \
	lib/data/loader.c \
	lib/data/loader.h \
	lib/data/measure.c \
	lib/data/missing.c \
	lib/data/options.c \
	lib/data/order.c \
	lib/data/rows/array.c \
	lib/data/rows/out.c \
	lib/data/rows/steps.c \
	lib/data/rows/table.c \
	lib/data/rows/whole.c \
	lib/data/rows/rows.c \
	lib/data/rows/rows.h \
	lib/data/ring.c lib/data/ring.h \
	lib/data/sample.c \
	lib/data/schema/json.c \
	lib/data/schema/json.h \
	lib/data/schema/parse.c \
	lib/data/schema/schema.c \
	lib/data/schema/schema.h \
	lib/data/size.c \
	lib/data/source.h \
	lib/data/streamed.c \
	lib/data/target/classes.c lib/data/target/label-kind.c lib/data/target/labels.c lib/data/target/target.c \
	lib/data/weights.c \
	lib/data/ahead/ahead.c lib/data/ahead/ahead.h \
	lib/data/ahead/made.c lib/data/ahead/made.h \
	lib/data/ahead/stages.c lib/data/ahead/stages.h \
	lib/data/ahead/verdict.c lib/data/ahead/verdict.h \
	lib/data/picture/array.c lib/data/picture/array.h lib/data/picture/row.h \
	lib/data/picture/decode.c lib/data/picture/decode.h \
	lib/data/picture/labels.c lib/data/picture/labels.h \
	lib/data/picture/read.c \
	lib/data/picture/samples.c lib/data/picture/samples.h \
	lib/data/picture/store.c lib/data/picture/store.h \
	lib/data/picture/stream.c \
	lib/data/picture/streamed.c \
	lib/data/table/column-order.c \
	lib/data/table/column-plan.c \
	lib/data/table/column-plan.h \
	lib/data/table/columns.c \
	lib/data/table/columns.h \
	lib/data/table/csv.c \
	lib/data/table/csv.h \
	lib/data/table/cut.h \
	lib/data/table/keep.c \
	lib/data/table/keep.h \
	lib/data/table/lines.c \
	lib/data/table/lines.h \
	lib/data/table/missing-word.h \
	lib/data/table/open.c \
	lib/data/table/sample.c \
	lib/data/table/svm.c \
	lib/data/table/svm.h \
	lib/data/table/table-join.c \
	lib/data/table/table-join.h \
	lib/data/table/table-read.c \
	lib/data/table/table-text.c \
	lib/data/table/table-text.h \
	lib/data/table/table.c \
	lib/data/table/table.h \
	lib/data/table/walk.h \
	lib/data/table/words.c \
	lib/data/table/words.h

# loops over bytes and values, for the vectorizer
noinst_LTLIBRARIES += lib/data/libloops.la
lib_data_libloops_la_SOURCES = \
	lib/data/augment/pixels.c \
	lib/data/fill.c \
	lib/data/table/cut.c \
	lib/data/table/field.c \
	lib/data/table/hash.c \
	lib/data/table/record.c \
	lib/data/table/scan.c \
	lib/data/table/scan.h \
	lib/data/table/walk.c
lib_data_libloops_la_CFLAGS = $(AM_CFLAGS) -O3
lib_libnn_la_LIBADD += lib/data/libloops.la
