#!/usr/bin/env bats
# nn-train(1): its examples run, one after the other, in one directory.
bats_require_minimum_version 1.5.0

examples() {
  sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$NN_SRC/man/nn-train.1.in" | sed -n '/^\.RS$/,/^\.RE$/p' | grep -v '^\.' |
    sed 's/\\e/\\/g'
}

@test "nn-train(1): every example runs" {
  cd "$BATS_TEST_TMPDIR"
  cp "$NN_SRC/share/data/digits.csv.gz" .
  [ "$(examples | wc -l)" -ge 7 ]
  while read -r line; do
    case $line in *mnist*) continue ;; esac
    bash -eo pipefail -c "$line" </dev/null 2>err || { echo "$line"; cat err; false; }
  done < <(examples)
  for model in digits small best finer quick; do [ -s $model.safetensors ]; done
  grep -q "<svg" quick.svg
}
