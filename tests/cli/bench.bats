#!/usr/bin/env bats
# nn-bench: verbs, formats, bad input.
# shellcheck disable=SC2154
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

run_columns=model,mode,device,precision,batch,n,p50_s,p90_s,p99_s,mean_s,ci95_s,samples_per_s,gflops,peak_share,memory_bytes,check,warmup_s,$last

# csv FILE COLUMN: that column of a file of rows without quotes
csv() {
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$1"
}

@test "bench: run prints a verified row for each mode and batch" {
  echo 'input 100, dense 2' | tr , '\n' >small.nn
  nn-bench run small.nn --batch=1,2:8*2 --time=0.2 --to=csv >rows.csv
  [ "$(head -n 1 rows.csv)" = "$run_columns" ]
  [ "$(csv rows.csv mode | uniq -c | tr -s ' \n' ' ')" = " 4 predict 4 train " ]
  [ "$(csv rows.csv batch | tr '\n' ' ')" = "1 2 4 8 1 2 4 8 " ]
  [ "$(csv rows.csv check | sort -u)" = ok ]
  [ "$(csv rows.csv device | sort -u)" = "${NN_TEST_DEVICE:-cpu}" ]
  [ "$(awk -F, 'NR > 1 && !($10 > 0 && $12 > 0 && $15 > 0)' rows.csv | wc -l)" = 0 ]
}

@test "bench: run's defaults are one row for predictions and the batch of nn.train for training" {
  nn-train -q -m 'dense 2' --target=y --loss=mse --epochs=1 -b 3 - -o m.safetensors <<<$'x,y,y2\n1.5,2.5,1\n2.5,3.5,2' 2>err ||
    nn-train -q -m 'dense 1' --target=y --loss=mse --epochs=1 -b 3 - -o m.safetensors <<<$'x,y\n1.5,2.5\n2.5,3.5'
  nn-bench run m.safetensors --time=0.1 --to=csv >rows.csv
  [ "$(csv rows.csv batch | tr '\n' ' ')" = "1 3 " ]
  [ "$(csv rows.csv check | sort -u)" = ok ]
  nn-bench run m.safetensors --time=0.1 --mode=train --precision=f64 --to=csv >rows.csv
  [ "$(csv rows.csv mode) $(csv rows.csv precision) $(csv rows.csv check)" = "train f64 ok" ]
}

@test "bench: nets with every kind of layer check out in both modes" {
  for net in lenet cifar-cnn resnet8; do
    sed 's/?/10/; /^ *#/d' "$NN_SRC/share/examples/$net.nn" >net.nn
    grep -q '^input' net.nn || { [ $net = lenet ] && sed -i '1i input 1x28x28' net.nn || sed -i '1i input 3x32x32' net.nn; }
    nn-bench run net.nn --batch=4 --time=0.1 --to=csv >rows.csv
    [ "$(csv rows.csv check | tr '\n' ' ')" = "ok ok " ] || { cat rows.csv; false; }
  done
}

@test "bench: too little time leaves the figures empty and says so" {
  run -0 --separate-stderr nn-bench run 'input 2000, dense 2000, relu, dense 2000' --mode=train --batch=2048 --time=0.001 --to=csv
  [ "$(cut -d, -f 9-17 <<<"${lines[1]#*\",}" | cut -d, -f 1-4)" = ",,," ]
  [[ $stderr == "nn-bench: note: train on ${NN_TEST_DEVICE:-cpu}, batch 2048: --time=0.001 is too short for a figure"* ]]
}

@test "bench: bad models, batches, devices and plots are one line and the right status" {
  run -2 --separate-stderr nn-bench run
  [ "$stderr" = "nn-bench: run: expected MODEL" ]
  run -2 --separate-stderr nn-bench run none.nn
  [ "$stderr" = "nn-bench: none.nn: no such file, and not the name of a layer" ]
  run -2 --separate-stderr nn-bench run 'input 4, dens 3'
  [[ $stderr == "nn-bench: MODEL:2: unknown layer 'dens'"* ]]
  run -2 --separate-stderr nn-bench run 'dense 3'
  [[ $stderr == "nn-bench: MODEL: the shape of the samples is not given"* ]]
  run -2 --separate-stderr nn-bench run 'input 4, dense ?'
  [[ $stderr == "nn-bench: MODEL: the size of an output is '?'"* ]]
  printf 'input 4\ndense ?\n' >open.nn
  run -1 --separate-stderr nn-bench run open.nn
  [[ $stderr == "nn-bench: open.nn: the size of an output is '?'"* ]]
  run -2 --separate-stderr nn-bench run 'input 4, dense 3' --batch=8:1
  [[ $stderr == "nn-bench: --batch=8:1: expected numbers of rows"* ]]
  run -2 --separate-stderr nn-bench device --batch=8
  [ "$stderr" = "nn-bench: --batch: does not apply to device" ]
  run -3 --separate-stderr env -u NN_MODULE_PATH nn-bench run 'input 4, dense 3' --device=cuda
  [ "$stderr" = "nn-bench: --device=cuda: module nn-cuda.so is not installed" ]
  run -2 --separate-stderr nn-bench run 'input 4, dense 3' --device=tpu
  run -1 --separate-stderr nn-bench run 'input 4, dense 3' --plot=none/p.svg
  [ "$stderr" = "nn-bench: none/p.svg: cannot write there: No such file or directory" ]
  [ -z "$output" ]
  run -4 --separate-stderr nn-bench run 'input 4000000, dense 3000000'
  [[ $stderr == *"its parameters alone need"*"are available" ]]
  run -4 --separate-stderr nn-bench run 'input 4000, dense 3000' --batch=1073741824
  [[ $stderr == *"a batch of 1073741824 needs"* ]]
}

@test "bench: --plot draws throughput with its knee and latency, and keeps what was there when it fails" {
  nn-bench run 'input 30, dense 20' --mode=predict --batch=1:64*4 --time=0.1 --plot=p.svg >rows 2>err
  grep -q 'knee: ' p.svg
  grep -q 'p50' p.svg
  grep -q "predict on ${NN_TEST_DEVICE:-cpu}: a batch of " err
  ! command -v rsvg-convert || rsvg-convert p.svg -o p.png
  cp p.svg before.svg
  run -1 nn-bench run 'input 30, dense 20' --plot=p.svg -o none/rows
  cmp p.svg before.svg
}

@test "bench: pick prints one device name alone; --store keeps it where XDG_CACHE_HOME says" {
  run -0 --separate-stderr nn-bench pick 'input 784, dense 128, relu, dense 10'
  [[ $output == cpu || $output == "${NN_TEST_DEVICE:-cpu}" ]]
  [ -z "$stderr" ] || [ -n "${NN_TEST_DEVICE-}" ] # two devices are measured, maybe while the machine is busy
  [ ! -e cache/nntools/devices ]
  run -0 nn-bench pick --store --mode=train 'input 784, dense 128, relu, dense 10' -o word
  [[ $(cat word) == cpu || $(cat word) == "${NN_TEST_DEVICE:-cpu}" ]]
  [ "$(wc -l <cache/nntools/devices)" = 1 ]
  run -2 --separate-stderr nn-bench pick 'input 4, dense 2' --batch=1,2
  [ "$stderr" = "nn-bench: --batch=1,2: pick answers for one batch" ]
  run -2 --separate-stderr nn-bench run 'input 4, dense 2' --store
  [ "$stderr" = "nn-bench: --store: does not apply to run" ]
  run -1 --separate-stderr env XDG_CACHE_HOME=/dev/null/x nn-bench pick --store 'input 4, dense 2'
  [ "${#stderr_lines[@]}" = 1 ]
}

@test "bench: link prints what moves bytes, in plain units" {
  nn-bench link --time=0.05 --to=csv >rows.csv
  [ "$(head -n 1 rows.csv)" = "item,value,unit,$last" ]
  for item in copy_cache copy_memory memory_rate pipe_rate tcp_rate; do grep -q "^$item,[0-9.e+]*,B/s," rows.csv; done
  for way in memory pipe tcp; do
    grep -q "^${way}_latency,[0-9.e-]*,s," rows.csv
    grep -q "^${way}_move_16777216,[0-9.e-]*,s," rows.csv
    grep -q "^${way}_share_1048576,[0-9.e-]*,," rows.csv
  done
  grep -q '^step_16777216,[0-9.e-]*,s,' rows.csv
}
