#!/usr/bin/env bats
# nn-allreduce: a rank that is stopped ends the job within 30 s; ranks that wait for a pipe are nobody's fault.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

load ../cli/ranks.bash

setup_file() {
  begin_ranks || return 0
}

setup() {
  enter_ranks
  cd "$BATS_TEST_TMPDIR" || return
  mkfifo in.0 in.1 in.2
  sleepers=
  for i in 0 1 2; do
    sleep 300 <>in.$i 3>&- &
    sleepers+=" $!"
  done
  nn-allreduce -q -n 3 --stream in.%r -o out.npy 2>err 3>&- &
  parent=$!
  started 3
  sleep 1
}

@test "allreduce: a stopped rank is named, status 5, within 30 s, and nothing is left" {
  kill -STOP "${ranks[1]}"
  start=$SECONDS
  status=0
  wait "$parent" || status=$?
  [ "$status" = 5 ]
  [ $((SECONDS - start)) -le 30 ]
  [[ "$(cat err)" == "nn-allreduce: rank 1 (pid ${ranks[1]}) was stopped (state T) and did not go on"* ]]
  gone "${ranks[*]}" 20
}

@test "allreduce: ranks that wait for frames wait as long as it takes, without a word and without a core" {
  ticks() { awk '{ print $14 + $15 }' "/proc/${ranks[1]}/stat"; }
  sleep 10
  before=$(ticks)
  sleep 60
  [ $(($(ticks) - before)) -lt 300 ]
  kill -0 "$parent"
  [ ! -s err ] || { cat err; false; }
  kill -TERM "$parent"
  status=0
  wait "$parent" || status=$?
  [ "$status" = 143 ]
}
