#!/usr/bin/env bats
# Rows of different length (input ?xN): from JSON lines and arrays through training and prediction, the same bytes however they lie.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load lengths.bash

setup_file() {
  begin_lengths data
  nn-train -q -m 'input ?x2, lstm 5 bidirectional=yes, last, dense ?' padded.npz --epochs=3 -b 16 -o rows.st
  nn-train -q -m 'input ?x2, gru 5, layernorm, dense ?' steps.npz --epochs=3 -b 16 -o steps.st
}

# train FILE OPTION...: as rows.st was
train() {
  nn-train -q -m 'input ?x2, lstm 5 bidirectional=yes, last, dense ?' --epochs=3 -b 16 -o "$BATS_TEST_TMPDIR/m.st" "$@"
}

@test "lengths: filled up, with anything behind a row, or one after another: the same model" {
  nn-predict --info rows.st | grep -q 'input ?x2 max=9'
  for file in other packed; do
    train $file.npz
    cmp rows.st "$BATS_TEST_TMPDIR/m.st"
  done
  nn-train -q -m 'input ?x2, gru 5, layernorm, dense ?' packed-steps.npz --epochs=3 -b 16 -o "$BATS_TEST_TMPDIR/s.st"
  cmp steps.st "$BATS_TEST_TMPDIR/s.st"
}

@test "lengths: threads, ranks and micro-batches give the same model; folds and held-out rows count the steps that are there" {
  train padded.npz -t 3 --micro-batch=3
  cmp rows.st "$BATS_TEST_TMPDIR/m.st"
  if [ -z "$(lacking_ranks)" ]; then
    train padded.npz --leaves=2
    mv "$BATS_TEST_TMPDIR/m.st" "$BATS_TEST_TMPDIR/one.st"
    train padded.npz --leaves=2 --ranks=2 -t 1
    cmp "$BATS_TEST_TMPDIR/one.st" "$BATS_TEST_TMPDIR/m.st"
  fi
  [ "$(nn-train -q -m 'input ?x2, gru 5, dense ?' steps.npz --epochs=1 --folds=2 | wc -l)" -ge 3 ]
  nn-train -q -m 'input ?x2, gru 5, dense ?' steps.npz --valid=0.5 --epochs=1 -o "$BATS_TEST_TMPDIR/m.st"
}

@test "lengths: JSON lines are learned and answered line by line, the answer to a row the same in any company" {
  nn-predict rows.st rows.jsonl --emit=logits >all.out
  [ "$(wc -l <all.out)" = 40 ]
  while read -r row; do
    printf '%s\n' "$row" | nn-predict rows.st --emit=logits
  done < <(head -n 4 rows.jsonl) | cmp - <(head -n 4 all.out)
  nn-predict rows.st rows.jsonl --emit=logits --batch=7 -t 2 | cmp - all.out
  nn-predict rows.st other.npz --emit=logits --to=jsonl | cmp - all.out
  nn-predict rows.st packed.npz --emit=logits --to=jsonl | cmp - all.out
  [ "$(nn-predict --score rows.st rows.jsonl)" = "$(nn-predict --score rows.st padded.npz)" ]
  nn-train -q -m 'input ?x2, lstm 5 bidirectional=yes, last, dense ?' rows.jsonl --loss=cross-entropy --epochs=3 -b 16 -o "$BATS_TEST_TMPDIR/m.st"
  nn-predict "$BATS_TEST_TMPDIR/m.st" rows.jsonl --emit=logits | cmp - all.out
}

@test "lengths: an output of steps is as long as its row, and no others are counted" {
  nn-train -q -m 'input ?x2, gru 5, layernorm, dense ?' steps.jsonl --epochs=3 -b 16 -o "$BATS_TEST_TMPDIR/m.st"
  nn-predict "$BATS_TEST_TMPDIR/m.st" steps.jsonl --emit=class >classes
  "${PYTHON:-python3}" - <<'PYTHON'
import json
for row, answer in zip(open("steps.jsonl"), open("classes")):
    assert len(json.loads(row)["x"]) == len(json.loads(answer)["class"])
PYTHON
  nn-predict --score "$BATS_TEST_TMPDIR/m.st" steps.jsonl | grep -v '^f1\|^precision\|^recall\|^support\|^confusion\|^auc' >"$BATS_TEST_TMPDIR/a"
  nn-predict --score steps.st steps.npz | grep -v '^f1\|^precision\|^recall\|^support\|^confusion\|^auc' | cmp - "$BATS_TEST_TMPDIR/a"
  nn-predict steps.st other.npz --emit=class -o "$BATS_TEST_TMPDIR/o.npz"
  nn-predict steps.st all.npy --emit=class --to=npy -o "$BATS_TEST_TMPDIR/o.npy"
  "${PYTHON:-python3}" - "$BATS_TEST_TMPDIR/o.npz" <<'PYTHON'
import sys
import numpy as np
o, lengths = np.load(sys.argv[1]), np.load("padded.npz")["lengths"]
assert (o["lengths"] == lengths).all()
assert ((o["output"] >= 0) == (np.arange(9) < lengths[:, None])).all()
PYTHON
}

@test "lengths: what the net's text says of them holds for models and weights made elsewhere, too" {
  local model file
  for model in rows steps; do
    cd "$BATS_TEST_TMPDIR"
    "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" elsewhere "$BATS_FILE_TMPDIR/$model.st"
    cd "$BATS_FILE_TMPDIR"
    for file in other.npz packed.npz all.npy rows.jsonl; do
      nn-predict $model.st $file --emit=logits --to=jsonl >"$BATS_TEST_TMPDIR/want"
      nn-predict "$BATS_TEST_TMPDIR/bare.st" $file --to=jsonl | cmp - "$BATS_TEST_TMPDIR/want"
      nn-predict "$BATS_TEST_TMPDIR/unsaid.st" $file --emit=logits --to=jsonl | cmp - "$BATS_TEST_TMPDIR/want"
      nn-predict -m "$BATS_TEST_TMPDIR/text.nn" "$BATS_TEST_TMPDIR/weights.st" $file --to=jsonl | cmp - "$BATS_TEST_TMPDIR/want"
    done
  done
  nn-train -q -m steps.st packed-steps.npz --epochs=1 -o "$BATS_TEST_TMPDIR/a.st"
  nn-train -q -m "$BATS_TEST_TMPDIR/unsaid.st" packed-steps.npz --epochs=1 -o "$BATS_TEST_TMPDIR/b.st"
  nn-predict "$BATS_TEST_TMPDIR/a.st" all.npy | cmp - <(nn-predict "$BATS_TEST_TMPDIR/b.st" all.npy)
  run -1 nn-predict "$BATS_TEST_TMPDIR/fixed.st" all.npy
  [[ $output == *'fixed.st: nn.input: lengths are true, but the input of nn.model has no ?' ]]
  run -1 nn-predict "$BATS_TEST_TMPDIR/columns.st" all.npy
  [[ $output == *'columns.st: nn.input: has columns and no "lengths":true, but the input of nn.model has a ?' ]]
}

# refused TEXT FILE MESSAGE [STATUS]
refused() {
  run -"${4:-1}" nn-train -q -m "$1" "$2" --loss=cross-entropy --epochs=1 -o "$BATS_TEST_TMPDIR/x.st"
  [[ $output == *"$3"* ]] || { echo "$output"; return 1; }
}

@test "lengths: what does not fit is refused by row and length" {
  m='input ?x2, lstm 4, last, dense ?'
  refused "$m" short.npz 'row 40 has no steps'
  refused "$m" long.npz 'row 40 has a length of 10, but rows have 9 steps'
  refused "$m" few.npz 'has 40 rows, there are lengths of 39'
  refused "$m" sum.npz 'has 200 steps, the lengths add up to 201'
  refused "$m" none.npz 'has no tensor lengths'
  refused "$m" float.npz 'expected whole numbers'
  refused "$m" wide.npz 'is 40x9x4, the input line says ?x2'
  refused 'input ?x2 max=8, lstm 4, last, dense ?' padded.npz 'row 1 has 9 steps, the model takes at most 8'
  echo '{"x":[[1,2],[3]],"y":1}' >ragged.jsonl
  refused "$m" ragged.jsonl 'ragged.jsonl:1'
  printf '{"x":[[1,2]],"y":1}\n{"x":[],"y":1}\n' >empty.jsonl
  refused "$m" empty.jsonl 'row 2 has no steps'
  printf '{"x":[[1,2]],"y":"a"}\n{"x":[[1,2]],"y":3}\n' >mixed.jsonl
  refused "$m" mixed.jsonl 'mixed.jsonl:2: JSON, byte 18: y: found a number, expected a string'
  printf '{"x":[[1,2],[2,3]],"y":["a","b"]}\n{"x":[[1,2]],"y":["a","b","c"]}\n' >steps2.jsonl
  refused "$m" steps2.jsonl 'steps2.jsonl:2: y: has 3 values, the row 1 step'
  echo '{"y":1}' >nothing.jsonl
  refused "$m" nothing.jsonl 'has no member "x"'
  printf '{"x":[1,2],"y":1}\n{"x":[0,1,0.5],"y":1}\n' >half.jsonl
  refused 'input ?, embedding 2, last, dense ?' half.jsonl 'half.jsonl: row 2, step 3: found 0.5, expected the number of a category, from 0 to 16777215'
  printf 'a,b\n1,2\n' >table.csv
  refused "$m" table.csv 'come as JSON lines or .npz'
  run -1 nn-predict rows.st <<<'{"x":[[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2]]}'
  [[ $output == *'row 1 has 10 steps, the model takes at most 9'* ]]
}

@test "lengths: layers that need rows of one length say so before anything runs" {
  for layer in flatten 'conv1d 3 2' batchnorm transpose; do
    refused "input ?x6, $layer, dense ?" padded.npz 'cannot take rows of different length (?)' 2
  done
  refused 'input ?, dense ?' padded.npz 'cannot take rows of different length (?)' 2
  refused 'input 3x?, last, dense ?' padded.npz 'must be numbers AxBxC' 2
  refused 'input 3x2 max=4, last, dense ?' padded.npz 'max= is for rows of different length' 2
  if [ -e "$NN_BUILD/lib/nn-onnx.so" ]; then
    run -1 nn-train -q -m 'input ?x2, gru 3, last, dense ?' padded.npz -o "$BATS_TEST_TMPDIR/m.onnx"
    [[ $output == *'rows of different length (input ?) cannot be written as ONNX' ]]
  fi
  run -2 nn-bench run 'input ?x6, gru 3, last, dense 2'
  [[ $output == *'how long the longest row may be is not known; write max=N'* ]]
}

@test "lengths: numbers of categories, behind whose rows there is none" {
  "${PYTHON:-python3}" - <<'PYTHON'
import json
with open("tokens.jsonl", "w") as f:
    for i in range(60):
        f.write(json.dumps({"x": [(i * k) % 11 for k in range(1, 2 + i % 7)], "y": i % 3}) + "\n")
PYTHON
  nn-train -q -m 'input ?, embedding 4 sparse=yes, position, attention 2 causal=yes, last, dense ?' tokens.jsonl --loss=cross-entropy --epochs=2 -o "$BATS_TEST_TMPDIR/m.st"
  [ "$(nn-predict "$BATS_TEST_TMPDIR/m.st" tokens.jsonl | wc -l)" = 60 ]
}

@test "lengths: attention is the same whatever lies behind a row, and for any company, threads, micro-batches and ranks" {
  local t=$BATS_TEST_TMPDIR mask
  for mask in no yes; do
    text="input ?x2, dense 6, attention 2 causal=$mask, layernorm, attention 3 causal=$mask, last, dense ?"
    attend() { nn-train -q -m "$text" --epochs=3 -b 16 --leaves=2 "$@"; }
    attend padded.npz -o "$t/a.st"
    attend other.npz -o "$t/b.st"
    cmp "$t/a.st" "$t/b.st"
    attend packed.npz -t 3 --micro-batch=3 -o "$t/b.st"
    cmp "$t/a.st" "$t/b.st"
    attend packed.npz --recompute -o "$t/b.st"
    cmp "$t/a.st" "$t/b.st"
    if [ -z "$(lacking_ranks)" ]; then
      attend padded.npz --ranks=2 -t 1 -o "$t/b.st"
      cmp "$t/a.st" "$t/b.st"
    fi
    nn-predict "$t/a.st" rows.jsonl --emit=logits >"$t/all"
    while read -r row; do
      printf '%s\n' "$row" | nn-predict "$t/a.st" --emit=logits
    done < <(head -n 6 rows.jsonl) | cmp - <(head -n 6 "$t/all")
    nn-predict "$t/a.st" other.npz --emit=logits --to=jsonl --batch=7 -t 2 | cmp - "$t/all"
    [ "$(nn-predict --score "$t/a.st" rows.jsonl)" = "$(nn-predict --score "$t/a.st" other.npz)" ]
    nn-train -q -m "$text" --selfcheck padded.npz
  done
}

@test "lengths: attention beside PyTorch's with a mask of keys, weights after a step in f64" {
  "${PYTHON:-python3}" -c 'from importlib.util import find_spec; assert find_spec("torch").origin' 2>/dev/null || skip "no PyTorch"
  cd "$BATS_TEST_TMPDIR" && cp "$BATS_FILE_TMPDIR"/{padded,steps}.npz .
  "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" attention
}

@test "lengths: beside PyTorch's packed sequences, weights after a step in f64" {
  "${PYTHON:-python3}" -c 'from importlib.util import find_spec; assert find_spec("torch").origin' 2>/dev/null || skip "no PyTorch"
  cd "$BATS_TEST_TMPDIR" && cp "$BATS_FILE_TMPDIR"/{padded,steps}.npz .
  "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" compare
}
