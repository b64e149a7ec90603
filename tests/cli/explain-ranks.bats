#!/usr/bin/env bats
# The plan of several ranks: the memory of each and of their host, beside what real ones took.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  LACKING=$(lacking_ranks | head -n 1)
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || LACKING="the address sanitizer takes memory of its own"
  export LACKING
  [ -z "$LACKING" ] || return 0
  allow_ranks
  unset HWLOC_PLUGINS_PATH OMPI_MCA_coll OMPI_MCA_osc OMPI_MCA_op OMPI_MCA_mpool OMPI_MCA_rcache # plans say what ranks take as users start them: with Open MPI's plugins, 3 MB
  cd "$BATS_FILE_TMPDIR" || return
  export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
  cp "$NN_SRC/share/data/digits.csv.gz" .
}

setup() {
  [ -z "$LACKING" ] || skip "$LACKING"
  cd "$BATS_FILE_TMPDIR" || return
  rm -f ./*.safetensors log plan.json
}

digits="--target=digit --loss=cross-entropy digits.csv.gz"
net='dense 1500, relu, dense 1500, relu, dense ?'

# near FILTER FILE: of {predicted, measured}, within 5 % or 4 MiB
near() {
  jq -e -s "$1|(.predicted/.measured-1|fabs)<0.05 or (.predicted-.measured|fabs)<4194304" "$2" || { jq -c -s "$1" "$2"; false; }
}

# foreseen ARGUMENT...: what ranks take is what they said, and what the plan said before
foreseen() {
  echo "$@"
  timeout -k 5 120 nn-train -q -t 1 -m "$net" --steps=4 "$@" $digits --log=log
  near 'map(select(.event=="end"))[0].predicted.peak_bytes' log
  near 'map(select(.event=="end"))[0].predicted.host_bytes' log
  nn-train --explain=json -t 1 -m "$net" --steps=4 "$@" $digits --log=log >plan.json
  near '{predicted:.[0].memory.host,measured:(.[1:]|map(select(.event=="end"))[0].predicted.host_bytes.measured)}' <(cat plan.json log)
}

@test "memory: of ranks that see the same memory" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  foreseen --ranks=2 -o a.safetensors
  near '{predicted:.[0].memory.total,measured:(.[1:]|map(select(.event=="end"))[0].predicted.peak_bytes.measured)}' <(cat plan.json log)
  foreseen --ranks=3 -o /dev/null
  foreseen --ranks=2 --precision=f64 --clip-norm=1 --valid=0.2 -o a.safetensors
}

@test "memory: of ranks that write no log, whose norms nobody asks for" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  local options
  for options in --optimizer=sgd --optimizer=adam '--tensor=2 --optimizer=sgd' '--pipeline=2 --optimizer=sgd'; do
    # shellcheck disable=SC2086
    nn-train -v -t 1 -m 'dense 2048, relu, dense 2048, relu, dense ?' --target=digit --loss=cross-entropy --steps=4 --ranks=2 $options $digits -o k.st 2>said
    sed -nE 's/.*memory( of all ranks on .*)? ([0-9]+) bytes, predicted ([0-9]+) .*/{"measured":\2,"predicted":\3}/p' said >memory
    [ "$(wc -l <memory)" = 2 ]
    near '.[0]' memory
    near '.[1]' memory
  done
}

@test "memory: of ranks that send messages" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  OMPI_MCA_btl=self,tcp foreseen --ranks=2 -o a.safetensors
  foreseen --ranks=2 --strategy=master -o a.safetensors
  foreseen --ranks=2 --strategy=local:2 -o a.safetensors
}

@test "memory: of stages, of columns, and of two pipelines" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  foreseen --ranks=2 --pipeline=2 -o a.safetensors
  foreseen --ranks=2 --tensor=2 -o a.safetensors
  timeout -k 5 120 nn-train -q -t 1 -m "$net" --steps=4 --ranks=4 --pipeline=2 $digits -o a.safetensors --log=log
  near 'map(select(.event=="end"))[0].predicted.host_bytes' log
}

# parameters and the state of the optimizer are there once for ranks of a host, so that two take less than twice as much
@test "memory: a host's ranks are planned together, what they share once" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "ranks with a device share no memory"
  # shellcheck disable=SC2206
  clipped=(-t 1 -m "$net" --clip-norm=1 $digits) # one process has all gradients at once, too
  nn-train --explain=json "${clipped[@]}" >plan.json
  jq -e '.memory|has("host")|not' plan.json
  alone=$(jq .memory.total plan.json)
  nn-train --explain=json --ranks=2 "${clipped[@]}" >plan.json
  jq -e --argjson alone "$alone" '.memory|.host>.total and .host<2*$alone and .host<2*.total' plan.json
  nn-train --explain -t 1 -m "$net" --ranks=2 $digits >text
  grep -q '^memory of a rank in bytes, ' text
  grep -q '^  host  .* all 2 ranks of this host' text
}

# of small networks the program is most of it; nothing was measured here before, so a link is guessed while they run
@test "memory: of small networks that average, and all ranks of a host take more than one" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/small
  net='dense 32, relu, dense ?'
  for options in "--ranks=3 --strategy=local:8" "--ranks=2"; do
    nn-train --explain -t 1 -m "$net" $options $digits >text # rates of the machine are measured here
    foreseen $options -o /dev/null
    near '{predicted:.[0].memory.total,measured:(.[1:]|map(select(.event=="end"))[0].predicted.peak_bytes.measured)}' <(cat plan.json log)
    jq -e '.memory|.host>=.total' plan.json
  done
}

@test "memory: command lines for ranks that would fit keep the ranks, and fit" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  run -4 --separate-stderr nn-train -t 1 -m "$net" --steps=1 --ranks=2 --memory=110M --clip-norm=1 $digits -o a.safetensors
  [ "${#stderr_lines[@]}" -ge 3 ]
  for line in "${stderr_lines[@]:1}"; do
    [[ $line != 'nn-train: note: nothing else of '* ]] || continue
    [[ $line =~ ^nn-train:\ note:\ (nn-train\ .*--ranks=2.*)\ \ \ #\ ([0-9]+)$ ]]
    [ "${BASH_REMATCH[2]}" -le $((110 * 1024 * 1024)) ]
    timeout -k 5 120 bash -c "${BASH_REMATCH[1]} -q --log=log"
    jq -e -s 'map(select(.event=="end"))[0]|.peak_bytes<=110*1024*1024 and (.ranks|length)==2' log
  done
  run -4 nn-train --explain=json -t 1 -m "$net" --steps=1 --ranks=4 --memory=20M --leaves=4 $digits
  jq -e '[.suggestions[].command|test("--leaves=[12] ")|not]|all' <<<"$output"
}

# a plan has no ranks to try the other strategies with; what they send is counted
@test "time: a plan estimates a step of sync alone, ranks try their own; bytes through rank 0 stand beside the measured ones" {
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/strategies
  net='dense 400, relu, dense 400, relu, dense ?'
  missing='the time of a step is known once this training has run here'
  for options in --ranks=2 "--ranks=3 --strategy=master" "--ranks=3 --strategy=async" "--ranks=2 --strategy=local:4" "--ranks=2 --pipeline=2" \
    "--ranks=4 --pipeline=2:gpipe" "--ranks=2 --tensor=2" "--ranks=4 --tensor=2"; do
    echo "$options"
    known='==null' rate='some steps of it were tried here' tried='>0'
    [ "$options" != --ranks=2 ] || known='>0'
    [[ $options != *async* ]] || rate="$missing; --race compares strategies" tried='==null'
    nn-train --explain=json -t 1 -m "$net" --batch=128 --steps=40 --log-every=100 $options $digits --log=log -o a.safetensors >plan.json
    jq -e ".time.step_s$known and .strategy.step_bytes>0" plan.json
    timeout -k 5 120 nn-train -q -t 1 -m "$net" --batch=128 --steps=40 --log-every=100 $options $digits --log=log -o a.safetensors
    jq -e -s --arg rate "$rate" 'map(select(.event=="start"))[0].rate==$rate' log
    jq -e -s "map(select(.event==\"end\"))[0].predicted|.step_s.predicted$tried and .step_s.measured>0" log
    jq -e -s 'map(select(.event=="end"))[0].predicted.step_bytes|.error|fabs<0.1' log ||
      { jq -c 'select(.event=="end")|.predicted.step_bytes' log; false; }
    jq -e -s '.[0].strategy.step_bytes==(.[1:]|map(select(.event=="end"))[0].predicted.step_bytes.predicted)' plan.json log
    # what a training took is what the next one and its plan say
    step=$(jq -s 'map(select(.event=="end"))[0].predicted.step_s.measured' log)
    nn-train --explain=json -t 1 -m "$net" --batch=128 --steps=40 --log-every=100 $options $digits --log=log -o a.safetensors >plan.json
    jq -e --argjson step "$step" '.time|.measured=="this training ran here before" and (.step_s/$step-1|fabs)<1e-4' plan.json
  done
}

# the window of parameters and slots, what is on its way, averages, stages and columns, batch norm: all as if no step had been tried
@test "time: steps that ranks try leave no trace in the model" {
  net='input 1x8x8, conv2d 4 3x3 bias=no, batchnorm, relu, dropout 0.3, flatten, dense 32, relu, dense ?'
  train() { timeout -k 5 120 nn-train -q -t 1 -m "$net" --batch=128 "$@" $digits; }
  for options in --ranks=3 "--ranks=2 --strategy=local:4" "--ranks=2 --strategy=local:4@10" "--ranks=2 --strategy=master --optimizer=lamb" \
    "--ranks=2 --tensor=2" "--ranks=4 --pipeline=2" tcp; do
    echo "$options"
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/${options// /}
    if [ "$options" = tcp ]; then
      export OMPI_MCA_btl=self,tcp options=--ranks=2
    fi
    train $options --steps=30 --checkpoint-every=1h -o a.safetensors --log=log
    jq -e -s 'map(select(.event=="start"))[0].rate=="some steps of it were tried here"' log
    XDG_CACHE_HOME=/proc/nowhere train $options --steps=30 --checkpoint-every=1h -o b.safetensors
    cmp a.safetensors b.safetensors
    rm -r "$XDG_CACHE_HOME"
    train $options --steps=40 --resume -o a.safetensors --log=log
    jq -e -s 'map(select(.event=="start"))[1].rate=="some steps of it were tried here"' log
    XDG_CACHE_HOME=/proc/nowhere train $options --steps=40 --resume -o b.safetensors
    cmp a.safetensors b.safetensors
    rm ./*.safetensors log
  done
}

@test "time: bytes of embeddings that ranks exchange are estimated" {
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/tables
  awk 'BEGIN { srand(2); print "a,b,y"; for (i = 0; i < 2000; i++) printf "u%d,v%d,c%d\n", 900 * rand(), 300 * rand(), 3 * rand() }' >tables.csv
  for strategy in sync master async local:4; do
    timeout -k 5 120 nn-train -q -t 1 -m 'input columns=a,b, embedding 32 sparse=yes, flatten, dense ?' --batch=200 --epochs=4 --ranks=2 \
      --strategy=$strategy --target=y --loss=cross-entropy tables.csv -o a.safetensors --log=log
    jq -e -s 'map(select(.event=="end"))[0].predicted.step_bytes|.error|fabs<0.15' log ||
      { jq -c 'select(.event=="end")|.predicted.step_bytes' log; false; }
  done
}

@test "time: of columns of stages a plan says in one line that they have to run, and knows once they were tried" {
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/missing
  net='dense 300, relu, dense 300, relu, dense ?'
  missing='the time of a step is known once this training has run here'
  columns="--ranks=4 --pipeline=2 --tensor=2 --steps=20"
  nn-train --explain -t 1 -m "$net" $columns $digits -o a.safetensors >text
  grep -qx "time: $missing" text
  timeout -k 5 120 nn-train -q -t 1 -m "$net" $columns $digits -o a.safetensors
  nn-train --explain -t 1 -m "$net" $columns $digits -o a.safetensors >text
  grep -q '^time: a step .* (this training ran here before)$' text
  rm -r "$XDG_CACHE_HOME"
  timeout -k 5 120 nn-train -v -t 1 -m "$net" $columns $digits -o a.safetensors 2>err
  grep -q "^nn-train: note: predicted: [0-9]* bytes, .* (some steps of it were tried here)" err
}

# rates and links of this machine's cache, as text
@test "time: a link that was measured while the machine was busy gives way to a better one" {
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/busy
  unset OMPI_MCA_btl
  train() { timeout -k 5 120 nn-train -q -t 1 -m 'dense 16, relu, dense ?' --ranks=2 --steps=100 $digits -o a.safetensors; }
  train
  sed -i 's/^\([^\t]*\ttraining ranks=2 [^\t]*\t[0-9.e+]*\) .*/\1 1000/' "$XDG_CACHE_HOME/nntools/link"
  grep -q ' 1000$' "$XDG_CACHE_HOME/nntools/link"
  train
  [[ $(cut -f 2,3 "$XDG_CACHE_HOME/nntools/link" | grep '^training ranks=2 ' | tail -n 1) =~ ([^ ]+)$ ]]
  jq -n -e "${BASH_REMATCH[1]}<100"
}
