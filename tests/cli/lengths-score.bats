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
    for targets in filled.npy wide.npy line.npy named.npz; do
      nn-predict --score=$targets m.st $rows | cmp - "$BATS_TEST_TMPDIR/want"
    done
  done
  nn-predict --score=- m.st packed.npz <line.npy | cmp - "$BATS_TEST_TMPDIR/want"
  nn-predict --score=filled.npy -t 3 --batch=7 m.st padded.npz | cmp - "$BATS_TEST_TMPDIR/want"
  nn-predict --score=filled.npy --against=m.st m.st padded.npz | grep -qx 'loss.difference 0'
}

@test "--score=FILE of steps: beside numpy in f64" {
  "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" scored
}

@test "--score=FILE of steps: training takes the same files" {
  nn-train -q -m 'input ?x2, gru 5, dense ?' padded.npz line.npy --ignore=9 --precision=f64 --lr=0.03 --epochs=15 -b 8 -o "$BATS_TEST_TMPDIR/m.st"
  cmp m.st "$BATS_TEST_TMPDIR/m.st"
}

@test "--score=FILE of steps: numbers, and targets of the rows themselves" {
  cd "$BATS_TEST_TMPDIR"
  "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" numbers
  "${PYTHON:-python3}" -c 'import numpy as np; np.save("y.npy", np.load("two-packed.npz")["y"]); np.save("r.npy", np.arange(40) * 0.5)'
  nn-train -q -m 'input ?x2, gru 5, dense ?' two.npz --weight=w --epochs=2 -b 8 -o m.st
  nn-predict --score m.st two.npz | cmp - <(nn-predict --score=y.npy m.st two.npz)
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
  refused <(seq 3) ': found 3 rows, expected '
  run --separate-stderr nn-predict --score=other.npy m.st padded.npz
  [ "$status" = 0 ]
  [ "$stderr" = 'nn-predict: warning: other.npy: 1 label was not in the training data and counts as wrong: "7"' ]
}
