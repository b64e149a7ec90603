# man: one page per tool; the OPTIONS sections and nn-layers(7) come from the tables

# the model language; the layers, from their table
dist_man_MANS += man/nn-model.5 man/nn-layers.7
EXTRA_PROGRAMS += cmd/gen-layers
cmd_gen_layers_SOURCES = cmd/gen-layers.c
man/nn-layers.7: cmd/gen-layers$(EXEEXT)
	$(AM_V_GEN)mkdir -p man && cmd/gen-layers$(EXEEXT) >$@.tmp && mv $@.tmp $@
CLEANFILES += cmd/gen-layers$(EXEEXT) man/nn-layers.7
