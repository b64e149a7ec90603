#!/usr/bin/env bats
# A device with memory of its own (tests/device/apart.c): the CPU's bytes from nn-train, nn-predict and their files.
# shellcheck disable=SC2154,SC2086,SC2206
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 90 >words.csv
  make_prices 90 >prices.csv
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 161 >digits.csv
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 401 >pixels.csv
  awk 'BEGIN { print "shop,item,price"; for (i = 0; i < 120; i++) printf "s%d,i%d,%.3f\n", i * 7 % 5, i * i % 11, sin(i) }' >shops.csv
  printf '%s\n' 'input 1x8x8' 'conv2d 6 3x3 pad=1' 'batchnorm group=16' 'skip: relu' 'inner: conv2d 6 3x3 pad=1' \
    'two: add from=skip+inner' 'relu' 'maxpool2d 2' 'flatten' 'dropout 0.2' 'dense ?' >conv.nn
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
  export NN_MODULE_PATH=$NN_BUILD/tests/device/${NN_TEST_MODULE:-apart}/.libs
}

# both ARGUMENT...: a training on the CPU and on the device gives the same model, and the same lines on stdout and stderr
both() {
  rm -f cpu.st cuda.st
  nn-train "$@" --device=cpu -o cpu.st >cpu.out 2>cpu.err || { cat cpu.err; return 1; }
  nn-train "$@" --device=cuda -o cuda.st >cuda.out 2>cuda.err || { cat cuda.err; return 1; }
  same cpu.st cuda.st || { echo "$*"; return 1; }
}

words=(-m 'dense 24, relu, dense 10, tanh, dense ?' --target=kind --epochs=3 -b 64)

@test "device: every optimizer makes the CPU's model" {
  for optimizer in sgd adam adamw rmsprop rprop lars lamb; do
    both -q "${words[@]}" --optimizer=$optimizer "$data/words.csv"
  done
  both -q "${words[@]}" --optimizer=sgd --momentum=0.9 --nesterov --weight-decay=0.01 "$data/words.csv"
}

@test "device: clipping, threads, micro-batches and leaves make the CPU's model" {
  both -q "${words[@]}" --clip-norm=0.5 --optimizer=adam "$data/words.csv"
  both -q "${words[@]}" --clip-norm=0.5 --optimizer=lars "$data/words.csv"
  both -q "${words[@]}" -t 3 --micro-batch=8 "$data/words.csv"
  both -q "${words[@]}" --leaves=1 --micro-batch=5 "$data/words.csv"
}

@test "device: convolutions, batch normalization, dropout, residuals and pooling make the CPU's model" {
  for optimizer in adam lamb; do
    both -q -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=2 -b 96 --optimizer=$optimizer "$data/digits.csv"
  done
  both -q -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=2 -b 96 --micro-batch=16 -t 2 "$data/digits.csv"
  # groups of 26 and of 7 blocks
  both -q -m 'input 1x8x8, conv2d 20 3x3 pad=1, batchnorm group=160, relu, conv2d 33 3x3 stride=2, batchnorm group=160, flatten, dense ?' \
    --target=digit --loss=cross-entropy --epochs=2 -b 160 "$data/pixels.csv"
}

@test "device: long states of many rows make the CPU's model" {
  for cell in rnn lstm gru; do
    both -q -m "input 4x16, $cell 40, $cell 20 bidirectional=yes, last, dense ?" --target=digit --loss=cross-entropy --epochs=2 -b 160 \
      --micro-batch=50 "$data/pixels.csv"
  done
}

@test "device: many classes, long chains and whole tiles make the CPU's model" {
  awk 'BEGIN {
    print "a,b,c,kind"
    for (i = 0; i < 700; i++) printf "%.3f,%.3f,%.3f,%d\n", sin(i), cos(i * i), sin(i * 3), i * i % 41
  }' >many.csv
  for precision in f32 f64; do
    both -q -m 'dense 64, relu, dense ?' --target=kind --loss=cross-entropy --epochs=2 -b 192 --precision=$precision many.csv
    both -q -m 'dense 20, dense ?' --target=kind --loss=cross-entropy --epochs=2 -b 64 --ignore=4 --class-weight=balanced \
      --precision=$precision many.csv
    both -q -m 'dense 256, relu, dense 256, relu, dense ?' --target=kind --loss=cross-entropy --steps=3 -b 512 --leaves=2 \
      --precision=$precision many.csv
    both -q -m 'input 1x8x8, conv2d 16 3x3 pad=1, relu, conv2d 32 3x3, relu, conv2d 16 3x3 groups=2 stride=2, flatten, dense ?' --target=digit \
      --loss=cross-entropy --steps=3 -b 160 --leaves=1 --precision=$precision "$data/pixels.csv"
  done
}

@test "device: tables of embeddings make the CPU's model with every optimizer" {
  for optimizer in sgd adam adamw rmsprop rprop lars lamb; do
    both -q -m 'embedding 4, flatten, dense 8, relu, dense ?' --target=price --epochs=2 -b 32 --optimizer=$optimizer "$data/shops.csv"
    both -q -m 'embedding 4, flatten, dense 8, relu, dense ?' --target=price --epochs=2 -b 32 --optimizer=$optimizer --clip-norm=0.1 "$data/shops.csv"
  done
  for optimizer in sgd adam adamw rmsprop rprop; do
    both -q -m 'embedding 4 sparse=yes, flatten, dense 8, relu, dense ?' --target=price --epochs=2 -b 32 --optimizer=$optimizer "$data/shops.csv"
  done
}

@test "device: rows of different length make the CPU's model and answers" {
  awk 'BEGIN {
    for (i = 0; i < 60; i++) {
      printf "{\"x\":["
      for (k = 0; k <= i * 7 % 13; k++) printf "%s[%.3f,%.3f,%.3f]", k ? "," : "", sin(i + k), cos(i * k), sin(i * k * k)
      printf "],\"y\":%d}\n", i % 3
    }
  }' >rows.jsonl
  for text in 'dense 12, attention 3, layernorm, attention 2 causal=yes, last' 'gru 6 bidirectional=yes, last'; do
    for precision in f32 f64; do
      both -q -m "input ?x3, $text, dense ?" --loss=cross-entropy --epochs=3 -b 16 --micro-batch=5 --precision=$precision rows.jsonl
      for device in cpu cuda; do nn-predict --device=$device cpu.st --emit=logits rows.jsonl >$device.out; done
      same cpu.out cuda.out
    done
  done
}

@test "device: numbers as targets, class weights and other losses make the CPU's model" {
  for loss in mse huber mae; do
    both -q -m 'dense 12, tanh, dense ?' --target=price --loss=$loss --epochs=2 -b 32 "$data/prices.csv"
  done
  both -q "${words[@]}" --class-weight=balanced "$data/words.csv"
}

@test "device: held-out rows are measured as on the CPU" {
  both "${words[@]}" --valid=0.2 --log=cpu.log "$data/words.csv"
  nn-train -q "${words[@]}" --valid=0.2 --device=cpu --log=cpu.log -o x.st "$data/words.csv"
  nn-train -q "${words[@]}" --valid=0.2 --device=cuda --log=cuda.log -o x.st "$data/words.csv"
  for log in cpu cuda; do
    grep -E '"event":"(epoch|step)"' $log.log | grep -oE '"(loss|val_loss|val_accuracy|accuracy|norm)":[^,}]*' >$log.figures
  done
  [ -s cpu.figures ]
  same cpu.figures cuda.figures
}

@test "device: nn-predict answers and scores as on the CPU" {
  both -q "${words[@]}" "$data/words.csv"
  for options in "" --emit=class --emit=logits --emit=top:2 --score; do
    nn-predict cpu.st --device=cpu $options "$data/words.csv" >cpu.out
    nn-predict cpu.st --device=cuda $options "$data/words.csv" >cuda.out
    same cpu.out cuda.out
  done
  both -q -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=1 -b 96 "$data/digits.csv"
  nn-predict cpu.st --device=cpu -t 2 "$data/digits.csv" >cpu.out
  nn-predict cpu.st --device=cuda -t 2 "$data/digits.csv" >cuda.out
  same cpu.out cuda.out
}

@test "device: a training goes on on the other device, and ends in the same bytes" {
  for optimizer in adam lamb; do
    nn-train -q "${words[@]}" --optimizer=$optimizer --epochs=6 --device=cpu -o whole.st "$data/words.csv"
    for devices in 'cpu cuda' 'cuda cpu'; do
      rm -f m.st*
      nn-train -q "${words[@]}" --optimizer=$optimizer --device=${devices% *} --checkpoint-every=1h -o m.st "$data/words.csv"
      nn-train -q "${words[@]}" --optimizer=$optimizer --epochs=6 --resume --device=${devices#* } -o m.st "$data/words.csv"
      same whole.st m.st
    done
  done
}

# steps: what a log says of each step, in numbers that do not depend on the clock
steps() {
  python3 -c 'import json, sys
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["event"] in ("step", "valid", "epoch", "end"):
        print([e.get(k) for k in ("event", "step", "samples", "loss", "lr", "grad_norm", "valid_loss")])' "$1"
}

@test "device: steps that overlap are logged, measured, kept and ended as on the CPU" {
  for more in '--steps=11 --schedule=cosine' '--epochs=2 --valid=0.2 --valid-every=2' \
    '--steps=9 --class-weight=balanced --log-every=3'; do
    rm -f m*
    for device in cpu cuda; do
      nn-train -q -m 'dense 8, relu, dropout 0.3, dense ?' --target=kind -b 16 --log-every=1 $more --device=$device --log=$device.log \
        -o m.$device "$data/words.csv"
    done
    same m.cpu m.cuda
    diff <(steps cpu.log) <(steps cuda.log)
  done
}

# goes_on 'SIGNAL...' ARGUMENT...: a training on the device gets signals when its first state is there; from the state that it
# leaves the CPU goes on to the model of a training that nobody disturbed
goes_on() {
  signals=$1
  shift
  rm -f m m.state.safetensors
  python3 -c 'import os, signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[2:])
while not os.path.exists("m.state.safetensors"): time.sleep(0.001)
for name in sys.argv[1].split(): p.send_signal(getattr(signal, name))
p.wait()' "$signals" nn-train -q "${words[@]}" --epochs=100000 "$@" --device=cuda --log=log --log-every=1 -o m "$data/words.csv"
  steps=$(metadata m.state.safetensors nn.state | python3 -c 'import json, sys; print(json.load(sys.stdin)["step"] + 4)')
  for more in "--resume -o m" "-o whole"; do
    nn-train -q "${words[@]}" --epochs=100000 "$@" --steps=$steps --device=cpu $more "$data/words.csv"
  done
  same whole m
}

@test "device: states that are kept among steps that overlap are those of their steps" {
  goes_on SIGKILL -b 16 --checkpoint-every=3
}

@test "device: signals that come among steps that overlap leave the state of the step that is told last" {
  for _ in 1 2 3; do
    goes_on "SIGUSR1 SIGTERM" -b 2
    python3 -c 'import json
of = lambda name: [e for e in map(json.loads, open("log")) if e["event"] == name]
step = of("end")[-1]["step"]
assert step == of("step")[-1]["step"] == of("checkpoint")[-1]["step"] > 0, (step, of("step")[-1], of("checkpoint")[-1])'
  done
}

@test "device: int8 weights are multiplied as on the CPU where the device can, else computed in f32" {
  nn-train -q -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=1 -o conv.st "$data/digits.csv"
  nn-train -m conv.st --steps=0 --precision=int8 -o int8.st
  precision=()
  [ "${NN_TEST_MODULE:-apart}" = apart ] || precision=(--precision=f32)
  nn-predict --device=cpu "${precision[@]}" int8.st "$data/digits.csv" >cpu.out
  nn-predict --device=cuda -t 2 int8.st "$data/digits.csv" | cmp - cpu.out
  nn-predict --device=cuda --batch=7 int8.st "$data/digits.csv" | cmp - cpu.out
}

@test "device: a layer that goes wrong is named as on the CPU" {
  for device in cpu cuda; do
    run -6 --separate-stderr nn-train -q -m 'dense 8, relu, dense ?' --target=price --lr=1e30 --optimizer=sgd --epochs=5 -b 32 \
      --device=$device -o m.st "$data/prices.csv"
    echo "${stderr//m.st/}" >$device.err
  done
  same cpu.err cuda.err
}

@test "device: a plan counts apart what lies there, and fewer samples go through where the device has little" {
  wide=(-m 'dense 2000, relu, dense 1000, relu, dense ?' --target=kind -b 64 --leaves=1 --epochs=1 "$data/words.csv")
  memory() { nn-train --explain=json "${wide[@]}" "$@" | jq ".memory.$key"; }
  key=device
  [ "$(memory --device=cpu)" = null ]
  there=$(memory --device=cuda)
  key=total
  here=$(memory --device=cpu --clip-norm=1) # for which all gradients are there at once
  host=$(memory --device=cuda)
  # parameters, gradients, two slots of adam and its scratch: five blocks lie on the device and not in the process
  block=$((4 * (3 * 2000 + 2000 + 2000 * 1000 + 1000 + 1000 * 3 + 3)))
  [ "$there" -gt $((5 * block)) ]
  [ $((here - host)) -gt $((4 * block)) ]
  nn-train --explain "${wide[@]}" --device=cuda | grep -Eq '^  device_limit +[0-9,]+ '
  # less activations than all samples at once take
  nn-train --explain=json "${wide[@]}" --device=cuda >all.json
  NN_APART_ROOM=$((there - 8 * $(jq .memory.activations_per_sample all.json))) nn-train --explain=json "${wide[@]}" --device=cuda >few.json
  [ "$(jq .fits few.json)" = true ]
  [ "$(jq .micro_batch few.json)" -lt "$(jq .micro_batch all.json)" ]
  NN_APART_ROOM=$block run -4 --separate-stderr nn-train -q "${wide[@]}" --device=cuda -o no.st
  [[ $stderr == *"training needs "*" bytes on the device even with --micro-batch="*", it has $block"* ]]
  [ ! -e no.st ]
}

# takes DATA ARGUMENT...: of device memory what the plan says, to 1 % or 4 KiB
takes() {
  local plan peak
  plan=$(nn-train --explain=json "${@:2}" --device=cuda "$1" | jq .memory.device)
  rm -f peak
  NN_APART_PEAK=peak nn-train -q "${@:2}" --steps=3 --device=cuda -o m.st "$1"
  peak=$(cut -d ' ' -f 1 peak)
  echo "${*:2}: $plan bytes planned, $peak taken"
  [ $((plan > peak ? plan - peak : peak - plan)) -le $((peak > 409600 ? peak / 100 : 4096)) ]
}

@test "device: a plan tells item by item what lies there, and what the host has pinned for it" {
  for more in --valid=0.2 '--clip-norm=1 --optimizer=lamb' '--micro-batch=16 --optimizer=sgd'; do
    net=(-m 'dense 500, relu, dense 300, relu, dense ?' --target=digit --loss=cross-entropy $more)
    nn-train --explain=json "${net[@]}" --device=cuda "$data/digits.csv" | jq .memory >plan.json
    jq -e '.device == ([to_entries[] | select(.key | test("^device_") and . != "device_limit").value] | add)' plan.json
    jq -e '.device_parameters == .parameters and .device_gradients == .gradients and .device_optimizer == .optimizer' plan.json
    jq -e '(.device_evaluation > 0) == '"$([ "$more" = --valid=0.2 ] && echo true || echo false)" plan.json
    jq -e '.pinned < .other' plan.json
    rm -f peak
    NN_APART_PEAK=peak nn-train -q "${net[@]}" --steps=3 --device=cuda -o m.st "$data/digits.csv"
    read -r _ pinned <peak
    plan=$(jq .pinned plan.json)
    echo "$more: $plan bytes pinned by the plan, $pinned were"
    [ "$pinned" -le $((plan + 65536)) ]
    [ "$pinned" -gt $((plan / 2)) ]
  done
  nn-train --explain "${net[@]}" --device=cuda "$data/digits.csv" >plan.txt
  grep -Eq '^  device_gradients +[0-9,]+ *$' plan.txt
  grep -Eq '^  pinned +[0-9,]+  of other' plan.txt
}

@test "device: a training takes the memory there that its plan says" {
  digits=(--target=digit --loss=cross-entropy)
  takes "$data/digits.csv" -m 'dense 500, relu, dense 300, relu, dense ?' "${digits[@]}"
  [ "${NN_TEST_MODULE-}" = cuda ] ||            # whose kernels are of f32
    takes "$data/digits.csv" -m 'dense 500, relu, dense 300, relu, dense ?' "${digits[@]}" --precision=f64 --optimizer=lamb --clip-norm=1
  takes "$data/digits.csv" -m 'dense 500, relu, dense 300, relu, dense ?' "${digits[@]}" --valid=0.2 --optimizer=sgd --micro-batch=16
  takes "$data/digits.csv" -m "$data/conv.nn" "${digits[@]}" -b 96 --leaves=1
  takes "$data/shops.csv" -m 'embedding 64, flatten, dense 100, relu, dense ?' --target=price -b 32 --valid=0.25
}

@test "device: the data set stays there where it fits beside the rest, and both ways make the CPU's model" {
  net=(-m 'input 1x8x8, flatten, dense 24, relu, dense ?' --target=digit --loss=cross-entropy -b 32 "$data/pixels.csv")
  plan() { nn-train --explain=json --device=cuda "${net[@]}" --epochs="$1" | jq ".memory.$2"; }
  kept=$(plan 3 device_input)
  sent=$(plan 1 device_input)
  [ $((kept - sent)) -ge $(((400 - 2 * 32) * 64 * 4)) ] # all rows, in place of those of two steps
  [ "$(plan 3 pinned)" -lt "$(plan 1 pinned)" ]
  all=$(plan 3 device)
  both -q "${net[@]}" --epochs=3
  export NN_APART_ROOM=$((all - 1))
  [ "$(plan 3 device_input)" = "$sent" ]
  both -q "${net[@]}" --epochs=3
}

@test "device: nn-bench device and link say what a device can do, ops measures it op by op against these peaks" {
  nn-bench device --device=cuda --to=csv | cut -d, -f1-3 >rows
  grep -q '^cuda,device of the tests,$' rows
  grep -qE '^cuda_memory,[0-9]+,B$' rows
  for type in f32 f64; do grep -qE "^cuda_fma_$type,[0-9.e+]+,FLOP/s$" rows; done
  for what in read write copy; do grep -qE "^cuda_memory_$what,[0-9.e+]+,B/s$" rows; done
  [ "$(wc -l <rows)" = 8 ]
  nn-bench link --device=cuda --time=0.05 --to=csv | cut -d, -f1-3 >rows
  for way in in out; do
    grep -qE "^cuda_copy_${way}_latency,[0-9.e-]+,s$" rows
    grep -q "^cuda_copy_${way}_rate,[0-9.e+]*,B/s$" rows
  done
  nn-bench ops --device=cuda --to=json --time=0.05 dense:4x20x12 conv2d:2x3x6x6,4,3x3 activation:4x16,gelu batchnorm:16x8 layernorm:4x16 2>/dev/null >rows
  jq -e 'length == 10 and all(.[]; (.device | IN("cpu", "cuda")) and .kernel == "ours" and .check == "ok" and (.peak_share == null or .peak_share <= 1))' rows
  nn-bench ops --device=cuda --to=json --time=0.05 --batch=4 --mode=train 'input 6, dense 5, relu, dense 2' 2>/dev/null >rows
  jq -e 'length == 4 and all(.[]; .kernel == "ours" and .check == "ok")' rows
}
