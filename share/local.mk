# share: example data and models, completions, units, packages
digitsdir = $(pkgdatadir)/data
dist_digits_DATA = share/data/digits.csv.gz share/data/README
EXTRA_DIST += share/demo.sh share/doc/conventions.md share/doc/numerics.md share/doc/curve.svg share/measurements/README.md share/measurements/arm.md share/measurements/cuda.md share/measurements/defaults.md share/measurements/precision.md share/measurements/serve.md share/measurements/xeon.md

examplesdir = $(pkgdatadir)/examples
dist_examples_DATA = share/examples/char-lstm.nn share/examples/char-transformer.nn share/examples/cifar-cnn.nn share/examples/digits.nn share/examples/encoder.nn share/examples/lenet.nn \
	share/examples/autoencoder.nn share/examples/camvid.nn share/examples/fcn.nn share/examples/inception.nn share/examples/two-outputs.nn \
	share/examples/unet.nn share/examples/vgg.nn \
	share/examples/mlp.nn share/examples/mlp-175b.nn share/examples/resnet8.nn share/examples/wide-and-deep.nn share/examples/predict.c \
	share/examples/count.sh share/examples/data-parallel.py share/examples/train.sbatch

addingdir = $(examplesdir)/adding
dist_adding_DATA = share/examples/adding/README share/examples/adding/adding.nn share/examples/adding/adding.sh
actorcriticdir = $(examplesdir)/actor-critic
dist_actorcritic_DATA = share/examples/actor-critic/README share/examples/actor-critic/actor-critic.c \
	share/examples/actor-critic/actor-critic.sh

# completions, made from the option tables
bashdir = $(datadir)/bash-completion/completions
zshdir = $(datadir)/zsh/site-functions
fishdir = $(datadir)/fish/vendor_completions.d
nodist_bash_DATA = share/completions/nn-allreduce share/completions/nn-bench share/completions/nn-predict share/completions/nn-train
nodist_zsh_DATA = share/completions/_nn-allreduce share/completions/_nn-bench share/completions/_nn-predict share/completions/_nn-train
nodist_fish_DATA = share/completions/nn-allreduce.fish share/completions/nn-bench.fish share/completions/nn-predict.fish share/completions/nn-train.fish
if HAVE_MICROHTTPD
nodist_bash_DATA += share/completions/nn-serve
nodist_zsh_DATA += share/completions/_nn-serve
nodist_fish_DATA += share/completions/nn-serve.fish
endif
CLEANFILES += $(nodist_bash_DATA) $(nodist_zsh_DATA) $(nodist_fish_DATA)

share/completions/_nn-%: cmd/gen-options
	$(AM_V_GEN)$(MKDIR_P) share/completions && cmd/gen-options nn-$* zsh >$@.tmp && mv $@.tmp $@
share/completions/%.fish: cmd/gen-options
	$(AM_V_GEN)$(MKDIR_P) share/completions && cmd/gen-options $* fish >$@.tmp && mv $@.tmp $@
share/completions/%: cmd/gen-options
	$(AM_V_GEN)$(MKDIR_P) share/completions && cmd/gen-options $* bash >$@.tmp && mv $@.tmp $@

# systemd: a confined service and its socket
EXTRA_DIST += share/systemd/nn-serve.service.in share/systemd/nn-serve.socket
if HAVE_MICROHTTPD
systemddir = $(prefix)/lib/systemd/system
systemd_DATA = share/systemd/nn-serve.socket share/systemd/nn-serve.service
CLEANFILES += share/systemd/nn-serve.service
endif
share/systemd/nn-serve.service: share/systemd/nn-serve.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) share/systemd && sed 's|[@]bindir[@]|$(bindir)|' $(srcdir)/share/systemd/nn-serve.service.in >$@.tmp && mv $@.tmp $@

# Debian packages of a release, in deb/; DEB_FLAGS=-aarm64: for Arm, with nntools-cuda where the CUDA toolkit has the libraries for it
EXTRA_DIST += $(addprefix share/debian/,build control copyright not-installed rules source/format nntools.docs) \
	share/debian/nntools-openblas.lintian-overrides share/debian/shlibs.local \
	$(addprefix share/debian/,$(addsuffix .install,libnn0 libnn-dev nntools nntools-archive nntools-cuda nntools-mpi \
	nntools-onnx nntools-openblas nntools-pictures nntools-serve))
if HAVE_CUDA
DEB_PROFILES = $(if $(filter -a% --host-arch%,$(DEB_FLAGS)),$(DEB_PROFILES_ARM),DEB_BUILD_PROFILES=pkg.nntools.cuda)
DEB_PROFILES_ARM = $(if $(wildcard $(dir $(realpath $(NVCC)))../targets/sbsa-linux/lib/libcudart_static.a),DEB_BUILD_PROFILES="cross pkg.nntools.cuda")
endif
deb: dist
	$(DEB_PROFILES) $(srcdir)/share/debian/build $(distdir).tar.xz deb $(DEB_FLAGS)
clean-local: clean-deb
clean-deb:
	rm -rf deb
.PHONY: deb clean-deb
