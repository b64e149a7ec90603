#!/usr/bin/env bats
# nn-serve --workers: processes that answer at one address as one.
# shellcheck disable=SC2154,SC2016
bats_require_minimum_version 1.5.0
load serve.bash

setup_file() {
  begin_serve || return 0
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 >words.csv
  nn-train -q --target=kind --epochs=1 -m 'dense 8, tanh, dense ?' -o words.st words.csv
  nn-train -q --target=kind --epochs=2 --seed=7 -m 'dense 8, tanh, dense ?' -o other.st words.csv
  cut -d, -f1-3 words.csv | head -n 4 >rows.csv
  nn-predict words.st rows.csv >of-words
  nn-predict other.st rows.csv >of-other
}

# the processes that $server started, a line each
workers() {
  cat /proc/[0-9]*/stat 2>/dev/null | grep -E "^[0-9]+ \([^)]*nn-serve\) [^Z] $server " | cut -d' ' -f1
}

# only PID: of the workers this one runs, the others stand still
only() {
  local pid i
  for pid in $(workers); do
    [ "$pid" != "$1" ] || { kill -CONT "$pid"; continue; }
    kill -STOP "$pid"
    for ((i = 0; i < 1000; i++)); do
      ! grep -q ') T ' "/proc/$pid/stat" || break
      sleep 0.01
    done
  done
}

all_go() {
  local pid
  for pid in $(workers); do kill -CONT "$pid"; done
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

count() {
  curl -sS -m 60 "${@:2}" "${url/unix:*/http://any}/metrics" | sed -n "s/^$1 //p"
}

counts() {
  [ "$(count "$1" "${@:3}")" = "$2" ]
}

gone() {
  ! grep -qsv ') Z ' "/proc/$1/stat"
}

# $1 workers, none of which is $2
replaced() {
  [ "$(workers | wc -l)" -eq "$1" ] && ! workers | grep -qx "$2"
}

@test "serve: --workers answer each for itself with the same bytes, and count on one page" {
  serve --workers=3 --threads=3 words.st
  [ "$(workers | wc -l)" -eq 3 ]
  local pid n=0
  for pid in $(workers); do
    only "$pid"
    ask 200 /predict/words --data-binary @rows.csv
    cmp answer of-words
    ask 404 /v2/models/none
    n=$((n + 3))
    counts 'nn_rows_total{model="words"}' "$n"
    counts 'nn_requests_total{model="words",code="200"}' "$((n / 3))"
    counts 'nn_batch_rows_count{model="words"}' "$((n / 3))"
  done
  all_go
  ask 200 /v2/models/words/stats
  [[ $answer == *'"inference_count":9,"execution_count":3,'* ]]
  ask 200 /v2/models/words/explain
  [[ $answer == *'mean batch 3.00 of 64'* ]]
  stop
  [ "$(wc -l <out)" -eq 1 ]
  ! grep -q warning err
}

@test "serve: a worker that is killed is named and replaced, and counts go on" {
  serve --workers=2 words.st
  ask 200 /predict/words --data-binary @rows.csv
  local pid
  for pid in $(workers); do
    kill -9 "$pid"
    soon replaced 2 "$pid"
    soon grep -q "warning: worker $pid was ended by signal 9" err
    ask 200 /predict/words --data-binary @rows.csv
    cmp answer of-words
  done
  counts 'nn_rows_total{model="words"}' 9
  stop
  [ "$(grep -c warning err)" -eq 2 ]
}

@test "serve: workers that die again and again end the server, with one line that says so" {
  printf 'boss admin\n' >keys
  chmod 600 keys
  serve --workers=2 --key-file=keys words.st
  rm keys # nobody can begin without it
  local status=0
  kill -9 "$(workers | head -n 1)"
  soon gone "$server"
  wait "$server" || status=$?
  [ "$status" -eq 1 ]
  [[ $(tail -n 1 err) == "nn-serve: worker "*"in a row"* ]]
  [ "$(grep -c 'warning: keys' err)" -ge 2 ]
  [ -z "$(workers)" ]
}

@test "serve: SIGHUP reaches all workers, and a bad file is told once" {
  cp words.st m.st
  serve --workers=3 m.st
  cp other.st new.st
  mv new.st m.st
  kill -HUP "$server"
  soon counts 'nn_reload_total{model="m",result="ok"}' 3
  local pid
  for pid in $(workers); do
    only "$pid"
    ask 200 /predict/m --data-binary @rows.csv
    cmp answer of-other
  done
  all_go
  echo bad >new.st
  mv new.st m.st
  kill -HUP "$server"
  soon counts 'nn_reload_total{model="m",result="failed"}' 3
  stop
  [ "$(grep -c warning err)" -eq 1 ]
}

@test "serve: unload and load reach all workers, and who takes the place of one" {
  serve --listen="unix:$PWD/socket" --workers=2 words.st other.st
  local post=(--unix-socket socket) pid
  url=http://any
  ask 200 /v2/repository/models/words/unload "${post[@]}" -d '{}'
  pid=$(workers | head -n 1)
  kill -9 "$pid"
  soon replaced 2 "$pid"
  for pid in $(workers); do
    only "$pid"
    ask 404 /predict/words "${post[@]}" --data-binary @rows.csv
    ask 200 /predict/other "${post[@]}" --data-binary @rows.csv
  done
  all_go
  ask 200 /v2/repository/models/words/load "${post[@]}" -d '{}'
  for pid in $(workers); do
    only "$pid"
    ask 200 /predict/words "${post[@]}" --data-binary @rows.csv
    cmp answer of-words
  done
  all_go
  mv other.st away.st
  ask 400 /v2/repository/models/other/load "${post[@]}" -d '{}'
  mv away.st other.st
  stop
  [ ! -e socket ]
}

@test "serve: SIGTERM under load: workers answer everything that was accepted, and none is left" {
  serve --workers=2 words.st
  local clients=() i pids
  pids=$(workers)
  for i in 1 2 3 4; do
    (while curl -sS -m 30 -o /dev/null -w '%{http_code}\n' --data-binary @rows.csv "$url/predict/words" 2>/dev/null; do :; done) >codes.$i 3>&- &
    clients+=("$!")
  done
  for _ in {1..500}; do
    [ "$(cat codes.* | wc -l)" -lt 100 ] || break
    sleep 0.02
  done
  stop
  wait "${clients[@]}" || true
  [ "$(cat codes.* | grep -vc 000)" -ge 100 ]
  ! grep -vE '^(200|000)$' codes.* || return 1
  for i in $pids; do ! kill -0 "$i" 2>/dev/null || return 1; done
}

@test "serve: a signal that ends the server leaves no file of its Unix socket, one that ends a worker leaves it" {
  for signal in QUIT ALRM XCPU; do
    for workers in 1 2; do
      rm -f ends.socket out
      env --default-signal=QUIT nn-serve --listen=unix:ends.socket --workers=$workers words.st >out 2>err 3>&- &
      server=$!
      for _ in {1..500}; do [ ! -s out ] || break; sleep 0.02; done
      [ -S ends.socket ]
      if [ $workers = 2 ]; then
        worker=$(workers | head -n 1)
        kill -$signal "$worker"
        said "worker $worker was ended"
        [ -S ends.socket ]
        curl -sS -m 20 --unix-socket ends.socket http://localhost/v2/health/live
      fi
      kill -$signal $server
      status=0
      wait $server || status=$?
      server=
      [ "$status" = $((128 + $(kill -l $signal))) ]
      [ ! -e ends.socket ] || { echo "$signal, $workers"; return 1; }
    done
  done
}

@test "serve: no worker outlives the process that started it" {
  serve --workers=2 words.st
  local pids pid
  pids=$(workers)
  kill -9 "$server"
  wait "$server" || true
  for pid in $pids; do soon gone "$pid"; done
  server=
}

@test "serve: workers that cannot begin are one line with the tools' statuses" {
  refused() {
    run "-$1" --separate-stderr timeout 20 nn-serve "${@:3}" </dev/null
    [ -z "$output" ] && [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == "nn-serve: "*"$2"* ]] || { echo "$stderr"; return 1; }
  }
  refused 1 'no-such.st' --listen=127.0.0.1:0 --workers=3 no-such.st
  refused 1 'words.csv' --listen=127.0.0.1:0 --workers=2 words.csv
  refused 2 '--workers=0' --workers=0 words.st
  serve words.st
  refused 1 'cannot listen' --listen="${url#http://}" --workers=2 words.st
  stop
}
