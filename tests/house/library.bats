#!/usr/bin/env bats
# libnn and the tools as files: what they export, need and map.
bats_require_minimum_version 1.5.0

# The libraries that a command maps, by name without version.
mapped() {
  LD_DEBUG=files LD_DEBUG_OUTPUT="$BATS_TEST_TMPDIR/ld" "$@" >/dev/null
  cat "$BATS_TEST_TMPDIR"/ld.* |
    sed -nE 's/.*file=([^ ]+) \[0\]; +(generating link map|dynamically loaded).*/\1/p' |
    sed -E 's,.*/,,; s/\.so.*//' | sort -u
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
  run -0 bash -c "nm -D -u '$NN_BUILD/lib/libnn.so.0' | grep -E ' (exit|_exit|quick_exit|setenv|putenv|unsetenv|setlocale|fesetenv)(@|\$)' || true"
  [ -z "$output" ]
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

@test "library: an installed tree may be moved, and a C program builds against it with pkg-config" {
  make -C "$NN_BUILD" -s install DESTDIR="$BATS_TEST_TMPDIR/first" >/dev/null 2>&1
  nn=$(find "$BATS_TEST_TMPDIR/first" -path '*/bin/nn-predict')
  mv "${nn%/bin/nn-predict}" "$BATS_TEST_TMPDIR/moved"
  rm -r "$BATS_TEST_TMPDIR/first"
  "$BATS_TEST_TMPDIR/moved/bin/nn-predict" --version
}
