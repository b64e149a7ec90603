#!/usr/bin/env bats
# --explain and --memory: the plan before anything runs, and whether it holds.
# shellcheck disable=SC2154,SC2016
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  cp "$NN_SRC/share/data/digits.csv.gz" "$NN_SRC/share/examples/lenet.nn" "$NN_SRC/share/examples/mlp-175b.nn" .
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
  digits="--target=digit --loss=cross-entropy digits.csv.gz"
}

# bounded KB COMMAND...: with so much address space; the address sanitizer needs all of it
bounded() (
  [[ ${KIND_CFLAGS-} == *-fsanitize=address* ]] || ulimit -v "$1"
  "${@:2}"
)

# plan ARGUMENT...: the plan as JSON, in plan.json
plan() {
  nn-train --explain=json "$@" >plan.json
}

# is EXPRESSION VALUE [EXPRESSION VALUE]...: jq's answers on plan.json; one jq, for its start takes as long as a plan
is() {
  local asked='' want='' found
  for (( ; $#; )); do
    asked+="${asked:+,}[$1]"
    want+="[$2]"$'\n'
    shift 2
  done
  found=$(jq -c "$asked" plan.json)$'\n'
  [ "$found" = "$want" ] || { diff <(echo "$found") <(echo "$want"); false; }
}

@test "explain: JSON has the keys of the contract, in their order" {
  plan -m 'input 4, dense 3'
  is 'keys_unsorted' '["model","layers","parameters","batch","micro_batch","leaves","memory","largest_batch","fits","suggestions","time","ranks","strategy","critical_path"]' \
    '.layers[0]|keys_unsorted' '["line","name","layer","output","parameters","forward_flops","train_flops","activation_bytes"]' \
    '.memory|keys_unsorted' '["parameters","gradients","optimizer","activations_per_sample","activations","workspace","input","other","total","limit"'"${NN_TEST_DEVICE:+,$(printf '"%s",' device device_limit device_{parameters,gradients,optimizer,activations,workspace,input,evaluation})\"pinned\"}]" \
    '.time|keys_unsorted' '["step_s","epoch_s","total_s","measured"]' \
    '.ranks[0].ranks' 1 \
    '.strategy|keys_unsorted' '["name","why"]'
}

@test "explain: the layers of LeNet as counted by hand" {
  plan -m "$(sed 's/?/10/' lenet.nn)"
  is '[.layers[].parameters]' '[156,0,0,2416,0,0,0,48120,0,10164,0,850]' \
    '.parameters' 61706 \
    '[.layers[]|select(.layer=="conv2d" or .layer=="dense")|.forward_flops]' '[235200,480000,96000,20160,1680]' \
    '[.layers[]|select(.layer=="conv2d" or .layer=="dense")|.train_flops]' '[470400,1440000,288000,60480,5040]' \
    '.layers[3].output' '[16,10,10]' \
    '.layers[0].activation_bytes' $((6 * 28 * 28 * 4)) \
    '.model|startswith("input 1x28x28\nconv2d 6 5x5")' true
}

# a: 2*(16*32+32*16) forward, b: 2*(16*8+8*16); a sum of 16, and 16 to 4 behind it
@test "explain: the critical path goes through the longest branch, in text where there are branches" {
  net='input 16, f: relu, dense 32, relu, a: dense 16, dense 8 from=f, relu, b: dense 16, add from=a+b, dense 4'
  plan -m "$net"
  is '.critical_path|keys_unsorted' '["layers","train_flops"]' \
    .critical_path.layers '["f","1","2","a","7","8"]' \
    '.critical_path.train_flops==([.layers[0,1,2,3,7,8].train_flops]|add)' true
  nn-train --explain -m "$net" >text
  grep -Eqx 'critical path: f to a, 7 to 8; [0-9]+ % of the train FLOP' text
  plan -m 'input 16, dense 8, relu, dense 4'
  is .critical_path.layers '["0","1","2"]' \
    '.critical_path.train_flops==([.layers[].train_flops]|add)' true
  nn-train --explain -m 'input 16, dense 8, relu, dense 4' >text
  run -1 grep 'critical path' text
}

# two towers from inputs of their own, and outputs that are not the last layer
@test "explain: the critical path of several inputs and outputs" {
  plan -m 'x: input 16, y: input 4, p: dense 32 from=x, q: dense 32 from=y, s: add from=p+q, short: dense 4 output from=s, long: dense 400 output from=p' --batch=8
  is .critical_path.layers '["p","long"]'
}

@test "explain: items add up, and f64 takes twice as much" {
  plan -m 'input 64, dense 512, relu, dense 10' --batch=100
  is '.memory|.parameters+.gradients+.optimizer+.activations+.workspace+.input+.other==.total+(.device//0)' true
  single=$(jq '.memory|[.parameters,.gradients,.optimizer]|add' plan.json)
  plan -m 'input 64, dense 512, relu, dense 10' --batch=100 --precision=f64
  double=$(jq '.memory|[.parameters,.gradients,.optimizer]|add' plan.json)
  [ "$double" -gt $((single * 19 / 10)) ]
  [ "$double" -lt $((single * 21 / 10)) ]
}

@test "explain: needs no data where the text says it all, else asks for it" {
  plan -m 'input 4, dense 3'
  is '.time.epoch_s,.time.total_s' null,null
  run -2 --separate-stderr nn-train --explain -m 'dense 3'
  [[ $stderr == *'input AxBxC'*'DATA'* ]]
  run -2 --separate-stderr nn-train --explain -m 'input 4, dense ?'
  [[ $stderr == *'?'*'DATA'* ]]
  run -2 --separate-stderr nn-train --explain=xml -m 'input 4, dense 3'
  [[ $stderr == *'--explain=xml'*json* ]]
  [ -z "$output" ]
}

@test "explain: with data, classes, samples and steps are theirs; text for people says the same" {
  plan -m 'dense 64, relu, dense ?' $digits --valid=0.2
  is '.layers[2].output' '[10]'
  nn-train --explain -m 'dense 64, relu, dense ?' $digits --valid=0.2 -o never.safetensors >text
  grep -q 'samples: 1,438, 23 steps' text
  grep -q '^placement: 1 rank x ' text
  grep -q '^fits; ' text
  [ ! -e never.safetensors ]
  [ ! -e never.state.safetensors ]
}

# 8 columns; rows of 18 bytes
@test "explain: of large data 16 MiB are read, and what is guessed is called about" {
  { echo a,b,c,d,e,f,g,y; yes 1,2,3,4,5,6,7.5,0 | head -c 20971520; yes broken | head -c 20971520; } >big.csv
  rows=$((20971520 * 2 / 18))
  nn-train --explain -m 'dense 1' --target=y --loss=mse big.csv >text
  guess=$(sed -n 's/^samples: about \([0-9,]*\),.*/\1/p' text | tr -d ,)
  [ "$guess" -gt $((rows * 95 / 100)) ]
  [ "$guess" -lt $((rows * 105 / 100)) ]
  gzip -1 <big.csv >big.csv.gz
  nn-train --explain -m 'dense 1' --target=y --loss=mse big.csv.gz >text
  grep -q '^samples: about ' text
  rm big.csv big.csv.gz
}

# what a header says is believed: the files are holes
@test "explain: arrays of any size are known by their headers" {
  header="{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 32), }"
  printf '\223NUMPY\001\000v\000%-117s\n' "$header" >x.npy
  truncate -s $((128 + 4000000000 * 128)) x.npy
  printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (4000000000,), }" >y.npy
  truncate -s $((128 + 4000000000)) y.npy
  nn-train --explain -m 'dense 4' x.npy y.npy >text
  grep -q '^samples: 4,000,000,000,' text
  tensors='{"x":{"dtype":"F32","shape":[2000000000,8],"data_offsets":[0,64000000000]},"y":{"dtype":"I64","shape":[2000000000],"data_offsets":[64000000000,80000000000]}}'
  { printf '%b' "\\x$(printf %02x ${#tensors})\\0\\0\\0\\0\\0\\0\\0"; printf %s "$tensors"; } >d.safetensors
  truncate -s $((8 + ${#tensors} + 80000000000)) d.safetensors
  nn-train --explain -m 'dense 4' d.safetensors >text
  grep -q '^samples: 2,000,000,000,' text
  rm x.npy y.npy d.safetensors
}

@test "explain: 175 billion parameters are planned in little memory" {
  bounded 300000 nn-train --explain=json -m mlp-175b.nn >plan.json
  is '.parameters' $((96 * (2 * 12288 * 49152 + 49152 + 12288 + 4 * (12288 * 12288 + 12288)) + 12288 * 50257 + 50257)) \
    '.fits,.largest_batch' false,0
  # no other network is suggested in its place
  is .suggestions '[]'
  nn-train --explain -m mlp-175b.nn >text
  grep -q '^no number of threads or leaves, precision or optimizer would make this network fit; --tensor and --pipeline divide it among --ranks$' text
}

@test "explain: a deep network takes time as it has layers, not as their square" {
  printf '%s\n' 'input 16' 'repeat 20000 {' 'dense 16' relu '}' 'dense 2' >deep.nn
  (ulimit -t 60 && nn-train --explain=json -m deep.nn --loss=cross-entropy >plan.json)
  is '.parameters' $((20000 * 272 + 34))
}

@test "explain: what does not fit is status 0, and 4 only with --memory" {
  run -4 nn-train --explain -m mlp-175b.nn --memory=100G
  [[ $output == *'does not fit'* ]]
  run -0 nn-train --explain -m mlp-175b.nn
  [[ $output == *'does not fit'* && $output != *' would take  '* ]]
}

# 64 samples more or fewer take more than what the start of a process differs by
@test "explain: the largest batch fits at once, and a larger one does not" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer takes memory of its own"
  plan -m 'input 1024, dense 24, dense 1024, relu, dense 10' --memory=100M
  most=$(jq .largest_batch plan.json)
  plan -m 'input 1024, dense 24, dense 1024, relu, dense 10' --memory=100M --batch=$((most - 64)) --micro-batch=$((most - 64))
  is ".micro_batch==$most-64 and .fits" true
  plan -m 'input 1024, dense 24, dense 1024, relu, dense 10' --memory=100M --batch=$((most + 64)) --micro-batch=$((most + 64))
  is ".micro_batch==$most+64" false
}

@test "memory: the micro-batch is made smaller until the plan fits, to the same bytes" {
  net='dense 3000, relu, dense ?'
  nn-train -q -m "$net" --batch=1024 --steps=2 $digits -o a.safetensors
  plan -m "$net" --batch=1024 --steps=2 $digits -o a.safetensors
  limit=$(jq '.memory|(.device//.total)-.activations/2|floor' plan.json)
  if [ -n "${NN_TEST_DEVICE-}" ]; then export NN_APART_ROOM=$limit limit=1T; fi
  nn-train -q -m "$net" --batch=1024 --steps=2 --memory="$limit" $digits -o b.safetensors --log=log
  cmp a.safetensors b.safetensors
  jq -e -s 'map(select(.event=="start"))[0].micro_batch<1024' log
}

@test "memory: what cannot fit is status 4 with three command lines, each of which runs" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer takes memory of its own"
  net='dense 2000, relu, dense 2000, relu, dense ?'
  echo before >c.safetensors
  run -4 --separate-stderr nn-train -m "$net" --steps=1 --precision=f64 --memory=200M --clip-norm=1 $digits -o c.safetensors
  [ -z "$output" ]
  [ "$(cat c.safetensors)" = before ]
  [ "${#stderr_lines[@]}" -eq 4 ]
  [[ ${stderr_lines[0]} == 'nn-train: --memory: training needs '* ]]
  for line in "${stderr_lines[@]:1}"; do
    [[ $line =~ ^nn-train:\ note:\ (nn-train\ .*)\ \ \ #\ ([0-9]+)$ ]]
    [ "${BASH_REMATCH[2]}" -le $((200 * 1024 * 1024)) ]
    bash -c "${BASH_REMATCH[1]} -q --log=log"
    jq -e -s "map(select(.event==\"end\"))[0].peak_bytes<=200*1024*1024" log
    jq -e -s 'map(select(.event=="start"))[0].batch==64' log
  done
  run -4 --separate-stderr nn-train -q -m "$net" --steps=1 --precision=f64 --memory=200M $digits -o c.safetensors
  [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "memory: a command line that was suggested fits with --log and -v, too" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer takes memory of its own"
  run -4 --separate-stderr nn-train -m 'dense 2000, relu, dense 2000, relu, dense ?' -t 1 --memory=80M --steps=1 $digits -o s.safetensors
  [ "${#stderr_lines[@]}" -eq 4 ]
  for line in "${stderr_lines[@]:1}"; do
    [[ $line =~ ^nn-train:\ note:\ (nn-train\ .*)\ \ \ #\ [0-9]+$ ]]
    bash -c "${BASH_REMATCH[1]} -v --log=log"
    jq -e -s 'map(select(.event=="end"))[0].peak_bytes<=80*1024*1024' log
  done
}

@test "memory: the same command lines stand in the plan" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "the network lies on the device"
  mega=130
  run -4 nn-train --explain -m 'dense 2000, relu, dense 2000, relu, dense ?' --precision=f64 --memory=${mega}M $digits
  [ "$(grep -c '^nn-train .*  # [0-9]*$' <<<"$output")" -eq 3 ]
  run -4 nn-train --explain=json -m 'dense 2000, relu, dense 2000, relu, dense ?' --precision=f64 --memory=${mega}M $digits
  [ "$(jq -c --argjson mega $mega '[.suggestions[]|(.command|startswith("nn-train -m ")) and .total_bytes<=$mega*1024*1024]' <<<"$output")" = '[true,true,true]' ]
}

too_large() {
  run -4 nn-train --explain=json "$@"
  echo "$output" >plan.json
}

# what suggestions give up; the network stays as it was given
given_up() {
  jq -r '.suggestions[].command' plan.json | grep -v -- "-m '$net' " | sed 's/.*/another network/'
  jq -r '.suggestions[].command' plan.json | grep -oE -- '--(threads=1|leaves=[12]|precision=f32|optimizer=[a-z]*)' | sort -u | xargs
}

@test "memory: suggestions differ in what they give up, and keep the network" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "--memory bounds the host's memory, and the network lies on the device"
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer takes memory of its own"
  net='dense 2000, relu, dense 2000, relu, dense ?'
  too_large -m "$net" --precision=f64 --memory=130M --threads=2 $digits
  [ "$(given_up)" = '--optimizer=rmsprop --optimizer=sgd --precision=f32' ]
  is '[.suggestions[].command]|unique|length' 3
  too_large -m "$net" --memory=60M --threads=2 $digits
  [ "$(given_up)" = '--optimizer=rmsprop --optimizer=sgd --threads=1' ]
  is '[.suggestions[].command]|unique|length' 3
}

@test "memory: where fewer than three command lines fit, a note says so and names what divides the network" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "--memory bounds the host's memory, and the network lies on the device"
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer takes memory of its own"
  net='dense 2000, relu, dense 2000, relu, dense ?'
  run -4 --separate-stderr nn-train -m "$net" --threads=1 --optimizer=rmsprop --leaves=1 --memory=75M $digits -o w.safetensors
  [[ ${stderr_lines[1]} == *' --checkpoint=no digits.csv'* ]] # a state that nobody asked for
  run -4 --separate-stderr nn-train -m "$net" --threads=1 --optimizer=rmsprop --leaves=1 --memory=75M --checkpoint-every=9 $digits -o w.safetensors
  [ "${#stderr_lines[@]}" -eq 3 ]
  run -4 --separate-stderr nn-train -m "$net" --threads=1 --optimizer=rmsprop --leaves=1 --memory=55M --checkpoint=no $digits -o w.safetensors
  [ "${#stderr_lines[@]}" -eq 3 ]
  [[ ${stderr_lines[1]} == "nn-train: note: nn-train -m '$net' "*' --optimizer=sgd '* ]]
  few='of threads, leaves, precision and optimizer would make this network fit; --tensor and --pipeline divide it among --ranks'
  [ "${stderr_lines[2]}" = "nn-train: note: nothing else $few" ]
  run -4 --separate-stderr nn-train -m "$net" --memory=30M $digits -o w2.safetensors
  [ "${#stderr_lines[@]}" -eq 2 ]
  [ "${stderr_lines[1]}" = 'nn-train: note: no number of threads or leaves, precision or optimizer would make this network fit; --tensor and --pipeline divide it among --ranks' ]
}

@test "memory: the predicted peak is within 5 % or 4 MiB of what was taken" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  for options in "" --precision=f64 "--valid=0.2 --patience=2" "--optimizer=sgd --micro-batch=16" --batch=1000 --clip-norm=1; do
    nn-train -q -m 'dense 1500, relu, dense 1500, relu, dense ?' --steps=4 $options $digits -o p.safetensors --log=log
    jq -e -s 'map(select(.event=="end"))[0].predicted.peak_bytes|(.error|fabs)<0.05 or (.predicted-.measured|fabs)<4194304' log ||
      { echo "$options"; jq -c 'select(.event=="end").predicted' log; false; }
  done
  nn-train -q -m 'input 1x8x8, conv2d 32 3x3 pad=1, batchnorm, relu, conv2d 32 3x3 pad=1, relu, flatten, dense ?' --steps=4 $digits -o p.safetensors --log=log
  jq -e -s 'map(select(.event=="end"))[0].predicted.peak_bytes|(.error|fabs)<0.05 or (.predicted-.measured|fabs)<4194304' log
}

@test "memory: the scores of held-out rows of two classes are part of the predicted peak" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  awk 'BEGIN { print "a,y"; for (i = 0; i < 400000; i++) printf "%g,%s\n", sin(i), i % 2 ? "p" : "q" }' >two.csv
  nn-train -q -m 'dense ?' --target=y --valid=0.9 --batch=1000 --epochs=1 two.csv -o p.safetensors --log=log
  jq -e -s 'map(select(.event=="end"))[0].predicted.peak_bytes|(.predicted-.measured|fabs)<4194304' log ||
    { jq -c 'select(.event=="end").predicted' log; false; }
}

# what a log measures touches gradients that steps do without
@test "memory: gradients that are never touched are no part of the predicted peak" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer takes memory of its own"
  command -v python3 || skip "python3 is not installed"
  for options in --optimizer=sgd "--optimizer=sgd --clip-norm=1" wide; do
    net='dense 1500, relu, dense 1500, relu, dense ?'
    [ "$options" != wide ] || { net='dense 20000, relu, dense ?' options='--optimizer=sgd --valid=0.2'; }
    set -- nn-train -m "$net" --steps=4 $options $digits -o p.safetensors
    planned=$("$@" --explain=json | jq .memory.total)
    python3 - "$planned" "$@" -q <<'END'
import resource, subprocess, sys
subprocess.run(sys.argv[2:], check=True)
planned, taken = int(sys.argv[1]), 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(planned, taken)
sys.exit(abs(planned - taken) > max(0.02 * taken, 1 << 20))
END
  done
}

# steps that are tried before a training are of its own network, optimizer and random numbers
@test "time: steps that were tried before leave no trace in the model" {
  net='input 1x8x8, conv2d 4 3x3 bias=no, batchnorm, relu, dropout 0.3, flatten, dense ?'
  for optimizer in adam "sgd --momentum=0.9" lamb; do
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/${optimizer%% *}
    mkdir "$XDG_CACHE_HOME"
    nn-train -q -m "$net" --steps=300 --optimizer=$optimizer $digits -o t1.safetensors --log=log1
    nn-train -q -m "$net" --steps=300 --optimizer=$optimizer $digits -o t2.safetensors --log=log2
    jq -e -s 'map(select(.event=="start"))[0].rate=="some steps of it were tried here"' log1
    jq -e -s 'map(select(.event=="start"))[0].rate=="this training ran here before"' log2
    XDG_CACHE_HOME=/proc/nowhere nn-train -q -m "$net" --steps=3 --optimizer=$optimizer $digits --checkpoint-every=1h -o t3.safetensors
    nn-train -q -m "$net" --steps=300 --optimizer=$optimizer --resume $digits -o t3.safetensors
    cmp t1.safetensors t2.safetensors
    cmp t1.safetensors t3.safetensors
    rm t?.state.safetensors
  done
}

@test "time: what was predicted stands beside what was measured, in the log and with -v" {
  nn-train -v -m 'dense 32, relu, dense ?' --epochs=5 $digits -o v.safetensors --log=log 2>err
  jq -e -s 'map(select(.event=="start"))[0]|.predicted|.step_s>0 and .epoch_s>.step_s and .total_s>.epoch_s' log
  jq -e -s 'map(select(.event=="start"))[0].placement|test("^1 rank x [0-9]+ threads? on [0-9]+ cores?$")' log
  jq -e -s 'map(select(.event=="end"))[0]|.predicted.total_s.measured==.seconds and .predicted.total_s.predicted>0' log
  jq -e -s 'map(select(.event=="end"))[0].causes|.data_s>0 and .first_step_s>0 and .steady_step_s>0' log
  for what in '1 rank x ' 'start: data ' 'predicted: ' 'first step ' 'later steps ' 'memory ' 'time '; do
    grep -q "^nn-train: note: $what" err
  done
  grep -Eq '^nn-train: note: later steps [1-9][0-9.]* [a-z]+ each, [1-9][0-9.]* [a-z]+ in all;' err
  run --separate-stderr nn-train -q -m 'dense 32, relu, dense ?' --epochs=1 $digits -o v.safetensors
  [ -z "$output$stderr" ]
}

@test "time: a plan uses what a training left behind, of this network, device and machine alone" {
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/kept
  mkdir "$XDG_CACHE_HOME"
  plan -m 'dense 32, relu, dense ?' --epochs=20 $digits -o k.safetensors
  is .time.measured '"some steps of it were tried here"' \
    '.time|.step_s>0 and .total_s>.epoch_s' true
  nn-train -q -m 'dense 32, relu, dense ?' --epochs=20 $digits -o k.safetensors
  plan -m 'dense 32, relu, dense ?' --epochs=20 $digits -o k.safetensors
  is .time.measured '"this training ran here before"'
  plan -m 'dense 32, relu, dense ?' --epochs=20 --precision=f64 $digits -o k.safetensors
  is .time.measured '"some steps of it were tried here"'
  NN_CPU=generic plan -m 'dense 32, relu, dense ?' --epochs=20 $digits -o k.safetensors
  is .time.measured '"some steps of it were tried here"'
  plan -m mlp-175b.nn
  is .time.step_s null
  head -c 1000 /dev/urandom >"$XDG_CACHE_HOME/nntools/rates"
  plan -m 'dense 32, relu, dense ?' --epochs=20 $digits -o k.safetensors
  is .time.measured '"some steps of it were tried here"'
}

@test "time: no training is too short to be predicted, its first run included" {
  for steps in 1 19 20 99; do
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/short$steps
    mkdir "$XDG_CACHE_HOME"
    rate='some steps of it were tried here' net='input 1x8x8, conv2d 4 3x3, batchnorm, relu, flatten, dense ?'
    [ $steps -ne 1 ] || net='dense 2000, relu, dense 2000, relu, dense ?'
    nn-train -v -m "$net" --steps=$steps $digits -o s$steps.safetensors --log=log 2>err
    jq -e -s --arg rate "$rate" 'map(select(.event=="start"))[0].rate==$rate' log
    jq -e -s 'map(select(.event=="end"))[0].predicted|.total_s.predicted>0 and .total_s.error!=null and .step_s.predicted>0' log
    grep -q "^nn-train: note: predicted: .* ($rate)$" err
  done
}

# 64 samples in eight micro-batches are too much to be tried whole
@test "time: some micro-batches of long steps stand for them, and leave no trace" {
  net='input 1x8x8, conv2d 256 3x3 pad=1, batchnorm group=8, relu, conv2d 256 3x3 pad=1, flatten, dense ?'
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/long
  mkdir "$XDG_CACHE_HOME"
  options="--batch=64 --leaves=8 --micro-batch=8 --precision=f64 --steps=20 --time-limit=0.01"
  nn-train -q -m "$net" $options $digits -o l1.safetensors --log=log
  jq -e -s 'map(select(.event=="start"))[0].rate=="some steps of it were tried here"' log
  jq -e -s 'map(select(.event=="start"))[0].predicted.step_s>0' log
  XDG_CACHE_HOME=/proc/nowhere nn-train -q -m "$net" $options $digits -o l2.safetensors
  cmp l1.safetensors l2.safetensors
}

@test "time: networks of several inputs and outputs are tried without data" {
  plan -m 'a: input 3, x: dense 4, b: input 3, y: dense 4, add from=x+y, relu, dense 5 output, p: dense 2'
  is '.time.step_s>0' true
  plan -m 'input 3x8x8, conv2d 4 3x3 pad=1'
  is '.time.step_s>0' true
}

@test "ranks: a row for each up to the leaves, and a small network stays on one" {
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/kept
  plan -m 'input 100, dense 2' --batch=32 --leaves=4
  is '.ranks[0:4]|map(.ranks)' '[1,2,3,4]' \
    '.ranks|length' 4 \
    '[.ranks[]|keys_unsorted]|unique' '[["ranks","step_s","speedup"]]' \
    '.ranks[0].speedup' 1 \
    '.ranks[0].step_s==.time.step_s' true \
    '. as $p|[.ranks[]|(.speedup*.step_s/$p.time.step_s-1)|fabs<1e-9]|all' true \
    '.strategy.name' '"sync"' \
    '.strategy.why|startswith("stay on one rank: ")' true
  plan -m 'input 100, dense 2' --batch=32 --leaves=2
  is '.ranks|map(.ranks)' '[1,2]'
  plan -m 'input 100, dense 2' --batch=32 --leaves=1
  is '.ranks|map(.ranks)' '[1]' \
    '.strategy.why' '"stay on one rank: a batch of 32 has one leaf"'
  nn-train --explain -m 'input 100, dense 2' >text
  grep -Eq '^ranks +step +speedup$' text
  grep -Eq '^ +1 .* 1\.00$' text
  grep -q '^strategy sync: stay on one rank: .*(communication is an estimate' text
}

@test "ranks: those with stages or columns share the cores of the host" {
  for options in --ranks=2 "--ranks=2 --pipeline=2" "--ranks=2 --tensor=2" "--ranks=4 --pipeline=2" "--ranks=4 --pipeline=2 --tensor=2"; do
    nn-train --explain -m 'dense 64, relu, dense 64, relu, dense ?' --leaves=8 $options $digits >text
    [[ $options =~ --ranks=([0-9]+) ]]
    threads=$(($(nproc) / BASH_REMATCH[1]))
    echo "$options" && grep '^placement' text
    grep -q "^placement: ${BASH_REMATCH[1]} ranks x $((threads > 1 ? threads : 1)) thread" text
  done
}

@test "ranks: with --ranks the time is of so many, and more than the leaves are not possible" {
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/kept
  plan -m 'input 100, dense 2' --batch=32 --leaves=4 --ranks=3
  is '.ranks|map(.ranks)' '[1,2,3]' \
    '.time.step_s==.ranks[2].step_s and .ranks[2].step_s!=.ranks[0].step_s' true
  plan -m 'input 100, dense 2' --batch=32 --leaves=4 --ranks=4096
  is '.ranks|map(.ranks)' '[1,2,3,4,4096]' \
    '.ranks[4]|[.step_s,.speedup]' '[null,null]'
  nn-train --explain -m 'input 100, dense 2' --batch=32 --leaves=4 --ranks=5 >text
  grep -q '^ *5  not possible: a batch has 4 leaves$' text
}

# keep FILE KEY VALUE: an answer of this machine
keep() {
  local kept=$XDG_CACHE_HOME/nntools
  printf '%s\t%s\t%s\n' "$(tail -n 1 "$kept/rates" | cut -f 1)" "$2" "$3" >>"$kept/$1"
}

@test "ranks: by the rates and links that are kept, more of them pay or never do" {
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/kept
  unset OMPI_MCA_btl
  net=(-m 'input 16, dense 64, relu, dense 2' --batch=64 --leaves=4 --threads=1)
  plan "${net[@]}"
  cores=$(nproc)
  # a step of a second, of all cores so much less
  cut -f 2 "$XDG_CACHE_HOME/nntools/rates" | grep '^train ' >keys
  while IFS= read -r key; do
    [[ $key =~ threads=([0-9]+) ]]
    keep rates "$key" "tried $(jq -n "1/${BASH_REMATCH[1]}") nan nan"
  done <keys
  keep link "allreduce ranks=2 btl=self,vader" "1e-9 1e-15"
  plan "${net[@]}"
  is '.ranks[0].step_s' 1
  if [ "$cores" -gt 1 ]; then
    is '.ranks[1].speedup|.>1.99 and .<=2' true
    is '.strategy.why|test("^[0-9]+ ranks: [0-9.]+ x one rank, a step in .* instead of 1 s$")' true
  fi
  nn-train --explain "${net[@]}" | grep -q '^strategy sync: .*(communication as measured here with 2 ranks)$'
  # of two sizes that were trained, the line; the gradients are 4 * (17*64 + 65*2) bytes
  keep link "training ranks=2 btl=self,vader" "1000000 3 2000000 5"
  plan "${net[@]}"
  is ".ranks[1].step_s-(1/([$cores,2]|min)+1+2e-6*4872)|fabs<1e-6" true \
    '[.ranks[1:][].speedup<1]|all' true \
    '.strategy.why|startswith("stay on one rank: one thread of one process does a step in 1 s, 2 ranks would take ")' true
  # what makes no sense is as none
  keep link "training ranks=2 btl=self,vader" "1e6 -3 nan"
  plan "${net[@]}"
  [ "$cores" = 1 ] || is '.ranks[1].speedup>1.99' true
}

@test "nn-bench memory: the items of the plan, and the largest batch as last row" {
  nn-bench memory 'input 64, dense 512, relu, dense 10' --batch=100 --to=csv >rows.csv
  plan -m 'input 64, dense 512, relu, dense 10' --batch=100
  [ "$(head -n 1 rows.csv | cut -d, -f1,2)" = item,value ]
  [ "$(tail -n +2 rows.csv | cut -d, -f1 | paste -sd,)" = "$(jq -r '.memory|keys_unsorted|join(",")' plan.json),largest_batch" ]
  for item in parameters gradients optimizer activations workspace activations_per_sample; do
    grep -q "^$item,$(jq ".memory.$item" plan.json)," rows.csv
  done
  run -1 --separate-stderr nn-bench memory lenet.nn
  [[ $stderr == 'nn-bench: lenet.nn:'*'?'* ]]
  [[ $stderr != *DATA* ]]
  run -2 --separate-stderr nn-bench memory 'dense 3'
  [[ $stderr == 'nn-bench: MODEL:'* ]]
  run -2 --separate-stderr nn-bench memory 'input 3, dense 3' --batch=1,2
  [[ $stderr == *'--batch=1,2'* ]]
  bounded 400000 nn-bench memory mlp-175b.nn --to=csv >rows.csv
  grep -q '^largest_batch,0,' rows.csv
}

@test "explain: groups of batch norm cost a plan no time and no memory, however many fit" {
  (ulimit -t 40 && bounded 1500000 nn-train --explain --memory=200G -m 'dense 8, batchnorm group=1, dense ?' $digits >plan)
  grep -q 'samples that fit at once: [1-9]' plan
}

@test "explain: on a terminal no row of a table is wider than it; columns are left out whole" {
  command -v script >/dev/null || skip "no script"
  small='input 3x32x32, conv2d 16 3x3 pad=1, relu, flatten, dense 10'
  nn-train --explain -m "$small" >wide
  for columns in 200 80 40; do
    COLUMNS=$columns script -qec "nn-train --explain -m '$small'" /dev/null </dev/null | tr -d '\r' >text
    sed -n '/^name /,/^all/p; /^  parameters/,/^  limit/p; /^ranks/,/^strategy/p' text | grep -v ^strategy >table
    awk -v n="$columns" 'length($0) > n { print; wide++ } END { exit wide > 0 }' table
    [ "$(grep -c . table)" -ge 16 ]
    grep -Eq '^all .* 164,298' table
  done
  grep -Eq '^  other +[0-9,]+$' text
  COLUMNS=200 script -qec "nn-train --explain -m '$small'" /dev/null </dev/null | tr -d '\r' | sed '/^all/,$d' >text
  cmp <(sed '/^all/,$d' wide) text
}

@test "explain: a line is explained as it stands; what it would write is left alone" {
  printf '%s\n' 1,2 2,3 >two.csv
  for file in l.log m.st p.svg; do echo before >$file; done
  nn-train --explain -m 'dense 3, relu, dense ?' --target=2 --loss=mse --log=l.log -o m.st --plot=p.svg --checkpoint=m.state two.csv >plan
  [ "$(cat l.log m.st p.svg)" = "$(printf 'before\nbefore\nbefore')" ]
  [ ! -e m.state ]
}
