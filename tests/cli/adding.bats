#!/usr/bin/env bats
# share/examples/adding: what a row's first half says is kept until its second half comes.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  example=$NN_SRC/share/examples/adding
}

# train TEXT: squared error on rows of another seed of what was learned
train() {
  sed "s/100x2/16x2/; $1" "$example/adding.nn" >net.nn
  nn-train -q -m net.nn --target=sum --normalize=none --lr=0.01 --clip-norm=1 -b 32 --epochs=12 train.csv -o model.safetensors
  nn-predict -q --score model.safetensors test.csv | awk '$1 == "rmse" { print $2 * $2 }'
}

@test "adding: gru and lstm learn to add two numbers that stand apart, to a squared error below 0.01" {
  sh "$example/adding.sh" 3000 16 1 >train.csv
  sh "$example/adding.sh" 500 16 2 >test.csv
  [ "$(awk -F, 'END { print NR, NF }' train.csv)" = "3001 33" ]
  for layer in gru lstm; do
    error=$(train "s/^gru 32/$layer 16/")
    awk -v e="$error" 'BEGIN { exit !(e > 0 && e < 0.01) }' || { echo "$layer: $error"; return 1; }
  done
  # the last step alone does not know the sum
  awk -v e="$(train '/^gru/d')" 'BEGIN { exit !(e > 0.1) }'
}
