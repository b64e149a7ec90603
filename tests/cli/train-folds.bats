#!/usr/bin/env bats
# nn-train --folds: cross-validation.
# shellcheck disable=SC2154,SC2086,SC2016
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 130 >words.csv
  make_prices 101 >prices.csv
  # a column of text, too
  awk -F, -v OFS=, 'NR == 1 { print "city", $0; next } { print (NR % 3 ? "rome" : "oslo"), $0 }' words.csv >mixed.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

# check_folds FILE CLASS-COLUMN|- K SPLIT-SEED OPTION...: each fold's figures are, digit for digit, those that nn-predict --score
# prints of the model trained on files of the fold's rows; mean and sd follow from them
check_folds() {
  local file=$1 class=$2 folds=$3 seed=$4 n
  shift 4
  python3 "$NN_SRC/tests/cli/train-folds.py" "$file" "$class" "$folds" "$seed" .
  nn-train -q --folds="$folds" --split-seed="$seed" "$@" "$file" >table
  for n in $(seq "$folds"); do
    nn-train -q "$@" --valid=valid.$n.csv -o m train.$n.csv
    nn-predict -q --score m valid.$n.csv | tr ' ' '\t' >scores
    while IFS=$'\t' read -r _ name value; do
      # of several outputs --score names each
      [[ $name == *.* || -z ${several-} ]] || continue
      grep -qxF "$name"$'\t'"$value" scores || { echo "fold $n: $name $value"; cat scores; return 1; }
    done < <(grep "^$n"$'\t' table)
  done
  python3 - "$folds" <<'PYTHON'
import csv, math, statistics, sys
folds = int(sys.argv[1])
rows = list(csv.DictReader(open("table"), delimiter="\t"))
names = [r["metric"] for r in rows if r["fold"] == "1"]
assert len(names) >= 3 and len(rows) == len(names) * (folds + 2), rows
assert [r["fold"] for r in rows[:: len(names)]] == [str(k + 1) for k in range(folds)] + ["mean", "sd"], rows
for name in names:
    of = lambda fold: [float(r["value"]) for r in rows if r["metric"] == name and r["fold"] == fold][0]
    values = [of(str(k + 1)) for k in range(folds)]
    assert math.isclose(of("mean"), statistics.mean(values), rel_tol=1e-12, abs_tol=1e-15), name
    # sums in another order
    assert math.isclose(of("sd"), statistics.stdev(values), rel_tol=1e-9, abs_tol=1e-12), name
PYTHON
}

@test "train: each fold of classes is trained as files of its rows are, digit for digit" {
  check_folds "$data/words.csv" kind 4 1 -m 'dense 8, relu, dense ?' --target=kind --epochs=4
  [ "$(head -n 1 table)" = $'fold\tmetric\tvalue' ]
  [ "$(grep '^1' table | cut -f 2 | tr '\n' ' ')" = 'loss accuracy f1.macro ' ]
  check_folds "$data/words.csv" kind 3 7 -m 'dense 8, dropout 0.2, relu, dense ?' --target=kind --epochs=3 --shuffle=20 --batch=10 \
    --schedule=cosine --seed=5
}

@test "train: each fold of numbers is trained as files of its rows are, scales and all" {
  check_folds "$data/prices.csv" - 5 1 -m 'dense 8, tanh, dense ?' --target=price --epochs=4
  [ "$(grep '^1' table | cut -f 2 | tr '\n' ' ')" = 'loss rmse mae r2 ' ]
  check_folds "$data/prices.csv" - 2 1 -m 'dense 8, tanh, dense ?' --target=price --epochs=4 --normalize=minmax --precision=f64
}

@test "train: folds take columns of text, balanced weights, --patience with the best evaluation, and --metric" {
  check_folds "$data/mixed.csv" kind 3 1 -m 'dense 8, relu, dense ?' --target=kind --epochs=40 --class-weight=balanced --patience=2 \
    --optimizer=sgd --lr=0.3 --metric=loss --valid-every=2
  check_folds "$data/words.csv" kind 3 2 -m 'dense ?' --target=kind --epochs=2 --metric=recall.up
  grep -q 'recall.up' table
}

@test "train: folds of a network with outputs of several kinds" {
  awk -F, 'NR == 1 { print "a,b,c,kind,price"; next } { printf "%s,%.3f\n", $0, 3 * $1 + $2 }' "$data/words.csv" >both.csv
  printf '%s\n' 'dense 8' 'body: relu' 'price: dense ? output target=price' 'kind: dense ? from=body output target=kind weight=0.5' >both.nn
  several=1 check_folds both.csv kind 3 1 -m both.nn --epochs=3 --class-weight=balanced
  [ "$(grep -c '^2'$'\tkind\.' table)" -eq 3 ]
  [ "$(grep -c '^2'$'\tprice\.' table)" -eq 4 ]
}

@test "train: folds from a pipe, with any threads and micro-batch, give the same table" {
  folds() { nn-train -q -m 'dense 8, relu, dense ?' --target=kind --folds=3 --epochs=3 "$@"; }
  folds "$data/words.csv" >a
  folds - <"$data/words.csv" >b
  folds -t 3 --micro-batch=7 "$data/words.csv" >c
  same a b
  same a c
  run ! cmp -s a <(folds --split-seed=2 "$data/words.csv")
}

@test "train: each row is held out once, and classes are spread over the folds" {
  awk 'BEGIN { print "a,kind"; for (i = 0; i < 30; i++) printf "%.3f,%s\n", sin(i), i % 3 ? "x" : "y" }' >d.csv
  nn-train -q -m 'dense ?' --target=kind --folds=5 --epochs=1 --metric=support.y d.csv >table
  [ "$(grep -c $'^[1-5]\tsupport.y\t2$' table)" -eq 5 ]
  grep -qx $'sd\tsupport.y\t0' table
}

@test "train: lines of progress and events of the log say the fold" {
  run -0 --separate-stderr nn-train -m 'dense ?' --target=kind --folds=2 --epochs=2 --log=log "$data/words.csv"
  [ "${#stderr_lines[@]}" -eq 5 ]
  [[ ${stderr_lines[1]} == 'fold 1/2  epoch 1/2  loss '* && ${stderr_lines[4]} == 'fold 2/2  epoch 2/2  loss '* ]]
  log_check log '[e["fold"] for e in of("epoch")] == [1, 1, 2, 2] and [e["reason"] for e in of("end")] == ["epochs"] * 2'
}

@test "train: without --folds no event has a fold" {
  nn-train -q -m 'dense ?' --target=kind --epochs=1 --log=log -o m "$data/words.csv"
  log_check log 'not any("fold" in e for e in events)'
}

@test "train: a signal ends cross-validation with the rows of the folds that are done" {
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --folds=20 --time-limit=0.2 "$data/words.csv" >table 2>err 3>&- &
  pid=$!
  for _ in $(seq 500); do grep -q ^1 table && break; sleep 0.02; done
  kill -TERM $pid
  status=0
  wait $pid || status=$?
  [ $status -eq 143 ]
  [ ! -s err ]
  [ "$(grep -c '^1'$'\t' table)" -eq 3 ]
  [ "$(grep -c '^mean' table)" -eq 0 ]
  [ -z "$(tail -c 1 table)" ]
}

@test "train: a fold that diverges is status 6; a reader that leaves ends it silently, 141" {
  run -6 --separate-stderr nn-train -q -m 'dense 64, relu, dense ?' --target=price --normalize=none --optimizer=sgd --lr=1e6 --folds=3 \
    "$data/prices.csv"
  [ "${#stderr_lines[@]}" -eq 1 ]
  nn-train -q -m 'dense ?' --target=kind --folds=20 --epochs=2 "$data/words.csv" 2>err | true
  statuses=("${PIPESTATUS[@]}")
  [ "${statuses[0]}" -eq 141 ]
  [ ! -s err ]
}

@test "wrong command line: what cross-validation has none of is refused by name, status 2" {
  refused() {
    local status=$1 pattern=$2
    shift 2
    run "-$status" --separate-stderr nn-train -q -m 'dense ?' --target=kind --epochs=1 "$@" "$data/words.csv"
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "nn-train: "*"$pattern"* ]] || { echo "$stderr"; false; }
  }
  refused 2 '-o, --output: not with --folds' --folds=3 -o m
  for option in --valid=0.1 --checkpoint=s --checkpoint-every=3 --resume --plot=p.svg; do
    refused 2 "${option%%=*}: not with --folds" --folds=3 $option
  done
  refused 2 '--log=-: the table of --folds' --folds=3 --log=-
  for value in 0 1 -1 x 2.5 '' 1000001; do refused 2 "--folds=$value: expected" --folds=$value; done
  refused 1 '--folds=131: of 130 samples' --folds=131
  [ -z "$(find . -mindepth 1 -not -name 'separate-stderr*')" ]
}

@test "wrong data: a table with no rows is said to have no samples, whatever the model leaves open" {
  head -n 1 "$data/words.csv" >empty.csv
  for option in --epochs=1 --folds=2 --valid=0.5; do
    run -1 --separate-stderr nn-train -q -m 'dense ?' --target=kind $option empty.csv
    [ "$stderr" = 'nn-train: empty.csv: no samples to train on' ]
  done
}

@test "folds: on a terminal a line for each metric, mean and deviation with two digits of it" {
  command -v script || skip "no script"
  script -qec "nn-train -q -m 'dense ?' --target=kind --epochs=2 --folds=4 $data/words.csv" /dev/null | tr -d '\r' >lines
  nn-train -q -m 'dense ?' --target=kind --epochs=2 --folds=4 "$data/words.csv" >table
  python3 - <<'PYTHON'
import math, re
rows = [line.split("\t") for line in open("table").read().splitlines()]
mean, sd = ({r[1]: float(r[2]) for r in rows if r[0] == kind} for kind in ("mean", "sd"))
lines = open("lines", encoding="utf-8").read().splitlines()
assert [line.split()[0] for line in lines] == list(mean), lines
for line in lines:
    name, m, sign, s = line.split()
    n = len(s.split(".")[1])
    assert sign == "±" and n == 1 - math.floor(math.log10(sd[name])), line
    assert (m, s) == (f"{mean[name]:.{n}f}", f"{sd[name]:.{n}f}"), line
PYTHON
}

@test "train: a target of one class is told" {
  grep -E 'kind|,up$' "$data/words.csv" >one.csv
  run -0 --separate-stderr nn-train -m 'dense ?' --target=kind --epochs=1 -o m one.csv
  [[ $stderr == *'nn-train: warning: one.csv: the target has one class only, "up": any answer is right'* ]]
}
