# man: one page per tool; the OPTIONS sections and nn-layers(7) come from the tables

# the model language; the layers, from their table
dist_man_MANS += man/nn-model.5
man/nn-layers.7: cmd/gen-layers$(EXEEXT)
	$(AM_V_GEN)mkdir -p man && cmd/gen-layers$(EXEEXT) >$@.tmp && mv $@.tmp $@

dist_man_MANS += man/nntools.7
nodist_man_MANS = man/nn-layers.7 man/nn-allreduce.1 man/nn-bench.1 man/nn-predict.1 man/nn-train.1
EXTRA_DIST += man/nn-allreduce.1.in man/nn-bench.1.in man/nn-predict.1.in man/nn-serve.1.in man/nn-train.1.in
if HAVE_MICROHTTPD
nodist_man_MANS += man/nn-serve.1
endif
CLEANFILES += $(nodist_man_MANS)

# what data files may be
dist_man_MANS += man/nn-data.5

# nn.h
dist_man_MANS += man/nn.3

# @OPTIONS@ in a page is what its tool's tables print.
man/nn-allreduce.1: $(srcdir)/man/nn-allreduce.1.in
man/nn-bench.1: $(srcdir)/man/nn-bench.1.in
man/nn-predict.1: $(srcdir)/man/nn-predict.1.in
man/nn-serve.1: $(srcdir)/man/nn-serve.1.in
man/nn-train.1: $(srcdir)/man/nn-train.1.in
man/nn-allreduce.1 man/nn-bench.1 man/nn-predict.1 man/nn-serve.1 man/nn-train.1: cmd/gen-options$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) man && cmd/gen-options $(@F:.1=) man >$@.options && \
	sed -e '/^@OPTIONS@$$/{' -e 'r $@.options' -e 'd' -e '}' -e 's/[@]VERSION[@]/$(PACKAGE_VERSION)/' \
		$(srcdir)/$@.in >$@.tmp && rm -f $@.options && mv $@.tmp $@
