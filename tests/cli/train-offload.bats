#!/usr/bin/env bats
# --offload: activations that lie in a file between forward and backward.
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

@test "offload: same bytes, with and without --recompute, whatever rows and threads, and nothing is left" {
  mkdir files
  train -o kept.st
  for options in '' --micro-batch=32 --threads=1 --recompute '--optimizer=lamb --clip-norm=1' --precision=f64; do
    [[ $options != *=f64 && $options != *lamb* ]] || train $options -o kept.st
    train $options --offload=files -o away.st
    cmp kept.st away.st
  done
  [ -z "$(ls -A files)" ]
}

@test "offload: a training that was stopped goes on without it, and with it" {
  train -o whole.st
  train --epochs=1 --offload -o part.st --checkpoint=state
  cp state other
  train --resume -o part.st --checkpoint=state
  cmp whole.st part.st
  train --resume --offload -o part.st --checkpoint=other
  cmp whole.st part.st
}

@test "offload: same bytes of ranks, of pipelines and of ranks that share layers" {
  . "$NN_SRC/tests/cli/ranks.bash"
  reason=$(lacking_ranks | head -n 1)
  [ -z "$reason" ] || skip "$reason"
  allow_ranks
  train -o one.st
  for options in '' --pipeline=2 --tensor=2; do
    train --ranks=2 $options --offload -o ranks.st
    cmp one.st ranks.st
  done
}

@test "offload: a folder that is not there, and a disk without room, end the run before it begins" {
  run -1 --separate-stderr train --offload=nowhere -o m.st
  [ "$stderr" = "nn-train: nowhere: cannot make a file for activations: No such file or directory" ]
  run -2 train --offload= -o m.st
  [ -z "${NN_TEST_DEVICE-}" ] || return 0 # the test device's memory is a file itself
  run -1 --separate-stderr bash -c "trap '' XFSZ; ulimit -f 16; nn-train -q -m '$data/net.nn' --target=digit --loss=cross-entropy \
    -b 96 --offload=. --checkpoint=no -o m.st '$data/digits.csv'"
  [[ $stderr == "nn-train: .: cannot take "*" bytes for activations: File too large" ]]
  [ ! -e m.st ]
}

@test "offload: the plan names what is written and how much that is, and takes less, with --recompute still less" {
  net='input 1x64x64, repeat 4 { conv2d 16 3x3 pad=1, batchnorm group=8, relu }, flatten, dense 10'
  plan() { nn-train --explain=json -m "$net" -b 16 --micro-batch=16 "$@"; }
  plan >kept.json
  plan --offload=/tmp >away.json
  plan --offload=/tmp --recompute >both.json
  jq -e '.offload == null' kept.json
  jq -e '(.offload.layers|length > 3) and .offload.bytes > 4000000 and .offload.folder == "/tmp" and .recompute == null' away.json
  [ $((4 * $(jq .memory.activations away.json))) -lt $((3 * $(jq .memory.activations kept.json))) ]
  jq -s -e '.[1].memory.activations <= .[0].memory.activations' away.json both.json
  run nn-train --explain -m "$net" -b 16 --micro-batch=16 --offload=/tmp
  [[ $output == *'written after forward and read back in backward: '*' bytes in /tmp)'* ]]
}

@test "offload: under --memory as little as fits is written, and it is suggested where that helps" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "--memory bounds the host's memory, and the network lies on the device"
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer takes memory of its own"
  net='input 1x64x64, repeat 6 { conv2d 16 3x3 pad=1, batchnorm group=8, relu }, maxpool2d 8, flatten, dense 10'
  plan() { nn-train --explain=json -m "$net" -b 16 "$@"; }
  kept=$(plan --micro-batch=8 | jq .memory.total) least=$(plan --micro-batch=8 --offload | jq .memory.total)
  limit=$(((2 * kept + least) / 3))
  run -4 plan --memory=$limit
  told=$(jq '.suggestions[]|select(.command|test(" --offload$")).total_bytes' <<<"$output")
  plan --memory=$limit --offload >some.json
  plan --micro-batch=8 --offload >all.json
  jq -e --argjson limit $limit '.fits and .memory.total <= $limit' some.json
  off=$((told - $(jq .memory.total some.json)))
  [ $((4 * ${off#-})) -lt $((kept - least)) ]
  jq -s -e '.[0].offload.bytes > 0 and .[0].offload.bytes < .[1].offload.bytes' some.json all.json
  plan --memory=$((kept + 1048576)) --offload | jq -e '.offload.bytes == 0 and .offload.layers == []'
}

@test "offload: a file that can no longer be written ends the run before anything is made of it" {
  command -v prlimit >/dev/null || skip "no prlimit"
  trap '' XFSZ
  nn-train -q -m "$data/net.nn" --target=digit --loss=cross-entropy -b 96 --time-limit=30 --log=log --checkpoint=no --offload=. -o m.st \
    "$data/digits.csv" 2>err &
  for _ in {1..200}; do
    grep -qs '"event":"step"' log && break
    sleep 0.05
  done
  prlimit --pid=$! --fsize=1000
  status=0
  wait $! || status=$?
  [ $status -eq 1 ]
  [ "$(cat err)" = "nn-train: .: cannot write activations: File too large" ]
  [ ! -e m.st ]
}
