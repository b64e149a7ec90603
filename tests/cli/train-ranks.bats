#!/usr/bin/env bats
# nn-train --ranks and under mpirun: the bytes of one process, one line of error, signals, nothing left behind.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  begin_ranks || return 0
  cp "$NN_SRC/share/data/digits.csv.gz" .
  train --epochs=2 --valid=0.2 -o one.safetensors
}

# The arguments of all trainings here.
words=(-q -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy digits.csv.gz)
train() {
  timeout -k 5 120 nn-train "${words[@]}" "$@"
}

# long RANKS ...: a training that ends at a signal alone is running, its errors in err
long() {
  nn-train "${words[@]}" --epochs=1000000 --checkpoint-every=20 -o long.safetensors --ranks="$1" "${@:2}" 2>err 3>&- &
  parent=$!
  started "$1"
  saved long.state.safetensors
}

@test "train ranks: 2 and 3 give the bytes of one, started by nn-train and by mpirun" {
  for n in 2 3; do
    train --ranks=$n --epochs=2 --valid=0.2 -o ranks.safetensors
    cmp one.safetensors ranks.safetensors
  done
  mpi -n 2 nn-train "${words[@]}" --epochs=2 --valid=0.2 -o plain.safetensors
  cmp one.safetensors plain.safetensors
  train --ranks=2 --epochs=2 --valid=0.2 | cmp - one.safetensors
  [ -z "$(compgen -G '.*.tmp')" ]
}

@test "train ranks: rank 0 alone writes; log, progress and notes come once" {
  unset 'words[0]'
  run -0 --separate-stderr nn-train "${words[@]}" --ranks=2 --epochs=2 --valid=0.2 --log=log --plot=plot.svg -o told.safetensors
  mapfile -t stderr_lines < <(grep -v ' columns: ' <<<"$stderr")
  [ "${stderr_lines[0]}" = "nn-train: note: 2 ranks x 1 thread on $(nproc) cores" ]
  [[ ${stderr_lines[1]} == "epoch 1/2 "* ]]
  [[ ${stderr_lines[2]} == "epoch 2/2 "* ]]
  [[ ${stderr_lines[3]} == "2 epochs done; accuracy 0."*"; written to told.safetensors" ]]
  [ "${stderr_lines[4]}" = "nn-train: note: the loss was still falling when training ended: try --epochs=4" ]
  [ "${#stderr_lines[@]}" = 5 ]
  [ "$(grep -c '"event":"start"' log)" = 1 ]
  [ "$(grep -c '"event":"epoch"' log)" = 2 ]
  grep -q '"event":"start".*"ranks":2,"threads":1,' log
  [ -e plot.svg ]
  [ ! -e told.state.safetensors ]
  [ -z "$(compgen -G '.*.tmp')" ]
}

@test "train ranks: folds, --explain and a training that is over already" {
  train --folds=3 --steps=5 >one.tsv
  train --folds=3 --steps=5 --ranks=2 >ranks.tsv
  cmp one.tsv ranks.tsv
  mpi -n 2 nn-train "${words[@]}" --explain=json >explained.json
  [ "$(grep -c . explained.json)" = 1 ]
  train --ranks=2 --steps=0 -o none.safetensors
  train --steps=0 -o alone.safetensors
  cmp none.safetensors alone.safetensors
}

@test "train ranks: options of the environment and of --config reach the ranks" {
  printf 'epochs = 2\nvalid = 0.2\n' >train.conf
  NN_THREADS=2 train --ranks=2 --config=train.conf --log=log -o ranks.safetensors
  cmp one.safetensors ranks.safetensors
  grep -q '"event":"start".*"threads":"2"' log
  NN_THREADS=many run -2 --separate-stderr train --ranks=2
  [ "$stderr" = "nn-train: NN_THREADS=many: expected a whole number from 1 to 1024" ]
}

@test "train ranks: --resume goes on with any number of ranks to the same bytes" {
  train --ranks=3 --steps=11 --epochs=2 --valid=0.2 --checkpoint-every=1h -o some.safetensors
  train --ranks=2 --steps=17 --epochs=2 --valid=0.2 --resume -o some.safetensors
  train --epochs=2 --steps=22 --valid=0.2 --resume -o some.safetensors
  train --ranks=2 --epochs=2 --valid=0.2 --resume -o some.safetensors
  cmp one.safetensors some.safetensors
}

@test "train ranks: what all ranks find is one line, with its status" {
  run -1 --separate-stderr train --ranks=3 --header=no -o none.safetensors
  [ "${#stderr_lines[@]}" = 1 ]
  run -1 --separate-stderr nn-train -q -m 'dense 4' --target=y --ranks=2 nowhere.csv
  [ "$stderr" = "nn-train: nowhere.csv: cannot open: No such file or directory" ]
  run -1 --separate-stderr mpi -n 3 nn-train -q -m 'dense 4' --target=y -o none.safetensors nowhere.csv
  [ "$(grep -c '^nn-train: ' <<<"$stderr")" = 1 ]
  run -2 --separate-stderr nn-train --ranks=2 -m 'dense x' nowhere.csv
  [ "${#stderr_lines[@]}" = 1 ]
  # advice comes once, after the error
  run -4 --separate-stderr nn-train "${words[@]:1}" --ranks=2 --memory=1M -o none.safetensors
  [[ ${stderr_lines[0]} == "nn-train: --memory: training needs "* ]]
  [[ ${stderr_lines[1]} == "nn-train: note: "* ]]
  [ "$(printf '%s\n' "${stderr_lines[@]}" | sort | uniq -d)" = "" ]
  run -6 --separate-stderr train --ranks=2 --lr=1e30 --optimizer=sgd -o none.safetensors
  [ "${#stderr_lines[@]}" = 1 ]
  run -2 --separate-stderr mpi -n 2 nn-train "${words[@]}" --ranks=3
  [ "$(grep '^nn-train: ' <<<"$stderr")" = "nn-train: --ranks=3: this is a rank of 2" ]
}

@test "train ranks: the log of ranks that fail before they train has one end, with the error" {
  run -1 --separate-stderr train --ranks=2 --target=ghost --log=log -o none.safetensors
  jq -e -s --arg why "$stderr" 'length == 1 and .[0].event == "end" and .[0].reason == "error" and "nn-train: " + .[0].text == $why' log
}

@test "train ranks: root and a missing mpirun are status 3" {
  run -3 --separate-stderr env PATH=/nowhere "$NN_BUILD/cmd/nn-train" "${words[@]}" --ranks=2
  [ "$stderr" = "nn-train: --ranks=2: mpirun is not installed (Debian: openmpi-bin)" ]
  [ "$(id -u)" = 0 ] || skip "not root"
  run -3 --separate-stderr env -u OMPI_ALLOW_RUN_AS_ROOT nn-train "${words[@]}" --ranks=2
  [ "$stderr" = "nn-train: --ranks=2: mpirun refuses to run as root; set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 if that is what you want" ]
}

@test "train ranks: Open MPI is told what carries the bytes on one host, but for what the user said" {
  mkdir fake
  printf '#!/bin/sh\necho "$@"\nexit 9\n' >fake/mpirun
  chmod +x fake/mpirun
  run -3 --separate-stderr env PATH="$PWD/fake:$PATH" nn-train "${words[@]:1}" --ranks=2 -o none.safetensors
  [[ $stderr == *" --mca pml ob1 --mca btl self,vader "*" --mca oob_tcp_if_include lo "* ]]
  run -3 --separate-stderr env PATH="$PWD/fake:$PATH" OMPI_MCA_pml=cm OMPI_MCA_btl=self,tcp nn-train "${words[@]:1}" --ranks=2 -o none.safetensors
  [[ $stderr == *" --oversubscribe --mca btl_tcp_if_include "* ]]
  cp fake/mpirun fake/prterun # of Open MPI 5, which refuses the loopback interface and knows no plm isolated
  run -3 --separate-stderr env PATH="$PWD/fake:$PATH" nn-train "${words[@]:1}" --ranks=2 -o none.safetensors
  [[ $stderr == *" --mca btl self,vader --mca btl_tcp_if_include lo "* && $stderr != *oob* && $stderr != *plm* ]]
}

@test "train ranks: SIGTERM stops all after the same step, the state is written, and the bytes are the same after --resume" {
  long 3
  kill -TERM $parent
  ended 143
  gone "$processes" 20
  [ ! -s err ]
  [ ! -e long.safetensors ]
  [ -z "$(compgen -G '.long.*')" ]
  train --resume --steps=0 --epochs=1000000 -o long.safetensors
}

@test "train ranks: SIGUSR1 and SIGHUP write the state and training goes on" {
  rm -f long.*
  long 2 --log=long.log --checkpoint-every=1000000
  for signal in USR1 HUP; do
    kill -$signal $parent
    until_ grep -q "\"event\":\"signal\",\"name\":\"SIG$signal\"" long.log
  done
  kill -TERM $parent
  ended 143
  gone "$processes" 20
  [ "$(tail -n 1 long.log | grep -c '"reason":"signal"')" = 1 ]
}

@test "train ranks: SIGTERM to every process, twice, stops all after the same step, too" {
  rm -f long.*
  long 3 --log=long.log --checkpoint-every=1000000
  kill -TERM $processes
  kill -TERM "${ranks[@]}" 2>/dev/null || true
  ended 143
  gone "$processes" 20
  [ ! -s err ]
  [ "$(tail -n 1 long.log | jq -r .reason)" = signal ]
  [ "$(tail -n 1 long.log | jq .step)" = "$(jq -s 'map(select(.event=="checkpoint").step)|max' long.log)" ]
}

@test "train ranks: a killed mpirun is named, and what it would have removed is not left in /dev/shm" {
  rm -f long.*
  long 2
  job=$(tr '\0' '\n' <"/proc/${ranks[0]}/environ" | sed -n 's/^OMPI_MCA_ess_base_jobid=//p')
  segments=$(printf '/dev/shm/vader_segment.*.%x.*' "$job")
  [ "$(compgen -G "$segments" | wc -l)" = 2 ]
  kill -9 "$(pgrep -P "$parent")"
  ended 5
  gone "$processes" 20
  [[ "$(cat err)" =~ ^nn-train:\ mpirun\ was\ killed\ by\ signal\ 9\ at\ step\ [0-9]+\;\ last\ checkpoint\ long\.state\.safetensors\ \(step\ [0-9]+\)$ ]]
  [ -z "$(compgen -G "$segments")" ]
}

@test "train ranks: more than any batch has leaves for, or memory holds, are told before they are started" {
  run -2 --separate-stderr train --ranks=300
  [ "$stderr" = "nn-train: --ranks=300: a batch of 64 has at most 16 leaves; use at most --ranks=16, or --leaves=512 with a --batch of as many" ]
  run -2 --separate-stderr train --ranks=40 --pipeline=2 --batch=128
  [ "$stderr" = "nn-train: --ranks=40: a batch of 128 has at most 16 leaves; use at most --ranks=32, or --leaves=32" ]
  run -2 --separate-stderr train --hosts=here:9 --leaves=8
  [ "$stderr" = "nn-train: --ranks=9: a batch of 64 has at most 8 leaves; use at most --ranks=8, or --leaves=16" ]
  # the address sanitizer needs all addresses
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || return 0
  run -4 --separate-stderr bash -c 'ulimit -v 4000000; exec nn-train "$@"' sh "${words[@]}" --ranks=4000 --strategy=async
  [[ $stderr =~ ^nn-train:\ --ranks=4000:\ these\ processes\ need\ 16777216000\ bytes\ before\ they\ have\ any\ data,\ [0-9]+\ are\ available$ ]]
}

@test "train ranks: a second signal ends all at once" {
  rm -f long.*
  long 2
  kill -STOP "${ranks[0]}"
  kill -TERM $parent
  sleep 0.3
  kill -TERM $parent
  ended 143
  gone "$processes" 20
}

@test "train ranks: a killed rank is named, status 5; the parent's death ends all" {
  rm -f long.*
  long 3
  kill -9 "${ranks[1]}"
  ended 5
  gone "$processes" 100
  [[ "$(cat err)" == "nn-train: rank 1 (pid ${ranks[1]}) was killed by signal 9"* ]]
  long 2 --resume
  kill -9 $parent
  gone "$processes" 100
}

@test "train ranks: a pipe is read by rank 0 and reaches all, with --spool and by name too" {
  zcat digits.csv.gz >digits.csv
  unset 'words[-1]'
  args=(--epochs=2 --valid=0.2)
  # shellcheck disable=SC2002 # a pipe is wanted
  cat digits.csv | train "${args[@]}" --ranks=3 -o piped.safetensors -
  cmp one.safetensors piped.safetensors
  train "${args[@]}" --ranks=2 -o piped.safetensors - <digits.csv.gz
  cmp one.safetensors piped.safetensors
  rm -f kept.csv fifo piped.*
  # shellcheck disable=SC2002
  cat digits.csv | train "${args[@]}" --steps=9 --ranks=2 --spool=kept.csv --checkpoint-every=1h -o piped.safetensors -
  train "${args[@]}" --ranks=2 --resume --spool=kept.csv -o piped.safetensors - </dev/null
  cmp one.safetensors piped.safetensors
  mkfifo fifo
  cat digits.csv >fifo &
  train "${args[@]}" --ranks=2 -o piped.safetensors fifo
  cmp one.safetensors piped.safetensors
  train "${args[@]}" --ranks=2 -o piped.safetensors <(cat digits.csv)
  cmp one.safetensors piped.safetensors
  for name in /dev/stdin /proc/self/fd/0; do
    train "${args[@]}" --ranks=2 -o piped.safetensors $name <digits.csv
    cmp one.safetensors piped.safetensors
  done
  run -1 --separate-stderr train --ranks=2 -o piped.safetensors - </dev/null
  [ "${#stderr_lines[@]}" = 1 ]
}

@test "train ranks: what differs between ranks is named with the rank" {
  zcat digits.csv.gz | head -n 400 >few.csv
  differs() {
    local status=$1 line=$2
    shift 2
    run -"$status" --separate-stderr mpi -n 1 nn-train "${words[@]}" --steps=3 -o differs.safetensors : -n 1 nn-train "$@"
    [ "$(grep '^nn-train: ' <<<"$stderr")" = "nn-train: $line" ] || { echo "$stderr"; return 1; }
    [ ! -e differs.safetensors ]
  }
  differs 2 "rank 1 has --seed=2, rank 0 --seed=1" "${words[@]}" --steps=3 --seed=2
  differs 2 "rank 1 has --steps=4, rank 0 --steps=3" "${words[@]}" --steps=4
  differs 2 'rank 1 has "dense 17" in line 2 of the model, rank 0 "dense 16"' "${words[@]:0:2}" 'dense 17, relu, dense ?' "${words[@]:3}" --steps=3
  differs 1 "rank 1 has other data than rank 0 in few.csv" "${words[@]:0:5}" few.csv --steps=3
  # what a rank may have of its own
  mpi -n 1 nn-train "${words[@]}" --epochs=2 --valid=0.2 -o differs.safetensors -t 1 : -n 1 nn-train "${words[@]}" --epochs=2 --valid=0.2 -t 2 -o other.safetensors
  cmp one.safetensors differs.safetensors
  rm differs.safetensors
  # a program with another text in it, and without the mark of the linker, which would be the same
  mkdir -p other/bin other/lib
  cp "$NN_BUILD/cmd/nn-train" other/bin
  cp -L "$NN_BUILD/lib/libnn.so.0" other/lib
  sed -i 's/no samples to train on/no sample to train on /' other/lib/libnn.so.0
  objcopy --remove-section=.note.gnu.build-id other/lib/libnn.so.0
  run -1 --separate-stderr env NN_MODULE_PATH="$NN_BUILD/lib${NN_MODULE_PATH:+:$NN_MODULE_PATH}" mpirun --stdin none --oversubscribe --mca btl self,vader \
    -n 1 nn-train "${words[@]}" --steps=3 -o differs.safetensors : -n 1 other/bin/nn-train "${words[@]}" --steps=3
  [ "$(grep '^nn-train: ' <<<"$stderr")" = "nn-train: rank 1 is another build of nntools than rank 0" ]
}

@test "train ranks: what was foreseen of the step stands beside what was measured, and what ranks cost is kept" {
  unset 'words[0]'
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/kept
  train --ranks=2 --epochs=5 -v --log=log -o foreseen.safetensors 2>err
  rm foreseen.safetensors
  grep -q '^nn-train: note: predicted: .* a step, .*(some steps of it were tried here)$' err
  grep -Eq '^nn-train: note: a step [1-9][0-9.]* [a-z]+, predicted [0-9.]+ [a-z]+ \([+-][0-9.]+ %\)$' err
  jq -e -s 'map(select(.event=="end"))[0]|.predicted.step_s|.predicted>0 and .measured>0 and ((.predicted/.measured-1-.error)|fabs)<1e-9' log
  jq -e -s 'map(select(.event=="start"))[0].predicted.step_s==map(select(.event=="end"))[0].predicted.step_s.predicted' log
  # 4 * (65*16 + 17*10) bytes of gradients
  [[ $(cut -f 2,3 "$XDG_CACHE_HOME/nntools/link" | grep training) == "training ranks=2 btl=self,vader"$'\t'"4840 "* ]]
  train --explain | grep -q '^strategy sync: .*(communication as measured here with 2 ranks)$'
}
