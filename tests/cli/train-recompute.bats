#!/usr/bin/env bats
# --recompute: activations dropped after forward and computed again in backward.
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 161 >digits.csv
  printf '%s\n' 'input 1x8x8' 'conv2d 12 3x3 pad=1' 'batchnorm group=16' 'skip: relu' 'conv2d 12 3x3 pad=1' \
    'inner: batchnorm group=16' 'add from=skip+inner' 'relu' 'dropout 0.2' 'conv2d 12 3x3 pad=1' 'gelu' 'maxpool2d 2' \
    'reshape 16x12' 'lstm 12' 'layernorm' 'flatten' 'dense 12' 'sigmoid' 'dense 10' >net.nn
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

train() {
  nn-train -q -m "$data/net.nn" --target=digit --loss=cross-entropy --epochs=2 -b 96 "$@" "$data/digits.csv"
}

@test "recompute: same bytes, with the running values of batch norm, whatever rows and threads" {
  train -o kept.st
  for options in '' --micro-batch=32 --threads=1 '--optimizer=lamb --clip-norm=1' --precision=f64; do
    [[ $options != *=f64 && $options != *lamb* ]] || train $options -o kept.st
    train $options --recompute -o again.st
    cmp kept.st again.st
  done
}

@test "recompute: a training that was stopped goes on without it, and with it" {
  train -o whole.st
  train --epochs=1 --recompute -o part.st --checkpoint=state
  cp state other
  train --resume -o part.st --checkpoint=state
  cmp whole.st part.st
  train --resume --recompute -o part.st --checkpoint=other
  cmp whole.st part.st
}

@test "recompute: same bytes of ranks, of pipelines and of ranks that share layers" {
  . "$NN_SRC/tests/cli/ranks.bash"
  reason=$(lacking_ranks | head -n 1)
  [ -z "$reason" ] || skip "$reason"
  allow_ranks
  train -o one.st
  for options in '' --pipeline=2 --tensor=2; do
    train --ranks=2 $options --recompute -o ranks.st
    cmp one.st ranks.st
  done
}

@test "recompute: the plan names what is dropped and what that costs, and takes less, as the training then does" {
  net='input 1x64x64, repeat 4 { conv2d 16 3x3 pad=1, batchnorm group=8, relu }, flatten, dense 10'
  nn-train --explain=json -m "$net" -b 16 --micro-batch=16 >kept.json
  nn-train --explain=json -m "$net" -b 16 --micro-batch=16 --recompute >again.json
  jq -e '.recompute == null' kept.json
  jq -e '(.recompute.layers|length > 3) and .recompute.flops > 0 and .recompute.flops <= ([.layers[].forward_flops]|add)' again.json
  [ $((5 * $(jq .memory.activations again.json))) -lt $((4 * $(jq .memory.activations kept.json))) ]
  run nn-train --explain -m "$net" -b 16 --micro-batch=16 --recompute
  [[ $output == *'computed again in backward: '*' FLOP more for a sample)'* ]]
}

@test "recompute: under --memory as little as fits is computed again, and it is suggested where that helps" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "--memory bounds the host's memory, and the network lies on the device"
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer takes memory of its own"
  net='input 1x64x64, repeat 6 { conv2d 16 3x3 pad=1, batchnorm group=8, relu }, maxpool2d 8, flatten, dense 10'
  plan() { nn-train --explain=json -m "$net" -b 16 "$@"; }
  kept=$(plan --micro-batch=8 | jq .memory.total) least=$(plan --micro-batch=8 --recompute | jq .memory.total)
  limit=$(((2 * kept + least) / 3))
  run -4 plan --memory=$limit
  jq -e '.suggestions[0].command|test(" --recompute$")' <<<"$output"
  told=$(jq '.suggestions[0].total_bytes' <<<"$output")
  plan --memory=$limit --recompute >some.json
  plan --micro-batch=8 --recompute >all.json
  jq -e --argjson limit $limit '.fits and .memory.total <= $limit' some.json
  # what is told is what the command takes, which drops no more than it must; a start of a process differs by a little
  off=$((told - $(jq .memory.total some.json)))
  [ $((4 * ${off#-})) -lt $((kept - least)) ]
  jq -s -e '.[0].recompute.flops > 0 and .[0].recompute.flops < .[1].recompute.flops' some.json all.json
  plan --memory=$((kept + 1048576)) --recompute | jq -e '.recompute == {layers:[],flops:0}'
}
