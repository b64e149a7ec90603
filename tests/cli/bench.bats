#!/usr/bin/env bats
# nn-bench: verbs, formats, bad input.
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  export XDG_CACHE_HOME=$PWD/cache
}

last=threads,version,cpu,gpu,blas,date

@test "bench: device prints item,value,unit with the columns of all rows as csv" {
  nn-bench device --to=csv >rows.csv
  [ "$(head -n 1 rows.csv)" = "item,value,unit,$last" ]
  for item in cores simd memory fma_f32_1 fma_f32_all fma_f64_1 memory_read_1 memory_copy_all; do
    grep -q "^$item,[^,]" rows.csv
  done
  ! grep -E '^(fma|memory_)' rows.csv | grep -vE ',(FLOP/s|B/s),'
}

@test "bench: json is one array of objects, jsonl an object a line, md a table" {
  command -v jq || skip "jq is not installed"
  nn-bench device --to=json >rows.json
  [ "$(jq -r 'type' rows.json)" = array ]
  [ "$(jq -r '.[0] | keys_unsorted | join(",")' rows.json)" = "item,value,unit,$last" ]
  [ "$(jq -r '.[] | select(.item == "fma_f32_1") | .value > 1e8' rows.json)" = true ]
  [ "$(jq -r '.[0].gpu' rows.json)" = null ]
  nn-bench device --to=jsonl >rows.jsonl
  [ "$(jq -r .item rows.jsonl)" = "$(jq -r '.[].item' rows.json)" ]
  nn-bench device --to=md >rows.md
  [ "$(head -n 1 rows.md)" = "| item | value | unit | threads | version | cpu | gpu | blas | date |" ]
  [ "$(awk -F'|' '{ print NF }' rows.md | sort -u)" = 11 ]
}

@test "bench: -o writes the rows there" {
  nn-bench device --to=csv -o rows.csv >out
  [ ! -s out ]
  grep -q '^cores,' rows.csv
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

@test "bench: stopped between rows, csv and json are whole and the status is 128+n" {
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
