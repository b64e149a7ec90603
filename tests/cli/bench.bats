#!/usr/bin/env bats
# nn-bench: what this machine can do, formats, streams.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load bench.bash
load ranks.bash

@test "bench: device prints item,value,unit with the columns of all rows as csv" {
  export NN_DEVICE=cpu # a device with memory of its own has other rows: device.bats
  nn-bench device --to=csv >rows.csv
  [ "$(head -n 1 rows.csv)" = "item,value,unit,$last" ]
  for item in cores simd memory fma_f32_1 fma_f32_all fma_f64_1 memory_read_1 memory_copy_all; do
    grep -q "^$item,[^,]" rows.csv
  done
  awk -F, '$1 == "fma_f32_1" { exit !($2 > 1e8) }' rows.csv
  ! grep -E '^(fma|memory_)' rows.csv | grep -vE ',(FLOP/s|B/s),'
}

@test "bench: json is one array of objects, jsonl an object a line, md a table" {
  command -v jq || skip "jq is not installed"
  nn-bench memory 'input 4, dense 3' --to=json >rows.json
  [ "$(jq -r 'type' rows.json)" = array ]
  [ "$(jq -r '.[0] | keys_unsorted | join(",")' rows.json)" = "item,value,$last" ]
  [ "$(jq -r '.[] | select(.item == "total") | .value > 1e6' rows.json)" = true ]
  gpu=${NN_TEST_DEVICE:+device of the tests}
  [ "$(jq -r '.[0].gpu' rows.json)" = "${gpu:-null}" ]
  nn-bench memory 'input 4, dense 3' --to=jsonl >rows.jsonl
  [ "$(jq -r .item rows.jsonl)" = "$(jq -r '.[].item' rows.json)" ]
  nn-bench memory 'input 4, dense 3' --to=md >rows.md
  [ "$(head -n 1 rows.md)" = "| item | value | threads | version | cpu | gpu | blas | date |" ]
  [ "$(awk -F'|' '{ print NF }' rows.md | sort -u)" = 10 ]
}

@test "bench: -o writes the rows there" {
  nn-bench memory 'input 4, dense 3' --to=csv -o rows.csv >out
  [ ! -s out ]
  grep -q '^parameters,' rows.csv
}

@test "bench: an unknown verb, an operand too many, no verb are status 2 and one line" {
  run -2 --separate-stderr nn-bench devise
  [ "$stderr" = "nn-bench: devise: unknown verb; did you mean device?" ]
  run -2 --separate-stderr nn-bench frobnicate
  [[ $stderr == "nn-bench: frobnicate: unknown verb; known are "*device* ]]
  run -2 --separate-stderr nn-bench device more
  [ "$stderr" = "nn-bench: device: expected no operand, got more as well" ]
  run -2 --separate-stderr nn-bench
  [ "$stderr" = "nn-bench: no verb given; see nn-bench --help" ]
  [ -z "$output" ]
}

@test "bench: an output that cannot be written is status 1 before anything is measured" {
  run -1 --separate-stderr nn-bench device -o none/rows.csv
  [ "$stderr" = "nn-bench: none/rows.csv: cannot write there: No such file or directory" ]
}

@test "bench: a run that fails leaves what -o had, and prints nothing on stdout" {
  local verb rest
  echo precious >rows.csv
  while read -r verb rest; do
    # shellcheck disable=SC2086
    for to in '--to=json' '--to=csv -o rows.csv'; do
      run --separate-stderr nn-bench $verb $rest $to
      [ "$status" -ne 0 ] && [ -z "$output" ] && [ "${#stderr_lines[@]}" = 1 ] || { echo "$verb $to: $status, $output, $stderr"; false; }
    done
    [ "$(cat rows.csv)" = precious ]
  done <<'T'
run nofile.st
memory nofile.st
explain nofile.st
crossover nofile.st
advise nofile.st
ops nofile.st
input nofile.csv
load http://127.0.0.1:1 --time=0.1
T
  [ -z "$(lacking_ranks)" ] || return 0
  allow_ranks
  run -2 --separate-stderr nn-allreduce --ranks=2 --bench --sizes=1K --model=nofile.st --step-ms=1 --to=json -o rows.csv
  [ "$(cat rows.csv)" = precious ]
}

@test "bench: a run that is stopped leaves what -o had" {
  export NN_DEVICE=cpu
  echo precious >rows.csv
  nn-bench device --to=csv -o rows.csv 3>&- &
  for _ in $(seq 400); do ! grep -qs fma_f32_1 .rows.csv.*.tmp || break; sleep 0.02; done
  grep -q fma_f32_1 .rows.csv.*.tmp
  kill -TERM $!
  status=0; wait $! || status=$?
  [ $status = 143 ]
  [ "$(cat rows.csv)" = precious ]
  [ "$(find . -name '.rows.csv.*')" = "" ]
}

@test "bench: stopped between rows, csv and json are whole and the status is 128+n" {
  export NN_DEVICE=cpu
  for to in csv json; do
    nn-bench device --to=$to >rows 3>&- &
    for _ in $(seq 200); do ! grep -q fma_f32_1 rows || break; sleep 0.02; done
    kill -TERM $!
    status=0; wait $! || status=$?
    [ $status = 143 ]
    grep -q fma_f32_1 rows
    [ $to = csv ] || { ! command -v jq || jq -e 'length > 6' rows; }
    [ $to = json ] || [ "$(awk -F, 'NF < 9' rows | wc -l)" = 0 ]
  done
}

@test "bench: link prints what moves bytes, in plain units" {
  nn-bench link --time=0.05 --to=csv >rows.csv
  grep -q '^ranks_shared_memory,yes,' rows.csv
  grep -q '^ranks_take,shared memory,' rows.csv
  OMPI_MCA_btl=self,tcp nn-bench link --time=0.01 --to=csv | grep -q '^ranks_take,TCP,'
  [ "$(head -n 1 rows.csv)" = "item,value,unit,$last" ]
  for item in copy_cache copy_memory memory_rate pipe_rate tcp_rate; do grep -q "^$item,[0-9.e+]*,B/s," rows.csv; done
  for way in memory pipe tcp; do
    grep -q "^${way}_latency,[0-9.e-]*,s," rows.csv
    grep -q "^${way}_move_16777216,[0-9.e-]*,s," rows.csv
    grep -q "^${way}_share_1048576,[0-9.e-]*,," rows.csv
  done
  grep -q '^step_16777216,[0-9.e-]*,s,' rows.csv
}
