#!/usr/bin/env bats
# nn-train --weight: rows that count more or less, in losses and in metrics.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 | awk -F, -v OFS=, 'NR == 1 { print "a,b,w,c,kind"; next } { print $1, $2, NR % 3, $3, $4 }' >whole.csv
  awk -F, -v OFS=, 'NR > 1 { $3 = $3 / 4 + 0.1 } 1' whole.csv >w.csv
  make_prices 200 | awk -F, -v OFS=, 'NR == 1 { print "w", $0; next } { print NR % 4 / 2, $0 }' >prices.csv
  ranked=(--target=kind --weight=w --valid=0.3 --metric=f1.macro --patience=9 -b 48 --leaves=4 -q)
  nn-train "${ranked[@]}" -m 'dense 8, tanh, dense ?' --epochs=4 -o one.st --log=one.log w.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_FILE_TMPDIR" || return
  ranked=(--target=kind --weight=w --valid=0.3 --metric=f1.macro --patience=9 -b 48 --leaves=4 -q)
}

@test "weight: whole weights are rows that stand there as often" {
  train=(-q -m 'dense 4, tanh, dense ?' --target=kind --optimizer=sgd --lr=0.5 --shuffle=no --normalize=none --precision=f64)
  awk -F, 'NR == 1 { print; next } { for (i = 0; i < $3; i++) print }' whole.csv | cut -d, -f1,2,4,5 >often.csv
  nn-train "${train[@]}" --weight=w -b 200 --epochs=5 --log=a.log -o a.st whole.csv
  nn-train "${train[@]}" -b 400 --epochs=5 --log=b.log -o b.st often.csv
  losses() { python3 -c 'import json, sys; print(*["%.9g %.9g" % (e["loss"], e["train_accuracy"]) for e in map(json.loads, open(sys.argv[1])) if e["event"] == "epoch"])' "$1"; }
  [ "$(losses a.log)" = "$(losses b.log)" ]
  # and in --score, where the model remembers the column
  diff <(nn-predict --score a.st whole.csv | sed 1d | awk '{ printf "%s %.9g\n", $1, $2 }') \
    <(nn-predict --score b.st often.csv | sed 1d | awk '{ printf "%s %.9g\n", $1, $2 }')
  [[ $(metadata a.st nn.train) == *'"weight":"w"'* && $(metadata a.st nn.input) != *'"w"'* ]]
  [ "$(nn-predict a.st whole.csv | md5sum)" = "$(cut -d, -f1,2,4 whole.csv | nn-predict a.st | md5sum)" ]
}

@test "weight: numbers too, loss and rmse of whole weights are those of repeated rows" {
  train=(-q -m 'dense ?' --target=price --optimizer=sgd --lr=0.1 --shuffle=no --precision=f64 --normalize=none --loss=huber)
  awk -F, 'NR == 1 { print; next } { for (i = 0; i < 2 * $1; i++) print }' prices.csv | cut -d, -f2- >often.csv
  nn-train "${train[@]}" --weight=w -b 200 --epochs=3 -o a.st prices.csv
  nn-train "${train[@]}" -b 400 --epochs=3 -o b.st often.csv
  diff <(nn-predict --score a.st prices.csv | sed 1d | awk '{ printf "%s %.9g\n", $1, $2 }') \
    <(nn-predict --score b.st often.csv | sed 1d | awk '{ printf "%s %.9g\n", $1, $2 }')
}

@test "weight: figures are scikit-learn's with sample_weight" {
  run "${NN_PYTHON:-python3}" "$NN_SRC/tests/cli/score.py" "one.st w.csv kind w"
  [ "$status" -ne 77 ] || skip "no scikit-learn"
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "weight: the same bytes for threads, micro-batches, ranks and a resumed training" {
  nn-train "${ranked[@]}" -m 'dense 8, tanh, dense ?' --epochs=4 --threads=3 --micro-batch=5 -o other.st w.csv
  same one.st other.st
  nn-train "${ranked[@]}" -m 'dense 8, tanh, dense ?' --epochs=2 --checkpoint=state -o other.st w.csv
  nn-train "${ranked[@]}" -m 'dense 8, tanh, dense ?' --epochs=4 --checkpoint=state --resume -o other.st w.csv
  same one.st other.st
  awk -F, -v OFS=, 'NR > 1 { $1 *= $1; $2 *= $2; $4 *= $4 } 1' w.csv >squares.csv
  run -2 --separate-stderr nn-train "${ranked[@]}" -m 'dense 8, tanh, dense ?' --weight=b --epochs=5 --checkpoint=state --resume -o other.st squares.csv
  [[ $stderr == *weight* ]]
  [ -z "$(lacking_ranks)" ] || skip "$(lacking_ranks | head -n 1)"
  allow_ranks
  nn-train "${ranked[@]}" -m 'dense 8, tanh, dense ?' --epochs=4 --ranks=3 --log=ranks.log -o other.st w.csv
  same one.st other.st
  figures() { python3 -c 'import json, sys; print([(e["loss"], e["valid_loss"], e["accuracy"], e["f1.macro"]) for e in map(json.loads, open(sys.argv[1])) if e["event"] == "epoch"])' "$1"; }
  [ "$(figures one.log)" = "$(figures ranks.log)" ]
}

# refused STATUS PATTERN FILE ARGUMENT...
refused() {
  train_refused "$1" "$2" -m 'dense ?' --target=kind "${@:4}" -o no.st "$3"
}

@test "weight: what is no weight is refused, by its line" {
  rm -f ./*.tmp
  sed '5s/^\([^,]*,[^,]*,\)[^,]*/\1-0.5/' w.csv >bad.csv
  refused 1 'bad.csv:5:3: found "-0.5" in column "w", expected a weight of 0 or more' bad.csv --weight=w
  sed '5s/^\([^,]*,[^,]*,\)[^,]*/\1/' w.csv >bad.csv
  refused 1 'bad.csv:5:3: empty field in column "w"' bad.csv --weight=w
  nn-train -q -m 'dense ?' --target=kind --weight=w --missing=drop --epochs=1 -o drop.st bad.csv
  sed '5s/^\([^,]*,[^,]*,\)[^,]*/\1inf/' w.csv >bad.csv
  refused 1 'bad.csv:5:3: found "inf"' bad.csv --weight=w
  awk -F, -v OFS=, 'NR > 1 { $3 = 0 } 1' w.csv >bad.csv
  refused 1 '--weight=w: every row of bad.csv weighs 0' bad.csv --weight=w
  refused 2 '--weight=kind: the column is the target' w.csv --weight=kind
  refused 1 '--weight=weigth: w.csv has no such column' w.csv --weight=weigth
  python3 -c '
import numpy as np
x = np.arange(12.0).reshape(6, 2)
np.savez("y.npz", x=x, y=np.arange(6))
np.savez("x.npz", x=x, y=np.ones(6))
np.save("y.npy", np.arange(6))'
  train_refused 2 '--weight=y: the array is the target, too' -m 'dense ?' --weight=y -o no.st y.npz
  nn-train -q -m 'dense ?' --weight=y --steps=1 -o some.st x.npz y.npy
}

@test "weight: data without the column are scored with a warning" {
  run -0 --separate-stderr nn-predict --score one.st <(cut -d, -f1,2,4,5 w.csv)
  [[ $stderr == *'have no column "w"'* ]]
}

@test "weight: a start model trains on by the column it remembers, and says so where the data lack it" {
  more=(-q -m one.st --target=kind --optimizer=sgd --lr=0.1 --steps=3)
  nn-train "${more[@]}" --weight=w -o want.st w.csv
  nn-train "${more[@]}" -o on.st w.csv
  same on.st want.st
  nn-train "${more[@]}" --cache=kept -o on.st w.csv
  same on.st want.st
  nn-train "${more[@]}" --cache=kept -o on.st w.csv
  same on.st want.st
  nn-train "${more[@]}" --try=lr=0.1,1e-9 --valid=0.3 -o on.st w.csv
  [[ $(metadata on.st nn.train) == *'"weight":"w"'* ]]
  # another one that is given counts
  nn-train "${more[@]}" --weight=v -o on.st <(awk '{ print $0 (NR == 1 ? ",v" : "," NR % 3) }' w.csv)
  [[ $(metadata on.st nn.train) == *'"weight":"v"'* ]]
  cut -d, -f1,2,4,5 w.csv >without.csv
  run -0 --separate-stderr nn-train "${more[@]:1}" -o on.st without.csv
  [[ $stderr == *'without.csv has no column "w" with the weights of the start model: each row weighs 1'* ]]
  [[ $(metadata on.st nn.train) != *'"weight":'* ]]
  # arrays
  python3 -c '
import numpy as np
rows = np.random.default_rng(1).normal(size=(40, 3)).astype("f4")
kind = (rows[:, 0] > 0).astype("i8")
np.savez("w.npz", x=rows, y=kind, w=np.abs(rows[:, 1]))
np.savez("without.npz", x=rows, y=kind)'
  nn-train -q -m 'dense ?' --weight=w --steps=3 -o one.npz.st w.npz
  nn-train -q -m one.npz.st --weight=w --steps=3 -o want.st w.npz
  nn-train -q -m one.npz.st --steps=3 -o on.st w.npz
  same on.st want.st
  run -0 --separate-stderr nn-train -m one.npz.st --steps=3 -o on.st without.npz
  [[ $stderr == *'without.npz has no column "w" with the weights of the start model'* ]]
}

@test "weight: the auc of separated rows is 1, and of rows the other way round 0, whatever they weigh" {
  printf 'x,kind\n-1,down\n1,up\n' >sides.csv
  nn-train -q -m 'dense ?' --target=kind --optimizer=sgd --lr=1 --steps=20 --weight=w -o sides.st <(sed '1s/$/,w/; 2,$s/$/,1/' sides.csv)
  for seed in 1 2 3 4 5 6 7 8; do
    awk -v OFS=, -v seed=$seed 'BEGIN { srand(seed); print "x,kind,w"; for (i = 1; i < 60; i++) print i % 2 ? i : -i, i % 2 ? "up" : "down", rand() }' >far.csv
    nn-predict --score sides.st far.csv | grep -x 'auc 1'
    sed 's/up/no/; s/down/up/; s/no/down/' far.csv | nn-predict --score sides.st | grep -x 'auc 0'
  done
}
