#!/usr/bin/env bats
# nn-train --ranks: a rank that is killed, stopped or hangs ends the others, is named, and leaves a state that goes on to the same bytes.
# shellcheck disable=SC2154,SC2034
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  begin_ranks || return 0
  cp "$NN_SRC/share/data/digits.csv.gz" .
  train -o one.safetensors
}

setup() {
  enter_ranks
  rm -f long.* .long.*
}

words=(-q -m 'dense 48, relu, dense ?' --target=digit --loss=cross-entropy --steps=12000 digits.csv.gz)
train() {
  timeout -k 5 120 nn-train "${words[@]}" "$@"
}

# long RANKS ...: a training is at work, its errors in err
long() {
  touch begun
  nn-train "${words[@]}" --checkpoint-every=20 -o long.safetensors --ranks="$1" "${@:2}" 2>err 3>&- &
  parent=$!
  started "$1"
  saved long.state.safetensors begun
}

# Nothing of $parent is left, in the process table or beside the outputs.
nothing_left() {
  gone "$processes" 100
  [ ! -e long.safetensors ]
  [ "$(compgen -G '.long.*')" = "" ]
}

place=' at step [0-9]+; last checkpoint long\.state\.safetensors \(step [0-9]+\)$'

@test "train lost: a killed rank is named with pid, signal, step and checkpoint; any number of ranks goes on to the same bytes" {
  local resume=--steps=1000000
  for victim in 0 2 1; do
    # shellcheck disable=SC2086 # options
    long 3 $resume
    kill -9 "${ranks[victim]}"
    ended 5
    nothing_left
    cat err
    [[ "$(cat err)" =~ ^nn-train:\ rank\ $victim\ \(pid\ ${ranks[victim]}\)\ was\ killed\ by\ signal\ 9$place ]]
    resume='--steps=1000000 --resume'
  done
  steps=$(($(sed -n 's/.*(step \([0-9]*\))$/\1/p' err) + 500))
  train --steps=$steps -o whole.safetensors
  train --steps=$steps --resume --ranks=2 -o long.safetensors
  cmp whole.safetensors long.safetensors
}

@test "train lost: the step of the message is at or after the checkpoint's, and both are those of the log" {
  long 2 --log=long.log --log-every=1
  sleep 0.3
  kill -9 "${ranks[0]}"
  ended 5
  step=$(sed -E 's/.* at step ([0-9]+);.*/\1/' err)
  saved=$(sed -E 's/.*\(step ([0-9]+)\)$/\1/' err)
  [ "$step" -ge "$saved" ]
  [ "$saved" -gt 0 ]
  logged=$(sed -nE 's/.*"event":"step","step":([0-9]+),.*/\1/p' long.log | tail -n 1)
  [ $((step - logged)) -le 1 ]
  [ $((logged - step)) -le 1 ]
  grep -q "\"event\":\"checkpoint\",\"step\":$saved," long.log || [ "$(sed -nE 's/.*"event":"checkpoint","step":([0-9]+),.*/\1/p' long.log | tail -n 1)" -le "$saved" ]
}

@test "train lost: a rank killed while it starts or reads data" {
  rm -f slow.csv
  mkfifo slow.csv
  sleep 100 <>slow.csv 3>&- &
  sleeper=$!
  nn-train -q -m 'dense 4' --target=y --ranks=2 -o long.safetensors slow.csv 2>err 3>&- &
  parent=$!
  started 2
  sleep 0.5
  kill -9 "${ranks[1]}"
  ended 5
  kill $sleeper
  nothing_left
  [ "$(cat err)" = "nn-train: rank 1 (pid ${ranks[1]}) was killed by signal 9" ]
}

@test "train lost: a rank that another signal ends is named with it" {
  long 2
  kill -ALRM "${ranks[1]}"
  ended 5
  nothing_left
  cat err
  [[ "$(cat err)" =~ ^nn-train:\ rank\ 1\ \(pid\ ${ranks[1]}\)\ was\ killed\ by\ signal\ 14$place ]]
}

@test "train lost: --max-restarts goes on with the ranks that are left, to the same bytes" {
  unset 'words[0]'
  long 3 --max-restarts=2 --log=long.log
  kill -9 "${ranks[2]}"
  until_ grep -q 'going on' err
  started 2
  sleep 0.5
  kill -9 "${ranks[0]}"
  ended 0
  cmp one.safetensors long.safetensors
  [ "$(grep -c "^nn-train: warning: rank . (pid [0-9]*) was killed by signal 9" err)" = 2 ]
  grep -qE '^nn-train: note: going on from step [0-9]+ with 2 ranks; restarts left: 1$' err
  grep -qE '^nn-train: note: going on from step [0-9]+ with 1 rank; restarts left: 0$' err
  [ "$(grep -c '"event":"start"' long.log)" = 3 ]
  rm -f long.*
  run -2 --separate-stderr train --ranks=2 --max-restarts=1
  [ "$stderr" = "nn-train: --max-restarts=1: no state is kept without -o FILE or --checkpoint=FILE" ]
}

@test "train lost: a state of another run is not what --max-restarts goes on from" {
  train --steps=500 --seed=7 -o long.safetensors
  nn-train "${words[@]}" -o long.safetensors --ranks=2 --max-restarts=1 --checkpoint-every=100000 2>err 3>&- &
  parent=$!
  started 2
  kill -9 "${ranks[1]}"
  ended 0
  cmp one.safetensors long.safetensors
}

@test "train lost: a rank that makes no progress is named, and ends the job after --timeout" {
  command -v "${NN_PYTHON:-python3}" >/dev/null || skip "no python3"
  cat >hold.py <<'P'
import ctypes, sys, time
if ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0):      # PTRACE_ATTACH: neither running nor in state T
    sys.exit(1)
print("held", flush=True)
time.sleep(60)
P
  long 3 --timeout=2 --steps=1000000
  "${NN_PYTHON:-python3}" hold.py "${ranks[1]}" >held 3>&- &
  holder=$!
  for ((i = 0; i < 100; i++)); do
    [ -s held ] && break
    sleep 0.05
  done
  [ -s held ] || skip "no ptrace"
  ended 5
  kill $holder
  nothing_left
  cat err
  [[ "$(cat err)" =~ ^nn-train:\ rank\ 1\ \(pid\ ${ranks[1]}\)\ made\ no\ progress\ for\ 2\ s\ \(--timeout\)$place ]]
}

@test "train lost: a rank that waits while another computes alone is not without progress" {
  # rank 0 evaluates for seconds what the stages have trained
  NN_CPU=generic train -t 1 -m 'dense 700, relu, dense 700, relu, dense ?' -b 32 --valid=0.5 --valid-every=1 --ranks=2 --pipeline=2 \
    --timeout=1 --steps=1 -o waits.safetensors
}

# slowly SHARE COMMAND...: with so many hundredths of a processor, by a control group of either version
slowly() (
  for group in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
    mkdir "$group/nn$$" 2>/dev/null || continue
    trap 'rmdir "$group/nn$$"' EXIT
    if [ -e "$group/nn$$/cpu.max" ]; then
      echo "${1}000 100000" >"$group/nn$$/cpu.max"
    else
      echo "${1}000" >"$group/nn$$/cpu.cfs_quota_us"
    fi 2>/dev/null || continue
    sh -c 'echo $$ >"$0"; exec "$@"' "$group/nn$$/cgroup.procs" "${@:2}"
    return
  done
  return 77
)

@test "train lost: a rank that gets little of a processor is not without progress" {
  run slowly 7 timeout -k 5 120 env NN_CPU=generic nn-train -q -t 1 -m 'dense 300, relu, dense 300, relu, dense ?' --target=digit \
    --loss=cross-entropy -b 32 --valid=0.5 --valid-every=1 --ranks=2 --pipeline=2 --timeout=1 --steps=2 -o slow.safetensors digits.csv.gz
  [ "$status" != 77 ] || skip "no control group of processors"
  [ "$status" = 0 ]
}

@test "train lost: with --strategy=async a computing rank is named with the step, too" {
  long 3 --strategy=async
  kill -9 "${ranks[1]}"
  ended 5
  nothing_left
  cat err
  [[ "$(cat err)" =~ ^nn-train:\ rank\ 1\ \(pid\ ${ranks[1]}\)\ was\ killed\ by\ signal\ 9$place ]]
}

@test "train lost: mpirun that is stopped does not hold up a training that has ended" {
  long 2
  kill -STOP "$(ps -o pid= --ppid "$parent" | tr -d ' ')"
  ended 0
  gone "$processes" 100
  cmp one.safetensors long.safetensors
}

@test "train lost: a rank that was stopped ends all within 30 s" {
  long 2 --steps=1000000
  kill -STOP "${ranks[1]}"
  start=$SECONDS
  ended 5
  [ $((SECONDS - start)) -le 30 ]
  nothing_left
  cat err
  [[ "$(cat err)" =~ ^nn-train:\ rank\ 1\ \(pid\ ${ranks[1]}\)\ was\ stopped\ \(state\ T\)\ and\ did\ not\ go\ on$place ]]
}
