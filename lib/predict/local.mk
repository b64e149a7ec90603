# lib/predict
lib_libnn_la_SOURCES += lib/predict/metrics.h
