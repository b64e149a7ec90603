#!/usr/bin/env bats
# nn-train --shard-optimizer: ranks keep a part of the optimizer's state each, with the bytes of one process and complete states.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load parts.bash

setup_file() {
  begin_ranks || return 0
  make_digits
}

# Some blocks of 4096 elements, so that every rank has one.
net=(-m 'dense 90, relu, dense 80, tanh, dense ?' --target=digit --loss=cross-entropy -b 96 digits.csv)

@test "shard-optimizer: every optimizer has the bytes of one rank, saved and resumed in between by other ranks" {
  for optimizer in 'adam' 'sgd --momentum=0.9 --clip-norm=0.3' 'rmsprop' 'rprop' 'lars --momentum=0.9' 'lamb --weight-decay=0.1'; do
    rm -f ./*.safetensors
    # shellcheck disable=SC2206 # a name and its options
    words=("${net[@]}" --optimizer=$optimizer --shuffle=yes)
    train "${words[@]}" --epochs=3 -o one.safetensors
    train "${words[@]}" --epochs=3 --steps=3 --ranks=2 --shard-optimizer --checkpoint-every=1h -o two.safetensors
    train "${words[@]}" --epochs=3 --steps=5 --ranks=3 --shard-optimizer --resume -o two.safetensors
    train "${words[@]}" --epochs=3 --steps=8 --ranks=2 --resume -o two.safetensors
    train "${words[@]}" --epochs=3 --resume --shard-optimizer -o two.safetensors
    same one.safetensors two.safetensors || { echo "$optimizer"; return 1; }
  done
}

@test "shard-optimizer: beside a pipeline" {
  train "${net[@]}" --optimizer=lamb --clip-norm=0.5 --epochs=2 -o one.safetensors
  train "${net[@]}" --optimizer=lamb --clip-norm=0.5 --epochs=2 --ranks=4 --pipeline=2 --shard-optimizer -o two.safetensors
  same one.safetensors two.safetensors
}

@test "shard-optimizer: fewer elements than a block" {
  train -m 'dense 3' --target=p00,p01,p34 -b 96 --epochs=1 digits.csv -o one.safetensors
  train -m 'dense 3' --target=p00,p01,p34 -b 96 --epochs=1 digits.csv --ranks=3 --shard-optimizer -o two.safetensors
  same one.safetensors two.safetensors
}

@test "shard-optimizer: the plan has a share of the state, and the peak is lower by it" {
  large=(-m 'input 64, dense 1400, relu, dense 1000, relu, dense 10')
  # on a device with the scratch for norms, which is not shared
  state='.memory|.optimizer-(if has("device") then .parameters else 0 end)'
  whole=$(nn-train "${large[@]}" --explain=json | jq "$state")
  half=$(nn-train "${large[@]}" --explain=json --ranks=2 --shard-optimizer | jq "$state")
  [ $((half * 2 - whole)) -lt 65536 ]
  [ $((whole - half * 2)) -lt 65536 ]
  [ -z "${NN_TEST_DEVICE-}" ] || return 0 # what lies on a device is counted in device-ranks.bats
  for more in "" --shard-optimizer; do
    # shellcheck disable=SC2086 # nothing, or an option
    # by messages: ranks of one host have one state in any case
    OMPI_MCA_btl=self,tcp train "${large[@]}" --target=digit --loss=cross-entropy --steps=3 digits.csv --ranks=2 $more --log=log \
      >large.safetensors
    peaks+=("$(jq -s '.[-1].peak_bytes' log)")
  done
  # 12 MB of slots, of which half
  [ $((peaks[0] - peaks[1])) -gt 4000000 ]
}

@test "shard-optimizer: other strategies are status 2" {
  run -2 --separate-stderr train "${net[@]}" --ranks=2 --shard-optimizer --strategy=local:4
  [ "$stderr" = "nn-train: --shard-optimizer: needs --strategy=sync" ]
}
