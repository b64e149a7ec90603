#!/usr/bin/env bats
# nn-train --strategy: each against a plain program of one process, with the same bytes where they are promised.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  begin_ranks || return 0
  cp "$NN_SRC/share/data/digits.csv.gz" .
  train -o one.safetensors
}

train() {
  timeout -k 5 120 nn-train -q -m 'dense 16, relu, dropout 0.1, dense ?' --target=digit --loss=cross-entropy --epochs=2 "$@" digits.csv.gz
}

# Linear regression in f64 on 48 rows: what strategies.py computes, too.
line() {
  timeout -k 5 120 nn-train -q -m 'dense ?' --precision=f64 --optimizer=sgd --lr=0.05 --batch=16 --leaves=4 --shuffle=no --epochs=4 "$@" \
    x.npy y.npy
}

oracle() {
  "${NN_PYTHON:-python3}" -c 'import numpy' 2>/dev/null || skip "no NumPy"
  [ -e x.npy ] || "${NN_PYTHON:-python3}" "$NN_SRC/tests/cli/strategies.py" data 48
  [ -e start.safetensors ] || line --steps=0 -o start.safetensors
}

# differs LESS WORDS...: what strategies.py says is below this
differs() {
  local by
  by=$("${NN_PYTHON:-python3}" "$NN_SRC/tests/cli/strategies.py" "${@:2}")
  echo "difference $by"
  awk -v by="$by" -v less="$1" 'BEGIN { exit !(by < less) }'
}

@test "strategies: a wrong one is named, with those there are; its options need it" {
  run -2 --separate-stderr train --strategy=star -o m
  [[ $stderr == "nn-train: --strategy=star: expected sync, async, local:H, local:H@STEP or master"* ]]
  for bad in local local: local:0 local:x local:4@ local:4@y sync:1 async:2 master:1; do
    run -2 train --strategy=$bad -o m
  done
  for option in staleness=1 staleness-lr=yes record=r replay-run=r; do
    run -2 --separate-stderr train --$option -o m
    [[ $stderr == "nn-train: --${option%=*}: needs --strategy=async" ]]
  done
  [ ! -e m ]
}

@test "strategies: on one rank each is sync" {
  for s in async local:1 local:8 local:3@5 master; do
    train --strategy=$s -o alone.safetensors
    cmp one.safetensors alone.safetensors
  done
}

@test "async: one computing rank gives the bytes of one process" {
  train --strategy=async --ranks=2 -o async.safetensors
  cmp one.safetensors async.safetensors
  OMPI_MCA_btl=self,tcp train --strategy=async --ranks=2 -o async.safetensors
  cmp one.safetensors async.safetensors
  # more than what goes through memory that both see
  train -m 'dense 8000, relu, dense ?' --steps=5 -o wide.safetensors
  train -m 'dense 8000, relu, dense ?' --steps=5 --strategy=async --ranks=2 -o async.safetensors
  cmp wide.safetensors async.safetensors
}

@test "async: no gradient is staler than --staleness; the histogram says so" {
  for k in 0 1 3; do
    run -0 --separate-stderr timeout -k 5 120 nn-train -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy --epochs=2 \
      --strategy=async --ranks=4 --staleness=$k --record=record -o m digits.csv.gz
    [[ $stderr == *"staleness of 58 updates:"*"; --staleness=$k"* ]]
    awk -v k=$k 'NR > 2 { if ($1 - 1 - $4 > k) late++; batches[$3]++ } END { exit late > 0 || length(batches) != 58 }' record
  done
  awk 'NR > 2 && $1 - 1 - $4 > 0 { n++ } END { exit n == 0 }' record
}

@test "async: the log and -v tell the times of all ranks; one that computes much longer is named" {
  run -0 --separate-stderr timeout -k 5 120 mpirun --stdin none --oversubscribe --bind-to none --mca oob_tcp_if_include lo -n 3 sh -c \
    'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then export NN_CPU=generic; fi
    exec nn-train -v -t 1 -m "dense 300, relu, dense 300, relu, dense ?" --target=digit --loss=cross-entropy -b 128 --steps=100 \
      --strategy=async --log=times.log -o slow.st digits.csv.gz'
  for r in 0 1 2; do
    [[ $stderr =~ "note: rank $r on "[^\ ]+" (pid "[0-9]+"): compute " ]]
  done
  [[ $stderr =~ "note: rank 1 on "[^\ ]+" computes "[0-9]+\.[0-9]" x as long as the other" ]]
  "${NN_PYTHON:-python3}" - <<'P'
import json
ranks = [json.loads(line) for line in open("times.log")][-1]["ranks"]
assert [r["rank"] for r in ranks] == [0, 1, 2] and len({r["pid"] for r in ranks}) == 3, ranks
assert ranks[1]["compute_s"] > ranks[2]["compute_s"] > 0, ranks
# the fast one is held by the bound: it waits for its turn
assert ranks[2]["wait_s"] > 10 * ranks[2]["comm_s"], ranks
P
}

@test "async: a recorded run replays to the same bytes, with --staleness-lr, batch norm and dropout too" {
  for more in '' '--staleness-lr=yes'; do
    train -m 'dense 16, batchnorm, relu, dropout 0.2, dense ?' --strategy=async --ranks=4 $more --record=record -o run.safetensors
    train -m 'dense 16, batchnorm, relu, dropout 0.2, dense ?' --strategy=async $more --replay-run=record -o replay.safetensors
    cmp run.safetensors replay.safetensors
  done
}

@test "async: a record is of one seed, net, data and set of options: what differs is named with both values" {
  zcat digits.csv.gz | sed '$d' >less.csv
  train --strategy=async --ranks=3 --record=record --schedule=cosine --epochs=2 -o run.safetensors
  replay() { train --strategy=async --replay-run=record --schedule=cosine --epochs=2 -o repeated.safetensors "$@"; }
  refused() {        # STATUS LINE OPTION...
    run "-$1" --separate-stderr replay "${@:3}"
    [ "$stderr" = "nn-train: $2" ]
    [ ! -e repeated.safetensors ]
  }
  refused 2 '--seed=2: record was made with --seed=1' --seed=2
  refused 2 '--lr=0.002: record was made with --lr=0.001' --lr=0.002
  refused 2 '--batch=32: record was made with --batch=64' --batch=32
  refused 2 '--epochs=3: record was made with --epochs=2' --epochs=3
  refused 2 '-m: line 2 of the model is "dense 17", record was made with "dense 16"' -m 'dense 17, relu, dense ?'
  run -1 --separate-stderr nn-train -q -m 'dense 16, relu, dropout 0.1, dense ?' --target=digit --loss=cross-entropy --strategy=async --replay-run=record \
    --schedule=cosine --epochs=2 -o repeated.safetensors less.csv
  [ "$stderr" = "nn-train: record: the data are not those it was trained on" ]
  replay --staleness=9
  cmp run.safetensors repeated.safetensors
  # weights to start from belong to it
  train -m run.safetensors --strategy=async --ranks=3 --record=record -o other.safetensors
  train -m run.safetensors --strategy=async --replay-run=record -o again.safetensors
  cmp other.safetensors again.safetensors
  run -1 --separate-stderr train -m other.safetensors --strategy=async --replay-run=record -o again.safetensors
  [ "$stderr" = "nn-train: record: the model of -m is not the one that the recorded training started from" ]
}

@test "async: what it did is what a plain program does with the record" {
  oracle
  line --strategy=async --ranks=4 --record=record -o async.safetensors
  differs 1e-12 async start.safetensors record no async.safetensors
  line --strategy=async --ranks=3 --record=record --staleness-lr=yes -o async.safetensors
  differs 1e-12 async start.safetensors record yes async.safetensors
}

@test "async: a damaged record is an error that names the line" {
  train --strategy=async --ranks=2 --record=record -o m.safetensors
  for spoil in '4s/^2/3/' '5s/\t[0-9]*$/\t9/' '6s/\t/ /' '3s/$/x/' '2s/step/Step/' '1s/^#//' '1s/"model"/"net"/'; do
    sed "$spoil" record >bad
    run -1 --separate-stderr train --strategy=async --replay-run=bad -o n.safetensors
    [[ $stderr == "nn-train: bad:${spoil%%s*}: expected "* ]]
    [ "${#stderr_lines[@]}" = 1 ]
  done
  head -n 21 record >bad
  run -1 --separate-stderr train --strategy=async --replay-run=bad -o n.safetensors
  [[ $stderr == "nn-train: bad: ends after 19 steps; --steps=19 "* ]]
  run -1 train --strategy=async --replay-run=nothing -o n.safetensors
  run -2 train --strategy=async --replay-run=record --resume -o n.safetensors
  [ ! -e n.safetensors ]
}

@test "async: a loss that is not finite ends all ranks with status 6" {
  run -6 --separate-stderr train --strategy=async --ranks=3 --optimizer=sgd --lr=1e20 -o n.safetensors
  [ "${#stderr_lines[@]}" = 1 ]
  [[ $stderr == *"the loss is not finite"* ]]
}

@test "local: what it did is what a plain program does, for any H, STEP and ranks" {
  oracle
  models=()
  for ranks in 2 3 4; do
    for h in 1 2 3 5@4 2@3; do
      momentum=$((ranks % 2 * 9))e-1 # of three ranks
      line --strategy=local:$h --ranks=$ranks --momentum=$momentum -o local.$h.$ranks.safetensors
      models+=("$h:$ranks:$momentum:local.$h.$ranks.safetensors")
    done
  done
  differs 1e-12 local start.safetensors "${models[@]}"
}

@test "local: H=1 with SGD is sync, to rounding; batch norm and a ragged last batch included" {
  train --optimizer=sgd --lr=0.1 --log=sync.log -o sync.safetensors
  train --optimizer=sgd --lr=0.1 --strategy=local:1 --ranks=2 --log=local.log -o local.safetensors
  for log in sync local; do
    jq -r 'select(.event == "epoch") | .loss' $log.log >$log.loss
  done
  paste sync.loss local.loss | awk '{ d = $1 - $2; if (d * d > 1e-10) far++ } END { exit far > 0 || NR != 2 }'
  train -m 'dense 16, batchnorm, relu, dense ?' --batch=128 --strategy=local:4 --ranks=3 -o norm.safetensors
}

@test "local: averages through memory that ranks share and through messages are the same bytes" {
  for options in --ranks=2 "--ranks=3 --optimizer=sgd --momentum=0.9" "--ranks=4 --precision=f64"; do
    # shellcheck disable=SC2086
    train -m 'dense 1500, batchnorm, relu, dense ?' -b 128 --steps=9 --strategy=local:2 $options -o near.safetensors
    # shellcheck disable=SC2086
    OMPI_MCA_btl=self,tcp train -m 'dense 1500, batchnorm, relu, dense ?' -b 128 --steps=9 --strategy=local:2 $options -o far.safetensors
    cmp near.safetensors far.safetensors
  done
}

@test "local: all ranks stop after one step at a signal, and a resumed training goes on" {
  timeout -k 5 120 nn-train -q -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy --epochs=1000000 --strategy=local:4 --ranks=2 \
    --checkpoint-every=20 -o stop.safetensors digits.csv.gz 3>&- &
  parent=$!
  until_ [ -e stop.state.safetensors ]
  pkill -INT -P "$parent" nn-train || kill -INT "$parent"
  wait "$parent" || status=$?
  [ "$status" = 130 ]
  train -m 'dense 16, relu, dense ?' --strategy=local:4 --ranks=2 --resume --steps=0 --epochs=1000000 -o stop.safetensors
}

@test "local: with more steps between averages than an epoch has, signals and the time limit end it where an epoch does" {
  short=(nn-train -q -m 'dense 8, relu, dense ?' --target=digit --loss=cross-entropy -b 600 --ranks=2 --epochs=10000000)
  for h in 4 10 4@5; do # 3 steps an epoch
    timeout -k 5 60 "${short[@]}" --strategy=local:$h --time-limit=0.5 --log=over.log -o over.safetensors digits.csv.gz
    jq -e 'select(.event == "end") | .reason == "time-limit"' over.log
  done
  timeout -k 5 60 "${short[@]}" --strategy=local:10 --checkpoint-every=1000000 -o term.safetensors --log=term.log --log-every=1 digits.csv.gz 3>&- &
  parent=$!
  until_ grep -q '"step"' term.log
  pkill -USR1 -P "$parent" nn-train || kill -USR1 "$parent"
  until_ grep -q '"signal","name":"SIGUSR1"' term.log
  [ -e term.state.safetensors ]
  pkill -TERM -P "$parent" nn-train || kill -TERM "$parent"
  wait "$parent" || status=$?
  [ "$status" = 143 ]
}

@test "local: slots stay with their ranks: adam sends what sgd sends; a resumed training makes the bytes of a whole one" {
  sent() { jq 'select(.event == "end") | .predicted.step_bytes | .measured, .error' "$1" | xargs; }
  local=(-m 'dense 64, relu, dropout 0.1, dense ?' -b 16 --leaves=2 --strategy=local:4 --ranks=2)
  for optimizer in adam sgd; do
    train "${local[@]}" --optimizer=$optimizer --log=$optimizer.log -o $optimizer.safetensors
    echo "$optimizer: $(sent $optimizer.log)"
  done
  # once an epoch of 113 steps, 29 averages, slots go along
  echo "$(sent adam.log) $(sent sgd.log)" |
    awk '{ e = $2 * $2 > $4 * $4 ? $2 : $4; exit !($1 < 1.1 * $3 && e * e < 0.05) }'
  train "${local[@]}" --epochs=3 --checkpoint-every=50 -o whole.safetensors
  train "${local[@]}" --epochs=3 --steps=150 --checkpoint-every=50 -o part.safetensors
  train "${local[@]}" --epochs=3 --steps=0 --checkpoint-every=50 --resume -o part.safetensors
  train "${local[@]}" --epochs=3 --checkpoint-every=50 --resume -o part.safetensors
  cmp whole.safetensors part.safetensors
  # a clock that has not run out asks for nothing
  train "${local[@]}" --optimizer=adam --checkpoint-every=1h -o clock.safetensors
  cmp adam.safetensors clock.safetensors
  # fewer steps than H: the average at the end
  train "${local[@]}" --strategy=local:64 --steps=4 --log=few.log -o few.safetensors
  sent few.log | awk '{ exit !($1 > 0 && $2 * $2 < 0.05) }'
}

@test "local: a loss that is not finite on one rank ends all with status 6" {
  run -6 --separate-stderr train --strategy=local:4 --ranks=2 --optimizer=sgd --lr=1e20 -o n.safetensors
  [ "${#stderr_lines[@]}" = 1 ]
}

@test "strategies: tables of categories go along: async with one computing rank is one process, a record replays, local learns" {
  awk 'BEGIN { srand(3); print "a,b,kind"; for (i = 0; i < 400; i++) { a = int(50 * rand()); b = int(9 * rand())
    printf "a%d,b%d,%s\n", a, b, a % 2 ? "x" : "y" } }' >tables.csv
  tables() {
    timeout -k 5 120 nn-train -q -m 'input columns=a,b, embedding 4 sparse=yes, flatten, dense ?' --target=kind --loss=cross-entropy \
      --epochs=4 --lr=0.02 -b 32 "$@" tables.csv
  }
  tables -o whole.safetensors
  tables --strategy=async --ranks=2 -o async.safetensors
  cmp whole.safetensors async.safetensors
  tables --strategy=async --ranks=3 --record=steps.txt -o three.safetensors
  tables --strategy=async --replay-run=steps.txt -o replayed.safetensors
  cmp three.safetensors replayed.safetensors
  for options in '--ranks=2 --pipeline=2' '--ranks=4 --pipeline=2' '--ranks=2 --tensor=2' '--ranks=2 --shard-optimizer'; do
    # shellcheck disable=SC2086
    tables $options -o other.safetensors
    cmp whole.safetensors other.safetensors
  done
  tables --strategy=local:4 --ranks=2 --epochs=8 --lr=0.05 -o local.safetensors
  nn-predict --score local.safetensors tables.csv | awk '$1 == "accuracy" { exit !($2 > 0.95) }'
}

@test "race: each strategy has rows up to the time limit; local sends less; the picture is drawn" {
  run -0 --separate-stderr timeout -k 5 120 nn-train -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy --ranks=2 \
    --race=sync,local:8,async --time-limit=1 --plot=race.svg digits.csv.gz
  [ "${lines[0]}" = strategy,seconds,step,loss,bytes ]
  [[ $stderr == "nn-train: note: lowest loss at the end: "*" after "*" s" ]]
  printf '%s\n' "${lines[@]:1}" | awk -F, '
    NF != 5 || $2 > 3 || $2 < at[$1] || $3 <= step[$1] || $5 < bytes[$1] { bad++ }
    { at[$1] = $2; step[$1] = $3; bytes[$1] = $5; n[$1]++ }
    END {
      exit bad || length(n) != 3 || n["sync"] < 2 || n["local:8"] < 2 || n["async"] < 2 ||
        bytes["local:8"] / step["local:8"] > bytes["sync"] / step["sync"]
    }'
  grep -q '</svg>' race.svg
  [ -z "$(compgen -G '.*.tmp')" ]
}

@test "race: where each side ended is a row, of a short training as well" {
  run -0 --separate-stderr timeout -k 5 120 nn-train -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy --ranks=2 \
    --race=sync,local:8 --time-limit=30 --steps=41 digits.csv.gz
  [[ $stderr =~ ^"nn-train: note: lowest loss at the end: "(sync|local:8),\ [0-9.]+\ after\ [0-9.e-]+\ s\;\ (sync|local:8)\ [0-9.]+\ after\ [0-9.e-]+\ s$ ]]
  printf '%s\n' "${lines[@]:1}" | awk -F, '{ n[$1]++; step[$1] = $3; loss[$1] = $4; if (n[$1] == 1) first[$1] = $4 }
    END { for (s in n) { m++; if (n[s] < 10 || step[s] != 41 || loss[s] >= first[s]) exit 1 } exit m != 2 }'
  # the limit ends it between two rows
  run -0 --separate-stderr timeout -k 5 120 nn-train -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy --ranks=2 \
    --race=sync --time-limit=0.001 --epochs=1000 digits.csv.gz
  [ "${#lines[@]}" -ge 2 ]
}

@test "race: with held-out data a row is an evaluation; what keeps a model is refused" {
  run -0 --separate-stderr train --ranks=2 --valid=0.2 --race=sync,local:2 --time-limit=1
  [[ ${lines[1]} == sync,*,23,* || ${lines[1]} == sync,*,22,* ]]
  [ -z "$stderr" ]
  for option in -om --log=l --resume --strategy=sync --folds=2; do
    run -2 train --race=sync --time-limit=1 $option
  done
  run -2 train --race=sync
  run -2 train --race=sync,star --time-limit=1
  run -1 --separate-stderr timeout 60 nn-train -q -m 'dense ?' --target=y --race=sync --time-limit=1 nowhere.csv
  [ "$stderr" = "nn-train: nowhere.csv: cannot open: No such file or directory" ]
  [ -z "$(compgen -G "${TMPDIR:-/tmp}/nn-race.*")" ]
}

@test "race: without --ranks strategies are raced on several; under mpirun it is refused" {
  run -0 --separate-stderr timeout -k 5 120 nn-train -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy -b 32 \
    --race=sync,local:8 --time-limit=1 digits.csv.gz
  [[ $stderr == "nn-train: note: --race: strategies are those of several ranks, here 2; --ranks=N takes others"$'\n'* ]]
  printf '%s\n' "${lines[@]:1}" | awk -F, '{ bytes[$1] = $5 } END { exit !(bytes["sync"] > 0 && bytes["local:8"] > 0) }'
  run mpi -n 2 nn-train -m 'dense ?' --target=digit --race=sync,local:8 --time-limit=1 digits.csv.gz
  [ "$status" = 2 ]
  [[ $output == *"nn-train: --race=sync,local:8: starts the ranks of each strategy itself; use --ranks=N in place of mpirun or srun"* ]]
}

@test "master: the bytes of one process for every number of ranks; what goes through rank 0 is told" {
  train -m 'dense 16, batchnorm, relu, dense ?' --batch=128 --optimizer=lamb --clip-norm=1 -o whole.safetensors
  for n in 2 3 4; do
    train -m 'dense 16, batchnorm, relu, dense ?' --batch=128 --optimizer=lamb --clip-norm=1 --strategy=master --check-every=1 --ranks=$n -o master.safetensors
    cmp whole.safetensors master.safetensors
  done
  # 64 x 16 + 16 + 16 x 10 + 10 f32, to and from the other one, and some words beside them
  run -0 --separate-stderr timeout -k 5 120 nn-train -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy --epochs=2 \
    --strategy=master --ranks=2 -b 128 -o m.safetensors digits.csv.gz
  [[ $stderr =~ ([0-9]+)\ bytes\ a\ step\ went\ through\ rank\ 0 ]]
  [ "${BASH_REMATCH[1]}" -gt $((2 * 1210 * 4)) ]
  [ "${BASH_REMATCH[1]}" -lt $((3 * 1210 * 4)) ]
  train --strategy=master --ranks=2 --steps=20 --checkpoint-every=1h -o part.safetensors
  train --strategy=master --ranks=2 --resume -o part.safetensors
  cmp one.safetensors part.safetensors
}
