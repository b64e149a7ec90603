#!/usr/bin/env bats
# nn-allreduce(1): its examples run, one after the other, in one directory.
bats_require_minimum_version 1.5.0
load ranks.bash

examples() {
  sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$NN_SRC/man/nn-allreduce.1.in" | sed -n '/^\.RS$/,/^\.RE$/p' | grep -v '^\.' |
    sed 's/\\e/\\/g; s/\\-/-/g'
}

@test "nn-allreduce(1): every example runs" {
  cd "$BATS_TEST_TMPDIR"
  allow_ranks
  lacking=$(lacking_ranks | head -n 1)
  cp "$NN_SRC/share/data/digits.csv.gz" .
  cp -r "$NN_SRC/share/examples/actor-critic" .
  chmod -R u+w actor-critic # of a source that only lets itself be read
  [ "$(examples | wc -l)" -ge 9 ]
  while read -r line; do
    [[ -z $lacking || ! $line =~ --ranks|actor-critic ]] || continue
    timeout 120 bash -eo pipefail -c "$line" </dev/null >out 2>err || { echo "$line"; cat out err; false; }
  done < <(examples)
  # the mean of models with one start is as good as either
  accuracy() { nn-predict --score "$1.safetensors" digits.csv.gz | sed -n 's/^accuracy //p'; }
  awk -v a="$(accuracy m1)" -v b="$(accuracy m2)" -v mean="$(accuracy mean)" 'BEGIN { exit !(a > 0.9 && b > 0.9 && mean >= a && mean >= b) }'
  for result in mean.safetensors largest.npy; do [ -s $result ]; done
  [ -n "$lacking" ] || cmp largest.npy each1.npy
}
