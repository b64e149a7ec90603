#!/usr/bin/env bats
# kill -9 at 48 random moments: the previous or the new state is there and whole, and the end has the same bytes.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  make_words 300 >words.csv
}

args=(-q -m 'dense 100, relu, dropout 0.1, dense 50, relu, dense ?' --target=kind -b 32 --valid=0.2 --patience=1000
  --checkpoint-every=1 -o m.safetensors words.csv)

train() {
  nn-train "${args[@]}" "$@"
}

@test "kill: 48 kills, each at another moment, then the same bytes" {
  start=$EPOCHREALTIME
  train --epochs=30
  whole=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
  mv m.safetensors whole
  rm -f m.* .m*
  RANDOM=17
  killed=0
  for ((i = 0; killed < 48 && i < 400; i++)); do
    ((i % 8 == 0)) && rm -f m.* .m*
    nn-train "${args[@]}" --epochs=30 --resume & # no function: $! has to be nn-train itself
    pid=$!
    sleep "$(awk -v w="$whole" -v r=$RANDOM 'BEGIN { printf "%.4f", w * 0.6 * r / 32768 }')"
    kill -9 $pid 2>/dev/null && ((++killed))
    wait $pid || true
    if [ -e m.state.safetensors ]; then
      # whatever is there is complete: it loads, and its checksum holds
      train --epochs=30 --resume --steps=0
      rm -f m.safetensors
    fi
  done
  [ $killed -ge 40 ]
  train --epochs=30 --resume
  same whole m.safetensors
}

@test "kill: before every 7th write, fsync, rename and open the state that is left is whole" {
  command -v strace >/dev/null || skip "strace is not installed"
  strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
  train --epochs=2
  mv m.safetensors whole
  for call in write fsync rename openat ftruncate; do
    for ((n = 1; n < 60; n += 7)); do
      rm -f m.* .m*
      strace -f -qq -o /dev/null -e trace=$call -e inject=$call:signal=SIGKILL:when=$n \
        nn-train "${args[@]}" --epochs=2 2>/dev/null || true
      train --epochs=2 --resume
      same whole m.safetensors
    done
  done
}
