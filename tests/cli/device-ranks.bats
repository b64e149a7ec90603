#!/usr/bin/env bats
# Ranks on a device with memory of its own (tests/device/apart.c): what they send goes through pinned memory, with the CPU's bytes.
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0
load ranks.bash
load parts.bash

setup_file() {
  begin_ranks || return 0
  make_digits
  awk 'BEGIN { print "shop,item,price"; for (i = 0; i < 200; i++) printf "s%d,i%d,%.3f\n", i * 7 % 5, i * i % 11, sin(i) }' >shops.csv
  printf '%s\n' 'input 1x8x8' 'conv2d 6 3x3 pad=1' 'batchnorm group=16' 'relu' 'maxpool2d 2' 'flatten' 'dropout 0.2' 'dense ?' >conv.nn
}

setup() {
  enter_ranks
  . "$NN_SRC/tests/cli/train-data.sh"
  export NN_MODULE_PATH=$NN_BUILD/tests/device/${NN_TEST_MODULE:-apart}/.libs:$NN_BUILD/lib
}

# both RANKS ARGUMENT...: one process on the CPU and ranks on the device give the same model
both() {
  local ranks=$1
  shift
  rm -f one.safetensors two.safetensors
  train "$@" --device=cpu -o one.safetensors
  train "$@" --ranks=$ranks --device=cuda -o two.safetensors
  same one.safetensors two.safetensors || { echo "$*"; return 1; }
}

net=(-m 'dense 90, relu, dense 80, tanh, dense ?' --target=digit --loss=cross-entropy -b 96 --epochs=2 digits.csv)

@test "device: ranks of sync make the CPU's model" {
  for optimizer in 'sgd --momentum=0.9 --clip-norm=0.3' 'lamb --weight-decay=0.1'; do
    both 2 "${net[@]}" --optimizer=$optimizer
  done
  both 3 "${net[@]}" --valid=0.2 --micro-batch=8
}

@test "device: ranks share the optimizer's state, batch normalization and tables" {
  both 2 "${net[@]}" --optimizer=lamb --clip-norm=0.5 --shard-optimizer
  both 2 -m conv.nn --target=digit --loss=cross-entropy -b 96 --epochs=2 digits.csv
  both 2 -m 'embedding 4, flatten, dense 8, relu, dense ?' --target=price -b 64 --epochs=2 --optimizer=adam shops.csv
}

@test "device: ranks of master make the CPU's model" {
  both 2 "${net[@]}" --strategy=master
}

# ranks_as RANKS ARGUMENT...: ranks on the device make the model that as many on the CPU make
ranks_as() {
  local ranks=$1
  shift
  rm -f one.safetensors two.safetensors
  train "$@" --ranks=$ranks --device=cpu -o one.safetensors
  train "$@" --ranks=$ranks --device=cuda -o two.safetensors
  same one.safetensors two.safetensors || { echo "$*"; return 1; }
}

@test "device: ranks of local make the CPU's model" {
  for optimizer in 'sgd --momentum=0.9' 'lamb --clip-norm=0.5' adam; do
    ranks_as 2 "${net[@]}" --optimizer=$optimizer --strategy=local:3 --micro-batch=8
  done
  ranks_as 2 "${net[@]}" --strategy=local:2@3 --valid=0.2
  ranks_as 2 -m conv.nn --target=digit --loss=cross-entropy -b 96 --epochs=2 digits.csv --strategy=local:2
  ranks_as 2 -m 'embedding 4, flatten, dense 8, relu, dense ?' --target=price -b 64 --epochs=2 --optimizer=adam --strategy=local:2 shops.csv
}

@test "device: ranks of async make the CPU's model, and a recorded run is replayed" {
  for model in 'dense 90, relu, dense 80, tanh, dense ?' 'dense 400, relu, dense 400, relu, dense ?'; do
    both 2 -m "$model" --target=digit --loss=cross-entropy -b 96 --epochs=2 digits.csv --strategy=async
  done
  both 2 -m conv.nn --target=digit --loss=cross-entropy -b 96 --epochs=2 digits.csv --strategy=async
  both 2 -m 'embedding 4, flatten, dense 8, relu, dense ?' --target=price -b 64 --epochs=2 --optimizer=adam --strategy=async shops.csv
  train "${net[@]}" --strategy=async --ranks=3 --record=run.tsv --device=cuda -o one.safetensors
  train "${net[@]}" --strategy=async --replay-run=run.tsv --device=cuda -o two.safetensors
  same one.safetensors two.safetensors
}

@test "device: stages of a pipeline make the CPU's model" {
  for schedule in '' :gpipe :naive; do
    ranks_as 2 "${net[@]}" --pipeline=2$schedule --optimizer=sgd --clip-norm=0.3
  done
  ranks_as 4 "${net[@]}" --pipeline=2 --optimizer=lamb
  ranks_as 2 -m conv.nn --target=digit --loss=cross-entropy -b 96 --epochs=2 digits.csv --pipeline=2
}

@test "device: a stage names the layer that goes wrong as on the CPU" {
  for device in cpu cuda; do
    run -6 --separate-stderr train -m 'dense 8, relu, dense ?' --target=digit --loss=cross-entropy --lr=1e30 --optimizer=sgd --epochs=5 -b 32 \
      --ranks=2 --pipeline=2 --device=$device -o m.safetensors digits.csv
    grep finite <<<"$stderr" >$device.err
  done
  same cpu.err cuda.err
}

@test "device: ranks that share columns and rows of tables make the CPU's model" {
  for optimizer in 'sgd --momentum=0.9 --clip-norm=0.3' lars lamb; do
    ranks_as 2 "${net[@]}" --tensor=2 --optimizer=$optimizer
  done
  ranks_as 4 "${net[@]}" --tensor=2 --micro-batch=16
  ranks_as 4 "${net[@]}" --tensor=2 --pipeline=2 --clip-norm=0.5
  ranks_as 2 -m conv.nn --target=digit --loss=cross-entropy -b 96 --epochs=2 digits.csv --tensor=2
  for optimizer in adam lamb; do
    ranks_as 2 -m 'embedding 4, flatten, dense 8, relu, dense ?' --target=price -b 64 --epochs=2 --optimizer=$optimizer --clip-norm=0.1 --tensor=2 shops.csv
  done
}

# take ARGUMENT...: of device memory what the plan says, to 1 %, and of pinned memory what its item `other` has more than
# on the CPU, to 1 MiB
take() {
  local other plan there pinned n=800 wide
  [[ $* != *--tensor* ]] || n=1500 # what is not planned for columns is a percent of more
  wide=(-m "dense $n, relu, dense $n, relu, dense ?" --target=digit --loss=cross-entropy digits.csv)
  other=$(nn-train --explain=json -t 1 "${wide[@]}" "$@" --device=cpu | jq .memory.other)
  nn-train --explain=json -t 1 "${wide[@]}" "$@" --device=cuda >plan.json
  rm -f peak
  NN_APART_PEAK=peak train "${wide[@]}" "$@" --steps=2 --device=cuda -o m.safetensors
  there=$(awk '{ sum += $1 } END { print sum }' peak)
  pinned=$(cut -d ' ' -f 2 peak | sort -n | tail -n 1)
  plan=$(jq .memory.device plan.json)
  other=$(($(jq .memory.other plan.json) - other))
  echo "$*: $plan and $other bytes planned, $there and $pinned taken"
  # costs of stages are measured by rank 0, which takes memory for a moment that no plan has
  [[ $* == *--pipeline* ]] || [ $((plan > there ? plan - there : there - plan)) -le $((there / 100)) ]
  [[ $* == *--tensor* ]] || [ $((other > pinned ? other - pinned : pinned - other)) -le 1048576 ]
}

@test "device: ranks take the memory that their plan says, there and pinned" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer takes memory of its own"
  take --ranks=2
  take --ranks=2 --shard-optimizer
  take --ranks=2 --strategy=master
  take --ranks=2 --strategy=local:2
  take --ranks=3 --strategy=async
  take --ranks=2 --tensor=2 -b 1024
  take --ranks=2 --pipeline=2:naive -b 1024
}
