#!/usr/bin/env bats
# nn-cuda.so's kernels in their host form (tests/device/cuda-host.c), and all of it over a runtime of the tests: make check-cuda-host.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  printf 'a,b,kind\n' >some.csv
  awk 'BEGIN { for (i = 0; i < 96; i++) printf "%g,%g,%s\n", sin(i), cos(i * i), i % 3 ? "x" : "y" }' >>some.csv
}

@test "cuda: its kernels make the CPU's model and predictions in f32 and f64" {
  export NN_MODULE_PATH=$NN_BUILD/tests/device/cuda/.libs
  printf '%s\n' 'input 1x8x8' 'conv2d 6 3x3 pad=1' 'batchnorm group=16' 'relu' 'conv2d 6 3x3 pad=1 stride=2 groups=2' 'gelu' \
    'avgpool2d 2' 'flatten' 'layernorm' 'dropout 0.2' 'dense 20' 'tanh' 'dense ?' >net.nn
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 161 >digits.csv
  for precision in f32 f64; do
    for device in cpu cuda; do
      nn-train -q -m net.nn --target=digit --loss=cross-entropy --epochs=2 -b 96 --micro-batch=32 --clip-norm=1 --precision=$precision --device=$device -o $device.st digits.csv
      nn-predict --device=$device cpu.st digits.csv >$device.txt
    done
    cmp cpu.st cuda.st
    cmp cpu.txt cuda.txt
    [ -s cuda.txt ]
  done
}

@test "cuda: gradients of weights and biases in tiles of all sizes are the CPU's, of any channels, strides, groups and leaves" {
  export NN_MODULE_PATH=$NN_BUILD/tests/device/cuda/.libs # the size of tiles is drawn
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 161 >digits.csv
  printf '%s\n' 'input 1x8x8' 'conv2d 20 3x3 pad=1' relu 'conv2d 24 3x3 stride=2x1 pad=2x3 groups=2' relu 'conv2d 40 2x3 dilation=2x1 pad=1' relu \
    'conv2d 36 1x1 bias=no' 'conv-transpose2d 12 2x2' relu flatten 'dense 140' relu 'dense ?' >images.nn
  printf '%s\n' 'input 1x8x8' flatten 'dense 520' relu 'dense 520' relu 'dense ?' >dense.nn # leaves one after the other
  printf '%s\n' 'input 1x8x8' 'conv2d 24 3x3' relu 'conv2d 340 6x6 pad=1' relu flatten 'dense ?' >large.nn
  # same NET TRAINING...
  same() {
    for precision in f32 f64; do
      for device in cpu cuda; do
        nn-train -q -m "$1.nn" --target=digit --loss=cross-entropy --precision=$precision --device=$device -o $device.st "${@:2}" digits.csv
      done
      cmp cpu.st cuda.st
    done
  }
  same images --epochs=2 -b 32
  same images --epochs=1 -b 96 --micro-batch=7 # pieces of leaves
  same dense --epochs=1 -b 160 --leaves=16
  same dense --epochs=1 -b 80 --leaves=1 --micro-batch=13
  same large --epochs=1 -b 64
}

# As nn-cuda.so itself, over a runtime of the tests (tests/device/runtime.c).
@test "cuda: no driver, no device that is visible and a number that is none are status 3 and one line" {
  export NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs
  net=(-q -m 'dense ?' --target=kind -o m.st some.csv)
  # refused SAYS ENVIRONMENT...
  refused() {
    run -3 --separate-stderr env "${@:2}" nn-train "${net[@]}"
    [ -z "$output" ]
    [ ${#stderr_lines[@]} = 1 ]
    [[ $stderr == *"device cuda"*"$1"* ]]
    [ ! -e m.st ]
  }
  net+=(--device=cuda)
  refused 'driver version is insufficient' NN_CUDA_DRIVER=no
  refused 'no CUDA-capable device' CUDA_VISIBLE_DEVICES=
  refused 'no CUDA-capable device' CUDA_VISIBLE_DEVICES=7
  net+=(--device=cuda:1)
  refused 'there is no such device: CUDA has 1' NN_CUDA_DRIVER=yes
  nn-train "${net[@]}" --device=cuda:0
  [ -s m.st ]
}

@test "cuda: a device that another process has to itself is status 3 and one line that says so" {
  export NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs
  nn-train -q -m 'dense ?' --target=kind -o there.st some.csv
  for call in 2 3; do                           # the first that make a context
    NN_CUDA_FAULT=$call:busy run -3 --separate-stderr nn-train -q -m 'dense ?' --target=kind --device=cuda -o m.st some.csv
    [ "${#stderr_lines[@]}" = 1 ]
    [[ $stderr == "nn-train: device cuda:0: "*"busy"*"nvidia-smi -q -d COMPUTE"* ]]
    [ ! -e m.st ]
    NN_CUDA_FAULT=$call:busy run -3 --separate-stderr nn-predict --device=cuda there.st some.csv
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" = 1 ]
    [[ $stderr == "nn-predict: device cuda:0: "*"busy"*"nvidia-smi -q -d COMPUTE"* ]]
  done
}

@test "cuda: memory that others take between the plan and the start is status 4 and one line with what fits" {
  export NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs
  wide=(-m 'dense 400, relu, dense 400, relu, dense ?' --target=kind -b 96 --epochs=1 --leaves=1 --valid=0.2 --device=cuda some.csv)
  plan() { nn-train --explain=json "${wide[@]}" "$@" | jq .memory.device; }
  all=$(plan)
  few=$(plan --micro-batch=8)
  [ $((all - few)) -gt 65536 ]
  room=$((all + (1 << 20)))
  export NN_CUDA_ROOM=$((room + (3 * 8 << 20))) # what queues have for their sums is no training's
  nn-train -q "${wide[@]}" -o m.st
  # refused TAKEN SAYS
  refused() {
    NN_CUDA_TAKEN=$1 run -4 --separate-stderr nn-train -q "${wide[@]}" -o no.st
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" = 1 ]
    [[ $stderr == "nn-train: training needs $all bytes on the device, which had $room when it was planned and has $((room - $1)) now: "$2 ]]
    [ ! -e no.st ]
  }
  refused $((room - (all + few) / 2)) '--micro-batch=* fits'
  refused $((room - few / 4)) 'no --micro-batch fits'
}

@test "cuda: a plan too large for the device is status 4 with command lines that fit, and their bytes there" {
  export NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs
  wide=(-m 'dense 600, relu, dense 600, relu, dense ?' --target=kind -b 96 --epochs=1 --valid=0.2 --device=cuda some.csv)
  needs=$(nn-train --explain=json "${wide[@]}" | jq .memory.device) # fewer rows at once leave more sums to wait
  export NN_CUDA_ROOM=$((needs - 50000 + (3 * 8 << 20)))
  nn-train --explain=json "${wide[@]}" >plan.json
  jq -e '.fits == false and (.suggestions | length) == 3' plan.json
  jq -e '.memory.device_limit as $room | all(.suggestions[]; .device_bytes <= $room)' plan.json
  run -4 --separate-stderr nn-train "${wide[@]}" -o no.st
  [[ ${stderr_lines[0]} == "nn-train: training needs $needs bytes on the device even with --micro-batch="*", it has $((needs - 50000))" ]]
  [ "${#stderr_lines[@]}" = 4 ]
  [[ ${stderr_lines[1]} == *"nn-train "*" some.csv   # "*", "*" on the device" ]]
  line=${stderr_lines[1]#*note: }
  NN_CUDA_ROOM=$((NN_CUDA_ROOM + 65536))        # plans are right to 1 %
  eval "${line%%  #*} -q -o fits.st"
  [ -s fits.st ]
}

@test "cuda: a recorded step asks for the same few kernels however many leaves a batch has, and makes the CPU's model" {
  printf '%s\n' 'input 1x8x8' flatten 'dense 32' relu 'dense ?' >net.nn
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 257 >digits.csv
  # step NODES TRAINING...: what the last recorded step was made of
  step() {
    for device in cpu cuda; do
      NN_CUDA_NODES=$1 NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs nn-train -q -m net.nn --target=digit --loss=cross-entropy --epochs=2 \
        -t 1 --device=$device -o $device.st "${@:2}" digits.csv
    done
    cmp cpu.st cuda.st
  }
  step one -b 16
  step eight -b 128
  diff one eight
  [ "$(wc -l <eight)" -le 12 ]
  step many -b 128 --leaves=64
  [ "$(grep -c sum_losses many)" = 4 ]
  [ "$(grep -c count many)" = 4 ]
  [ "$(grep -c hold many)" = 1 ]
}

@test "cuda: weights are updated by the kernel that has their gradient, where nobody else reads it, to the CPU's model" {
  printf '%s\n' 'input 1x8x8' 'conv2d 4 3x3' relu flatten 'dense 12' relu 'dense ?' >net.nn
  sed 's/^relu/batchnorm\nrelu/' net.nn >norms.nn
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 193 >digits.csv
  # step NET TRAINING...: what the last recorded step updated by
  step() {
    for device in cpu cuda; do
      NN_CUDA_NODES=nodes NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs nn-train -q -m $1.nn --target=digit --loss=cross-entropy --steps=9 \
        -b 64 --device=$device -o $device.st "${@:2}" digits.csv
    done
    cmp cpu.st cuda.st
    grep -E 'update|step' nodes | sort | uniq -c | tr -s ' \n' ' '
  }
  for optimizer in sgd adamw rmsprop; do
    [ "$(step net --optimizer=$optimizer)" = ' 2 few_rows_step 2 tree_step ' ]
  done
  [ "$(step net --leaves=1)" = ' 2 few_rows_step 2 update ' ]
  [ "$(step net --freeze=0)" = ' 2 few_rows_step ' ]
  for more in --clip-norm=1 --optimizer=lars --micro-batch=16; do
    [[ "$(step net $more)" =~ ^' '[0-9]+' update '$ ]]
  done
  [ "$(step norms)" = ' 1 update ' ] # what is left would be two runs
}

@test "cuda: the data set stays on the device where more than one epoch reads it, and a recorded step gathers its rows there" {
  printf '%s\n' 'input 1x8x8' flatten 'dense 16' relu 'dense ?' >net.nn
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 161 >digits.csv
  export NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs
  net=(-q -m net.nn --target=digit --loss=cross-entropy -b 32 digits.csv)
  nn-train "${net[@]}" --epochs=2 --device=cpu -o cpu.st
  NN_CUDA_NODES=nodes nn-train "${net[@]}" --epochs=2 --device=cuda -o cuda.st
  cmp cpu.st cuda.st
  [ "$(grep -c gather nodes)" = 1 ]
  NN_CUDA_NODES=nodes nn-train "${net[@]}" --epochs=1 --device=cuda -o one.st
  [ "$(grep -c gather nodes)" = 0 ]
  NN_CUDA_NODES=nodes nn-train "${net[@]}" --epochs=2 --device=cuda --augment=noise=0.1 -o other.st
  [ "$(grep -c gather nodes)" = 0 ]
  needs=$(nn-train --explain=json "${net[@]}" --epochs=2 --device=cuda | jq .memory.device)
  NN_CUDA_ROOM=$((needs - 1 + (3 * 8 << 20))) NN_CUDA_NODES=nodes nn-train "${net[@]}" --epochs=2 --device=cuda -o small.st
  [ "$(grep -c gather nodes)" = 0 ]
  cmp cpu.st small.st
}

@test "cuda: held-out rows that stay on the device are gathered there, and the log has the CPU's figures" {
  printf '%s\n' 'input 1x8x8' 'conv2d 2 3x3' relu flatten 'dense ?' >net.nn
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 321 >digits.csv
  export NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs
  net=(-q -m net.nn --target=digit --loss=cross-entropy -b 80 --valid=0.75 digits.csv)
  # sent EPOCHS: bytes copied to the device
  sent() { NN_CUDA_SENT=sent nn-train "${net[@]}" --device=cuda --epochs="$1" --log=cuda.log -o cuda.st && cat sent; }
  nn-train "${net[@]}" --device=cpu --epochs=6 --log=cpu.log -o cpu.st
  # four evaluations of 240 rows of 256 bytes would be 245,760; weights, numbers and targets are 8 KB each
  rows=$((4 * 240 * 256)) few=$(sent 2) many=$(sent 6)
  [ $((many - few)) -lt $((rows / 4)) ]
  cmp cpu.st cuda.st
  figures() { jq -c 'select(.event == "epoch") | [.valid_loss, .accuracy, .best]' "$1"; }
  [ "$(figures cpu.log | wc -l)" = 6 ]
  cmp <(figures cpu.log) <(figures cuda.log)
  # what the plan counts is enough, but for what is rounded up; with one byte less rows are sent
  needs=$(nn-train --explain=json "${net[@]}" --epochs=6 --device=cuda | jq .memory.device)
  few=$(NN_CUDA_ROOM=$((needs + (3 * 8 << 20) + 65536)) sent 2) many=$(NN_CUDA_ROOM=$((needs + (3 * 8 << 20) + 65536)) sent 6)
  [ $((many - few)) -lt $((rows / 4)) ]
  few=$(NN_CUDA_ROOM=$((needs - 1 + (3 * 8 << 20))) sent 2) many=$(NN_CUDA_ROOM=$((needs - 1 + (3 * 8 << 20))) sent 6)
  [ $((many - few)) -gt $rows ]
  cmp <(figures cpu.log) <(figures cuda.log)
  # rows of a file of their own are no rows of the data set
  tail -n 40 digits.csv | cat <(head -n 1 digits.csv) - >held.csv
  net=(-q -m net.nn --target=digit --loss=cross-entropy -b 80 --valid=held.csv digits.csv)
  nn-train "${net[@]}" --device=cpu --epochs=2 --log=other.log -o cpu.st
  sent 2 >/dev/null
  cmp <(figures other.log) <(figures cuda.log)
}

@test "cuda: without a driver every verb of nn-bench that would use the device is status 3 and one line" {
  export NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs NN_CUDA_DRIVER=no
  model='input 4, dense 2'
  for how in --device=cuda --device=cuda:7; do
    for verb in run pick crossover advise ops memory; do
      run -3 --separate-stderr nn-bench $verb "$model" $how --time=0.01 --to=csv
      [ -z "$output" ]
      [[ $stderr == "nn-bench: device ${how#*=}: CUDA driver version is insufficient"* ]]
      [ "${#stderr_lines[@]}" = 1 ]
    done
    for verb in device link "ops activation"; do
      run -3 --separate-stderr nn-bench $verb $how --time=0.01 --to=csv
      [ -z "$output" ]
      [[ $stderr == "nn-bench: device ${how#*=}: CUDA driver version is insufficient"* ]]
      [ "${#stderr_lines[@]}" = 1 ]
    done
  done
  NN_DEVICE=cuda run -3 --separate-stderr nn-bench device --to=csv
  [ "${#stderr_lines[@]}" = 1 ]
  run -3 --separate-stderr nn-bench explain "$model" --device=cuda --time=0.01 --to=csv
  [ "$(grep -c '^nn-bench: device cuda: ' <<<"$stderr")" = 1 ] # beside notes
  nn-bench device --help --device=cuda >help
  [ -s help ]
}
