#!/usr/bin/env bats
# --score=FILE of nn-predict: targets for each step of rows of different length, in a file of their own.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load lengths.bash

setup_file() {
  begin_lengths beside
  nn-train -q -m 'input ?x2, gru 5, dense ?' with.npz --ignore=9 --precision=f64 --lr=0.03 --epochs=15 -b 8 -o m.st
}

@test "--score=FILE of steps: the figures of targets that came with the rows, however rows and targets lie" {
  local rows targets
  nn-predict --score m.st with.npz >"$BATS_TEST_TMPDIR/want"
  for rows in padded.npz packed.npz rows.jsonl; do
    for targets in filled.npy wide.npy line.npy named.npz lists.jsonl steps.csv; do
      nn-predict --score=$targets --target=y m.st $rows | cmp - "$BATS_TEST_TMPDIR/want"
    done
  done
  nn-predict --score=- m.st packed.npz <line.npy | cmp - "$BATS_TEST_TMPDIR/want"
  nn-predict --score=- m.st packed.npz < <(cat lists.jsonl) | cmp - "$BATS_TEST_TMPDIR/want"
  nn-predict --score=<(cut -d, -f2 steps.csv) m.st packed.npz | cmp - "$BATS_TEST_TMPDIR/want"
  nn-predict --score=filled.npy -t 3 --batch=7 m.st padded.npz | cmp - "$BATS_TEST_TMPDIR/want"
  nn-predict --score=filled.npy --against=m.st m.st padded.npz | grep -qx 'loss.difference 0'
}

@test "--score=FILE of steps: beside numpy in f64" {
  "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" scored
}

@test "--score=FILE of steps: training takes the same files" {
  nn-train -q -m 'input ?x2, gru 5, dense ?' padded.npz line.npy --ignore=9 --precision=f64 --lr=0.03 --epochs=15 -b 8 -o "$BATS_TEST_TMPDIR/m.st"
  cmp m.st "$BATS_TEST_TMPDIR/m.st"
  local targets
  nn-predict m.st packed.npz --emit=logits --to=npy -o "$BATS_TEST_TMPDIR/want"
  for targets in lists.jsonl steps.csv; do
    nn-train -q -m 'input ?x2, gru 5, dense ?' packed.npz $targets --target=y --loss=cross-entropy --ignore=9 --precision=f64 --lr=0.03 --epochs=15 -b 8 -o "$BATS_TEST_TMPDIR/m.st"
    nn-predict "$BATS_TEST_TMPDIR/m.st" packed.npz --emit=logits --to=npy | cmp - "$BATS_TEST_TMPDIR/want"
  done
}

@test "--score=FILE of steps: words in tables, as those that come with the rows, in training and for held-out rows" {
  cd "$BATS_TEST_TMPDIR"
  cp "$BATS_FILE_TMPDIR"/{packed.npz,rows.jsonl,both.jsonl,words-*} .
  set -- -q -m 'input ?x2, gru 5, dense ?' --target=y --ignore=odd --epochs=3 -b 8 --leaves=2
  nn-train "$@" both.jsonl --valid=both.jsonl --log=log -o both.st
  nn-predict --score both.st both.jsonl >want
  local targets
  for targets in words-lists.jsonl words-steps.csv; do
    nn-predict --score=$targets --target=y both.st packed.npz | cmp - want
    nn-train "$@" rows.jsonl $targets --valid=packed.npz,$targets --log=some.log -o some.st
    nn-predict --score both.st both.jsonl | cmp - want
    cmp <(jq -c 'select(.event == "epoch") | [.loss, .valid_loss, .accuracy]' log) <(jq -c 'select(.event == "epoch") | [.loss, .valid_loss, .accuracy]' some.log)
  done
  # a row of which a step misses its class is left out
  sed '9s/,.*/,NA/' words-steps.csv >gap.csv
  "${PYTHON:-python3}" -c 'import json
rows = [json.loads(line) for line in open("words-lists.jsonl")]
rows[0]["y"][7] = None
open("gap.jsonl", "w").writelines(json.dumps(row) + "\n" for row in rows)'
  for targets in gap.csv gap.jsonl; do
    nn-train "${@:2}" packed.npz $targets --missing=drop -o $targets.st 2>said
    grep -q '1 of 40 rows misses a value and is left out' said
    nn-predict $targets.st packed.npz --emit=logits --to=npy -o $targets.npy
  done
  cmp gap.csv.npy gap.jsonl.npy
}

@test "--score=FILE of steps: numbers, and targets of the rows themselves" {
  cd "$BATS_TEST_TMPDIR"
  "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" numbers
  "${PYTHON:-python3}" -c 'import numpy as np; np.save("y.npy", np.load("two-packed.npz")["y"]); np.save("r.npy", np.arange(40) * 0.5)'
  nn-train -q -m 'input ?x2, gru 5, dense ?' two.npz --weight=w --epochs=2 -b 8 -o m.st
  nn-predict --score m.st two.npz >want
  nn-predict --score=y.npy m.st two.npz | cmp - want
  "${PYTHON:-python3}" -c 'import json, numpy as np
y, lengths = np.load("y.npy").tolist(), np.load("two.npz")["lengths"]
open("y.csv", "w").writelines("%r,%r\n" % tuple(v) for v in y)
open("y.jsonl", "w").writelines(json.dumps({"y": [y.pop(0) for _ in range(n)]}) + "\n" for n in lengths)'
  nn-predict --score=y.csv --header=no --target=1,2 m.st two.npz | cmp - want
  nn-predict --score=y.jsonl m.st two.npz | cmp - want
  nn-train -q -m 'input ?x2, gru 5, dense ?' two.npz y.jsonl --weight=w --loss=mse --epochs=2 -b 8 -o w.st
  nn-predict --score w.st two.npz | cmp - want
  nn-train -q -m 'input ?x2, gru 5, last, dense ?' one.npz r.npy --epochs=2 -b 8 -o r.st
  nn-predict --score=r.npy r.st one.npz | cmp - <(nn-predict --score=<(printf 'y\n' && seq 0 0.5 19.5) r.st one.jsonl)
}

# refused TARGETS MESSAGE
refused() {
  run -1 nn-predict --score="$1" m.st padded.npz
  [[ $output == *"$2"* ]] || { echo "$output"; return 1; }
}

@test "--score=FILE of steps: what is neither of rows nor of steps is refused, unknown labels are counted" {
  refused few.npy 'few.npy: is 39x12, expected targets of 40 rows of at most 9 steps, or of their 201 steps one after another'
  refused short.npy '--score: found 8 target values per row, the model has 9'
  refused <(seq 3) ': found 3 rows, expected 40, or 201 of their steps one after another'
  refused <(head -n 39 lists.jsonl) ': found 39 rows, expected 40'
  refused <(cat lists.jsonl lists.jsonl) ': found 80 rows, expected 40'
  refused <(sed '2s/\[/[1,/' lists.jsonl) ':2: y: has '
  refused <(sed '2s/"y"/"z"/' lists.jsonl) ':2: has no target "y"; --target=NAME says where it is'
  refused words-lists.jsonl 'words-lists.jsonl:1: JSON, byte '
  run --separate-stderr nn-predict --score=other.npy m.st padded.npz
  [ "$status" = 0 ]
  [ "$stderr" = 'nn-predict: warning: other.npy: 1 label was not in the training data and counts as wrong: "7"' ]
  sed '3s/,.*/,7/' steps.csv >"$BATS_TEST_TMPDIR/other.csv"
  run --separate-stderr nn-predict --score="$BATS_TEST_TMPDIR/other.csv" --target=y m.st padded.npz
  [ "$stderr" = "nn-predict: warning: $BATS_TEST_TMPDIR/other.csv: 1 label was not in the training data and counts as wrong: \"7\"" ]
}
