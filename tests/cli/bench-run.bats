#!/usr/bin/env bats
# nn-bench run and pick: rows of a model, their picture, bad input.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load bench.bash

run_columns=model,mode,device,precision,batch,n,p50_s,p90_s,p99_s,mean_s,ci95_s,samples_per_s,gflops,peak_share,memory_bytes,check,warmup_s,$last

# csv FILE COLUMN: that column of a file of rows without quotes
csv() {
  awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$1"
}

@test "bench: run prints a verified row for each mode and batch" {
  echo 'input 100, dense 2' | tr , '\n' >small.nn
  measured nn-bench run small.nn --batch=1,2:8*2
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

@test "bench: a model of int8 weights is measured as nn-predict computes it, and in f32 where that was asked for" {
  nn-train -q -m 'dense 9, relu, dense 2' --target=y --loss=mse --steps=3 -o m.safetensors - <<<$'x,z,y,y2\n1.5,3,2.5,1\n2.5,4,3.5,2' 2>err ||
    nn-train -q -m 'dense 9, relu, dense 1' --target=y --loss=mse --steps=3 -o m.safetensors - <<<$'x,z,y\n1.5,3,2.5\n2.5,4,3.5'
  nn-train -m m.safetensors --steps=0 --precision=int8 -o small.safetensors
  nn-bench run small.safetensors --time=0.1 --to=csv >rows.csv
  [ "$(csv rows.csv mode | tr '\n' ' ')" = "predict train " ]
  case ${NN_TEST_DEVICE:-cpu} in
    cpu) [ "$(csv rows.csv precision | tr '\n' ' ')" = "int8 f32 " ] ;;
    *) [ "$(csv rows.csv precision | tail -n 1)" = f32 ] ;;
  esac
  [ "$(csv rows.csv check | sort -u)" = ok ]
  nn-bench run small.safetensors --time=0.1 --mode=predict --precision=f32 --to=csv >rows.csv
  [ "$(csv rows.csv precision) $(csv rows.csv check)" = "f32 ok" ]
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
  run -0 --separate-stderr nn-bench run 'input 1000, dense 1000, relu, dense 1000' --mode=train --batch=2048 --time=0.001 --to=csv
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
  measured nn-bench run 'input 30, dense 20' --mode=predict --batch=1:64*4 --plot=p.svg
  grep -q 'knee: ' p.svg
  grep -q 'p50' p.svg
  grep -q "predict on ${NN_TEST_DEVICE:-cpu}: a batch of " notes
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
