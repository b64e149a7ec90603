#!/usr/bin/env bats
# libnn and the tools as files: what they export, need and map.
bats_require_minimum_version 1.5.0

setup_file() {
  export MODEL="$BATS_FILE_TMPDIR/model.safetensors"
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 101 >"$BATS_FILE_TMPDIR/digits.csv"
  nn-train -q -m 'dense 8, relu, dense ?' --target=digit --loss=cross-entropy --steps=2 \
    -o "$MODEL" "$BATS_FILE_TMPDIR/digits.csv"
}

# The libraries that a command maps, by name without version.
mapped() {
  LD_DEBUG=files LD_DEBUG_OUTPUT="$BATS_TEST_TMPDIR/ld" "$@" >/dev/null
  sed -nE 's/.*file=([^ ]+) \[[0-9]+\]; +generating link map.*/\1/p' "$BATS_TEST_TMPDIR"/ld.* |
    sed -E 's,.*/,,; s/\.so.*//' | sort -u
}

@test "library: the public version node holds exactly the functions of nn.h" {
  nm -D --defined-only --with-symbol-versions "$NN_BUILD/lib/libnn.so.0" |
    sed -nE 's/.* ([a-z0-9_]+)@@NNTOOLS_0$/\1/p' | sort >"$BATS_TEST_TMPDIR/exported"
  grep -oE '\bnn_(model|session)_[a-z0-9_]+\(' "$NN_SRC/lib/nn.h" | tr -d '(' | sort -u >"$BATS_TEST_TMPDIR/declared"
  diff "$BATS_TEST_TMPDIR/declared" "$BATS_TEST_TMPDIR/exported"
}

@test "library: everything exported begins with nn_ and has a version" {
  run -0 bash -c "nm -D --defined-only --with-symbol-versions '$NN_BUILD/lib/libnn.so.0' |
    grep -vE ' nn_[a-z0-9_]+@@NNTOOLS_(0|PRIVATE)\$| A NNTOOLS_(0|PRIVATE)\$| (__gcov|__llvm|__asan|__odr_asan|__ubsan)' || true"
  [ -z "$output" ]
}

@test "library: the soname is libnn.so.0" {
  readelf -d "$NN_BUILD/lib/libnn.so.0" | grep -q 'SONAME.*\[libnn\.so\.0\]'
}

@test "library: libnn neither exits nor changes environment or locale" {
  run -0 bash -c "nm -D -u '$NN_BUILD/lib/libnn.so.0' | grep -E ' (exit|quick_exit|setenv|putenv|unsetenv|setlocale|fesetenv)(@|\$)' || true"
  [ -z "$output" ]
  # --try ends what it has forked; so do --workers and --ranks of nn-serve, in a room that is not of libnn
  [ "$(cd "$NN_SRC/lib" && grep -rlw _exit --include='*.c' . | sort)" = $'./serve/ranks/rank.c\n./serve/ranks/start.c\n./serve/workers.c\n./train/try/trial.c' ]
}

@test "library: loading libnn neither looks its own names up nor asks the CPU, which costs each start" {
  # what a sanitizer adds has names of its own
  run -0 bash -c "readelf -rW '$NN_BUILD/lib/libnn.so.0' | grep -E ' nn_|IRELATIV' || true"
  [ -z "$output" ]
  run -0 grep -rlE '__builtin_cpu|__get_cpuid|target_clones' --include='*.[ch]' "$NN_SRC/lib"
  [ "$output" = "$NN_SRC/lib/base/cpu.h" ]
}

@test "library: tools find libnn relative to themselves" {
  for tool in "$NN_BUILD"/cmd/nn-*; do
    [[ $tool == *.* ]] || readelf -d "$tool" | grep -q 'RUNPATH.*\$ORIGIN/\.\./lib'
  done
}

@test "library: a C++ program can include nn.h" {
  command -v c++ >/dev/null || skip "no C++ compiler"
  echo '#include "nn.h"
  nn_model *open_it(const char *path) { return nn_model_open(path, nullptr); }' >"$BATS_TEST_TMPDIR/a.cc"
  c++ -Wall -Wextra -Werror -I"$NN_SRC/lib" -fsyntax-only "$BATS_TEST_TMPDIR/a.cc"
}

@test "library: a plain nn-predict maps libnn and the C library alone" {
  [[ $KIND_CFLAGS != *sanitize* ]] || skip "sanitizers bring libraries of their own"
  run -0 mapped nn-predict "$MODEL" "$BATS_FILE_TMPDIR/digits.csv"
  [ "$output" = $'libc\nlibm\nlibnn' ]
}

@test "library: gzip is what makes nn-predict map a decompressor" {
  gzip -k "$BATS_FILE_TMPDIR/digits.csv"
  run -0 mapped nn-predict "$MODEL" "$BATS_FILE_TMPDIR/digits.csv.gz"
  [[ $output == *nn-archive* && $output == *libz* ]]
}

@test "library: the example of nn(3) says of fields what nn-predict says of rows" {
  cd "$BATS_TEST_TMPDIR"
  printf 'size,colour,kind\n1,red,a\n2,blue,b\n3,red,a\n4,"dark, red",b\n5.5,blue,a\n' >t.csv
  nn-train -q -m 'dense 4, tanh, dense ?' --target=kind --epochs=30 --lr=0.1 -o kind.safetensors t.csv
  sed -n '/^#include <nn.h>$/,/^\.RE$/p' "$NN_SRC/man/nn.3" | sed '/^\.RE$/d; s/\\e/\\/g' >label.c
  # shellcheck disable=SC2086 # words
  ${CC:-cc} $KIND_CFLAGS -Wall -Wextra -Werror -I"$NN_SRC/lib" -o label label.c "$NN_BUILD/lib/libnn.so.0" -Wl,-rpath,"$NN_BUILD/lib"
  run -0 nn-predict --emit=class --to-header=no kind.safetensors t.csv
  predicted=$output
  run -0 bash -c './label kind.safetensors 1 red && ./label kind.safetensors 2 blue && ./label kind.safetensors 3 red &&
    ./label kind.safetensors 4 "dark, red" && ./label kind.safetensors 5.5 blue'
  [ "$output" = "$predicted" ]
  [[ $output == *a* && $output == *b* ]]
  run -1 ./label kind.safetensors big red
  [ "$output" = 'column "size": found "big", expected a number' ]
}

@test "library: nn(3) is well-formed and names every function of nn.h" {
  diff <(grep -oE '\bnn_(model|session)_[a-z0-9_]+\(' "$NN_SRC/lib/nn.h" | sort -u) \
    <(sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/p' "$NN_SRC/man/nn.3" | grep -oE '\bnn_(model|session)_[a-z0-9_]+\(' | sort -u)
  command -v mandoc >/dev/null || skip "mandoc is not installed"
  run mandoc -T lint -W warning "$NN_SRC/man/nn.3"
  ! grep -v 'missing date' <<<"$output"
}

@test "library: an installed tree may be moved; nn.h, libnn.pc and the modules go with it" {
  moved=$BATS_TEST_TMPDIR/moved
  make -C "$NN_BUILD" -s install DESTDIR="$BATS_TEST_TMPDIR/first" >/dev/null 2>&1
  nn=$(find "$BATS_TEST_TMPDIR/first" -path '*/bin/nn-predict')
  mv "${nn%/bin/nn-predict}" "$moved"
  rm -r "$BATS_TEST_TMPDIR/first"
  "$moved/bin/nn-predict" "$MODEL" "$NN_SRC/share/data/digits.csv.gz" >"$BATS_TEST_TMPDIR/out"
  [ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -eq 1798 ]
  # the example of nn.h: a program with threads of its own
  pc=$(find "$moved" -name libnn.pc)
  # shellcheck disable=SC2046 # words
  ${CC:-cc} $KIND_CFLAGS -Wall -Wextra -Werror -o "$BATS_TEST_TMPDIR/predict" "$moved/share/nntools/examples/predict.c" \
    $(PKG_CONFIG_PATH=${pc%/*} pkg-config --define-prefix --cflags --libs libnn) -lpthread
  libnn=$(find "$moved" -name libnn.so.0)
  LD_LIBRARY_PATH=${libnn%/*} "$BATS_TEST_TMPDIR/predict" "$MODEL" >"$BATS_TEST_TMPDIR/out"
  [ "$(wc -w <"$BATS_TEST_TMPDIR/out")" -eq 10 ]
}
