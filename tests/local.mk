# tests: `make check` runs CHECK_TESTS, `make check-long` CHECK_LONG_TESTS; one section per topic.
#   a C program:  check_PROGRAMS += tests/lib/pool      (tests/lib/pool.c; it prints TAP)
#                 CHECK_TESTS += tests/lib/pool
#   a script:     CHECK_TESTS += tests/cli/predict.bats     (*.bats, or *.py and *.sh that print TAP)
# `make check TESTS="tests/cli/predict.bats tests/lib/pool"` runs some.
CHECK_TESTS =
CHECK_LONG_TESTS =
EXTRA_DIST += tests/run $(filter %.bats %.py %.sh,$(CHECK_TESTS) $(CHECK_LONG_TESTS))
run_tests = NN_SRC='$(abs_top_srcdir)' NN_BUILD='$(abs_top_builddir)' BATS='$(BATS)' \
	PYTHON='$(PYTHON)' CC='$(CC)' KIND_CFLAGS='$(KIND_CFLAGS)' $(SHELL) $(srcdir)/tests/run

check-local:
	@$(run_tests) $(or $(TESTS),$(CHECK_TESTS))
check-long: all
	@$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS)
	@$(run_tests) $(or $(TESTS),$(CHECK_LONG_TESTS))
clean-local: clean-tests
clean-tests:
	rm -rf tests/logs
.PHONY: check-long clean-tests

# the tools as a whole
CHECK_TESTS += tests/cli/version.bats

# the house: rooms, exported symbols, what is mapped
CHECK_TESTS += tests/house/rooms.py tests/house/library.bats
