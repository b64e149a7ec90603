# cmd: one program per tool
bin_PROGRAMS += cmd/nn-allreduce cmd/nn-bench cmd/nn-predict cmd/nn-train
cmd_nn_allreduce_SOURCES = cmd/nn-allreduce.c cmd/allreduce-list.c cmd/tool.c cmd/tool-log.c cmd/tool.h
cmd_nn_allreduce_LDFLAGS = $(LDFLAGS_TOOL)
cmd_nn_bench_SOURCES = cmd/nn-bench.c cmd/bench-list.c cmd/tool.c cmd/tool-log.c cmd/tool.h
cmd_nn_bench_LDFLAGS = $(LDFLAGS_TOOL)
cmd_nn_predict_SOURCES = cmd/nn-predict.c cmd/predict-list.c cmd/tool.c cmd/tool.h
cmd_nn_predict_LDFLAGS = $(LDFLAGS_TOOL)
cmd_nn_train_SOURCES = cmd/nn-train.c cmd/train-list.c cmd/train-ranks.c cmd/train.h cmd/tool.c cmd/tool.h
cmd_nn_train_LDFLAGS = $(LDFLAGS_TOOL)
if HAVE_MICROHTTPD
bin_PROGRAMS += cmd/nn-serve
cmd_nn_serve_SOURCES = cmd/nn-serve.c cmd/serve-list.c cmd/tool.c cmd/tool-log.c cmd/tool.h
cmd_nn_serve_LDADD = $(SERVE_LIBS)
cmd_nn_serve_LDFLAGS = $(LDFLAGS_TOOL)
endif

# What the option tables are to man pages and completions; not installed.
noinst_PROGRAMS += cmd/gen-options
cmd_gen_options_SOURCES = cmd/gen-options.c cmd/allreduce-list.c cmd/bench-list.c cmd/predict-list.c cmd/serve-list.c cmd/train-list.c cmd/tool.h lib/serve/options.c
