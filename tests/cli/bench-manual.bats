#!/usr/bin/env bats
# nn-bench(1): its examples run, one after the other, in one directory; what they measure is not looked at, so they take little time.
bats_require_minimum_version 1.5.0

examples() {
  sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$NN_SRC/man/nn-bench.1.in" | sed -n '/^\.RS$/,/^\.RE$/p' | grep -v '^\.' |
    sed -E 's/\\e/\\/g; s/--time=0\.[0-9]+/--time=0.02/'
}

@test "nn-bench(1): every example runs" {
  cd "$BATS_TEST_TMPDIR"
  export XDG_CACHE_HOME=$PWD/cache
  cp "$NN_SRC/share/data/digits.csv.gz" "$NN_SRC"/share/examples/*.nn .
  [ "$(examples | wc -l)" -ge 14 ]
  while read -r line; do
    bash -eo pipefail -c "$line" </dev/null >out 2>err || { echo "$line"; cat out err; false; }
  done < <(examples)
}
