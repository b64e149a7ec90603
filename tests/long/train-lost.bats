#!/usr/bin/env bats
# Ranks are killed at any moment, sixty times: each time one line, status 5 and nothing left; in the end the bytes of one process.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../cli/ranks.bash

setup_file() {
  begin_ranks || return 0
}

# Ranks of $parent as they are at this moment.
look() {
  local mpirun
  mpirun=$(pgrep -P "$parent") || return
  mapfile -t ranks < <(pgrep -P "$mpirun")
  [ "${#ranks[@]}" -gt 0 ]
}

# step_of STATE: the step at which it was saved
step_of() {
  head -c 65536 "$1" | grep -ao 'step\\":[0-9]*' | grep -o '[0-9]*$' | tail -n 1
}

# killed TIMES WORD...: a training that would not end loses a rank so often, and is then taken to the step that it has reached
killed() {
  local times=$1 k n steps
  shift
  rm -f many.* .many.*
  RANDOM=17
  for ((k = 0; k < times; k++)); do
    n=$((2 + k % 3))
    nn-train -q "$@" --steps=1000000000 --ranks=$n --resume --checkpoint-every=7 -o many.safetensors 2>err 3>&- &
    parent=$!
    sleep "$((RANDOM % 2)).$((RANDOM % 90 + 10))"
    until look; do kill -0 $parent; done
    processes=$(family $parent)
    kill -9 "${ranks[RANDOM % ${#ranks[@]}]}"
    ended 5
    gone "$processes" 100
    sed -i '/^nn-train: note: .*no state yet/d' err
    [ "$(wc -l <err)" = 1 ]
    [[ "$(cat err)" =~ ^nn-train:\ rank\ [0-3]\ \(pid\ [0-9]+\)\ was\ killed\ by\ signal\ 9 ]]
    [ -z "$(compgen -G '.many.*')" ]
    [ ! -e many.safetensors ]
  done
  steps=$(($(step_of many.state.safetensors) + 100))
  echo "$times kills in $steps steps"
  [ "$steps" -gt 200 ]
  nn-train -q "$@" --steps="$steps" --resume --ranks=2 -o many.safetensors
  nn-train -q "$@" --steps="$steps" -o one.safetensors
  cmp one.safetensors many.safetensors
}

@test "train lost: 40 kills of a net of dense layers, adam" {
  killed 40 -m 'dense 128, relu, dense ?' --target=digit --loss=cross-entropy --valid=0.1 "$NN_SRC/share/data/digits.csv.gz"
}

@test "train lost: 20 kills of a net with batch norm and dropout, sgd with momentum" {
  printf '%s\n' 'input 1x8x8' 'conv2d 6 3x3 pad=1' 'batchnorm group=8' relu 'maxpool2d 2' flatten 'dropout 0.2' 'dense ?' >conv.nn
  killed 20 -m conv.nn --target=digit --loss=cross-entropy --optimizer=sgd --momentum=0.9 "$NN_SRC/share/data/digits.csv.gz"
}
