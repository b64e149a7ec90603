#!/usr/bin/env bats
# nn-bench load: rows, loops, arrivals, bodies, bad manners of a server.
# shellcheck disable=SC2154,SC2034
bats_require_minimum_version 1.5.0
load bench.bash

# serve [KEY=VALUE]...: a server of the tests at $url until the test is over
serve() {
  rm -f port # of a server before it
  "$NN_BUILD/tests/lib/load-server" tcp "$@" >port 2>server.err 3>&- &
  server=$!
  for _ in $(seq 200); do [ ! -s port ] || break; sleep 0.02; done
  url=http://127.0.0.1:$(cat port)
}

teardown() {
  [ -z "${server-}" ] || kill "$server" 2>/dev/null || true
}

# load OPTION...: rows in rows.csv, what it says in notes
load_rows() {
  timeout 60 nn-bench load "$url" --to=csv "$@" >rows.csv 2>notes
}

# cell NAME [ROW]
cell() {
  awk -F, -v name="$1" -v row="${2-1}" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR == row + 1 { print $c }' rows.csv
}

@test "bench: load: a closed loop prints one row, and tells server, queue and batches as the server does" {
  serve
  load_rows --time=0.3 --connections=4
  [ "$(head -n 1 rows.csv)" = "rate,sent,ok,errors,p50_s,p90_s,p99_s,max_s,samples_per_s,batch_mean,server_s,queue_s,network_s,client_s,null_s,net_s,warmup_s,$last" ]
  [ "$(wc -l <rows.csv)" = 2 ]
  [ "$(cell sent)" -gt 4 ]
  [ "$(cell sent),$(cell errors)" = "$(cell ok),0" ]
  [ "$(cell server_s),$(cell queue_s),$(cell batch_mean)" = 0.0038,0.001,4 ]
  grep -q '^nn-bench: note: of a request, in the mean: client .*; in the server read 100 us, parse 200 us, queue 1 ms, compute 3 ms, format 500 us$' notes
}

@test "bench: load: without Server-Timing the server's share is unknown, latencies are not" {
  serve untimed=1
  load_rows --time=0.2
  [ "$(cell server_s),$(cell queue_s),$(cell network_s)" = ,, ]
  [ -n "$(cell max_s)" ]
  ! grep -q 'of a request' notes
}

@test "bench: load: constant arrivals are rate times time, random ones near it and the same for a seed" {
  serve
  load_rows --rate=200 --time=0.5 --arrivals=constant
  [ "$(cell rate),$(cell sent),$(cell ok)" = 200,100,100 ]
  load_rows --rate=400 --time=0.5 --seed=3
  first=$(cell sent)
  [ "$first" -gt 130 ] && [ "$first" -lt 270 ] # 200, five standard deviations around it
  load_rows --rate=400 --time=0.5 --seed=3
  [ "$(cell sent)" = "$first" ]
  for seed in 4 5 6; do
    load_rows --rate=400 --time=0.5 --seed=$seed
    [ "$(cell sent)" = "$first" ] || return 0
  done
  false
}

@test "bench: load: latency counts from the time a request was due: a stall of a second is in all requests of that second" {
  serve stall=700
  load_rows --rate=200 --time=3 --arrivals=constant --connections=1 --timeout=10
  [ "$(cell sent),$(cell ok)" = 600,600 ]
  # one connection waited for one answer while 200 of the 600 were due: the 60th longest wait is 0.7 s
  awk -v p="$(cell p90_s)" 'BEGIN { exit !(p > 0.5) }'
  awk -v c="$(cell client_s)" 'BEGIN { exit !(c > 0.1) }'
}

@test "bench: load: a recorded file of times is played, faster with --rate, cut with --time" {
  serve log=log
  printf '# of a log\n1700000000.5\n\n1700000000.6 # here\n1700000000.6\n1700000000.75\n' >arrivals
  load_rows --arrivals=arrivals --rows=3
  [ "$(cell sent),$(cell ok)" = 4,4 ]
  load_rows --arrivals=arrivals --rate=1000
  [ "$(cell rate),$(cell sent)" = 1000,4 ]
  load_rows --arrivals=arrivals --time=0.05
  [ "$(cell sent)" = 1 ]
  load_rows --arrivals=- <arrivals
  [ "$(cell sent)" = 4 ]
}

@test "bench: load: a bad line of a recorded file is named, with status 1 and before anything is sent" {
  serve log=log
  printf '0\n0.1\nnoon\n' >arrivals
  run -1 --separate-stderr nn-bench load "$url" --arrivals=arrivals
  [ "$stderr" = "nn-bench: arrivals:3: expected a time in seconds, got noon" ]
  printf '0\n2\n1\n' >arrivals
  run -1 --separate-stderr nn-bench load "$url" --arrivals=arrivals
  [ "$stderr" = "nn-bench: arrivals:3: expected a time not before 2 s, got 1" ]
  echo '#' >arrivals
  run -1 --separate-stderr nn-bench load "$url" --arrivals=arrivals
  [ "$stderr" = "nn-bench: arrivals: expected arrival times, one a line, got none" ]
  printf '0\n0\n' >arrivals
  run -2 --separate-stderr nn-bench load "$url" --arrivals=arrivals --rate=3
  run -1 --separate-stderr nn-bench load "$url" --arrivals=none
  [ ! -s log ]
}

@test "bench: load: refused requests are errors, counted and named, with status 0" {
  serve fail=4
  load_rows --rate=400 --time=0.5 --arrivals=constant
  [ "$(cell sent)" = 200 ]
  [ "$(($(cell ok) + $(cell errors)))" = 200 ]
  [ "$(cell errors)" = 50 ]
  grep -q '^nn-bench: note: 50 of 200 requests failed, the first: status 503: {"error":"the queue is full"}$' notes
}

@test "bench: load: a server that closes connections loses no request" {
  for manners in close=1 drop=7; do
    serve $manners
    load_rows --rate=300 --time=0.5 --arrivals=constant --connections=1
    [ "$(cell ok),$(cell errors)" = 150,0 ]
    kill $server
  done
}

@test "bench: load: a request that is never answered is an error after --timeout" {
  serve mute=10
  load_rows --rate=100 --time=0.5 --arrivals=constant --timeout=0.3
  [ "$(cell sent)" = 50 ]
  [ "$(cell errors)" -ge 5 ]
  grep -q 'the first: no answer within the time of --timeout$' notes
}

@test "bench: load: a server that cannot keep up: what was not sent is an error and said" {
  serve mute=1
  load_rows --rate=100 --time=0.2 --arrivals=constant --connections=2 --timeout=0.5
  [ "$(cell sent),$(cell ok),$(cell errors)" = 20,0,20 ]
  grep -qE 'requests? (was|were) not sent: on 2 connections the server did not keep up' notes
}

@test "bench: load: answers that are no HTTP are errors" {
  for garbage in 'SSH-2.0-OpenSSH' $'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx' \
    $'HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n' $'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n' \
    $'HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx' "HTTP/1.1 200 OK"$'\r\n'"X: $(printf %9000s x)"; do
    serve "garbage=$garbage"$'\r\n'
    load_rows --rate=50 --time=0.2 --arrivals=constant
    [ "$(cell sent),$(cell ok),$(cell errors)" = 10,0,10 ]
    grep -q 'requests failed, the first: ' notes
    kill $server
  done
}

@test "bench: load: chunked answers, and a Unix socket" {
  serve chunked=1
  load_rows --time=0.2
  [ "$(cell errors)" = 0 ]
  [ "$(cell server_s)" = 0.0038 ]
  kill $server
  "$NN_BUILD/tests/lib/load-server" sock >port2 3>&- &
  server=$!
  for _ in $(seq 200); do [ ! -s port2 ] || break; sleep 0.02; done
  url=unix:sock load_rows --rate=100 --time=0.2 --arrivals=constant
  [ "$(cell ok)" = 20 ]
}

@test "bench: load: bodies follow the metadata, in three forms" {
  command -v jq >/dev/null || skip "no jq"
  echo '{"name":"m","inputs":[{"name":"a\"b","datatype":"FP32","shape":[-1,2,2]},{"name":"n","datatype":"INT64","shape":[-1]},{"name":"t","datatype":"BYTES","shape":[-1,1]}]}' >meta
  serve log=log metadata=meta
  load_rows --time=0.05 --rows=2
  [ "$(head -n 1 log)" = "POST /v1/models/m:predict HTTP/1.1" ]
  sed -n 2p log | jq -e '.instances | length == 2 and all(.[]; (."a\"b" | length == 2 and all(.[]; length == 2 and all(.[]; . >= 0 and . < 1))) and (.n | . == 0 or . == 1) and (.t | length == 1 and (.[0] | length == 1)))'
  load_rows --time=0.05 --rows=2 --body=v2
  [ "$(sed -n 1p log)" = "POST /v1/models/m:predict HTTP/1.1" ]
  grep -A1 '^POST /v2/models/m/infer HTTP' log | sed -n 2p >v2
  jq -e '.inputs | map(.name) == ["a\"b", "n", "t"] and map(.shape) == [[2, 2, 2], [2], [2, 1]] and map(.data | length) == [8, 2, 2]' v2
  kill $server
  serve log=log metadata=meta
  load_rows --time=0.05 --rows=2 --body=binary
  sed -n 2p log | grep -ao '^.*"binary_data_size":10}}\]}' >binary
  jq -e '.inputs | map(.parameters.binary_data_size) == [32, 16, 10]' binary
}

@test "bench: load: the same seed makes the same bodies" {
  for i in 1 2 3; do
    serve log=log
    load_rows --time=0.05 --seed=$((i / 2)) --connections=1
    sed -n 2p log >body.$i
    kill $server
  done
  cmp body.2 body.3
  ! cmp -s body.1 body.2
}

@test "bench: load: --slo tries rates, a row each, and names the highest that holds; none is status 1" {
  serve
  load_rows --slo=300ms --rate=50 --time=0.2 --connections=2
  [ "$(cell rate)" = 50 ]
  [ "$(cell rate 2)" = 100 ]
  [ "$(wc -l <rows.csv)" -gt 3 ]
  grep -qE '^nn-bench: note: the highest rate tried whose p99 is within 300 ms is [0-9]+' notes
  status=0
  load_rows --slo=1us --rate=400 --time=0.1 || status=$?
  [ $status = 1 ]
  [ "$(tail -n +2 rows.csv | cut -d, -f1 | xargs)" = "400 200 100" ]
  grep -q '^nn-bench: --slo: no rate from 100 a second on has its p99 within 1 us$' notes
}

@test "bench: load: --plot draws how many were answered within a time, and latency over the rates of --slo" {
  serve
  load_rows --rate=1000 --time=0.6 --plot=a.svg
  grep -q '>answered within it<' a.svg
  grep -q '>p90<' a.svg
  load_rows --slo=300ms --rate=50 --time=0.2 --connections=2 --plot=b.svg
  grep -q '>--slo<' b.svg
  grep -q '>answered per second' b.svg
  if command -v xmllint >/dev/null; then xmllint --noout a.svg b.svg; fi
}

@test "bench: load: a percentile that takes more requests is empty, and a note says so" {
  serve
  load_rows --rate=100 --time=0.5 --arrivals=constant
  [ -n "$(cell p90_s)" ]
  [ -z "$(cell p99_s)" ]
  grep -q '^nn-bench: note: 50 answers are too few for p99_s, which takes 500: more --time$' notes
}

@test "bench: load: --key-file sends its first key, with questions and predictions" {
  serve key=s3cret log=log
  run -1 --separate-stderr nn-bench load "$url"
  [[ $stderr == *"status 401: "* ]]
  printf 's3cret predict\nother admin\n' >keys
  load_rows --time=0.1 --key-file=keys
  [ "$(cell errors)" = 0 ]
  printf '\n' >keys
  run -1 --separate-stderr nn-bench load "$url" --key-file=keys
  [ "$stderr" = "nn-bench: keys:1: expected a key of at most 256 letters, digits and signs" ]
}

@test "bench: load: a name with several addresses is the one where somebody listens" {
  serve
  url=http://localhost:$(cat port)/
  load_rows --time=0.1
  [ "$(cell errors)" = 0 ]
}

@test "bench: load: --null subtracts the null model" {
  serve log=log
  load_rows --rate=100 --time=0.2 --arrivals=constant --null
  grep -q '^POST /v1/models/m:null:predict ' log
  [ -n "$(cell null_s)" ] && [ -n "$(cell net_s)" ]
  run -2 nn-bench load "$url" --null --slo=1ms
}

@test "bench: load: nobody there is status 1 and one line, a bad URL status 2" {
  serve until=1
  kill $server
  wait $server || true
  run -1 --separate-stderr nn-bench load "$url"
  [ "$stderr" = "nn-bench: $url: Connection refused" ]
  [ -z "$output" ]
  run -1 --separate-stderr nn-bench load unix:none
  [ "$stderr" = "nn-bench: unix:none: No such file or directory" ]
  for bad in localhost:80 https://localhost http:// http://:80 http://localhost:0 http://localhost:65536 http://a/b http://[::1 unix: "http://$(printf %400s a | tr ' ' a)"; do
    run -2 --separate-stderr nn-bench load "$bad"
    [[ $stderr == "nn-bench: "*": expected http://HOST:PORT, the server's root, or unix:PATH" ]]
  done
}

@test "bench: --dry-run refuses operands of load and ops that the run would refuse" {
  for words in 'load nope://x' 'load http://' 'load unix:' 'load http://localhost --null --slo=1ms' 'ops foo' 'ops dense:1x2' 'ops dense --plot=x.svg' 'ops input'; do
    # shellcheck disable=SC2086 # words
    run -2 --separate-stderr nn-bench --dry-run $words
    [ "${#stderr_lines[@]}" = 1 ] || { echo "$words: $stderr"; return 1; }
  done
  for words in 'load http://localhost:8' 'load unix:none' ops 'ops dense dense:1x2x3'; do
    # shellcheck disable=SC2086 # words
    nn-bench --dry-run $words
  done
}

@test "bench: load: where --time does not suffice the figures are empty, and a line says so" {
  serve
  for options in --time=0 '--time=0 --rate=100' '--time=0.001 --rate=1 --arrivals=constant' '--time=0 --slo=5ms'; do
    # shellcheck disable=SC2086 # words
    run -0 --separate-stderr nn-bench load "$url" --to=csv $options
    [ "${#lines[@]}" = 2 ]
    [[ $stderr == *"time"* && $stderr != *inf* ]] || { echo "$options: $stderr"; return 1; }
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
      { exit !($at["p50_s"] == "" && $at["p99_s"] == "" && $at["rate"] !~ /inf|1000000/) }' <<<"$output" || { echo "$options: $output"; return 1; }
  done
}

@test "bench: load: options that do not go together or to other verbs are status 2" {
  run -2 --separate-stderr nn-bench load http://localhost --arrivals=constant
  [[ $stderr == "nn-bench: --arrivals=constant: expected --rate=N or --slo=TIME with it" ]]
  run -2 --separate-stderr nn-bench load http://localhost --slo=soon
  [[ $stderr == *"--slo=soon: expected a time such as 5ms, 500us or 0.005" ]]
  run -2 --separate-stderr nn-bench device --rate=3
  [ "$stderr" = "nn-bench: --rate: does not apply to device" ]
}

@test "bench: load: of several models one has to be named; one that is not there is status 1" {
  serve 'models={"models":["m","other"]}'
  run -2 --separate-stderr nn-bench load "$url"
  [ "$stderr" = "nn-bench: $url: several models are there, --model=NAME says which: m, other" ]
  load_rows --model=m --time=0.05
  [ "$(cell errors)" = 0 ]
  run -1 --separate-stderr nn-bench load "$url" --model=ghost
  [[ $stderr == "nn-bench: $url: /v2/models/ghost: status 404: "* ]]
  run -2 nn-bench load "$url" --model=$'m HTTP/1.1\r\nX: y'
}

@test "bench: load: metadata that cannot be are status 1 and one line" {
  for meta in '{' '[]' '{"inputs":[]}' '{"inputs":[{"name":"x","datatype":"FP32","shape":[-1,4294967296,4294967296]}]}' \
    '{"inputs":[{"name":"x","datatype":"FP33","shape":[-1]}]}' '{"inputs":[{"name":"x","datatype":"FP32","shape":[-1,0]}]}' '{"inputs":[{"datatype":"FP32"}]}'; do
    echo "$meta" >meta
    serve metadata=meta
    run -1 --separate-stderr nn-bench load "$url"
    [ "${#stderr_lines[@]}" = 1 ]
    kill $server
  done
}

@test "bench: load: stopped, the row has what was measured, and the status is 128+n" {
  serve
  nn-bench load "$url" --rate=100 --time=50 --to=csv >rows.csv 2>notes 3>&- &
  sleep 2
  kill -TERM $!
  status=0; wait $! || status=$?
  [ $status = 143 ]
  [ "$(cell ok)" -gt 0 ]
  [ "$(cell errors)" = 0 ]
}

@test "bench: load: nn-serve takes what is made of its metadata, of arrays and of tables, in every form" {
  [ -x "$NN_BUILD/cmd/nn-serve" ] || skip "built without libmicrohttpd"
  printf 'a,b,c,y\n1,red,0.5,yes\n2,blue,0.25,no\n3,red,0.75,yes\n4,green,1,no\n' >t.csv
  nn-train -q -m 'dense 4, relu, dense ?' --target=y --epochs=1 -o t.st t.csv
  nn-train -q -m 'dense 8, relu, dense ?' --target=digit --loss=cross-entropy --steps=5 -o d.st "$NN_SRC/share/data/digits.csv.gz"
  nn-serve --listen=127.0.0.1:0 t=t.st d=d.st >port 2>server.err 3>&- &
  server=$!
  for _ in $(seq 500); do [ ! -s port ] || break; sleep 0.02; done
  url=$(cat port)
  for model in t d; do
    for body in json v2 binary; do
      load_rows --model=$model --body=$body --rows=3 --rate=200 --arrivals=constant --time=0.2 --null
      [ "$(cell ok),$(cell errors)" = 40,0 ]
      [ -n "$(cell server_s)" ] && [ -n "$(cell queue_s)" ] && [ -n "$(cell batch_mean)" ] && [ -n "$(cell null_s)" ]
    done
  done
}
