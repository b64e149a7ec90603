#!/usr/bin/env bats
# nn-serve --ranks: a model cut over processes.
# shellcheck disable=SC2030,SC2031,SC2154
bats_require_minimum_version 1.5.0
load serve.bash

setup_file() {
  begin_serve || return 0
  awk 'BEGIN {
    srand(3)
    for (i = 0; i < 36; i++) printf "p%d,", i
    print "kind"
    for (r = 0; r < 120; r++) {
      for (i = 0; i < 36; i++) printf "%.3f,", rand()
      print substr("abc", 1 + r % 3, 1)
    }
  }' >pixels.csv
  local net='input 1x6x6, conv2d 6 3x3 pad=1, batchnorm, r: relu, conv2d 6 3x3 pad=1, s: batchnorm, add from=r+s, relu, flatten, dense 16, tanh, dense ?'
  nn-train -q --target=kind --epochs=1 -m "$net" -o net.st pixels.csv
  nn-train -q --target=kind --epochs=2 --seed=7 -m "$net" -o other.st pixels.csv
  cut -d, -f1-36 pixels.csv >rows.csv
  local i
  for i in 1 2 3 4 5; do
    { head -n 1 rows.csv; tail -n +2 rows.csv | sed -n "$((i * 20 - 19)),$((i * 20 - 10 + i))p"; } >rows.$i
    nn-predict net.st rows.$i >want.$i
  done
  nn-predict other.st rows.1 >of-other
}

# the processes that $server started, a line each
ranks() {
  cat /proc/[0-9]*/stat 2>/dev/null | grep -E "^[0-9]+ \([^)]*nn-serve\) [^Z] $server " | cut -d' ' -f1 | sort -n
}

rank() {
  ranks | sed -n "$1p"
}

# soon COMMAND: it succeeds within 20 seconds
soon() {
  local i
  for ((i = 0; i < 1000; i++)); do
    ! "$@" || return 0
    sleep 0.02
  done
  echo "never: $*"
  cat err
  return 1
}

shows() {
  curl -sS -m 60 "$url/metrics" | grep -qx "$1"
}

gone() {
  ! grep -qsv ') Z ' "/proc/$1/stat"
}

# alike N: rows.N are answered with nn-predict's bytes
alike() {
  curl -sS -m 60 --data-binary "@rows.$1" "$url/predict/net" | cmp - "want.$1"
}

@test "serve: --ranks answers with nn-predict's bytes, however many ranks, under load" {
  local n i
  for n in 2 3 4; do
    serve --ranks=$n --threads=2 --max-batch=7 net.st
    [ "$(ranks | wc -l)" -eq $((n - 1)) ]
    grep -Eq 'note: model "net": rank 0 has layers? 0( to [0-9]+)? \([0-9.]+ MB\), rank 1 has layer' err
    local pids=()
    for i in 1 2 3 4 5; do
      { for _ in 1 2 3 4; do alike "$i" || exit 1; done; } &
      pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    shows "nn_rank_up{rank=\"$((n - 1))\"} 1"
    stop
  done
}

@test "serve: --ranks: while a rank is at work on a batch, those before it begin others" {
  serve --ranks=2 --max-batch=4 net.st
  alike 1
  local a b
  kill -STOP "$(rank 1)"
  alike 1 & a=$!
  alike 2 & b=$!
  soon shows 'nn_rank_batches 2'
  kill -CONT "$(rank 1)"
  wait "$a"
  wait "$b"
  soon shows 'nn_rank_batches 0'
  stop
}

@test "serve: a rank that is lost is named, what it had is refused at once, and the server is not ready" {
  serve --ranks=3 net.st
  alike 1
  ask 200 /v2/health/ready
  local lost code
  lost=$(rank 2)
  kill -STOP "$lost"
  curl -sS -m 60 -o refused -w '%{http_code}' --data-binary @rows.1 "$url/predict/net" >code &
  code=$!
  soon shows 'nn_rank_batches 1'
  kill -9 "$lost"
  wait "$code"
  [ "$(cat code)" = 503 ]
  soon grep -q "warning: rank 2 (process $lost) was ended by signal 9 (Killed): its layers are lost" err
  ask 503 /v2/health/ready
  ask 200 /v2/health/live
  ask 503 /v2/models/net/ready
  ask 503 /predict/net --data-binary @rows.1 -D head
  grep -qi '^retry-after:' head
  [[ $answer == *'a rank that has a part of the model is lost'* ]]
  ask 200 /v1/models/net
  [[ $answer == *'"state":"END"'*'"error_code":"UNAVAILABLE"'*'"ready":false'* ]]
  shows 'nn_dispatch_total{model="net",reason="drain"} 0'
  shows 'nn_batch_rows_count{model="net"} 1'
  shows 'nn_rank_up{rank="1"} 1'
  shows 'nn_rank_up{rank="2"} 0'
  stop
}

@test "serve: a second SIGTERM ends it at once, and so does the end of --drain: status 143" {
  local how status
  for how in --drain=30 --drain=0.2; do
    serve --ranks=2 "$how" net.st
    alike 1
    kill -STOP "$(rank 1)"
    curl -sS -m 60 -o /dev/null --data-binary @rows.1 "$url/predict/net" 2>/dev/null &
    soon shows 'nn_rank_batches 1'
    kill -TERM "$server"
    [ "$how" = --drain=0.2 ] || { sleep 0.1; kill -0 "$server"; kill -TERM "$server"; }
    status=0
    wait "$server" || status=$?
    server=
    [ "$status" -eq 143 ]
  done
}

@test "serve: no rank outlives the server, however it ends" {
  local all how
  for how in TERM KILL; do
    serve --ranks=3 net.st
    all=$(ranks)
    # a signal for all of a group is not for the ranks
    kill -TERM "$(rank 1)"
    alike 1
    kill -"$how" "$server"
    wait "$server" || [ "$how" = KILL ]
    server=
    local pid
    for pid in $all; do soon gone "$pid"; done
  done
}

@test "serve: --ranks reads a model anew, and a bad file leaves the old one serving" {
  mkdir -p models
  cp net.st models/net.st
  serve --ranks=2 --watch models
  alike 1
  cp other.st models/new && mv models/new models/net.st
  reread() { curl -sS -m 60 --data-binary @rows.1 "$url/predict/net" | cmp -s - of-other; }
  soon reread
  head -c 900 net.st >models/new && mv models/new models/net.st
  soon grep -q 'models/net.st' err
  reread
  cp net.st models/new && mv models/new models/net.st
  kill -HUP "$server"
  soon alike 1
  stop
}

@test "serve: --ranks: every process is in the sandbox" {
  serve --ranks=2 net.st
  [ "$(ranks | wc -l)" -eq 1 ]
  grep -qE '^NoNewPrivs:\s+1$' "/proc/$(rank 1)/status"
  grep -qE '^Seccomp:\s+[02]$' "/proc/$(rank 1)/status"
  grep -qE '^Max core file size +0 +0' "/proc/$(rank 1)/limits"
  stop
}

@test "serve: ranks that cannot be are one line with the tools' statuses" {
  run --separate-stderr -1 nn-serve --listen=127.0.0.1:0 --ranks=30 net.st
  [ "${#stderr_lines[@]}" -eq 1 ]
  [[ $stderr == *'net.st: 30 ranks: a rank has at least one layer with what is computed in one with it, of which there are 4' ]]
  run --separate-stderr -2 nn-serve --ranks=2 --workers=2 net.st
  [[ $stderr == *'--workers=2: not with --ranks=2; '* ]]
  run --separate-stderr -1 nn-serve --listen=127.0.0.1:0 --ranks=2 pixels.csv
  [ "${#stderr_lines[@]}" -eq 1 ]
}
