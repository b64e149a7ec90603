#!/usr/bin/env bats
# What every tool answers before any work.
bats_require_minimum_version 1.5.0

@test "nn-predict --version names tool, package and version on one line of stdout" {
  run -0 --separate-stderr nn-predict --version
  [[ $output == "nn-predict (nntools) "[0-9]* ]]
  [ "${#lines[@]}" -eq 1 ]
  [ -z "$stderr" ]
}

@test "nn-predict --help goes to stdout with status 0" {
  run -0 --separate-stderr nn-predict --help
  [[ $output == "Usage: nn-predict"* ]]
  [ -z "$stderr" ]
}

@test "manual: a page that is built is its source with options and version put in, no other line altered" {
  cd "$BATS_TEST_TMPDIR"
  for tool in allreduce bench predict train; do
    page=$NN_BUILD/man/nn-$tool.1
    version=$(nn-$tool --version) && version=${version##* }
    head -n 1 "$page" | grep -qF "\"nntools $version\""
    sed "s/@VERSION@/$version/; /^@OPTIONS@\$/d" "$NN_SRC/man/nn-$tool.1.in" | diff - "$page" >difference || true
    [ -s difference ]
    [ "$(grep -c '^<' difference)" = 0 ]
  done
}

@test "NN_CPU: instructions that this processor lacks are status 3, and --version -v says so and ends" {
  local missing=0
  printf 'x,y\n1,2\n2,3\n' >"$BATS_TEST_TMPDIR/t.csv"
  for cpu in neon avx2 avx512; do
    run -0 timeout 60 env NN_CPU=$cpu nn-train --version -v
    [[ $output != *" $cpu, NN_CPU=$cpu" ]] || continue
    [[ ${lines[-1]} == "CPU: "*", NN_CPU=$cpu: this CPU has no $cpu" ]]
    NN_CPU=$cpu run -3 --separate-stderr nn-train -m 'dense 1' --target=y -o "$BATS_TEST_TMPDIR/m" "$BATS_TEST_TMPDIR/t.csv"
    [ "$stderr" = "nn-train: NN_CPU=$cpu: this CPU has no $cpu" ]
    [ ! -e "$BATS_TEST_TMPDIR/m" ]
    missing=$((missing + 1))
  done
  [ $missing -gt 0 ] # no processor has those of two architectures
}

@test "NN_CPU: an unknown name is status 2 wherever a command line is read" {
  cd "$BATS_TEST_TMPDIR"
  printf 'x,y\n1,2.5\n2,3.5\n' >d.csv
  nn-train -q -m 'dense 1' --target=y --steps=1 -o m.st d.csv
  while read -r tool rest; do
    # shellcheck disable=SC2086
    NN_CPU=foo run -2 --separate-stderr $tool $rest
    [ -z "$output" ]
    [ "$stderr" = "$tool: NN_CPU=foo: unknown, choose avx512, avx2, neon or generic" ]
  done <<'T'
nn-train --dry-run -m relu --target=y d.csv
nn-train -m relu --target=y d.csv
nn-predict --dry-run m.st d.csv
nn-predict --info m.st
nn-predict m.st d.csv
nn-bench --dry-run run m.st
nn-bench input d.csv --time=0.1
nn-allreduce m.st m.st
nn-allreduce --dry-run m.st m.st
T
  NN_CPU=foo nn-train --help >/dev/null
  NN_CPU='' nn-predict --info m.st >/dev/null
}

@test "--version -v: of a module that is not installed nothing is claimed, and none is loaded" {
  local tree=$BATS_TEST_TMPDIR/tree part name module
  mkdir -p "$tree/bin" "$tree/lib"
  cp "$NN_BUILD"/cmd/nn-train "$tree/bin/"
  cp -L "$NN_BUILD"/lib/libnn.so.0 "$tree/lib/"
  # shellcheck disable=SC2086
  run -0 --separate-stderr env -u NN_MODULE_PATH ${NN_WRAP-} "$tree/bin/nn-train" --version -v
  [ -z "$stderr" ]
  grep -qE '^BLAS: own kernels; nn-openblas.so is not installed(, OPENBLAS_CORETYPE=.*)?$' <<<"$output"
  for part in MPI:mpi ONNX:onnx CUDA:cuda; do
    name=${part%:*} module=nn-${part#*:}.so
    grep -qx -e "$name: $module is not installed" -e "$name: none" <<<"$output"
    echo 'no module' >"$tree/lib/$module"
  done
  # shellcheck disable=SC2086
  run -0 --separate-stderr env -u NN_MODULE_PATH ${NN_WRAP-} "$tree/bin/nn-train" --version -v
  [ -z "$stderr" ]
  [ "$(grep -c 'is not installed' <<<"$output")" = 1 ] # OpenBLAS
}
