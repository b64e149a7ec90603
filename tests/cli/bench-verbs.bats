#!/usr/bin/env bats
# nn-bench crossover, explain, advise: rows, statuses, bad input.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load bench.bash

net='input 100, dense 2'

@test "bench: crossover with one device compares what there is and is status 3" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "the device of the tests is there"
  for time in 0.05 1 10; do # of a busy machine
    run -3 --separate-stderr nn-bench crossover "$net" --batch=8 --time=$time --threads=2 --to=csv
    ! grep -q '^batch,' <<<"$output" || ! grep -q '^width,' <<<"$output" || break
  done
  [ "${lines[0]}" = "axis,value,a,b,a_s,b_s,b_nocopy_s,b_first_s,winner,check,$last" ]
  grep -q '^batch,[0-9]*,cpu 1 thread,cpu 2 threads,' <<<"$output"
  grep -q '^width,[0-9]*,cpu f64,cpu f32,' <<<"$output"
  [ -z "$(grep -E '^(batch|width),' <<<"$output" | grep -vE ',(cpu[^,]*|undecided),ok,2,')" ]
  [ "${stderr_lines[-1]}" = "nn-bench: crossover: no second device here, only cpu; what would win on a GPU has to be measured on a machine that has one" ]
}

@test "bench: a terminal says what is measured until there is a row; a pipe, a dumb one and -q do not" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "the device of the tests is there"
  type -P script >/dev/null || skip "no script here"
  crossover="nn-bench crossover '$net' --batch=2 --time=0.001 --threads=2"
  TERM=xterm run script -qc "$crossover" /dev/null </dev/null
  [[ $output == *$'\r\e[Kbatch 1: cpu 1 thread, cpu 2 threads ...\r\e[K'* && $output != *...[!$'\r']* ]]
  TERM=dumb run script -qc "$crossover" /dev/null </dev/null
  [[ $output != *$'\e'* ]]
  TERM=xterm run script -qc "$crossover -q" /dev/null </dev/null
  [[ $output != *...* ]]
  TERM=xterm run nn-bench crossover "$net" --batch=2 --time=0.001 --threads=2
  [[ $output != *...* ]]
}

@test "bench: crossover against a device that is not here is status 3" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "the device of the tests is there"
  run -3 --separate-stderr nn-bench crossover "$net" --device=cuda
  [[ $stderr == "nn-bench: "*cuda* ]]
  [ -z "$output" ]
}

@test "bench: crossover: a largest batch that cannot fit is status 4" {
  run -4 --separate-stderr nn-bench crossover 'input 1000000, dense 2' --batch=1000000000 --time=0.2
  [[ ${stderr_lines[-1]} == "nn-bench: "*1000000000* ]]
}

@test "bench: explain prints its phases and one sentence" {
  measured nn-bench explain "$net" --batch=100
  [ "$(head -n 1 rows.csv)" = "phase,seconds,share,$last" ]
  [ "$(tail -n +2 rows.csv | cut -d, -f1 | xargs)" = "exec libraries device load input copy_in first compute copy_out output total" ]
  if [ -n "${NN_TEST_DEVICE-}" ]; then
    [ "$(grep -c '^[a-z_]*,[0-9]' rows.csv)" = 11 ]
    grep -q 'computing 100 rows takes .*, of which the device works [1-9].*what is paid in every call beside it is copy_in and copy_out' notes
    return
  fi
  [ "$(grep -c '^[a-z_]*,[0-9]' rows.csv)" = 9 ]
  grep -qE '^copy_(in|out),,,' rows.csv
  grep -q 'computing 100 rows takes .*which would have to be measured: none is here' notes
}

@test "bench: explain: the phases add up to the total, as a share to 1" {
  measured nn-bench explain "$net"
  awk -F, 'NR > 1 && $1 != "total" { s += $2; p += $3 } $1 == "total" { t = $2 }
    END { exit !(s > 0.99999 * t && s < 1.00001 * t && p > 0.99999 && p < 1.00001) }' rows.csv
}

@test "bench: explain for a device that is not here leaves its phases empty, says what to measure, and is status 3" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "the device of the tests is there"
  for options in --device=cuda '--device=cuda:1 --config=/dev/null'; do
    run -3 --separate-stderr nn-bench explain "$net" $options --batch=100 --time=0.3 --to=csv
    for phase in device copy_in first compute copy_out total; do grep -q "^$phase,,," <<<"$output"; done
    for phase in exec libraries load input output; do grep -q "^$phase,[0-9]" <<<"$output"; done
    [[ ${stderr_lines[0]} == "nn-bench: note: of what can be measured here "*"; the CPU computes 100 rows in "*"which is not here, device, copy_in, first, compute and copy_out would have to be measured" ]]
    [[ ${stderr_lines[-1]} == "nn-bench: device cuda"*": module nn-cuda.so is not installed" ]]
  done
  run -3 --separate-stderr env NN_DEVICE=cuda nn-bench explain "$net" --time=0.1 --to=csv
  grep -q '^total,,,' <<<"$output"
}

@test "bench: explain: too little time leaves compute and total empty and says so" {
  nn-bench explain 'input 300, dense 1000, dense 1000, dense 10' --batch=64 --time=0.0001 --to=csv >rows.csv 2>notes
  grep -q '^first,,,' rows.csv
  grep -q '^compute,,,' rows.csv
  grep -q '^total,,,' rows.csv
  grep -q 'compute: --time=0.0001 is too short' notes
}

@test "bench: explain: a model that is not there or has no input is status 2, files that are none 1" {
  run -2 --separate-stderr nn-bench explain nothing.safetensors
  [ -z "$output" ]
  run -2 --separate-stderr nn-bench explain 'dense 128, relu, dense 10'
  [[ $stderr == *"begin with an input line"* ]]
  echo none >bad.safetensors
  run -1 nn-bench explain bad.safetensors
}

@test "bench: explain leaves nothing behind" {
  mkdir tmp
  TMPDIR=$PWD/tmp nn-bench explain "$net" --time=0.2 >/dev/null
  [ -z "$(ls -A tmp)" ]
}

@test "bench: advise prints each rule with what was measured and a verdict" {
  nn-bench advise "$net" --mode=predict --time=0.05 --to=csv >rows.csv 2>notes
  [ "$(head -n 1 rows.csv)" = "rule,claim,measured,verdict,check,$last" ]
  for rule in gpu batch-1024 batch-32 threads multiple-of-8 multiple-of-16 multiple-of-128; do grep -qE "^$rule,\"?predict: " rows.csv; done
  grep -q '^multiple-of-8,"layer 0 dense: M,N,K 1,2,100 padded to 8,8,104 is faster",' rows.csv
  ! tail -n +2 rows.csv | grep -vE ',(holds|does not hold|depends),(ok)?,[0-9]+,'
}

@test "bench: advise pads convolutions too" {
  nn-bench advise 'input 3x8x8, conv2d 6 3x3, relu, flatten, dense 2' --mode=predict --time=0.05 --to=csv >rows.csv 2>notes
  grep -qE '^multiple-of-16,"layer 0 conv2d: M,N,K 36,6,27 padded to 144,16,144 is faster",[0-9.e-]*,[a-z ]*,ok,' rows.csv
}

@test "bench: advise: a model that cannot fit is status 4" {
  run -4 --separate-stderr nn-bench advise 'input 1000000, dense 10000000, dense 2'
  [[ ${stderr_lines[-1]} == "nn-bench: "*"parameters alone need"* ]]
  [ -z "$output" ]
}

@test "bench: on a terminal a table fits its width, in units people read, and says what is not known" {
  command -v script >/dev/null || skip "no script"
  net='input 64, dense 64, relu, dense 10'
  for verb in "run '$net'" "explain '$net'" "memory '$net'" "advise '$net'" link device "ops dense:64x64x64" "crossover '$net'"; do
    for columns in 80 66 40; do
      # what measures the machine for half a second is held to the narrowest
      [[ $columns = 40 || $verb =~ ^(run|explain|memory|ops) ]] || continue
      COLUMNS=$columns script -qec "timeout 60 nn-bench -q $verb --time=0.001 2>/dev/null" /dev/null </dev/null | tr -d '\r' >table
      [ -s table ]
      awk -v n="$columns" -v verb="$verb" '{ gsub(/µ/, "u") } length($0) > n { print verb ": " $0; wide++ } END { exit wide > 0 }' table
      ! grep -E '[0-9]e[-+][0-9]' table
    done
  done
  [ -z "${NN_TEST_DEVICE-}" ] || return 0 # the rule on a second device is measured there
  COLUMNS=80 script -qec "timeout 60 nn-bench -q advise '$net' --mode=predict --time=0.001 2>/dev/null" /dev/null </dev/null >table
  grep -Eq '^gpu .* - +not measured' table
  nn-bench -q advise "$net" --mode=predict --time=0.001 --to=csv 2>/dev/null >advise.csv
  grep -q '^gpu,.*,,depends,' advise.csv
}
