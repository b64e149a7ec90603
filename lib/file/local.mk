# lib/file
lib_libnn_la_SOURCES += \
	lib/file/archive.h \
	lib/file/bytes.c \
	lib/file/bytes.h \
	lib/file/convert.c \
	lib/file/convert.h \
	lib/file/formats.def \
	lib/file/idx.c \
	lib/file/idx.h \
	lib/file/input.c \
	lib/file/input.h \
	lib/file/json/json.c lib/file/json/json.h \
	lib/file/json/pull.c lib/file/json/pull-array.c lib/file/json/pull-keys.c lib/file/json/pull-inside.h \
	lib/file/json/pull-string.c lib/file/json/pull.h \
	lib/file/later.c \
	lib/file/members/members.c lib/file/members/members-folder.c lib/file/members/members-inside.h \
	lib/file/members/members-tar.c lib/file/members/members.h \
	lib/file/members/tar-write.c lib/file/members/tar-write.h \
	lib/file/picture/deflate.c lib/file/picture/deflate.h \
	lib/file/picture/picture.c lib/file/picture/picture.h lib/file/picture/write.c lib/file/picture/write.h \
	lib/file/npy-data.c \
	lib/file/npy-set.c \
	lib/file/npy.c \
	lib/file/npy.h \
	lib/file/npz-inside.h lib/file/npz-later.c lib/file/npz.c lib/file/npz-write.c lib/file/npz.h \
	lib/file/torch/pickle-machine.c lib/file/torch/pickle-machine.h lib/file/torch/pickle.c lib/file/torch/pickle.h \
	lib/file/safetensors-write.c \
	lib/file/safetensors-open.c \
	lib/file/safetensors.c \
	lib/file/safetensors.h \
	lib/file/sniff.c \
	lib/file/sniff.h \
	lib/file/source.c \
	lib/file/source.h \
	lib/file/tee.c \
	lib/file/tee.h \
	lib/file/tensors.c \
	lib/file/torch/torch.c lib/file/torch/torch.h lib/file/torch/torch-view.c lib/file/torch/torch-view.h \
	lib/file/turn.c \
	lib/file/turn.h \
	lib/file/watch.c \
	lib/file/watch.h \
	lib/file/zip.c lib/file/zip.h lib/file/zip-gzip.c lib/file/zip-gzip.h

# a loop over pixels, for the vectorizer
noinst_LTLIBRARIES += lib/file/libloops.la
lib_file_libloops_la_SOURCES = lib/file/picture/part.c
lib_file_libloops_la_CFLAGS = $(AM_CFLAGS) -O3
lib_libnn_la_LIBADD += lib/file/libloops.la

# the module that takes gzip off, and inflates members of zip files
if HAVE_ZLIB
pkglib_LTLIBRARIES += lib/nn-archive.la
lib_nn_archive_la_SOURCES = lib/file/archive.c
lib_nn_archive_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS)
lib_nn_archive_la_LDFLAGS = $(LDFLAGS_MODULE)
lib_nn_archive_la_LIBADD = $(ZLIB_LIBS)
endif
# the modules that take xz and zstd off
if HAVE_XZ
pkglib_LTLIBRARIES += lib/nn-xz.la
lib_nn_xz_la_SOURCES = lib/file/archive-xz.c
lib_nn_xz_la_CPPFLAGS = $(AM_CPPFLAGS) $(XZ_CFLAGS)
lib_nn_xz_la_LDFLAGS = $(LDFLAGS_MODULE)
lib_nn_xz_la_LIBADD = $(XZ_LIBS)
endif
if HAVE_ZSTD
pkglib_LTLIBRARIES += lib/nn-zstd.la
lib_nn_zstd_la_SOURCES = lib/file/archive-zstd.c
lib_nn_zstd_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
lib_nn_zstd_la_LDFLAGS = $(LDFLAGS_MODULE)
lib_nn_zstd_la_LIBADD = $(ZSTD_LIBS)
endif

# the modules that decode pictures
if HAVE_PNG
pkglib_LTLIBRARIES += lib/nn-png.la
lib_nn_png_la_SOURCES = lib/file/picture/png.c
lib_nn_png_la_CPPFLAGS = $(AM_CPPFLAGS) $(PNG_CFLAGS)
lib_nn_png_la_LDFLAGS = $(LDFLAGS_MODULE)
lib_nn_png_la_LIBADD = $(PNG_LIBS)
endif
if HAVE_JPEG
pkglib_LTLIBRARIES += lib/nn-jpeg.la
lib_nn_jpeg_la_SOURCES = lib/file/picture/jpeg.c
lib_nn_jpeg_la_CPPFLAGS = $(AM_CPPFLAGS) $(JPEG_CFLAGS)
lib_nn_jpeg_la_LDFLAGS = $(LDFLAGS_MODULE)
lib_nn_jpeg_la_LIBADD = $(JPEG_LIBS)
endif
