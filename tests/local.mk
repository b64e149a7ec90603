# tests: `make check` runs CHECK_TESTS, `make check-long` CHECK_LONG_TESTS; one section per topic. In the long run stand sweeps, and
# what takes hosts, lost ranks, columns on several ranks and referees through what the others run alone: each claim has one in `make check`.
#   a C program:  check_PROGRAMS += tests/lib/pool      (tests/lib/pool.c; it prints TAP)
#                 CHECK_TESTS += tests/lib/pool
#   of the long run: EXTRA_PROGRAMS and CHECK_LONG_TESTS in their place
#   a script:     CHECK_TESTS += tests/cli/predict.bats     (*.bats, or *.py and *.sh that print TAP)
# `make check-device` runs those of the tools on a device that is not the CPU, `make check-arm` some on an Arm that qemu plays.
# VALGRIND_TESTS names those small enough to run under valgrind too.
# `make check TESTS="tests/cli/predict.bats tests/lib/pool"` runs some.
CHECK_TESTS =
CHECK_LONG_TESTS =
EXTRA_DIST += tests/run tests/failed.bash $(filter %.bats %.py %.sh,$(CHECK_TESTS) $(CHECK_LONG_TESTS))
run_env = NN_SRC='$(abs_top_srcdir)' NN_BUILD='$(abs_top_builddir)' BATS='$(BATS)' \
	PYTHON='$(PYTHON)' CC='$(CC)' KIND_CFLAGS='$(KIND_CFLAGS)'
run_tests = $(run_env) $(SHELL) $(srcdir)/tests/run

check-local:
	@$(run_tests) $(or $(TESTS),$(if $(QUICK),$(QUICK_TESTS) $(addprefix tests/cli/,examples.bats options.bats same-bytes.sh),$(CHECK_TESTS)))
check-long: all
	@$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_LTLIBRARIES) $(CUDA_HOST_MODULES) \
		$(filter tests/lib/% tests/table/%,$(CHECK_LONG_TESTS))
	@NN_TEST_MODULE=cuda $(run_tests) $(or $(TESTS),$(CHECK_LONG_TESTS))
# Without those that take clocks, other devices and example nets through what the others run too, or count with numbers alone: for
# builds that are ten times as slow, and with QUICK=yes for `make check` of a build whose like passes all.
QUICK_TESTS = $(filter-out tests/lib/bench-pick tests/lib/math \
	$(addprefix tests/cli/,bench-load.bats bench-manual.bats bench-ops.bats bench-run.bats bench-verbs.bats device.bats examples.bats \
	explain.bats first-hour.bats options.bats same-bytes.sh train-manual.bats train-pipeline.bats),$(CHECK_TESTS))
check-quick: all
	@$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_LTLIBRARIES)
	@$(run_tests) $(or $(TESTS),$(QUICK_TESTS))
# The programs of VALGRIND_TESTS and the tools they start, with every error and leak a failure.
VALGRIND_TESTS =
VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect
check-valgrind: all
	@$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_LTLIBRARIES)
	@NN_CPU=avx2 NN_WRAP='$(VALGRIND)' $(run_tests) $(or $(TESTS),$(VALGRIND_TESTS))
# The tools on a device with memory of its own that the host cannot touch (tests/device/apart.c): the CPU's bytes. Left out
# is what opens no device, or both; and referees, to whom these are the bytes that they have judged. TOOLS=all: those of the
# long run, too.
DEVICE_TESTS = $(filter-out tests/cli/allreduce% tests/cli/device% $(addprefix tests/cli/,bench-load.bats bench-manual.bats \
	hostile.bats info.bats model-pages.bats nets-torch.sh onnx-file.py onnx-referee.py options.bats ranks-hostile.bats slurm.bats \
	systemd.bats train-torch.sh version.bats weights-keras.sh weights-torch.bats), \
	$(filter tests/cli/%,$(CHECK_TESTS) $(if $(filter all,$(TOOLS)),$(CHECK_LONG_TESTS))))
check-device: all
	@$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_LTLIBRARIES)
	@NN_TEST_DEVICE=cuda $(run_tests) $(or $(TESTS),$(DEVICE_TESTS))
clean-local: clean-tests
clean-tests:
	rm -rf arm tsan tests/device/simt tests/logs $(filter tests/lib/% tests/table/%,$(CHECK_LONG_TESTS))
# Trainings and predictions on the kernels of nn-cuda.so, compiled for the host (tests/device/cuda-host.c).
# Then tests of the tools that know nothing of it, as check-device runs them; TOOLS=all: all of those, which takes long.
CUDA_HOST_TESTS = tests/lib/recurrent tests/table/losses tests/table/ops tests/table/optimizers tests/cli/device-cuda.bats tests/cli/device-products.bats tests/cli/device.bats \
	tests/cli/device-ranks.bats tests/device/layers.py tests/device/faults.py
CUDA_HOST_TOOLS = $(addprefix tests/cli/,embedding.bats fold.bats keep.bats score.bats serve.bats tables.bats \
	train-checkpoint.bats train-init.bats train-threshold.bats train-weight.bats train.bats)
check-cuda-host: all
	@$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_LTLIBRARIES) $(CUDA_HOST_MODULES)
	@NN_TEST_MODULE=cuda $(run_tests) $(or $(TESTS),$(CUDA_HOST_TESTS))
	@$(if $(TESTS),,NN_TEST_DEVICE=cuda NN_TEST_MODULE=cuda $(run_tests) $(if $(filter all,$(TOOLS)),$(DEVICE_TESTS),$(CUDA_HOST_TOOLS)))
# The same for Arm of 64 bits under qemu, in arm/: what its kernels alone compute, and models and predictions of both.
ARM_TESTS = $(addprefix tests/lib/,base-number-line base-pool flush int8 math npz product product-f64 table) \
	tests/cli/version.bats tests/cli/same-bytes.sh
check-arm: all
	@$(run_env) $(SHELL) $(srcdir)/tests/arm/check $(abs_builddir)/arm $(or $(TESTS),$(ARM_TESTS))
EXTRA_DIST += tests/arm/check tests/arm/sysroot
# The server's threads under the thread sanitizer; what it says of processes that did not answer is in tsan/race.*.
TSAN_TESTS = $(patsubst $(srcdir)/%.c,%,$(filter-out %-world.c,$(wildcard $(srcdir)/tests/lib/serve-*.c))) \
	tests/cli/serve.bats tests/cli/serve-lengths.bats tests/cli/serve-ranks.bats tests/cli/serve-workers.bats
check-tsan: all
	@$(MAKE) $(AM_MAKEFLAGS) tests/device/apart/nn-cuda.la
	@$(MAKE) -f $(srcdir)/tests/tsan.mk SRC='$(srcdir)' CC='$(CC)' LIBS='$(MICROHTTPD_LIBS) -lpthread -lm' \
		FLAGS='$(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS) -I$(srcdir)/cmd $(AM_CFLAGS) -O1'
	@rm -f tsan/race.*
	@$(run_env) NN_BUILD='$(abs_top_builddir)/tsan' NN_CPU=avx2 \
		TSAN_OPTIONS='exitcode=66 die_after_fork=0 report_thread_leaks=0 log_path=$(abs_top_builddir)/tsan/race' \
		$(SHELL) $(srcdir)/tests/run $(or $(TESTS),$(TSAN_TESTS))
	@! cat tsan/race.* 2>/dev/null
EXTRA_DIST += tests/tsan.mk
.PHONY: check-arm check-cuda-host check-device check-long check-quick check-tsan check-valgrind clean-tests

# the tools as a whole
CHECK_TESTS += tests/cli/version.bats
VALGRIND_TESTS += tests/cli/version.bats

# the networks of share/examples
CHECK_TESTS += tests/cli/examples.bats

# options: help, man page, completions, streams
CHECK_TESTS += tests/cli/options.bats

# the house: rooms, exported symbols, what is mapped
CHECK_TESTS += tests/house/rooms.py tests/house/library.bats
EXTRA_DIST += tests/house/fresh-debian tests/house/packages

# graphs: forward, backward, memory
check_PROGRAMS += tests/lib/graph
tests_lib_graph_SOURCES = tests/lib/graph.c tests/lib/graph-batch.h tests/lib/graph-plain.h tests/lib/graph-random.h tests/lib/graph-read.h \
	tests/lib/graph-reference.h tests/lib/graph-reference-moves.h tests/lib/graph-spoil.h tests/lib/graph-trial.h tests/lib/tap.h
CHECK_TESTS += tests/lib/graph
check_PROGRAMS += tests/lib/arena
CHECK_TESTS += tests/lib/arena

check_PROGRAMS += tests/lib/graph-bind
tests_lib_graph_bind_SOURCES = tests/lib/graph-bind.c tests/lib/graph-spoil.h
CHECK_TESTS += tests/lib/graph-bind
check_PROGRAMS += tests/lib/int8
tests_lib_int8_SOURCES = tests/lib/int8.c
CHECK_TESTS += tests/lib/int8
VALGRIND_TESTS += tests/lib/int8

check_PROGRAMS += tests/lib/graph-steps
tests_lib_graph_steps_SOURCES = tests/lib/graph-steps.c
CHECK_TESTS += tests/lib/graph-steps
VALGRIND_TESTS += tests/lib/graph-steps
check_PROGRAMS += tests/lib/graph-parts
tests_lib_graph_parts_SOURCES = tests/lib/graph-parts.c
CHECK_TESTS += tests/lib/graph-parts
check_PROGRAMS += tests/lib/stages
tests_lib_stages_LDADD = $(LDADD) -lm
CHECK_TESTS += tests/lib/stages tests/cli/train-pipeline.bats
CHECK_LONG_TESTS += tests/cli/train-tensor.bats tests/cli/train-tensor-rows.bats tests/cli/train-shard.bats
VALGRIND_TESTS += tests/lib/graph-parts
check_PROGRAMS += tests/lib/graph-split
tests_lib_graph_split_SOURCES = tests/lib/graph-split.c tests/lib/graph-ranks.h
CHECK_TESTS += tests/lib/graph-split
VALGRIND_TESTS += tests/lib/graph-split
check_PROGRAMS += tests/lib/graph-rows
tests_lib_graph_rows_SOURCES = tests/lib/graph-rows.c tests/lib/graph-ranks.h
CHECK_TESTS += tests/lib/graph-rows
VALGRIND_TESTS += tests/lib/graph-rows
EXTRA_PROGRAMS += tests/lib/graph-long
tests_lib_graph_long_SOURCES = tests/lib/graph-long.c
CHECK_LONG_TESTS += tests/lib/graph-long

# the plan
CHECK_TESTS += tests/cli/explain.bats
CHECK_LONG_TESTS += tests/cli/explain-ranks.bats

# base: subnormals are zero
check_PROGRAMS += tests/lib/flush
tests_lib_flush_SOURCES = tests/lib/flush.c tests/lib/tap.h
tests_lib_flush_LDADD = $(LDADD) -lm
CHECK_TESTS += tests/lib/flush tests/cli/flush.bats

# base: answers kept between runs
check_PROGRAMS += tests/lib/base-cache
CHECK_TESTS += tests/lib/base-cache
VALGRIND_TESTS += tests/lib/base-cache

# base: messages, text, memory, the pool; numbers
check_PROGRAMS += tests/lib/base tests/lib/base-pool tests/lib/base-output tests/lib/base-option
CHECK_TESTS += tests/lib/base tests/lib/base-pool tests/lib/base-output tests/lib/base-option
VALGRIND_TESTS += tests/lib/base tests/lib/base-output tests/lib/base-option
check_PROGRAMS += tests/lib/base-number tests/lib/base-number-line tests/lib/base-number-list
tests_lib_base_number_line_SOURCES = tests/lib/base-number-line.c tests/lib/tap.h
tests_lib_base_number_list_SOURCES = tests/lib/base-number-list.c tests/lib/tap.h
tests_lib_base_number_long_SOURCES = tests/lib/base-number.c
tests_lib_base_number_long_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
CHECK_TESTS += tests/lib/base-number tests/lib/base-number-line tests/lib/base-number-list
EXTRA_PROGRAMS += tests/lib/base-number-long
CHECK_LONG_TESTS += tests/lib/base-number-long
VALGRIND_TESTS += tests/lib/base-number tests/lib/base-number-line tests/lib/base-number-list

# base: charts
check_PROGRAMS += tests/lib/base-chart
CHECK_TESTS += tests/lib/base-chart
VALGRIND_TESTS += tests/lib/base-chart

# ops: shapes, parameters, programs
check_PROGRAMS += tests/lib/op
tests_lib_op_SOURCES = tests/lib/op.c tests/lib/tap.h
CHECK_TESTS += tests/lib/op
VALGRIND_TESTS += tests/lib/op

# recurrent layers: rows of different lengths
check_PROGRAMS += tests/lib/recurrent
tests_lib_recurrent_SOURCES = tests/lib/recurrent.c tests/lib/tap.h
CHECK_TESTS += tests/lib/recurrent

# the product kernels: float, double; a quick part and a long sweep
check_PROGRAMS += tests/lib/product tests/lib/product-f64
EXTRA_PROGRAMS += tests/lib/product-long tests/lib/product-f64-long
tests_lib_product_SOURCES = tests/lib/product.c tests/lib/product-arrays.h tests/lib/product-conv.h tests/lib/product-dense.h \
	tests/lib/product-sets.h
tests_lib_product_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -DNN_ISA_generic=1 -DNN_T_f32=1
tests_lib_product_f64_SOURCES = tests/lib/product.c
tests_lib_product_f64_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests -DNN_ISA_generic=1 -DNN_T_f64=1
tests_lib_product_long_SOURCES = tests/lib/product.c
tests_lib_product_long_CPPFLAGS = $(tests_lib_product_CPPFLAGS) -DLONG=1
tests_lib_product_f64_long_SOURCES = tests/lib/product.c
tests_lib_product_f64_long_CPPFLAGS = $(tests_lib_product_f64_CPPFLAGS) -DLONG=1
CHECK_TESTS += tests/lib/product tests/lib/product-f64
CHECK_LONG_TESTS += tests/lib/product-long tests/lib/product-f64-long
EXTRA_PROGRAMS += tests/bench/product tests/bench/product-f64
EXTRA_PROGRAMS += tests/bench/updates
tests_bench_product_SOURCES = tests/bench/product.c
tests_bench_product_CPPFLAGS = $(tests_lib_product_CPPFLAGS)
tests_bench_product_f64_SOURCES = tests/bench/product.c
tests_bench_product_f64_CPPFLAGS = $(tests_lib_product_f64_CPPFLAGS)

# containers and streams
check_PROGRAMS += tests/lib/file tests/lib/npy tests/lib/pull tests/lib/safetensors
check_PROGRAMS += tests/lib/compressed
tests_lib_compressed_SOURCES = tests/lib/compressed.c
CHECK_TESTS += tests/lib/compressed
VALGRIND_TESTS += tests/lib/compressed
CHECK_TESTS += tests/lib/file tests/lib/npy tests/lib/pull tests/lib/safetensors
VALGRIND_TESTS += tests/lib/file tests/lib/npy tests/lib/pull tests/lib/safetensors

# JSON beside jansson, which nothing else needs
EXTRA_DIST += tests/bench/json.c tests/lib/pull-cases.c tests/lib/pull-cases.h tests/lib/pull-jansson.c
BENCH_OF_JSON =
FUZZ_OF_JSON =
if HAVE_JANSSON
check_PROGRAMS += tests/lib/pull-cases tests/lib/pull-jansson
CHECK_TESTS += tests/lib/pull-cases tests/lib/pull-jansson
VALGRIND_TESTS += tests/lib/pull-cases tests/lib/pull-jansson
tests_lib_pull_cases_SOURCES = tests/lib/pull-cases.c
tests_lib_pull_cases_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_lib_pull_cases_LDADD = $(LDADD) $(JANSSON_LIBS)
tests_lib_pull_jansson_SOURCES = tests/lib/pull-jansson.c
tests_lib_pull_jansson_CPPFLAGS = $(tests_lib_pull_cases_CPPFLAGS)
tests_lib_pull_jansson_LDADD = $(LDADD) $(JANSSON_LIBS) -lm
EXTRA_PROGRAMS += tests/bench/json
tests_bench_json_CPPFLAGS = $(tests_lib_pull_cases_CPPFLAGS)
tests_bench_json_LDADD = $(LDADD) $(JANSSON_LIBS) -lm
BENCH_OF_JSON += tests/bench/json
FUZZ_OF_JSON += fuzz-pull
endif

# the functions of math.h: a sample; every fifth float in the long run
check_PROGRAMS += tests/lib/math
tests_lib_math_long_SOURCES = tests/lib/math.c
tests_lib_math_long_CPPFLAGS = $(AM_CPPFLAGS) -DLONG=1
CHECK_TESTS += tests/lib/math
EXTRA_PROGRAMS += tests/lib/math-long
CHECK_LONG_TESTS += tests/lib/math-long

# the model language, the model file, damaged ones
check_PROGRAMS += tests/lib/model tests/lib/model-net tests/lib/model-init tests/lib/model-file tests/lib/model-damage tests/lib/stored
tests_lib_model_SOURCES = tests/lib/model.c tests/lib/model-net.h tests/lib/tap.h
tests_lib_model_net_SOURCES = tests/lib/model-net.c tests/lib/model-net.h tests/lib/tap.h
tests_lib_model_file_SOURCES = tests/lib/model-file.c tests/lib/files.h
tests_lib_stored_SOURCES = tests/lib/stored.c tests/lib/files.h
tests_lib_model_damage_SOURCES = tests/lib/model-damage.c tests/lib/files.h
CHECK_TESTS += tests/lib/model tests/lib/model-net tests/lib/model-init tests/lib/model-file tests/lib/model-damage tests/cli/model-pages.bats
CHECK_TESTS += tests/lib/stored tests/cli/precision.bats tests/cli/against.bats tests/cli/fold.bats
VALGRIND_TESTS += tests/lib/model-file tests/lib/stored

# the op table: every op at some sites (not under valgrind, whose -(a * b) + c has another sign of zero)
check_PROGRAMS += tests/table/ops
tests_table_ops_SOURCES = tests/table/isa.h tests/table/ops.c tests/table/random.c tests/table/random.h \
	tests/table/trial.c tests/table/trial.h
tests_table_ops_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_table_ops_long_SOURCES = $(tests_table_ops_SOURCES)
tests_table_ops_long_CPPFLAGS = $(tests_table_ops_CPPFLAGS) -DLONG=1
CHECK_TESTS += tests/table/ops
EXTRA_PROGRAMS += tests/table/ops-long
CHECK_LONG_TESTS += tests/table/ops-long

# losses, sums, leaves, optimizers
check_PROGRAMS += tests/table/losses tests/table/optimizers
tests_table_losses_SOURCES = tests/table/losses.c tests/table/isa.h
CHECK_TESTS += tests/table/losses tests/table/optimizers
VALGRIND_TESTS += tests/table/losses tests/table/optimizers

# OpenBLAS beside our products
check_PROGRAMS += tests/lib/blas
tests_lib_blas_SOURCES = tests/lib/blas.c tests/lib/graph-read.h tests/lib/tap.h
CHECK_TESTS += tests/lib/blas

# prediction: sessions of nn.h, the tool, libnn as programs use it
check_PROGRAMS += tests/lib/metrics
tests_lib_metrics_SOURCES = tests/lib/metrics.c tests/lib/tap.h
tests_lib_metrics_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
CHECK_TESTS += tests/lib/metrics
check_PROGRAMS += tests/lib/session
tests_lib_session_SOURCES = tests/lib/session.c tests/lib/tap.h
check_PROGRAMS += tests/lib/encode
tests_lib_encode_SOURCES = tests/lib/encode.c tests/lib/tap.h
CHECK_TESTS += tests/lib/session tests/lib/encode tests/cli/predict.bats
VALGRIND_TESTS += tests/lib/session tests/lib/encode

# serving: queues and batches, HTTP
if HAVE_MICROHTTPD
check_PROGRAMS += tests/lib/serve-http tests/lib/serve-limits
tests_lib_serve_http_SOURCES = tests/lib/serve-http.c tests/lib/serve-http.h tests/lib/tap.h
tests_lib_serve_http_LDADD = $(SERVE_LIBS)
tests_lib_serve_limits_SOURCES = tests/lib/serve-limits.c tests/lib/serve-http.h tests/lib/tap.h
tests_lib_serve_limits_LDADD = $(SERVE_LIBS)
CHECK_TESTS += tests/lib/serve-http tests/lib/serve-limits
check_PROGRAMS += tests/lib/serve-batch tests/lib/serve-batch-bytes
tests_lib_serve_batch_SOURCES = tests/lib/serve-batch.c tests/lib/serve-batch.h tests/lib/serve-model.h tests/lib/tap.h
tests_lib_serve_batch_LDADD = $(SERVE_LIBS)
tests_lib_serve_batch_bytes_SOURCES = tests/lib/serve-batch-bytes.c tests/lib/serve-batch.h tests/lib/serve-model.h tests/lib/tap.h
tests_lib_serve_batch_bytes_LDADD = $(SERVE_LIBS)
CHECK_TESTS += tests/lib/serve-batch tests/lib/serve-batch-bytes
serve_world = tests/lib/serve-world.c tests/lib/serve-world.h tests/lib/tap.h
check_PROGRAMS += tests/lib/serve-protocol tests/lib/serve-tables tests/lib/serve-v1 tests/lib/serve-v2
tests_lib_serve_protocol_SOURCES = tests/lib/serve-protocol.c $(serve_world)
tests_lib_serve_protocol_LDADD = $(SERVE_LIBS)
tests_lib_serve_tables_SOURCES = tests/lib/serve-tables.c $(serve_world)
tests_lib_serve_tables_LDADD = $(SERVE_LIBS)
tests_lib_serve_v1_SOURCES = tests/lib/serve-v1.c $(serve_world)
tests_lib_serve_v1_LDADD = $(SERVE_LIBS)
tests_lib_serve_v2_SOURCES = tests/lib/serve-v2.c $(serve_world)
tests_lib_serve_v2_LDADD = $(SERVE_LIBS)
CHECK_TESTS += tests/lib/serve-protocol tests/lib/serve-tables tests/lib/serve-v1 tests/lib/serve-v2
check_PROGRAMS += tests/lib/serve-wait
check_PROGRAMS += tests/lib/serve-split
tests_lib_serve_split_SOURCES = tests/lib/serve-split.c tests/lib/serve-batch.h tests/lib/serve-model.h tests/lib/tap.h
tests_lib_serve_split_LDADD = $(SERVE_LIBS) -lm
CHECK_TESTS += tests/lib/serve-split
tests_lib_serve_wait_SOURCES = tests/lib/serve-wait.c tests/lib/tap.h
tests_lib_serve_wait_LDADD = $(SERVE_LIBS) -lm
CHECK_TESTS += tests/lib/serve-wait
EXTRA_PROGRAMS += tests/bench/batcher
tests_bench_batcher_SOURCES = tests/bench/batcher.c tests/lib/serve-model.h
tests_bench_batcher_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_bench_batcher_LDADD = $(SERVE_LIBS) -lm
endif

# make bench: reading tables, training steps and predictions beside the peers that are installed
tests_bench_bench_SOURCES = tests/bench/bench.c tests/bench/nets.h
tests_bench_device_SOURCES = tests/bench/device.c
EXTRA_PROGRAMS += tests/bench/bench tests/bench/device tests/bench/csv tests/bench/latency tests/bench/peak tests/bench/pictures tests/bench/start
tests_bench_pictures_SOURCES = tests/bench/pictures.c
tests_bench_csv_SOURCES = tests/bench/csv.c
tests_bench_latency_SOURCES = tests/bench/latency.c
# the empty process, too: no library of ours
tests_bench_start_SOURCES = tests/bench/start.c
tests_bench_start_LDADD =
tests_bench_start_LDFLAGS = $(KIND_LDFLAGS) -Wl,--as-needed
tests_bench_peak_SOURCES = tests/bench/peak.c
EXTRA_DIST += tests/bench/gpu.py tests/bench/cifar.py tests/bench/pictures.py tests/bench/serve.py tests/bench/input tests/bench/run tests/bench/peers.py tests/bench/plan.py tests/bench/ranks.py tests/bench/peers-csv.py tests/bench/defaults.py
bench: all
	@$(MAKE) $(AM_MAKEFLAGS) tests/bench/bench tests/bench/csv $(BENCH_OF_JSON) tests/bench/latency tests/bench/peak tests/bench/start
	@NN_SRC='$(abs_top_srcdir)' NN_BUILD='$(abs_top_builddir)' PYTHON='$(PYTHON)' $(srcdir)/tests/bench/run csv json latency late step predict
if HAVE_MICROHTTPD
EXTRA_PROGRAMS += tests/bench/ceiling
tests_bench_ceiling_SOURCES = tests/bench/ceiling.c
tests_bench_ceiling_CPPFLAGS = $(AM_CPPFLAGS) $(MICROHTTPD_CFLAGS)
tests_bench_ceiling_LDADD = $(MICROHTTPD_LIBS)
bench_ceiling = tests/bench/ceiling
endif
EXTRA_LTLIBRARIES += tests/bench/libtriton_nn.la
tests_bench_libtriton_nn_la_SOURCES = tests/bench/triton.c
tests_bench_libtriton_nn_la_LDFLAGS = -module -avoid-version -shrext .so -rpath /nowhere
tests_bench_libtriton_nn_la_LIBADD = lib/libnn.la
bench-serve: all
	@$(MAKE) $(AM_MAKEFLAGS) $(bench_ceiling) tests/bench/libtriton_nn.la
	@NN_BUILD='$(abs_top_builddir)' $(PYTHON) $(srcdir)/tests/bench/serve.py $(VERBS)
bench-pictures: all
	@$(MAKE) $(AM_MAKEFLAGS) tests/bench/pictures
	@$(PYTHON) $(srcdir)/tests/bench/pictures.py tests/bench/pictures
# the whole job from a tar of JPEGs to a model, beside PyTorch: PYTHON has it; ROWS, EPOCHS, TAR, THREADS
bench-cifar: all
	@$(PYTHON) $(srcdir)/tests/bench/cifar.py cmd/nn-train $(srcdir)/share/examples/resnet8.nn $(or $(ROWS),10000) $(or $(EPOCHS),5) $(TAR)
.PHONY: bench-cifar bench-pictures bench-serve
.PHONY: bench
# samples: datasets, rows for prediction
check_PROGRAMS += tests/lib/data tests/lib/augment tests/lib/data-array tests/lib/data-order tests/lib/loader tests/lib/rows tests/lib/source tests/lib/corrupt tests/lib/table
tests_lib_data_SOURCES = tests/lib/data.c tests/lib/data-show.h
CHECK_TESTS += tests/lib/data tests/lib/augment tests/cli/augment.bats tests/lib/data-array tests/lib/data-order tests/lib/loader tests/lib/rows tests/lib/source tests/lib/corrupt tests/lib/table tests/cli/data.bats tests/cli/pictures.bats tests/cli/pictures-out.bats tests/cli/json-lines.bats tests/cli/limits.bats tests/cli/libsvm.bats tests/cli/classes.bats tests/cli/tables.bats tests/cli/text.bats
VALGRIND_TESTS += tests/lib/data tests/lib/augment tests/lib/data-array tests/lib/data-order tests/lib/loader tests/lib/rows tests/lib/source

# rows of different length, beside PyTorch's packed sequences
CHECK_TESTS += tests/cli/lengths.bats tests/cli/lengths-weight.bats tests/cli/lengths-numbers.bats tests/cli/lengths-missing.bats \
	tests/cli/lengths-score.bats tests/cli/lengths-rows.bats
EXTRA_DIST += tests/cli/lengths.py

# rows that are made ahead of the steps
check_PROGRAMS += tests/lib/ahead
CHECK_TESTS += tests/lib/ahead tests/cli/input.bats
VALGRIND_TESTS += tests/lib/ahead

# nn-train: cuts and schedules; the tool; PyTorch as referee; kills and MNIST in the long run
check_PROGRAMS += tests/lib/train
tests_lib_train_SOURCES = tests/lib/train.c tests/lib/tap.h
tests_lib_train_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
check_PROGRAMS += tests/lib/selfcheck
tests_lib_selfcheck_SOURCES = tests/lib/selfcheck.c tests/lib/files.h
CHECK_TESTS += tests/lib/selfcheck tests/cli/selfcheck.bats
VALGRIND_TESTS += tests/lib/selfcheck
CHECK_TESTS += tests/lib/train tests/cli/train.bats tests/cli/train-errors.bats tests/cli/weights.bats tests/cli/info.bats tests/cli/missing.bats tests/cli/spool.bats tests/cli/train-manual.bats tests/cli/first-hour.bats tests/cli/train-daily.bats tests/cli/train-plot.bats tests/cli/train-folds.bats tests/cli/train-try.bats \
	tests/cli/train-resume.bats tests/cli/train-checkpoint.bats tests/cli/train-noise.bats tests/cli/train-same.bats tests/cli/train-recompute.bats tests/cli/train-tensorboard.bats
CHECK_LONG_TESTS += tests/cli/train-torch.sh tests/cli/same-ranks.bats tests/long/train-combinations.py tests/long/train-kill.bats tests/long/train-mnist.bats
CHECK_TESTS += tests/cli/train-offload.bats
VALGRIND_TESTS += tests/lib/train
check_PROGRAMS += tests/lib/train-saver
tests_lib_train_saver_SOURCES = tests/lib/train-saver.c tests/lib/tap.h
tests_lib_train_saver_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
CHECK_TESTS += tests/lib/train-saver
VALGRIND_TESTS += tests/lib/train-saver
EXTRA_DIST += tests/cli/plot-masks.py tests/cli/arrays.py tests/cli/pictures.py tests/cli/pictures-out.py tests/cli/event-files.py tests/cli/train-data.sh tests/cli/score.py tests/cli/ensemble.py tests/cli/threshold.py tests/cli/train-folds.py tests/cli/train-torch.py

# the shipped digits, from end to end
CHECK_TESTS += tests/cli/replay.bats tests/cli/score.bats tests/cli/keep.bats tests/cli/ensemble.bats tests/cli/train-threshold.bats tests/cli/train-weight.bats tests/cli/digits.bats

# the same bytes: every layer, every optimizer, each factor, drawn combinations
CHECK_TESTS += tests/cli/same-bytes.sh
CHECK_LONG_TESTS += tests/long/same-bytes.sh

# whole nets beside PyTorch: outputs, gradients, state dicts; ResNet-8 on CIFAR-10 in the long run
CHECK_TESTS += tests/cli/weights-torch.bats tests/cli/train-init.bats
CHECK_LONG_TESTS += tests/cli/nets-torch.sh tests/cli/weights-keras.sh
CHECK_LONG_TESTS += tests/long/cifar.bats
EXTRA_DIST += tests/cli/nets-torch.py tests/cli/weights-keras.py

# the adding problem
CHECK_TESTS += tests/cli/adding.bats

# actor-critic in pipes
CHECK_TESTS += tests/cli/actor-critic.bats

# a stopped rank of nn-allreduce, and ranks that wait
CHECK_LONG_TESTS += tests/long/allreduce-stopped.bats

# .npz
check_PROGRAMS += tests/lib/npz
tests_lib_npz_SOURCES = tests/lib/npz.c tests/lib/files.h
CHECK_TESTS += tests/lib/npz tests/cli/npz.bats
VALGRIND_TESTS += tests/lib/npz

# hostile and careless use of the tools
CHECK_TESTS += tests/cli/hostile.bats

# ranks: what is added, beside a plain program; nn-allreduce
check_PROGRAMS += tests/lib/comm-reduce
tests_lib_comm_reduce_SOURCES = tests/lib/comm-reduce.c tests/lib/comm-plain.h tests/lib/tap.h
tests_lib_comm_reduce_LDADD = $(LDADD) -lm
CHECK_TESTS += tests/lib/comm-reduce tests/cli/allreduce.bats
VALGRIND_TESTS += tests/lib/comm-reduce

# nn-bench: verbs, formats; the clock, statistics and rows of its library
CHECK_TESTS += tests/cli/bench.bats tests/cli/bench-run.bats tests/cli/bench-manual.bats
EXTRA_DIST += tests/cli/bench.bash tests/mpi/ranks.bash
check_PROGRAMS += tests/lib/bench
tests_lib_bench_SOURCES = tests/lib/bench.c tests/lib/tap.h
CHECK_TESTS += tests/lib/bench
VALGRIND_TESTS += tests/lib/bench

# memory that a reduction moves beside memcpy, by hand
EXTRA_PROGRAMS += tests/bench/reduce
tests_bench_reduce_SOURCES = tests/bench/reduce.c

# ranks under mpirun: every algorithm beside the plain program
check_PROGRAMS += tests/mpi/ranks
tests_mpi_ranks_SOURCES = tests/mpi/ranks.c tests/lib/comm-plain.h tests/lib/tap.h
tests_mpi_ranks_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_mpi_ranks_LDADD = $(LDADD) -lm
CHECK_TESTS += tests/mpi/ranks.sh tests/cli/allreduce-manual.bats
CHECK_LONG_TESTS += tests/cli/allreduce-ranks.bats

# ranks of nn-train
CHECK_TESTS += tests/cli/train-ranks.bats tests/cli/ranks-hostile.bats
CHECK_LONG_TESTS += tests/cli/train-lost.bats tests/cli/train-hosts.bats tests/cli/slurm.bats tests/mpi/ranks-more.sh tests/long/train-lost.bats tests/long/same-ranks.py
EXTRA_DIST += tests/cli/ranks.bash tests/cli/parts.bash tests/cli/hosts.bash tests/cli/lengths.bash

# nn-bench ops: kernels found right and wrong; rows and bad operands
CHECK_TESTS += tests/cli/bench-ops.bats
check_PROGRAMS += tests/lib/bench-ops
tests_lib_bench_ops_SOURCES = tests/lib/bench-ops.c tests/lib/tap.h
CHECK_TESTS += tests/lib/bench-ops
VALGRIND_TESTS += tests/lib/bench-ops

# the verbs of nn-bench that compare devices: with a clock and devices of a known cost; and as users call them
CHECK_TESTS += tests/cli/bench-verbs.bats
check_PROGRAMS += tests/lib/bench-verbs
tests_lib_bench_verbs_SOURCES = tests/lib/bench-verbs.c tests/device/near.h tests/lib/tap.h
tests_lib_bench_verbs_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
CHECK_TESTS += tests/lib/bench-verbs

# make fuzz: the JSON of requests, pictures and tars, caches, and what reads tensors, tables, IDX, CIFAR, text, models and ONNX, by libFuzzer of
# clang, from a corpus in the build tree; FUZZ_SEED and FUZZ_RUNS (inputs for each reader, with FUZZ_SECONDS=0) say the same again
EXTRA_DIST += tests/fuzz/pull.c tests/fuzz/pictures.c tests/fuzz/onnx.c tests/fuzz/readers.c tests/fuzz/seeds.py tests/fuzz/cache.c tests/fuzz/cache-seeds.py tests/fuzz/json.dict
FUZZ_SECONDS = 600
FUZZ_SEED = 0
FUZZ_RUNS = -1
FUZZ_PULL_RUNS = $(FUZZ_RUNS)
FUZZ_FOR = -max_total_time=$(FUZZ_SECONDS) -seed=$(FUZZ_SEED) -artifact_prefix=tests/fuzz/
FUZZ_CC = clang -std=gnu11 -g -O1 -ffp-contract=off -DHAVE_CONFIG_H -I. $(AM_CPPFLAGS) -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined
FUZZ_LIBS = lib/libnn.so.0 -Wl,-rpath,$(abs_top_builddir)/lib -lm
FUZZ_OF_READERS = fuzz-tensors fuzz-table fuzz-svm fuzz-idx fuzz-cifar fuzz-text fuzz-net
FUZZ = $(FUZZ_OF_JSON) fuzz-cache $(FUZZ_OF_READERS)
if HAVE_PNG
if HAVE_JPEG
FUZZ += fuzz-pictures
endif
endif
if HAVE_PROTOBUF_C
FUZZ += fuzz-onnx
endif
fuzz: $(FUZZ)
fuzz-pull: all
	@mkdir -p tests/fuzz/corpus
	$(FUZZ_CC) $(JANSSON_CFLAGS) -o tests/fuzz/pull $(srcdir)/tests/fuzz/pull.c $(srcdir)/lib/file/json/pull*.c $(srcdir)/lib/base/number/list.c $(FUZZ_LIBS) $(JANSSON_LIBS)
	tests/fuzz/pull $(FUZZ_FOR) -runs=$(FUZZ_PULL_RUNS) -max_len=2000 -dict=$(srcdir)/tests/fuzz/json.dict tests/fuzz/corpus
fuzz-pictures: all
	@mkdir -p tests/fuzz/pictures-corpus tests/fuzz/pictures-files
	here=$$PWD && cd $(srcdir) && there=$$PWD && cd "$$here/tests/fuzz/pictures-files" && $(PYTHON) "$$there/tests/cli/pictures.py"
	n=0; find tests/fuzz/pictures-files -name '*.png' -o -name '*.jpg' -o -name '*.tar' -size -40k | \
		while read -r f; do n=$$((n + 1)); cp "$$f" tests/fuzz/pictures-corpus/$$n; done
	for codec in png jpeg; do \
		$(FUZZ_CC) -Dnn_module=nn_module_$$codec $(PNG_CFLAGS) $(JPEG_CFLAGS) \
			-c -o tests/fuzz/$$codec.fuzz.o $(srcdir)/lib/file/picture/$$codec.c || exit 1; done
	$(FUZZ_CC) -o tests/fuzz/pictures $(srcdir)/tests/fuzz/pictures.c tests/fuzz/png.fuzz.o tests/fuzz/jpeg.fuzz.o \
		$(srcdir)/lib/file/picture/picture.c $(srcdir)/lib/file/picture/part.c $(srcdir)/lib/file/members/*.c $(srcdir)/lib/data/picture/samples.c \
		$(FUZZ_LIBS) $(PNG_LIBS) $(JPEG_LIBS)
	tests/fuzz/pictures $(FUZZ_FOR) -runs=$(FUZZ_RUNS) tests/fuzz/pictures-corpus
FUZZ_READERS = $(srcdir)/lib/file/safetensors.c $(srcdir)/lib/file/safetensors-open.c $(srcdir)/lib/file/n[pz]*.c $(srcdir)/lib/file/zip.c \
	$(srcdir)/lib/file/torch/*.c $(srcdir)/lib/file/tensors.c $(srcdir)/lib/file/json/json.c $(srcdir)/lib/file/sniff.c \
	$(srcdir)/lib/data/table/*.c $(srcdir)/lib/data/dataset*.c $(srcdir)/lib/data/format.c $(srcdir)/lib/data/target/*.c $(srcdir)/lib/data/rows/table.c \
	$(srcdir)/lib/data/sample.c $(srcdir)/lib/data/columns-text.c $(srcdir)/lib/data/c[ih]*.c \
	$(srcdir)/lib/data/measure.c $(srcdir)/lib/data/fill.c $(srcdir)/lib/file/idx.c $(srcdir)/lib/data/coding.c $(srcdir)/lib/data/array/array.c \
	$(addprefix $(srcdir)/lib/model/, argument.c canonical.c category.c expand.c key.c lex.c names.c net.c parse.c resolve.c statement.c)
tests/fuzz/readers: all
	@mkdir -p tests/fuzz
	$(FUZZ_CC) -o $@ $(srcdir)/tests/fuzz/readers.c $(FUZZ_READERS) $(FUZZ_LIBS)
	$(PYTHON) $(srcdir)/tests/fuzz/seeds.py tests/fuzz/readers-corpus
$(FUZZ_OF_READERS): tests/fuzz/readers
	tests/fuzz/readers --$(@:fuzz-%=%) $(FUZZ_FOR) -runs=$(FUZZ_RUNS) -max_len=$(if $(filter %cifar,$@),7000,4000) \
		tests/fuzz/readers-corpus/$(@:fuzz-%=%)
FUZZ_CACHE = $(srcdir)/lib/data/cache/read.c $(srcdir)/lib/data/array/file-rows.c $(srcdir)/lib/data/streamed.c $(srcdir)/lib/data/sequence/sequence.c \
	$(srcdir)/lib/data/dataset*.c $(srcdir)/lib/data/target/*.c $(srcdir)/lib/data/measure.c $(srcdir)/lib/data/missing.c \
	$(srcdir)/lib/data/fill.c $(srcdir)/lib/data/coding.c $(srcdir)/lib/data/weights.c $(srcdir)/lib/data/schema/*.c $(srcdir)/lib/file/json/json.c
fuzz-cache: all
	$(PYTHON) $(srcdir)/tests/fuzz/cache-seeds.py tests/fuzz/cache-corpus cmd/nn-train
	$(FUZZ_CC) -Dnn_crc32=nn_crc32_none -o tests/fuzz/cache $(srcdir)/tests/fuzz/cache.c $(FUZZ_CACHE) $(FUZZ_LIBS)
	tests/fuzz/cache $(FUZZ_FOR) -runs=$(FUZZ_RUNS) -max_len=4000 tests/fuzz/cache-corpus
fuzz-onnx: all
	@mkdir -p tests/fuzz/onnx-corpus
	printf 'a,b,kind\n1,2,x\n3,4,y\n2,2,x\n' >tests/fuzz/onnx-corpus/table
	cmd/nn-train -q -m 'dense 3, relu, dense ?' --target=kind --steps=1 -o tests/fuzz/onnx-corpus/dense.onnx tests/fuzz/onnx-corpus/table
	cmd/nn-train -q -m 'input 1x1x2, conv2d 2 1x1, batchnorm, relu, maxpool2d 1, flatten, dense ?' --target=kind --steps=1 \
		-o tests/fuzz/onnx-corpus/conv.onnx tests/fuzz/onnx-corpus/table
	cmd/nn-train -q -m 'input 2x1, lstm 2 bidirectional=yes, gru 2, last, dense ?' --target=kind --steps=1 \
		-o tests/fuzz/onnx-corpus/recurrent.onnx tests/fuzz/onnx-corpus/table
	$(FUZZ_CC) -Dnn_module=nn_module_onnx -c -o tests/fuzz/onnx-module.fuzz.o $(srcdir)/lib/onnx/module.c
	$(FUZZ_CC) -Ilib $(PROTOBUF_C_CFLAGS) -o tests/fuzz/onnx $(srcdir)/tests/fuzz/onnx.c tests/fuzz/onnx-module.fuzz.o \
		$(filter-out %/module.c, $(wildcard $(srcdir)/lib/onnx/*.c $(srcdir)/lib/onnx/*/*.c)) lib/onnx/onnx.pb-c.c $(FUZZ_LIBS) $(PROTOBUF_C_LIBS)
	tests/fuzz/onnx $(FUZZ_FOR) -runs=$(FUZZ_RUNS) -max_len=4000 tests/fuzz/onnx-corpus
clean-local: clean-fuzz
clean-fuzz:
	rm -rf tests/fuzz/corpus tests/fuzz/cache tests/fuzz/cache-corpus tests/fuzz/onnx tests/fuzz/onnx-corpus tests/fuzz/pull tests/fuzz/readers* tests/fuzz/pictures* tests/fuzz/*.fuzz.o
.PHONY: fuzz fuzz-pull fuzz-cache fuzz-pictures $(FUZZ_OF_READERS) fuzz-onnx clean-fuzz

# damaged files of every format
EXTRA_DIST += tests/fuzz/torchfile.py
CHECK_LONG_TESTS += tests/fuzz/mutate.py

# a second device, loaded through NN_MODULE_PATH: the CPU's kernels and a clock that they advance; what nn-bench finds with it
check_LTLIBRARIES += tests/device/nn-cuda.la tests/device/apart/nn-cuda.la
tests_device_nn_cuda_la_SOURCES = tests/device/fake.c tests/device/fake.h tests/device/near.h
tests_device_nn_cuda_la_LDFLAGS = $(LDFLAGS_MODULE) -rpath $(abs_top_builddir)/tests/device
# a device whose memory the host cannot touch, in another place of NN_MODULE_PATH; the tools on it
tests_device_apart_nn_cuda_la_SOURCES = tests/device/apart.c tests/device/apart-functions.c tests/device/apart-inside.h tests/device/apart-memory.c tests/device/apart-ops.c tests/device/apart-queue.c tests/device/apart.h
tests_device_apart_nn_cuda_la_LDFLAGS = $(LDFLAGS_MODULE) -rpath $(abs_top_builddir)/tests/device/apart
# the kernels of lib/device/cuda in their host form, in a third place, for check-cuda-host and check-long
CUDA_HOST_MODULES = tests/device/cuda/nn-cuda.la tests/device/runtime/nn-cuda.la tests/device/plain/nn-cuda.la tests/device/cublas/libcublasLt.la
EXTRA_LTLIBRARIES += $(CUDA_HOST_MODULES)
if NN_X86
CUDA_HOST_OPT = $(if $(shell grep -sw fma /proc/cpuinfo | grep -w avx2),$(NN_AVX2)) # else a fused multiply-add is a call
endif
nn_simt_f32 = $(NN_CUDA_CU:lib/device/cuda/%.cu=tests/device/simt/%-f32.lo)
nn_simt_f64 = $(NN_CUDA_CU:lib/device/cuda/%.cu=tests/device/simt/%-f64.lo)
nn_simt_host = $(nn_simt_f32) $(nn_simt_f64)
nn_simt_cc = $(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile $(CC) -x c $(DEFS) -I. $(AM_CPPFLAGS) $(NN_CUDA_CPPFLAGS) $(CPPFLAGS) \
	$(AM_CFLAGS) $(KERNEL_OPT) $(CUDA_HOST_OPT) $(CFLAGS)
$(nn_simt_f32): tests/device/simt/%-f32.lo: lib/device/cuda/%.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(nn_simt_cc) -DNN_T_f32=1 -MD -MP -MT $@ -MF $(@:.lo=.d) -c -o $@ $<
$(nn_simt_f64): tests/device/simt/%-f64.lo: lib/device/cuda/%.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(nn_simt_cc) -DNN_T_f64=1 -MD -MP -MT $@ -MF $(@:.lo=.d) -c -o $@ $<
-include $(wildcard $(nn_simt_host:.lo=.d))
tests_device_cuda_nn_cuda_la_SOURCES = tests/device/cuda-host.c tests/device/apart-inside.h tests/device/apart-memory.c tests/device/apart-queue.c tests/device/apart.h
tests_device_cuda_nn_cuda_la_LDFLAGS = $(LDFLAGS_MODULE) -rpath $(abs_top_builddir)/tests/device/cuda
tests_device_cuda_nn_cuda_la_LIBADD = $(nn_simt_host) $(nn_cuda_asks) -lm
tests_device_cuda_nn_cuda_la_DEPENDENCIES = $(nn_simt_host) $(nn_cuda_asks)
# the same over a runtime whose calls fail when a test says so
tests_device_runtime_nn_cuda_la_SOURCES = tests/device/runtime.c tests/device/runtime/cuda_runtime_api.h tests/device/runtime/cublasLt.h \
	lib/device/cuda/blas.c lib/device/cuda/blas.h lib/device/cuda/cuda.h lib/device/cuda/open.c lib/device/cuda/queue.c
tests_device_runtime_nn_cuda_la_CPPFLAGS = -I$(top_srcdir)/tests/device/runtime $(AM_CPPFLAGS)
tests_device_runtime_nn_cuda_la_LDFLAGS = $(LDFLAGS_MODULE) -rpath $(abs_top_builddir)/tests/device/runtime
tests_device_runtime_nn_cuda_la_LIBADD = $(nn_simt_host) $(nn_cuda_asks) -lm
tests_device_runtime_nn_cuda_la_DEPENDENCIES = $(nn_simt_host) $(nn_cuda_asks)
# the same as it is built without the library's header
tests_device_plain_nn_cuda_la_SOURCES = tests/device/runtime.c lib/device/cuda/blas-none.c lib/device/cuda/open.c lib/device/cuda/queue.c
tests_device_plain_nn_cuda_la_CPPFLAGS = $(tests_device_runtime_nn_cuda_la_CPPFLAGS)
tests_device_plain_nn_cuda_la_LDFLAGS = $(LDFLAGS_MODULE) -rpath $(abs_top_builddir)/tests/device/plain
tests_device_plain_nn_cuda_la_LIBADD = $(tests_device_runtime_nn_cuda_la_LIBADD)
tests_device_plain_nn_cuda_la_DEPENDENCIES = $(nn_simt_host) $(nn_cuda_asks)
# and the library of products beside it, in a place of its own: LD_LIBRARY_PATH
tests_device_cublas_libcublasLt_la_SOURCES = tests/device/cublaslt.c tests/device/runtime/cublasLt.h
tests_device_cublas_libcublasLt_la_CPPFLAGS = -I$(top_srcdir)/tests/device/runtime $(AM_CPPFLAGS)
tests_device_cublas_libcublasLt_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_OPT) $(CUDA_HOST_OPT)
tests_device_cublas_libcublasLt_la_LDFLAGS = $(KIND_LDFLAGS) -version-info 13:0:0 -rpath $(abs_top_builddir)/tests/device/cublas
check_PROGRAMS += tests/lib/device-queue
tests_lib_device_queue_SOURCES = tests/lib/device-queue.c tests/device/apart.h tests/lib/tap.h
tests_lib_device_queue_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
check_PROGRAMS += tests/lib/step-queue
tests_lib_step_queue_SOURCES = tests/lib/step-queue.c tests/device/apart.h tests/lib/tap.h
tests_lib_step_queue_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
CHECK_TESTS += tests/lib/device-queue tests/lib/step-queue tests/cli/cuda-module.bats tests/cli/device.bats
CHECK_LONG_TESTS += tests/cli/device-ranks.bats tests/device/products.py
EXTRA_DIST += $(filter %.bats,$(CUDA_HOST_TESTS)) tests/device/on-gpu tests/device/layers.py tests/device/faults.py
check_PROGRAMS += tests/lib/bench-pick
tests_lib_bench_pick_SOURCES = tests/lib/bench-pick.c tests/device/fake.h tests/lib/tap.h
tests_lib_bench_pick_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
CHECK_TESTS += tests/lib/bench-pick

# strategies of ranks, each against a plain program
check_PROGRAMS += tests/lib/train-order
tests_lib_train_order_SOURCES = tests/lib/train-order.c tests/lib/tap.h
CHECK_TESTS += tests/lib/train-order
CHECK_LONG_TESTS += tests/cli/strategies.bats
VALGRIND_TESTS += tests/lib/train-order
EXTRA_DIST += tests/cli/strategies.py
# embedding: columns of categories
CHECK_TESTS += tests/cli/embedding.bats

# ONNX files
CHECK_TESTS += tests/cli/onnx.bats tests/cli/onnx-file.py tests/cli/onnx-cases.py
CHECK_LONG_TESTS += tests/cli/onnx-referee.py
VALGRIND_TESTS += tests/cli/onnx.bats

# nn-bench load: against a server with bad manners
check_PROGRAMS += tests/lib/load-server
tests_lib_load_server_SOURCES = tests/lib/load-server.c
tests_lib_load_server_LDADD =
check_PROGRAMS += tests/lib/load
tests_lib_load_SOURCES = tests/lib/load.c tests/lib/tap.h
tests_lib_load_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests
tests_lib_load_LDADD = $(LDADD) -lm
CHECK_TESTS += tests/cli/cache.bats tests/cli/input-arrays.bats
CHECK_TESTS += tests/cli/bench-input.bats tests/cli/bench-load.bats tests/lib/load
VALGRIND_TESTS += tests/lib/load

# models that are served
if HAVE_MICROHTTPD
check_PROGRAMS += tests/lib/serve-models tests/lib/serve-reload
tests_lib_serve_models_SOURCES = tests/lib/serve-models.c tests/lib/serve-models.h tests/lib/files.h
tests_lib_serve_models_LDADD = $(SERVE_LIBS)
tests_lib_serve_reload_SOURCES = tests/lib/serve-reload.c tests/lib/serve-models.h tests/lib/files.h
tests_lib_serve_reload_LDADD = $(SERVE_LIBS)
check_PROGRAMS += tests/lib/serve-keys
tests_lib_serve_keys_SOURCES = tests/lib/serve-keys.c tests/lib/files.h
tests_lib_serve_keys_LDADD = $(SERVE_LIBS)
check_PROGRAMS += tests/lib/serve-access-log
tests_lib_serve_access_log_SOURCES = tests/lib/serve-access-log.c tests/lib/files.h
tests_lib_serve_access_log_LDADD = $(SERVE_LIBS)
check_PROGRAMS += tests/lib/serve-sandbox
tests_lib_serve_sandbox_SOURCES = tests/lib/serve-sandbox.c tests/lib/serve-model.h tests/lib/files.h
tests_lib_serve_sandbox_LDADD = $(SERVE_LIBS)
CHECK_TESTS += tests/lib/serve-models tests/lib/serve-reload tests/lib/serve-keys tests/lib/serve-access-log tests/lib/serve-sandbox
CHECK_TESTS += tests/cli/systemd.bats
endif
# nn-serve
CHECK_TESTS += tests/cli/serve.bats tests/cli/serve-clients.bats tests/cli/serve-start.bats tests/cli/serve-lengths.bats tests/cli/serve-ranks.bats tests/cli/serve-workers.bats
EXTRA_DIST += tests/cli/serve.bash
