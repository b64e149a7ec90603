# nn-serve and its C tests under the thread sanitizer, in tsan/: `make check-tsan`. Instrumented is what threads of a server
# share; kernels and readers are libnn's, as they were built. Wants SRC, CC, FLAGS and LIBS.
SHARED = base/pool.c base/thread.c predict/idle.c predict/model.c predict/session.c
SOURCES = $(wildcard $(SRC)/lib/serve/*.c $(SRC)/lib/serve/*/*.c) $(SHARED:%=$(SRC)/lib/%)
OBJECTS = $(SOURCES:$(SRC)/lib/%.c=tsan/lib/%.o)
TESTS = $(patsubst $(SRC)/%.c,%,$(filter-out %-world.c,$(wildcard $(SRC)/tests/lib/serve-*.c)))
COMPILE = $(CC) -O1 -g -fsanitize=thread $(FLAGS)
NN = tsan/lib/libserve.a lib/libnn.so.0 -Wl,-rpath,$(CURDIR)/lib $(LIBS)

all: tsan/cmd/nn-serve $(TESTS:%=tsan/%)
tsan/lib/%.o: $(SRC)/lib/%.c
	@mkdir -p $(@D)
	$(COMPILE) -c $< -o $@
tsan/lib/libserve.a: $(OBJECTS)
	rm -f $@ && ar rcs $@ $^
tsan/tests/lib/%: $(SRC)/tests/lib/%.c tsan/lib/libserve.a
	@mkdir -p $(@D)
	$(COMPILE) $< $(if $(findstring serve-world.h,$(file <$<)),$(SRC)/tests/lib/serve-world.c) -o $@ $(NN)
# the other tools and the devices of the tests as they are
tsan/cmd/nn-serve: $(SRC)/cmd/nn-serve.c tsan/lib/libserve.a
	@mkdir -p $(@D) tsan/tests
	ln -sfn $(CURDIR)/cmd/nn-train $(CURDIR)/cmd/nn-predict $(CURDIR)/cmd/nn-bench $(@D)
	ln -sfn $(CURDIR)/tests/device tsan/tests/device
	$(COMPILE) $(addprefix $(SRC)/cmd/,nn-serve.c serve-list.c tool.c tool-log.c) -o $@ $(NN)
