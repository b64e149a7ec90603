#!/usr/bin/env bats
# What nn-predict --score says of rows, and of labels that are none of the model's.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 >words.csv
  grep -v ',side$' words.csv >two.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=20 -o two.st two.csv
  nn-train -q -m 'dense 4, tanh, dense ?' --target=kind --epochs=3 -o three.st words.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=20 --ignore=side --valid=0.3 --log=ignore.log -o ignore.st words.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_FILE_TMPDIR" || return
}

# figure NAME ARGUMENT...: what nn-predict --score says under that name
figure() {
  nn-predict -q --score "${@:2}" | awk -v name="$1" '$1 == name { print $2 }'
}

# right CLASS: rows of words.csv with a label other than CLASS that ignore.st answers rightly, and their number
right() {
  paste -d, <(nn-predict --emit=class --to-header=no "$1" words.csv) <(tail -n +2 words.csv) |
    awk -F, -v not="$2" '$5 != not { n++; hit += $1 == $5 } END { printf "%d %d\n", hit, n }'
}

@test "score: labels that training never had are wrong answers, named in one warning" {
  run -0 --separate-stderr nn-predict --score two.st words.csv
  n=$(grep -c ',side$' words.csv)
  [ "$stderr" = "nn-predict: warning: words.csv: $n labels were not in the training data and count as wrong: \"side\"" ]
  read -r hit all <<<"$(right two.st none)"
  [ "$all" -eq 200 ]
  awk -v a="$(figure accuracy two.st words.csv)" -v b="$hit" 'BEGIN { exit !(a == b / 200) }'
  # whoever is taken for a class makes that class less precise
  precision() { nn-predict -q --score two.st "$1" | awk '/^precision/ { sum += $2 } END { print sum }'; }
  awk -v a="$(precision words.csv)" -v b="$(precision two.csv)" 'BEGIN { exit !(a < b) }'
}

@test "score: an ignored class has no unit, no line and no part in a mean" {
  [ "$(nn-predict ignore.st words.csv | head -n 1)" = p.down,p.up ]
  run -0 --separate-stderr nn-predict --score ignore.st words.csv
  [ -z "$stderr" ]
  [[ $output == "samples 200"* && $output != *side* ]]
  read -r hit all <<<"$(right ignore.st side)"
  awk -v a="$(figure accuracy ignore.st words.csv)" -v h="$hit" -v n="$all" 'BEGIN { exit !(a == h / n) }'
  awk -v a="$(figure f1.macro ignore.st words.csv)" -v b="$(figure f1.up ignore.st words.csv)" -v c="$(figure f1.down ignore.st words.csv)" \
    'BEGIN { exit !(a == (b + c) / 2) }'
  # go on from it, and where the output line has a unit for it
  nn-train -q -m ignore.st --target=kind --ignore=side --epochs=1 -o on.st words.csv
  nn-train -q -m 'dense 3' --target=kind --ignore=side --epochs=1 -o unit.st words.csv
  [ "$(nn-predict unit.st words.csv | head -n 1)" = p.down,p.side,p.up ]
  run -0 nn-predict --score unit.st words.csv
  [[ $output != *support.side* ]]
  awk -v a="$(figure f1.macro unit.st words.csv)" -v b="$(figure f1.up unit.st words.csv)" -v c="$(figure f1.down unit.st words.csv)" \
    'BEGIN { exit !(a == (b + c) / 2) }'
}

@test "score: ignored integers of masks need no unit, and iou.mean is without them" {
  "${NN_PYTHON:-python3}" -c 'import numpy' || skip "no numpy"
  "${NN_PYTHON:-python3}" - <<'PYTHON'
import numpy
r = numpy.random.default_rng(1)
x = r.standard_normal((40, 1, 4, 4), dtype="f4")
y = numpy.where(r.random((40, 4, 4)) < 0.2, 255, (x[:, 0] > 0).astype("i8"))
numpy.save("x.npy", x)
numpy.save("y.npy", y)
PYTHON
  nn-train -q -m 'conv2d 4 1x1, relu, conv2d 2 1x1' --ignore=255 --epochs=30 -o mask.st x.npy y.npy
  run -0 --separate-stderr nn-predict --score=y.npy mask.st x.npy
  [ -z "$stderr" ]
  [[ $output != *iou.255* ]]
  awk -v a="$(figure iou.mean --score=y.npy mask.st x.npy)" -v b="$(figure iou.0 --score=y.npy mask.st x.npy)" \
    -v c="$(figure iou.1 --score=y.npy mask.st x.npy)" 'BEGIN { exit !(a == (b + c) / 2) }'
  nn-train -q -m 'conv2d 4 1x1, relu, conv2d ? 1x1' --ignore=255 --steps=0 -o open.st x.npy y.npy
  cmp <(nn-train -q -m 'conv2d 4 1x1, relu, conv2d 2 1x1' --ignore=255 --steps=0 x.npy y.npy) open.st
}

# referee ARGUMENT...: score.py, where there is scikit-learn
referee() {
  run "${NN_PYTHON:-python3}" "$NN_SRC/tests/cli/score.py" "$@"
  [ "$status" -ne 77 ] || skip "no scikit-learn"
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "score: figures of two and of three classes and of numbers are scikit-learn's" {
  make_prices 150 >prices.csv
  nn-train -q -m 'dense ?' --target=price --epochs=3 -o price.st prices.csv
  referee "two.st two.csv kind" "three.st words.csv kind" "price.st prices.csv price"
}

@test "score: auc is the same from a pipe, in any batches, and steers --patience" {
  nn-predict --score two.st two.csv >whole
  cmp whole <(nn-predict --score --batch=7 --threads=3 two.st <two.csv)
  grep -q '^auc 0\.' whole
  run -0 nn-predict --score ignore.st two.csv
  [[ $output == *$'\nauc '* ]]
  run -0 nn-predict --score three.st words.csv
  [[ $output != *auc* ]]
  nn-train -q -m 'dense ?' --target=kind --epochs=40 --valid=0.3 --metric=auc --patience=2 --log=auc.log -o auc.st two.csv
  log_check auc.log 'of("end")[0]["best_epoch"] == max(of("epoch"), key=lambda e: (e["auc"], -e["epoch"]))["epoch"]
    and of("end")[0]["reason"] == "patience"'
  run -2 --separate-stderr nn-train -q -m 'dense ?' --target=kind --metric=auc -o no.st two.csv
  [[ $stderr == *"--metric=auc: without --valid"* ]]
  run -2 --separate-stderr nn-train -q -m 'dense ?' --target=kind --metric=auc --valid=0.3 -o no.st words.csv
  [[ $stderr == *"--metric=auc: not a metric of these targets"* ]]
}

@test "score: --to=json, jsonl, csv and tsv print the same names and values" {
  nn-predict --score two.st two.csv >lines
  nn-predict --score --to=json two.st two.csv >json
  cmp json <(nn-predict --score --to=jsonl two.st two.csv)
  python3 -c 'import json; [print(k, v if v != int(v) else int(v)) for k, v in json.load(open("json")).items()]' | cmp - lines
  cmp lines <(nn-predict --score --to=csv two.st two.csv | sed '1{/^name,value$/d}; s/,/ /')
  cmp lines <(nn-predict --score --to=tsv --to-header=no two.st two.csv | tr '\t' ' ')
  run -2 --separate-stderr nn-predict --to=json two.st two.csv
  [[ $stderr == *"--to=jsonl"* ]]
  run -2 --separate-stderr nn-predict --score --to=npy two.st two.csv
}

@test "score: a row that cannot be read is no answer, with --on-error=mark too" {
  sed '5s/^[^,]*/x/' two.csv >bad.csv
  sed 5d two.csv >good.csv
  cmp <(nn-predict -q --score --on-error=mark two.st bad.csv) <(nn-predict -q --score two.st good.csv)
}

@test "score: --threshold decides between two classes, in answers and figures" {
  for t in 0.2 0.5 0.8 1; do
    nn-predict --emit=class --to-header=no --threshold=$t two.st two.csv >classes
    nn-predict --to-header=no two.st two.csv | awk -F, -v t=$t '{ print ($2 >= t) ? "up" : "down" }' | cmp - classes
    nn-predict --score --threshold=$t two.st two.csv >figures
    awk -v a="$(paste -d, classes <(sed 1d two.csv) | awk -F, '$1 == $5 { n++ } END { print n / NR }')" '$1 == "accuracy" { d = $2 - a; exit !(d * d < 1e-9) }' figures
  done
  # the curve does not depend on it
  diff <(grep auc figures) <(nn-predict --score two.st two.csv | grep auc)
  run -2 --separate-stderr nn-predict --threshold=0.3 two.st two.csv
  [[ $stderr == *"needs --emit=class or --score"* ]]
  run -1 --separate-stderr nn-predict --score --threshold=0.3 three.st words.csv
  [[ $stderr == "nn-predict: --threshold: needs a model of two classes, this one has 3 outputs" ]]
  run -1 --separate-stderr nn-predict --emit=class --threshold=0.3 three.st words.csv
  run -2 --separate-stderr nn-predict --emit=class --threshold=1.5 two.st two.csv
}

@test "score: --output-name prints the figures of one output of several, as those of a model with one" {
  printf 'input columns=a,b\nt: dense 4\nrelu\nx: dense 2 output target=c\ny: dense 1 from=t output target=d\n' >outputs.nn
  awk 'BEGIN { print "a,b,c,d"; for (i = 0; i < 30; i++) print i / 30 "," i % 7 "," (i % 2 ? "u" : "v") "," i / 10 + 0.5 }' >outputs.csv
  nn-train -q -m outputs.nn --steps=3 -o outputs.st outputs.csv
  nn-predict --score outputs.st outputs.csv >both
  for name in x y; do
    nn-predict --score --output-name=$name --log=log outputs.st outputs.csv >one
    cmp one <(sed -n "s/^$name\.//p" both)
    [ "$(grep -c '"event":"score"' log)" = 1 ]
    grep -q "\"output\":\"$name\"" log
  done
  run -1 --separate-stderr nn-predict --score --output-name=z outputs.st outputs.csv
  [ "$stderr" = "nn-predict: --output-name=z: the model's outputs are x, y" ]
}
