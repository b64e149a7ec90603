# lib/base
lib_libnn_la_SOURCES += \
	lib/base/cache.c lib/base/cache.h lib/base/cache-machine.c \
	lib/base/cgroup.c lib/base/cgroup.h \
	lib/base/clock.c lib/base/clock.h lib/base/cores.c lib/base/cpu.h lib/base/cpu-name.c \
	lib/base/crc32.c lib/base/crc32.h \
	lib/base/descriptor.c lib/base/descriptor.h \
	lib/base/error.c lib/base/error.h \
	lib/base/files.c lib/base/files.h \
	lib/base/flush.h \
	lib/base/half.h \
	lib/base/hash.h \
	lib/base/installed.c lib/base/installed.h \
	lib/base/int8.h \
	lib/base/json-text.c lib/base/json-text.h \
	lib/base/limit.c lib/base/limit.h \
	lib/base/log.c lib/base/log.h \
	lib/base/logarithm.c lib/base/logarithm.h \
	lib/base/mask.h \
	lib/base/median.c lib/base/median.h \
	lib/base/memory.c lib/base/memory.h \
	lib/base/module.c lib/base/module.h \
	lib/base/number.h lib/base/number-line.h lib/base/number-list.h \
	lib/base/number/digits.h lib/base/number/format.c lib/base/number/line.c lib/base/number/list.c \
	lib/base/number/number.c lib/base/number/ranges.c lib/base/number/wide.h \
	lib/base/option.h lib/base/option/arguments.c lib/base/option/completion.c \
	lib/base/option/config.c lib/base/option/help.c lib/base/option/json.c \
	lib/base/option/manual.c lib/base/option/parse.c lib/base/option/standard.c \
	lib/base/option/value.c \
	lib/base/output.c lib/base/output-sweep.c lib/base/output.h lib/base/terminal.c lib/base/terminal.h \
	lib/base/pool.c lib/base/pool.h \
	lib/base/random.c lib/base/random.h \
	lib/base/real.h \
	lib/base/sha256.c \
	lib/base/sha256.h \
	lib/base/shape.c lib/base/shape.h \
	lib/base/subnormal.h \
	lib/base/text.c lib/base/text.h \
	lib/base/thread.c lib/base/thread.h \
	lib/base/wide.h \
	lib/base/whole.h

# plain loops that the compiler turns into vectors
noinst_LTLIBRARIES += lib/base/libloops.la
lib_base_libloops_la_SOURCES = lib/base/flush.c lib/base/half.c lib/base/subnormal.c
lib_base_libloops_la_CFLAGS = $(AM_CFLAGS) $(KERNEL_OPT)
lib_libnn_la_LIBADD += lib/base/libloops.la
