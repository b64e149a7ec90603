#!/usr/bin/env bats
# share/examples/actor-critic: processes that learn together through pipes, in step and each for itself.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

load ranks.bash

setup_file() {
  LACKING=$(lacking_ranks | head -n 1)
  export LACKING XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
  allow_ranks
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  example=$NN_SRC/share/examples/actor-critic
}

# mean FROM TO: of the returns of these updates of standard input, rounded
mean() {
  awk -v from="$1" -v to="$2" '$1 == "update" && $2 >= from && $2 <= to { n++; sum += $4 } END { printf "%d\n", n == to - from + 1 ? sum / n : -1 }'
}

# The folder of a run and its workers are gone.
nothing_left() {
  [ -z "$(compgen -G "$TMPDIR/tmp.*")" ]
  for _ in 1 2 3 4 5; do
    pgrep -f "$TMPDIR/tmp.*/actor-critic|^sh $example/actor-critic.sh" >/dev/null || return 0
    sleep 0.2
  done
  return 1
}

@test "actor-critic: the sum of all workers' gradients learns to hold the pole, the same with 1, 2 and 4" {
  [ -z "$LACKING" ] || skip "$LACKING"
  timeout 120 sh "$example/actor-critic.sh" -n 1 >one
  [ "$(mean 1 5 <one)" -lt 60 ]
  [ "$(mean 81 100 <one)" -ge 170 ]
  for n in 2 4; do
    timeout 120 sh "$example/actor-critic.sh" -n $n >many
    cmp one many
  done
  nothing_left
}

@test "actor-critic: without an update nothing is learned" {
  [ -z "$LACKING" ] || skip "$LACKING"
  mkdir still
  cp "$example/actor-critic.sh" still
  sed 's/^#define RATE_POLICY .*/#define RATE_POLICY 0/' "$example/actor-critic.c" >still/actor-critic.c
  timeout 120 sh still/actor-critic.sh -n 2 >none
  [ "$(mean 81 100 <none)" -lt 60 ]
}

@test "actor-critic: updates from gradients as they come learn it, too; their staleness is counted" {
  timeout 120 sh "$example/actor-critic.sh" -a -n 4 >async
  [ "$(mean 1 10 <async)" -lt 80 ]
  [ "$(mean 301 400 <async)" -ge 150 ]
  [ "$(awk '$1 == "staleness" { for (i = 2; i <= NF; i++) n += $i; print n }' async)" = 400 ]
  nothing_left
}

@test "actor-critic: without nn-allreduce it ends, and its workers with it" {
  mkdir few
  for tool in sh mktemp rm dirname mkfifo; do
    ln -s "$(type -P "$tool")" few # a file, whatever bats calls rm
  done
  printf '#!/bin/sh\nPATH="%s" exec %s "$@"\n' "$PATH" "$CC" >few/cc
  chmod +x few/cc
  run -127 env -u CC PATH="$PWD/few" "$(command -v timeout)" 60 sh "$example/actor-critic.sh"
  nothing_left
}

@test "actor-critic: a worker that dies ends all with a line that says so" {
  [ -z "$LACKING" ] || skip "$LACKING"
  timeout 120 sh "$example/actor-critic.sh" -n 2 -u 100000000 >out 2>err &
  script=$!
  for _ in $(seq 200); do
    [ -s out ] && break
    sleep 0.1
  done
  kill -9 "$(pgrep -f "$TMPDIR/tmp.*/actor-critic sync 1 2")"
  status=0
  wait $script || status=$?
  [ "$status" = 1 ]
  grep -Eq '^nn-allreduce: .*/(in|out)\.1: ' err
  nothing_left
}
