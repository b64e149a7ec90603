#!/usr/bin/env bats
# nn-bench ops: rows, peaks, bad operands.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load bench.bash

columns=op,shape,device,kernel,dtype,seconds,gflops,gbytes_s,peak_share,check

@test "bench: ops prints a row for each pass of an op, verified" {
  nn-bench ops dense:8x20x10 softmax:16x10 --time=0.2 --to=csv >rows.csv
  [ "$(head -n 1 rows.csv)" = "$columns,$last" ]
  [ "$(grep ',ours,' rows.csv | cut -d, -f1-5)" = "dense,8x20x10,cpu,ours,f32
dense-backward,8x20x10,cpu,ours,f32
softmax,16x10,cpu,ours,f32
softmax-backward,16x10,cpu,ours,f32" ]
  [ "$(tail -n +2 rows.csv | cut -d, -f10 | sort -u)" = ok ]
}

@test "bench: ops: OpenBLAS stands beside ours where it is installed, else a note says why not" {
  export NN_DEVICE=cpu
  nn-bench ops dense:8x20x10 --time=0.2 --to=csv >rows.csv 2>notes
  if grep -q ',openblas,' rows.csv; then
    [ "$(grep -c '^dense.*,openblas,f32,' rows.csv)" = 2 ]
    [ "$(tail -n 1 rows.csv | cut -d, -f15)" = openblas ]
  else
    grep -q '^nn-bench: note: no rows of openblas: ' notes
    [ -z "$(tail -n 1 rows.csv | cut -d, -f15)" ]
  fi
}

@test "bench: ops: no figure is above the peaks measured in the same run" {
  nn-bench ops dense:128x784x128 dense:64x512x512 activation add softmax --time=0.1 --to=csv >rows.csv
  awk -F, 'NR > 1 { gsub(/"[^"]*"/, "s"); if ($9 != "" && ($9 <= 0 || $9 > 1)) { print; bad = 1 } } END { exit bad }' rows.csv
  [ "$(grep -c '^activation,' rows.csv)" = 4 ]
}

@test "bench: ops --precision=f64 is measured and verified in f64" {
  nn-bench ops conv2d:2x3x8x8,4,3x3,pad=1 --precision=f64 --time=0.2 --to=jsonl >rows.jsonl
  command -v jq || skip "jq is not installed"
  [ "$(jq -r '[.op, .shape, .dtype, .check] | join(" ")' rows.jsonl)" = "conv2d 2x3x8x8,4,3x3,pad=1 f64 ok
conv2d-backward 2x3x8x8,4,3x3,pad=1 f64 ok" ]
}

@test "bench: ops: an unknown op and a shape that does not fit are status 2 and one line" {
  run -2 --separate-stderr nn-bench ops densr
  [ "$stderr" = "nn-bench: densr: unknown op; did you mean dense?" ]
  run -2 --separate-stderr nn-bench ops dense dense:12
  [ "$stderr" = "nn-bench: dense:12: expected dense:ROWSxINxOUT" ]
  run -2 --separate-stderr nn-bench ops conv2d:1x3x8x8,4,9x9
  [[ $stderr == "nn-bench: conv2d:1x3x8x8,4,9x9: "*9x9* ]]
  [ -z "$output" ]
}

@test "bench: ops: a shape that cannot fit is status 4" {
  run -4 --separate-stderr nn-bench ops dense:1000000x1000000x1000000
  [[ $stderr == *"nn-bench: dense of 1000000 rows needs "*" bytes, "*" are free: fewer rows need less" ]]
}

@test "bench: ops: too little time leaves the figures empty and says so" {
  nn-bench ops conv2d:64x32x13x13,64,3x3 --time=0.0001 --to=csv >rows.csv 2>notes
  grep -q '^conv2d,"64x32x13x13,64,3x3",cpu,ours,f32,,,,,ok,' rows.csv
  grep -q '^nn-bench: note: conv2d: --time=0.0001 is too short for a figure' notes
}

@test "bench: ops MODEL says of each layer what it costs and what bounds it, and draws it" {
  measured nn-bench ops 'input 1x12x12, conv2d 4 3x3, relu, maxpool2d 2x2, flatten, dense 10' --batch=16 --mode=train --plot=roof.svg
  [ "$(head -n 1 rows.csv)" = "layer,op,shape,device,kernel,dtype,flop,bytes,intensity,bound,seconds,gflops,gbytes_s,peak_share,check,$last" ]
  [ "$(tail -n +2 rows.csv | cut -d, -f1,2)" = "0,conv2d
0,conv2d-backward
4,dense
4,dense-backward" ]
  grep -q '^4,dense,16x100x10,cpu,ours,f32,32000,' rows.csv
  [ "$(grep -cE ',(compute|cache|memory|latency),' rows.csv)" = 4 ]
  grep -q '</svg>' roof.svg && grep -q 'roof of memory' roof.svg && grep -q '4 dense' roof.svg
}

@test "bench: ops MODEL: layers of a prediction, a pooling fused into a convolution among them, are verified" {
  nn-bench ops "$NN_SRC/share/examples/digits.nn" --batch=8 --time=0.05 --to=csv >rows.csv
  [ "$(tail -n +2 rows.csv | sed 's/"[^"]*"/SHAPE/' | cut -d, -f2,15 | xargs)" = "conv2d,ok conv2d,ok dense,ok dense,ok" ]
}

@test "bench: ops: --plot, --batch and --mode belong to a model; a layer that cannot fit is status 4" {
  run -2 --separate-stderr nn-bench ops dense --plot=x.svg
  [ "$stderr" = "nn-bench: --plot: means something to ops with a MODEL alone" ]
  [ ! -e x.svg ]
  run -4 --separate-stderr nn-bench ops 'input 1000000, dense 2' --batch=1000000000 --plot=x.svg
  [[ $stderr == *"nn-bench: dense of 1000000000 rows needs "* ]]
  [ ! -e x.svg ]
}
