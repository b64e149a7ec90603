#!/usr/bin/env bats
# nn-train --try: options side by side.
# shellcheck disable=SC2154,SC2016
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 130 >words.csv
  make_prices 60 >prices.csv
  words=(-m 'dense 4, relu, dense ?' --target=kind --epochs=4)
}

# alone OPTION...: the value of a metric as --score prints it, of a training of its own
alone() {
  nn-train -q "${words[@]}" "$@" words.csv -o alone.st
}

@test "try: every combination has a row, the best model is the one that its options give alone" {
  run -0 --separate-stderr nn-train "${words[@]}" --valid=0.3 --try=lr=0.0001,0.05 --try=batch=16,32 words.csv -o best.st
  [ "${lines[0]}" = $'lr\tbatch\tmetric\tsd\tseconds\tbest' ]
  [ "$(cut -f1,2 <<<"$output" | tail -n +2 | tr '\t\n' ', ')" = "0.0001,16 0.0001,32 0.05,16 0.05,32 " ]
  [ "$(grep -c 'yes$' <<<"$output")" = 1 ]
  [ "$(grep -c '^nn-train: note: lr=.* batch=.*: accuracy .* of 4, ' <<<"$stderr")" = 4 ]
  # the largest metric, of equals the first
  want=$(tail -n +2 <<<"$output" | sort -s -t$'\t' -k3,3gr | head -1)
  [ "$(grep 'yes$' <<<"$output")" = "$want" ]
  IFS=$'\t' read -r lr batch metric _ <<<"$want"
  alone --valid=0.3 --lr="$lr" --batch="$batch" --log=log
  cmp best.st alone.st
  [ "$(jq -s 'map(select(.event == "epoch")) | last.accuracy' log)" = "$metric" ]
}

@test "try: folds decide by their mean, the best options are trained on all rows" {
  run -0 --separate-stderr nn-train -q "${words[@]}" --folds=3 --try=lr=0.0001,0.05 -t 3 words.csv -o best.st
  while IFS=$'\t' read -r lr metric sd _ best; do
    nn-train -q "${words[@]}" --folds=3 --lr="$lr" words.csv >table
    [ "$metric" = "$(awk '$1 == "mean" && $2 == "accuracy" { print $3 }' table)" ]
    [ "$sd" = "$(awk '$1 == "sd" && $2 == "accuracy" { print $3 }' table)" ]
    [ "$best" = no ] || alone --lr="$lr"
  done < <(tail -n +2 <<<"$output")
  cmp best.st alone.st
}

@test "try: networks, values in quotes, stdin, the least of an error" {
  nn-train -q --target=price --valid=0.3 --epochs=3 --try='model=dense 2, dense ?,"dense 4, relu, dense ?"' --metric=rmse \
    - -o best.st <prices.csv >table
  [ "$(cut -f1 table | tail -n +2)" = $'dense 2, dense ?\ndense 4, relu, dense ?' ]
  [ "$(tail -n +2 table | sort -t$'\t' -k2,2g | head -1)" = "$(grep 'yes$' table)" ]
  # values measured by another normalization need the data anew, which stdin cannot give
  run -2 --separate-stderr nn-train -q -m 'dense ?' --target=price --valid=0.3 --try=normalize=none,standard - <prices.csv
  [[ $stderr == *", and stdin is read once; give a file" ]]
  nn-train -q -m 'dense ?' --target=price --valid=0.3 --epochs=2 --try=normalize=none,minmax prices.csv >table
  [ "$(wc -l <table)" = 3 ]
}

@test "try: a training that diverges has no metric; nothing but divergence is status 6" {
  run -0 --separate-stderr nn-train -q -m 'dense ?' --target=price --normalize=none --valid=0.3 --optimizer=sgd --epochs=20 --try=lr=1e-9,1e20 prices.csv -o m.st
  grep -q $'^1e20\t\t\t.*\tno$' <<<"$output"
  [ -s m.st ]
  run -6 --separate-stderr nn-train -q -m 'dense ?' --target=price --normalize=none --valid=0.3 --optimizer=sgd --epochs=20 --try=lr=1e19,1e20 prices.csv -o n.st
  [ "$stderr" = "nn-train: --try: every training diverged" ]
  [ ! -e n.st ]
}

@test "try: --patience, which decides where a training ends, is tried too" {
  how=(--valid=0.3 --metric=loss --lr=0.3 --epochs=40)
  nn-train -q "${words[@]}" "${how[@]}" --try=patience=1,40 -o best.st words.csv >table
  [ "$(cut -f1,5 table | tail -n +2 | tr '\t\n' ', ')" = "1,no 40,yes " ]
  alone "${how[@]}" --patience=40
  cmp best.st alone.st
}

@test "try: what cannot be tried is said before anything is read" {
  while IFS='|' read -r options want; do
    # shellcheck disable=SC2086
    run -2 --separate-stderr nn-train "${words[@]}" $options ghost.csv
    [ "$stderr" = "nn-train: $want" ] || { echo "$options: $stderr"; false; }
  done <<'T'
--try=lr=1,2|--try: needs rows that decide, --valid=FILE, --valid=FRACTION or --folds=K
--valid=0.1 --try=lr|--try=lr: expected OPTION=V1,V2,... as in lr=0.001,0.01
--valid=0.1 --try=lr=1,,2|--try=lr=1,,2: expected OPTION=V1,V2,..., a value is empty
--valid=0.1 --try=lr=1,x|--try=lr=x: expected a number from 0 to 1e30
--valid=0.1 --try=lrr=1|--try=lrr: --lrr: unknown option; did you mean --lr?
--valid=0.1 --try=threads=1,2|--try=threads: this option does not change what is learned
--valid=0.1 --try=lr=1,2 --try=lr=3|--try=lr: given twice
--valid=0.1 --try=lr=1 --resume|--resume: not with --try, which trains several times
--valid=0.1 --try=lr=1 --ranks=2|--ranks: not with --try, which trains several times
--valid=0.1 --try=lr=1 -o -|--output=-: the table of --try goes to stdout; give the model a file
T
  values=$(seq -s, 1 101)
  run -2 --separate-stderr nn-train "${words[@]}" --valid=0.1 --try=seed="$values" --try=lr="$values" ghost.csv
  [ "$stderr" = "nn-train: --try: more than 1000 combinations" ]
}

@test "try: a signal ends all, without a model; what one cannot do ends all with its error" {
  nn-train "${words[@]:0:3}" --steps=100000000 --valid=0.3 --try=lr=0.1,0.2,0.3 words.csv -o m.st >table 2>err &
  pid=$!
  for _ in $(seq 200); do
    [ "$(pgrep -c -P $pid)" -lt 1 ] || break
    sleep 0.05
  done
  kill -TERM $pid
  status=0
  wait $pid || status=$?
  [ $status = 143 ]
  [ ! -e m.st ]
  [ ! -s table ]
  [ "$(tail -n 1 err)" = 'nn-train: note: stopped: 0 of 3 trainings had ended; no model is written' ]
  run -2 --separate-stderr nn-train -q "${words[@]}" --valid=0.3 --try=lr=0.1,0.2 --metric=rmse words.csv -o m.st
  [[ $stderr == "nn-train: --try: lr=0."*": --metric=rmse: not a metric of these targets;"* ]]
  [ ! -e m.st ]
}

@test "try: a signal to the whole group, as Ctrl-C at a terminal sends it, is one signal" {
  command -v setsid >/dev/null || skip "no setsid"
  for _ in 1 2 3 4 5 6; do
    setsid env --default-signal=INT nn-train "${words[@]:0:3}" --steps=100000000 --valid=0.3 --try=lr=0.1,0.2,0.3,0.4 -t 4 words.csv -o m.st \
      >table 2>err 3>&- &
    pid=$!
    for _ in $(seq 200); do
      [ "$(pgrep -c -P $pid)" -lt 4 ] || break
      sleep 0.05
    done
    kill -INT -- -$pid
    status=0
    wait $pid || status=$?
    [ $status = 130 ] || { cat err; false; }
    [ "$(tail -n 1 err)" = 'nn-train: note: stopped: 0 of 4 trainings had ended; no model is written' ]
  done
}

@test "try: a place where no model can be written ends the run before anything is trained" {
  long=$(printf 'n%.0s' {1..300})
  for place in nowhere/m . "$long"; do
    for how in --valid=0.3 --folds=3; do
      run -1 --separate-stderr nn-train "${words[@]}" $how --try=lr=0.01,0.05 words.csv -o "$place"
      [ -z "$output" ]
      [[ ${#stderr_lines[@]} = 1 && $stderr == "nn-train: $place: "* ]]
    done
  done
  # a pipe is opened when there is a model
  mkfifo pipe
  cat pipe >got.st &
  nn-train -q "${words[@]}" --valid=0.3 --try=lr=0.01,0.05 words.csv -o pipe >table
  wait $!
  nn-predict --info got.st >info
}

@test "try: signals that save a state end nothing, there is none, and no folder stays" {
  mkdir tmp
  TMPDIR=$PWD/tmp nn-train "${words[@]:0:3}" --steps=100000000 --valid=0.3 --try=lr=0.1,0.2 words.csv -o m.st >table 2>err &
  pid=$!
  for _ in $(seq 200); do
    [ "$(pgrep -c -P $pid)" -lt 1 ] || break
    sleep 0.05
  done
  kill -USR1 $pid
  kill -USR2 $pid
  kill -HUP $pid
  sleep 0.1
  kill -TERM $pid
  status=0
  wait $pid || status=$?
  [ $status = 143 ]
  [ -z "$(ls tmp)" ]
}

@test "try: no state is written beside the models that are tried" {
  # a model is 1.6 kB, its state three times as large
  run -0 --separate-stderr bash -c 'ulimit -f 4; exec "$@"' - \
    nn-train -q --device=cpu -m 'dense 24, relu, dense ?' --target=kind --epochs=2 --valid=0.3 --try=lr=0.01,0.02 words.csv -o m.st
  [ -s m.st ]
}
