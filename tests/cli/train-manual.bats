#!/usr/bin/env bats
# nn-train(1): its examples run, one after the other, in one directory.
bats_require_minimum_version 1.5.0

examples() {
  sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$NN_SRC/man/nn-train.1.in" | sed -n '/^\.RS$/,/^\.RE$/p' | grep -v '^\.' |
    sed 's/\\e/\\/g'
}

# MNIST's files by name and kind, of n pictures that say nothing: BASE N
idx() {
  local n
  n=$(printf '\\x%02x\\x%02x' $(($2 / 256)) $(($2 % 256)))
  { printf '\0\0\x8\x3\0\0%b\0\0\0\x1c\0\0\0\x1c' "$n"; seq 1000000 | head -c $((784 * $2)); } | gzip >"$1-images-idx3-ubyte.gz"
  { printf '\0\0\x8\x1\0\0%b' "$n"; for ((i = 0; i < $2; i++)); do printf '%b' "\\x0$((i % 10))"; done; } | gzip >"$1-labels-idx1-ubyte.gz"
}

@test "nn-train(1): every example runs" {
  cd "$BATS_TEST_TMPDIR"
  cp "$NN_SRC/share/data/digits.csv.gz" .
  idx train 300
  idx t10k 20
  [ "$(examples | wc -l)" -ge 14 ]
  while read -r line; do
    bash -eo pipefail -c "$line" </dev/null 2>err || { echo "$line"; cat err; false; }
  done < <(examples)
  for model in digits small piped best finer quick mnist; do [ -s $model.safetensors ]; done
  grep -q "<svg" quick.svg
}
