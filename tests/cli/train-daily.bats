#!/usr/bin/env bats
# What one asks of nn-train every day: pictures, limits of time, balanced classes.
# shellcheck disable=SC2154,SC2086,SC2016
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 >words.csv
  make_prices 200 >prices.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

# svg FILE EXPRESSION: FILE is XML; a Python expression over `text`, all its texts, and `tags`, all its elements
svg() {
  python3 - "$1" "$2" <<'PYTHON'
import sys, xml.etree.ElementTree as xml
tree = xml.parse(sys.argv[1])
tags = [e.tag.split("}")[1] for e in tree.iter()]
text = [e.text for e in tree.iter() if e.text and e.text.strip()]
if tree.getroot().tag != "{http://www.w3.org/2000/svg}svg" or not eval("(" + sys.argv[2] + ")"):
    print(text)
    sys.exit(1)
PYTHON
}

# npy FILE TYPE SHAPE EXPRESSION: values of a Python expression over i, the number of the element
npy() {
  python3 - "$@" <<'PYTHON'
import math, struct, sys
path, kind, shape, expression = sys.argv[1:]
shape = tuple(int(d) for d in shape.split("x"))
values = [eval(expression) for i in range(math.prod(shape))]
header = repr({"descr": {"f": "<f4", "i": "<i4"}[kind], "fortran_order": False, "shape": shape})
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(path, "wb") as f:
    f.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode())
    f.write(struct.pack(f"<{len(values)}{kind}", *values))
PYTHON
}

# ---- --plot ----

@test "train: --plot draws loss, metric and throughput over epochs" {
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=4 --valid=0.2 --plot=p.svg -o m "$data/words.csv"
  svg p.svg '{"loss", "training", "held out", "accuracy", "throughput, samples/s", "epoch"} <= set(text)'
  svg p.svg 'any(t.startswith("best 0.") for t in text) and "dense 8, relu, dense ? on words.csv" in text'
  nn-train -q -m 'dense ?' --target=price --epochs=4 --plot=r.svg -o m "$data/prices.csv"
  svg r.svg '{"loss", "train_rmse", "throughput, samples/s"} <= set(text) and "held out" not in text'
  nn-train -q -m 'dense ?' --target=price --epochs=4 --metric=loss --plot=l.svg -o m "$data/prices.csv"
  svg l.svg 'text.count("loss") == 1 and not any("rmse" in t for t in text)'
}

@test "train: --plot of less than an epoch counts steps, and of nothing says so" {
  nn-train -q -m 'dense ?' --target=kind --steps=2 --plot=p.svg -o m "$data/words.csv"
  svg p.svg '"step" in text and "epoch" not in text'
  nn-train -q -m 'dense ?' --target=kind --steps=0 --plot=p.svg -o m "$data/words.csv"
  svg p.svg '"no data" in text'
}

@test "train: --plot never changes the model" {
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=3 --valid=0.2 -o a "$data/words.csv"
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=3 --valid=0.2 --plot=p.svg -o b "$data/words.csv"
  same a b
}

@test "train: --plot is written when a signal ends the training, and when it diverges" {
  nn-train -q -m 'dense 64, relu, dense ?' --target=kind --time-limit=60 --plot=p.svg -o m --log=log "$data/words.csv" 3>&- &
  pid=$!
  for _ in $(seq 500); do [ -s log ] && grep -q '"step"' log && break; sleep 0.02; done
  kill -TERM $pid
  status=0
  wait $pid || status=$?
  [ $status -eq 143 ]
  last=$(tail -n 1 log | python3 -c 'import json; print(json.loads(input())["step"])')
  svg p.svg "any(t.endswith('after step $last') for t in text)"
  run -6 nn-train -q -m 'dense 64, relu, dense ?' --target=price --normalize=none --optimizer=sgd --lr=1e6 --plot=d.svg -o m2 "$data/prices.csv"
  svg d.svg '"loss" in text'
}

@test "train: --plot after --resume shows the training from there on, and may be asked for anew" {
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=2 --checkpoint-every=1h -o m "$data/words.csv"
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=6 --resume --plot=p.svg -o m "$data/words.csv"
  svg p.svg 'any("resumed at 8" in t for t in text)'
}

@test "train: a --plot that cannot be written ends the run before it reads, status 1" {
  train_refused 1 'nowhere/p.svg: ' -m 'dense ?' --target=kind --plot=nowhere/p.svg -o m absent.csv
  [ ! -e m ]
}

@test "train: --plot=- goes to stdout where the model does not; a pipe gets one picture" {
  nn-train -q -m 'dense ?' --target=kind --epochs=3 --plot=- -o m "$data/words.csv" | cat >p.svg
  svg p.svg 'tags.count("svg") == 1'
  train_refused 2 '--plot=-' -m 'dense ?' --target=kind --plot=- "$data/words.csv"
  train_refused 2 '--log=-: this is where --plot goes' -m 'dense ?' --target=kind --plot=- --log=- -o m "$data/words.csv"
}

@test "train: --plot takes the place of no input and of no other output" {
  cp "$data/words.csv" w.csv
  echo 'dense ?' >net.nn
  for other in "--plot=w.csv" "--plot=net.nn" "--plot=x -o x" "--plot=l --log=l" "--plot=s --checkpoint=s -o m"; do
    train_refused 2 'plot' -m net.nn --target=kind $other w.csv
  done
  cmp w.csv "$data/words.csv"
  [ "$(cat net.nn)" = 'dense ?' ]
}

@test "wrong command line: an empty name is refused, status 2" {
  for option in --target= --log= --plot= --checkpoint= --metric= --output= --weight= --init= --freeze=; do
    train_refused 2 "$option: expected" -m 'dense ?' --target=kind $option "$data/words.csv"
  done
}

# ---- --time-limit ----

@test "train: --time-limit ends a training that --epochs would not; reason time-limit" {
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --time-limit=0.2 --log=log -o m "$data/words.csv"
  log_check log 'of("end")[0]["reason"] == "time-limit" and of("end")[0]["step"] > 0 and of("end")[0]["seconds"] >= 0.2'
  [ -s m ]
  [ ! -e m.state.safetensors ]
  nn-predict -q m "$data/words.csv" >/dev/null
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --time-limit=0.2s --epochs=1000000000 --steps=1000000000 --log=log -o m "$data/words.csv"
  log_check log 'of("end")[0]["reason"] == "time-limit"'
}

@test "train: without a length it takes 10 epochs, or as many as make 2,000 steps; plan and log agree" {
  nn-train -q -m 'dense ?' --target=kind --log=log -o m "$data/words.csv"
  log_check log 'of("end")[0]["reason"] == "epochs" and of("end")[0]["epoch"] == 500 and of("end")[0]["step"] == 2000'
  nn-train -q -m 'dense ?' --target=kind --log=log -b 1 -o m "$data/words.csv"
  log_check log 'of("end")[0]["epoch"] == 10 and of("end")[0]["step"] == 2000'
  nn-train -q -m 'dense ?' --target=kind --folds=2 --log=log "$data/words.csv" >table
  log_check log '[(e["epoch"], e["step"]) for e in of("end")] == [(1000, 2000)] * 2'
  XDG_CACHE_HOME=$PWD run -0 nn-train --explain=json -m 'dense ?' --target=kind "$data/words.csv"
  [ "$(jq '.time.total_s / .time.epoch_s | round' <<<"$output")" = 500 ]
}

@test "train: a net that has not converged says so and what to try; one that has, or learns by heart, does not" {
  words=(-m 'dense 8, relu, dense ?' --target=kind -o m)
  run -0 --separate-stderr nn-train "${words[@]}" --epochs=10 "$data/words.csv"
  [ "${stderr_lines[-1]}" = "nn-train: note: the loss was still falling when training ended: try --epochs=20, with --valid=0.2 to see whether that helps" ]
  run -0 --separate-stderr nn-train "${words[@]}" --steps=40 --valid=0.2 "$data/words.csv"
  [ "${stderr_lines[-1]}" = "nn-train: note: the loss was still falling when training ended: try --steps=80" ]
  run -0 --separate-stderr nn-train "${words[@]:0:3}" --epochs=20 --folds=3 "$data/words.csv"
  [[ ${stderr_lines[-1]} == "nn-train: note: in "[123]" of 3 folds the loss was still falling when training ended: try --epochs=40" ]]
  run -0 --separate-stderr nn-train "${words[@]}" --lr=0.05 "$data/words.csv"
  [[ ${stderr_lines[-1]} == "500 epochs done; "* ]]
  sed 's/up$/side/; t; s/down$/up/; s/side$/down/' "$data/words.csv" >wrong.csv
  run -0 --separate-stderr nn-train "${words[@]}" --epochs=10 --valid=wrong.csv --metric=loss "$data/words.csv"
  [[ ${stderr_lines[-1]} == "10 epochs done; "* ]]
}

@test "train: --epochs and --steps end before a --time-limit that is far away" {
  train() { nn-train -q -m 'dense ?' --target=kind --log=log -o m "$@" "$data/words.csv"; }
  train --time-limit=1h --epochs=2
  log_check log 'of("end")[0]["reason"] == "epochs" and of("end")[0]["epoch"] == 2'
  train --time-limit=30m --steps=3
  log_check log 'of("end")[0]["reason"] == "steps" and of("end")[0]["step"] == 3'
}

@test "train: with a --time-limit alone the lines say no number of epochs" {
  run -0 --separate-stderr nn-train -m 'dense 8, relu, dense ?' --target=kind --time-limit=0.1 -o m "$data/words.csv"
  [[ ${stderr_lines[1]} == 'epoch 1  loss '* ]]
  [[ ${stderr_lines[2]} == 'epoch 2  loss '* ]]
}

@test "train: --time-limit may change on --resume; it counts from there, and steps without it give the same bytes" {
  train() { nn-train -q -m 'dense 8, relu, dense ?' --target=kind "$@" "$data/words.csv"; }
  train --time-limit=0.05 --log=log --checkpoint-every=1h -o m
  train --time-limit=0.06 --resume --log=log -o m
  log_check log 'of("end")[1]["step"] > of("end")[0]["step"] and of("end")[1]["seconds"] >= 0.06'
  steps=$(tail -n 1 log | python3 -c 'import json; print(json.loads(input())["step"])')
  train --steps=$steps -o n
  same m n
}

@test "train: a schedule over the whole training needs a length that --time-limit is not" {
  train_refused 2 'needs --epochs=N or --steps=N' -m 'dense ?' --target=kind --schedule=cosine --time-limit=1 "$data/words.csv"
  for value in 0 -1 x 1d '' inf 1e3x; do
    train_refused 2 "--time-limit=$value: expected a time in seconds" -m 'dense ?' --target=kind --time-limit=$value "$data/words.csv"
  done
}

@test "train: on a terminal the bar of a --time-limit shows the share of time" {
  command -v script >/dev/null || skip "script is not installed"
  TERM=xterm COLUMNS=100 run -0 script -qec "nn-train -m 'dense ?' --target=kind --time-limit=1 -o m '$data/words.csv'" /dev/null
  [[ $output =~ \ [0-9]{1,2}\ %\ \ \[[^]]*\]\ \ step\ 1\  && $output =~ \ [0-9]{1,2}\ %\ \ \[[^]]*\]\ \ step\ [0-9]{2,}\  && $output == *' s left'* && $output != *18446744073709551615* ]]
}

# ---- --class-weight=balanced ----

# weights FILE LIST: the class weights in nn.train are those of a Python list
weights() {
  python3 -c 'import json, sys; w = json.loads(sys.argv[1])["class-weight"]; print(w); sys.exit(w != eval(sys.argv[2]))' \
    "$(metadata "$1" nn.train)" "$2"
}

@test "train: balanced class weights are n / (classes * count), the same training as these numbers given" {
  awk 'BEGIN { print "a,kind"; for (i = 0; i < 40; i++) printf "%.3f,%s\n", sin(i), i < 4 ? "rare" : i < 14 ? "some" : "most" }' >d.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=3 --class-weight=balanced --log=log -o m d.csv
  # labels bytewise: most, rare, some
  weights m '[*(40 / (3 * c) for c in (26, 4, 10))]'
  nn-train -q -m 'dense ?' --target=kind --epochs=3 -o n d.csv \
    --class-weight="$(python3 -c 'print(*(40 / (3 * c) for c in (26, 4, 10)), sep=",")')"
  same m n
  run -0 nn-predict -q --score m d.csv
  [[ $output == *"loss "* ]]
}

@test "train: balanced class weights count the rows that are trained on, and no masked class" {
  awk 'BEGIN { print "a,kind"; for (i = 0; i < 60; i++) printf "%.3f,%s\n", sin(i), i % 6 == 0 ? "x" : i % 2 ? "y" : "z" }' >d.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=1 --class-weight=balanced --ignore=y -o m d.csv
  weights m '[30 / (2 * 10), 30 / (2 * 20)]'
  nn-train -q -m 'dense 3' --target=kind --epochs=1 --class-weight=balanced --ignore=y -o m d.csv
  weights m '[30 / (2 * 10), 1, 30 / (2 * 20)]'
  head -n 31 d.csv >t.csv
  { head -n 1 d.csv; tail -n 30 d.csv | sed 's/,x$/,new/'; } >v.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=1 --class-weight=balanced --valid=v.csv -o m t.csv
  # labels: new, which no training row has, x, y, z
  weights m '[1, 30 / (3 * 5), 30 / (3 * 15), 30 / (3 * 10)]'
}

@test "train: balanced class weights of masks count positions" {
  npy x.npy f 6x1x4x4 'math.sin(i)'
  npy y.npy i 6x4x4 '0 if i % 16 < 12 else 1 if i < 80 else 2'
  nn-train -q -m 'conv2d 3 1x1' --epochs=1 --class-weight=balanced -o m x.npy y.npy
  weights m '[*(96 / (3 * c) for c in (72, 20, 4))]'
}

# ---- outputs of several kinds ----

@test "predict: outputs of classes and of numbers are scored each by its own loss, the digits of the log" {
  awk -F, 'NR == 1 { print "a,b,c,kind,price"; next } { printf "%s,%.3f\n", $0, 3 * $1 + $2 }' "$data/words.csv" >both.csv
  kind='kind: dense ? from=body output target=kind' price='price: dense ? from=body output target=price weight=0.5'
  for outputs in "$kind"$'\n'"$price" "$price"$'\n'"$kind"; do
    printf '%s\n' 'dense 8' 'body: relu' "$outputs" >both.nn
    nn-train -q -m both.nn --epochs=3 --valid=both.csv --class-weight=balanced --ignore=side --log=log -o m both.csv
    [ "$(metadata m nn.train | grep -o '"loss":{[^}]*}')" = '"loss":{"kind":"cross-entropy","price":"mse"}' ]
    metadata m nn.train | grep -q '"class-weight":{"kind":\[[^]]*\]}'
    nn-predict -q --score m both.csv >scores
    grep -q '^price\.rmse ' scores && grep -q '^kind\.confusion\.' scores
    python3 - <<'PYTHON'
import json
last = [json.loads(line) for line in open("log") if '"epoch"' in line and '"valid_loss"' in line][-1]
scores = dict(line.rsplit(" ", 1) for line in open("scores"))
names = [k for k in last if k.startswith(("kind.", "price."))]
assert len(names) == 8 and all(last[k] == float(scores[k]) for k in names), (last, scores)
PYTHON
  done
}

@test "train: weights of fewer labels than the output has columns, in training and --score" {
  nn-train -q -m 'dense 40' --target=kind --epochs=2 --class-weight=1,2,3 -o m "$data/words.csv"
  run -0 nn-predict -q --score m "$data/words.csv"
  [[ $output == *'loss '[0-9]* ]]
}

@test "train: --class-weight=balanced needs classes; a word near it is refused" {
  train_refused 2 'needs classes' -m 'dense ?' --loss=mse --target=price --class-weight=balanced "$data/prices.csv"
  train_refused 1 'the targets are not classes' -m 'dense ?' --target=price --class-weight=balanced "$data/prices.csv"
  for value in balance Balanced '' balanced,1; do
    train_refused 2 "--class-weight=$value: expected balanced, or weights" -m 'dense ?' --target=kind --class-weight=$value "$data/words.csv"
  done
}

@test "train: -m NAME.nn is a shipped example, those of the source in a tree that is built" {
  nn-train -q -m digits.nn --target=digit --loss=cross-entropy --steps=1 -o m.st digits.csv.gz
  nn-train -q -m "$NN_SRC/share/examples/digits.nn" --target=digit --loss=cross-entropy --steps=1 -o there.st "$NN_SRC/share/data/digits.csv.gz"
  cmp m.st there.st
}
