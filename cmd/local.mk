# cmd: one program per tool
bin_PROGRAMS += cmd/nn-allreduce cmd/nn-bench cmd/nn-predict cmd/nn-train
cmd_nn_allreduce_SOURCES = cmd/nn-allreduce.c cmd/allreduce-list.c cmd/tool.c cmd/tool-log.c cmd/tool.h
cmd_nn_allreduce_LDFLAGS = $(LDFLAGS_QUICK)
cmd_nn_bench_SOURCES = cmd/nn-bench.c cmd/bench-list.c cmd/tool.c cmd/tool-log.c cmd/tool.h
cmd_nn_bench_LDFLAGS = $(LDFLAGS_QUICK)
cmd_nn_predict_SOURCES = cmd/nn-predict.c cmd/predict-list.c cmd/tool.c cmd/tool-log.c cmd/tool.h
cmd_nn_predict_LDFLAGS = $(LDFLAGS_QUICK)
cmd_nn_train_SOURCES = cmd/nn-train.c cmd/train-list.c cmd/train-ranks.c cmd/train.h cmd/tool.c cmd/tool-log.c cmd/tool.h
cmd_nn_train_LDFLAGS = $(LDFLAGS_QUICK)
if HAVE_MICROHTTPD
bin_PROGRAMS += cmd/nn-serve
cmd_nn_serve_SOURCES = cmd/nn-serve.c cmd/serve-list.c cmd/tool.c cmd/tool-log.c cmd/tool.h
cmd_nn_serve_LDADD = $(SERVE_LIBS)
cmd_nn_serve_LDFLAGS = $(LDFLAGS_TOOL)
endif

# What the tables of options and layers are to man pages and completions; not installed. Where the build machine is another
# than the host, its own compiler makes them of the tables and the words that these name; the functions that rows name are
# not called and stay undefined.
cmd_gen_options_SOURCES = cmd/gen-options.c cmd/allreduce-list.c cmd/bench-list.c cmd/predict-list.c cmd/serve-list.c cmd/train-list.c cmd/tool.h lib/serve/options.c
cmd_gen_layers_SOURCES = cmd/gen-layers.c
if CROSS
gen_base = $(addprefix lib/base/,error.c flush.c memory.c number/number.c number/format.c text.c)
gen_words := $(shell cd $(srcdir) && grep -lE '^const (char .const|struct nn_opt) nn_[a-z0-9_]+[[]' lib/*/*.c lib/*/*/*.c)
gen_options = $(sort $(filter %.c,$(cmd_gen_options_SOURCES)) $(gen_base) $(gen_words) $(filter lib/base/option/%.c,$(lib_libnn_la_SOURCES)))
gen_layers = $(cmd_gen_layers_SOURCES) $(gen_base) \
	$(filter lib/model/argument.c lib/model/initial.c lib/model/layers.c lib/model/layer/%.c,$(lib_libnn_la_SOURCES))
gen_for_build = $(AM_V_GEN)$(MKDIR_P) cmd && $(CC_FOR_BUILD) -std=gnu11 -w -no-pie -ffunction-sections -fdata-sections \
	-Wl,--gc-sections,--unresolved-symbols=ignore-all -DHAVE_CONFIG_H -I. -I$(srcdir) -I$(srcdir)/lib -o $@
cmd/gen-options: $(gen_options) Makefile
	$(gen_for_build) $(addprefix $(srcdir)/,$(gen_options))
cmd/gen-layers: $(gen_layers) Makefile
	$(gen_for_build) $(addprefix $(srcdir)/,$(gen_layers))
else
noinst_PROGRAMS += cmd/gen-options
EXTRA_PROGRAMS += cmd/gen-layers
endif
CLEANFILES += cmd/gen-options$(EXEEXT) cmd/gen-layers$(EXEEXT)
