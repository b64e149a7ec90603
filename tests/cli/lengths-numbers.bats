#!/usr/bin/env bats
# Numbers for each step of rows of different length: what is behind a row counts in no loss and no metric.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load lengths.bash

setup_file() {
  begin_lengths numbers
  nn-train -q -m 'input ?x2, gru 5, layernorm, dense ?' two.npz --valid=0.5 --epochs=3 -b 8 --leaves=2 -o two.st --log=two.log
}

# train FILE OPTION...: as two.st was
train() {
  nn-train -q -m 'input ?x2, gru 5, layernorm, dense ?' "$1" --valid=0.5 --epochs=3 -b 8 --leaves=2 -o "$BATS_TEST_TMPDIR/m.st" --log="$BATS_TEST_TMPDIR/m.log" "${@:2}"
}

# figures FILE: epochs of a log, of training and of held-out rows
figures() {
  jq -c 'select(.event == "epoch") | [.loss, .valid_loss, .rmse, .train_rmse, .r2]' "$1"
}

@test "numbers of steps: filled up, one after another and as JSON lines: the same model and figures" {
  train two-packed.npz
  cmp two.st "$BATS_TEST_TMPDIR/m.st"
  cmp <(figures two.log) <(figures "$BATS_TEST_TMPDIR/m.log")
  train two.jsonl
  cmp <(figures two.log) <(figures "$BATS_TEST_TMPDIR/m.log")
  nn-predict two.st two.jsonl | cmp - <(nn-predict "$BATS_TEST_TMPDIR/m.st" two.jsonl)
  for file in one.npz one-packed.npz one.jsonl; do
    nn-train -q -m 'input ?x2, gru 5, dense ?' $file --epochs=2 -b 8 -o "$BATS_TEST_TMPDIR/$file.st"
    nn-predict "$BATS_TEST_TMPDIR/$file.st" one.jsonl >"$BATS_TEST_TMPDIR/$file.out"
    nn-predict --score "$BATS_TEST_TMPDIR/$file.st" $file >>"$BATS_TEST_TMPDIR/$file.out"
    cmp "$BATS_TEST_TMPDIR/one.npz.out" "$BATS_TEST_TMPDIR/$file.out"
  done
}

@test "numbers of steps: beside PyTorch, with each loss and with weights of rows: weights after a step in f64" {
  "${PYTHON:-python3}" -c 'from importlib.util import find_spec; assert find_spec("torch").origin' 2>/dev/null || skip "no PyTorch"
  "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" regression
}

@test "numbers of steps: --score and --emit beside numpy in f64" {
  cd "$BATS_TEST_TMPDIR" && cp "$BATS_FILE_TMPDIR"/two* .
  nn-train -q -m 'input ?x2, gru 5, layernorm, dense ?' two.npz --weight=w --precision=f64 --lr=0.02 --epochs=60 -b 8 -o m.st
  "${PYTHON:-python3}" -c 'import numpy as np; a = dict(np.load("two.npz")); del a["w"]; np.savez("unweighed.npz", **a)'
  "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" score
  # and so are figures of steps as they pass, while nothing is learned
  nn-train -q -m 'input ?x2, gru 5, dense ?' two.npz --weight=w --precision=f64 --optimizer=sgd --lr=1e-12 --epochs=1 -b 8 -o s.st --log=log
  [ "$(jq -r 'select(.event == "epoch").train_rmse' log | xargs printf '%.6g')" = "$(nn-predict --score s.st two.npz | awk '$1 == "rmse" { printf "%.6g", $2 }')" ]
  # what is learned is learned: the second number is a line through the step's
  [ "$(nn-predict --score m.st two.npz | awk '$1 == "r2.y2" { print ($2 > 0.5) }')" = 1 ]
  nn-predict m.st two.npz -o o.npz
  "${PYTHON:-python3}" - <<'PYTHON'
import numpy as np
o, lengths = np.load("o.npz"), np.load("two.npz")["lengths"]
assert (np.isfinite(o["output"]).all(2) == (np.arange(9) < lengths[:, None])).all()
PYTHON
}

@test "numbers of steps: threads, micro-batches, caches, less memory and a resumed training give the same model" {
  local t=$BATS_TEST_TMPDIR
  NN_DEVICE=cpu train two.npz
  cmp two.st "$t/m.st"
  cmp <(figures two.log) <(figures "$t/m.log")
  train two.npz -t 3 --micro-batch=3
  cmp two.st "$t/m.st"
  cmp <(figures two.log) <(figures "$t/m.log")
  train two.npz --epochs=1 --checkpoint="$t/state"
  train two.npz --checkpoint="$t/state" --resume
  cmp two.st "$t/m.st"
  for _ in made again; do
    train two-packed.npz --cache="$t/cache"
    cmp two.st "$t/m.st"
  done
  train two.npz --recompute
  cmp two.st "$t/m.st"
  nn-train -q -m 'input ?x2, gru 5, layernorm, dense ?' two.npz --epochs=1 --folds=2 >"$t/folds"
  nn-train -q -m 'input ?x2, gru 5, layernorm, dense ?' two.jsonl --epochs=1 --folds=2 | cmp - "$t/folds"
  nn-train -q -m 'input ?x2, gru 5, dense ?' two.npz --selfcheck
}

@test "numbers of steps: ranks give the same model and figures" {
  [ -z "$(lacking_ranks)" ] || skip "$(lacking_ranks | head -n 1)"
  local t=$BATS_TEST_TMPDIR
  nn-train -q -m 'input ?x2, gru 4, dense ?' many.npz --valid=0.5 --epochs=2 -b 64 --leaves=4 --log="$t/one.log" -o "$t/one.st"
  for ranks in 2 3; do
    nn-train -q -m 'input ?x2, gru 4, dense ?' many.npz --valid=0.5 --epochs=2 -b 64 --leaves=4 --log="$t/ranks.log" -o "$t/ranks.st" --ranks=$ranks -t 1
    cmp "$t/one.st" "$t/ranks.st"
    cmp <(figures "$t/one.log") <(figures "$t/ranks.log")
  done
}

@test "numbers of steps: the net says whether as many as steps are the row's or the steps'" {
  nn-train -q -m 'input ?x2, gru 4, last, dense ?' vectors.npz --epochs=1 -o "$BATS_TEST_TMPDIR/m.st"
  nn-predict --info "$BATS_TEST_TMPDIR/m.st" | grep -qx 'target: 9 numbers'
  nn-train -q -m 'input ?x2, gru 4, dense ?' vectors.npz --epochs=1 -o "$BATS_TEST_TMPDIR/m.st"
  nn-predict --info "$BATS_TEST_TMPDIR/m.st" | grep -qx 'target: 1 number'
}

# refused TEXT FILE MESSAGE
refused() {
  run -1 nn-train -q -m "$1" "$2" --loss=mse --epochs=1 -o "$BATS_TEST_TMPDIR/x.st"
  [[ $output == *"$3" ]] || { echo "$output"; return 1; }
}

@test "numbers of steps: what does not fit is refused by row and step" {
  m='input ?x2, gru 4, dense ?'
  refused "$m" nan.npz 'nan.npz: tensor y: row 2, step 2, column 2: found nan, expected a finite number'
  refused "$m" inf.npz 'inf.npz: tensor x: row 2, step 1, column 2: found inf, expected a finite number'
  refused 'input ?x2, gru 4, last, dense 2' one.npz 'the targets have 9 numbers per sample, the output 2 has 2'
  refused 'input ?x2, gru 4, dense 3' two.npz 'the targets have 18 numbers per sample, the output 9x3 has 27'
  printf '{"x":[[1,2],[2,3]],"y":[[1],[2,3]]}\n' >ragged.jsonl
  refused "$m" ragged.jsonl 'y: found a list of 2, expected 1 as before'
  printf '{"x":[[1,2],[2,3]],"y":[1,[2]]}\n' >ragged.jsonl
  refused "$m" ragged.jsonl 'y: is a list, those before are none'
  printf '{"x":[[1,2],[2,3]],"y":[[1],[2]]}\n{"x":[[1,2],[2,3]],"y":[1,2]}\n' >ragged.jsonl
  refused "$m" ragged.jsonl 'y: is no list, those before are lists'
  printf '{"x":[[1,2],[2,3]],"y":[1.5,2]}\n{"x":[[1,2],[2,3]],"y":[1.5,2,3]}\n' >ragged.jsonl
  refused "$m" ragged.jsonl 'ragged.jsonl:2: y: has 3 values, the row 2 steps'
}
