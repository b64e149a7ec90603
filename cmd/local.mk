# cmd: one program per tool
bin_PROGRAMS += cmd/nn-predict
cmd_nn_predict_SOURCES = cmd/nn-predict.c
cmd_nn_predict_LDFLAGS = $(LDFLAGS_TOOL)
