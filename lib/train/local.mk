# lib/train
lib_libnn_la_SOURCES +=
