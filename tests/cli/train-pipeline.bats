#!/usr/bin/env bats
# nn-train --pipeline: stages of a network on ranks give the bytes of one process, alone and beside ranks that share the samples.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load parts.bash

setup_file() {
  begin_ranks || return 0
  make_digits
  printf '%s\n' 'input 1x8x8' 'conv2d 6 3x3 pad=1' 'batchnorm group=8' 'skip: relu' 'inner: conv2d 6 3x3 pad=1' 'add from=skip+inner' \
    'relu' 'maxpool2d 2' 'conv2d 8 3x3 pad=1' 'flatten' 'dense 20' 'layernorm' 'gelu' 'dropout 0.2' 'dense ?' >conv.nn
  make_both
}

# A grid is RANKS:PIPELINE.
grid_options() {
  echo --ranks="${1%%:*}" --pipeline="${1#*:}"
}

@test "pipeline: 2, 3 and 5 stages have the bytes of one, in every schedule" {
  as_one "2:2 3:3:gpipe 5:5 2:2:naive" -m conv.nn "${digit[@]}" -b 64 --epochs=2 --clip-norm=0.5
}

@test "pipeline: beside ranks that share the samples" {
  as_one "4:2 6:3:gpipe" -m conv.nn "${digit[@]}" -b 96 --epochs=2
}

@test "pipeline: every optimizer" {
  for optimizer in 'sgd --momentum=0.9' adamw rmsprop rprop 'lars --momentum=0.9' 'lamb --weight-decay=0.1'; do
    # shellcheck disable=SC2086 # a name and its options
    as_one "2:2" -m conv.nn "${digit[@]}" -b 100 --epochs=1 --optimizer=$optimizer
  done
}

@test "pipeline: pieces of leaves, weights of classes, f64" {
  as_one "3:3" -m conv.nn "${digit[@]}" -b 64 --steps=4 --micro-batch=5 --precision=f64 --class-weight=balanced --ignore=3
}

@test "pipeline: stages that would take different numbers of rows at once take the same" {
  printf '%s\n' 'input 1x8x8' 'conv2d 200 3x3 pad=1' 'relu' 'conv2d 200 1x1' 'tanh' 'conv2d 200 1x1' 'relu' 'conv2d 4 1x1' 'flatten' \
    'dense 20' 'relu' 'dense 20' 'relu' 'dense ?' >wide.nn
  as_one "2:2:naive 3:3:naive" -m wide.nn "${digit[@]}" -b 256 --steps=2
}

@test "pipeline: several outputs in several stages" {
  as_one "2:2 4:2:gpipe" -m both.nn --loss=mse -b 64 --epochs=1 digits.csv
}

@test "pipeline: held-out rows, patience, states with any number of stages" {
  train -m conv.nn "${digit[@]}" -b 64 --valid=0.2 --patience=2 --epochs=4 -o one.safetensors
  train -m conv.nn "${digit[@]}" -b 64 --valid=0.2 --patience=2 --epochs=4 --steps=5 --ranks=2 --pipeline=2 --checkpoint-every=1h -o two.safetensors
  train -m conv.nn "${digit[@]}" -b 64 --valid=0.2 --patience=2 --epochs=4 --steps=9 --ranks=4 --pipeline=2 --resume -o two.safetensors
  train -m conv.nn "${digit[@]}" -b 64 --valid=0.2 --patience=2 --epochs=4 --steps=11 --resume -o two.safetensors
  train -m conv.nn "${digit[@]}" -b 64 --valid=0.2 --patience=2 --epochs=4 --ranks=3 --pipeline=3 --resume -o two.safetensors
  same one.safetensors two.safetensors
}

@test "pipeline: tables of embeddings, beside shards of the optimizer too" {
  make_tables
  as_one "2:2 3:3:gpipe 4:2" -m tables.nn --target=bought --loss=cross-entropy -b 96 --epochs=2 --clip-norm=0.3 clicks.csv
  train -m tables.nn --target=bought --loss=cross-entropy -b 96 --epochs=2 --clip-norm=0.3 clicks.csv --ranks=4 --pipeline=2 \
    --shard-optimizer -o shards.safetensors
  same one.safetensors shards.safetensors
}

@test "pipeline: a start model" {
  train -m conv.nn "${digit[@]}" --steps=2 -o start.safetensors
  as_one "2:2" -m start.safetensors "${digit[@]}" --steps=3
}

@test "pipeline: grid, stages and idle share are told, and stand in the log" {
  run -0 --separate-stderr timeout 60 nn-train -t 1 -m conv.nn "${digit[@]}" -b 64 --steps=3 --ranks=4 --pipeline=2 --log=log -o two.safetensors
  [[ $stderr == *"note: 4 ranks = 2 pipelines of 2 stages (rank d x 2 + s is stage s of pipeline d), 1f1b"* ]]
  [[ $stderr == *"note: stage 0: conv2d (0) to "*" parameters"* ]]
  [[ $stderr == *"note: stage 1: "*" to dense (13), "*" parameters"* ]]
  [[ $stderr == *"note: the 2 stages were idle "*"(P-1)/(M+P-1) is 20.0 %, for 1f1b of 4 micro-batches"* ]]
  grep -q '"event":"end".*"pipeline":{"stages":2,"schedule":"1f1b","micro_batches":4,"idle":0.[0-9]*,"formula":0.2' log
}

@test "pipeline: a rank needs memory for its stage alone" {
  nn-train -m 'input 64, dense 500, relu, dense 500, relu, dense 10' -b 64 --explain=json >one.json
  nn-train -m 'input 64, dense 500, relu, dense 500, relu, dense 10' -b 64 --explain=json --pipeline=3 >three.json
  [ "$(jq .memory.parameters one.json)" -gt 1150000 ]
  # the layer in the middle alone
  [ "$(jq .memory.parameters three.json)" -lt 1100000 ]
  [ "$(jq -r .strategy.name three.json)" = pipeline ]
  [ "$(jq .memory.optimizer three.json)" -lt "$(jq .memory.optimizer one.json)" ]
}

@test "pipeline: a loss that is not finite is status 6 and names the layer, in whichever stage it is" {
  for ranks in 1:1 2:2 3:3:gpipe 4:2; do
    run -6 --separate-stderr train -m 'dense 8, relu, dense 9, relu, dense ?' --target=digit --loss=mse --optimizer=sgd --lr=1e30 \
      digits.csv --ranks=${ranks%%:*} --pipeline=${ranks#*:} -o none.safetensors
    [ "$stderr" = "nn-train: step 2: the loss is not finite: layer 2 (dense) was the first to go wrong; a lower --lr than 1e+30 or --clip-norm may help" ]
  done
  [ ! -e none.safetensors ]
}

@test "pipeline: what cannot be is status 2 and says what can" {
  net=(-m 'dense 8, relu, dense ?' "${digit[@]}")
  run -2 --separate-stderr train "${net[@]}" --ranks=3 --pipeline=2
  [ "$stderr" = "nn-train: --pipeline=2: 3 ranks are no whole number of pipelines; use --ranks=2" ]
  run -2 --separate-stderr train "${net[@]}" --pipeline=2
  [ "$stderr" = "nn-train: --pipeline=2: 1 rank is no whole number of pipelines; use --ranks=2" ]
  run -2 --separate-stderr train "${net[@]}" --ranks=5 --pipeline=5
  [ "$stderr" = "nn-train: --pipeline=5: the network has 2 layers that can be stages; use --pipeline=2" ]
  run -2 --separate-stderr train "${net[@]}" --ranks=16 --pipeline=2
  [ "$stderr" = "nn-train: --ranks=16: a batch of 64 has 4 leaves for 8 pipelines; use --batch=128 or --leaves=8" ]
  run -2 --separate-stderr train "${net[@]}" --ranks=2 --pipeline=2:fast
  [ "$stderr" = "nn-train: --pipeline=2:fast: expected 1f1b, gpipe or naive behind the colon" ]
  run -2 --separate-stderr train "${net[@]}" --ranks=2 --pipeline=2 --folds=3
  [ "$stderr" = "nn-train: --pipeline=2: not with --folds" ]
}
