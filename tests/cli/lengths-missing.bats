#!/usr/bin/env bats
# Missing values within steps of rows of different length, and --normalize of what their steps hold.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load lengths.bash

setup_file() {
  begin_lengths missing >"$BATS_FILE_TMPDIR/means"
}

# train FILE OPTION...: a model in m.st, and its log
train() {
  nn-train -q -m 'input ?x2, gru 4, dense ?' "$1" --loss=cross-entropy --epochs=3 -b 8 --leaves=2 --shuffle=no -o "$BATS_TEST_TMPDIR/m.st" --log="$BATS_TEST_TMPDIR/m.log" "${@:2}"
}

# answers FILE...: logits of m.st
answers() {
  nn-predict "$BATS_TEST_TMPDIR/m.st" --emit=logits --to=jsonl "$@"
}

# near FILE FILE: the same numbers but for what f32 rounds
near() {
  "${PYTHON:-python3}" - "$@" <<'PYTHON'
import re, sys
a, b = ([float(v) for v in re.findall(r"-?\d[^],]*", open(f).read())] for f in sys.argv[1:3])
assert len(a) == len(b) > 100 and max(abs(x - y) for x, y in zip(a, b)) < 1e-5
PYTHON
}

@test "missing steps: --missing=drop leaves out rows of which a step misses a value" {
  local t=$BATS_TEST_TMPDIR
  train whole.npz
  answers whole.jsonl >"$t/whole"
  for file in holed.npz holed-padded.npz holed.jsonl; do
    train $file --missing=drop
    answers whole.jsonl | cmp - "$t/whole"
  done
  run -0 nn-train -m 'input ?x2, gru 4, dense ?' holed.npz --missing=drop --epochs=1 -o "$t/m.st"
  [[ $output == *"nn-train: note: holed.npz: $((40 - $(wc -l <whole.jsonl))) of 40 rows miss a value and are left out"* ]]
  # targets of steps too
  for file in gone.npz gone.jsonl; do
    for part in rest.npz $file; do
      nn-train -q -m 'input ?x2, gru 4, dense ?' $part --loss=mse --missing=drop --epochs=2 -b 8 --shuffle=no -o "$t/m.st"
      nn-predict "$t/m.st" --to=jsonl whole.jsonl >"$t/$part"
    done
    cmp "$t/rest.npz" "$t/$file"
  done
}

@test "missing steps: --missing=mean fills each with the mean of its place in steps, in prediction too" {
  local t=$BATS_TEST_TMPDIR
  train filled.npz
  answers filled.jsonl >"$t/filled"
  for file in holed.npz holed-padded.npz holed.jsonl; do
    train $file --missing=mean
    answers filled.jsonl >"$t/answers"
    near "$t/answers" "$t/filled"
    # the mean of numpy, but for what it rounds
    nn-predict --info "$t/m.st" | awk '/missing counts as/ { printf "%s%.9g", s, $NF; s = " " } END { print "" }' >"$t/found"
    [ "$(awk '{ printf "%.9g %.9g\n", $1, $2 }' means)" = "$(cat "$t/found")" ]
    answers holed.jsonl >"$t/lines"
    near "$t/lines" "$t/answers"
    cmp "$t/lines" <(answers holed.npz)
    cmp "$t/lines" <(answers holed-padded.npz --batch=7)
    [ "$(nn-predict --score "$t/m.st" holed.npz)" = "$(nn-predict --score "$t/m.st" holed.jsonl)" ]
  done
  cp "$t/m.st" "$t/start.st"
  # a start model that fills goes on filling; one that does not is told to
  nn-train -q -m "$t/start.st" holed.npz --epochs=1 -o "$t/m.st"
  [ "$(nn-predict --info "$t/m.st" | grep -c 'missing counts as')" = 2 ]
  train whole.npz
  nn-train -q -m "$t/m.st" holed.npz --missing=mean --epochs=1 -o "$t/n.st"
  [ "$(nn-predict --info "$t/n.st" | grep -c 'missing counts as')" = 2 ]
}

@test "missing steps: the same model for threads, micro-batches, caches, ranks, folds and a resumed training" {
  local t=$BATS_TEST_TMPDIR
  for how in drop mean; do
    train holed.npz --missing=$how --valid=0.3 --normalize=standard
    mv "$t/m.st" "$t/one.st"
    mv "$t/m.log" "$t/one.log"
    NN_DEVICE=cpu train holed.npz --missing=$how --valid=0.3 --normalize=standard
    cmp "$t/one.st" "$t/m.st"
    train holed-padded.npz --missing=$how --valid=0.3 --normalize=standard -t 3 --micro-batch=3
    cmp "$t/one.st" "$t/m.st"
    for _ in made again; do
      train holed.npz --missing=$how --valid=0.3 --normalize=standard --cache="$t/$how.cache"
      cmp "$t/one.st" "$t/m.st"
    done
    train holed.npz --missing=$how --valid=0.3 --normalize=standard --epochs=1 --checkpoint="$t/$how.state"
    train holed.npz --missing=$how --valid=0.3 --normalize=standard --checkpoint="$t/$how.state" --resume
    cmp "$t/one.st" "$t/m.st"
    nn-train -q -m 'input ?x2, gru 4, dense ?' holed.npz --missing=$how --folds=2 --epochs=1 >"$t/folds"
    nn-train -q -m 'input ?x2, gru 4, dense ?' holed.jsonl --missing=$how --folds=2 --epochs=1 | cmp - "$t/folds"
    nn-train -q -m 'input ?x2, gru 4, dense ?' holed.npz --missing=$how --selfcheck
    [ -z "$(lacking_ranks)" ] || continue
    train holed.npz --missing=$how --valid=0.3 --normalize=standard --ranks=2 -t 1
    cmp "$t/one.st" "$t/m.st"
  done
}

@test "missing steps: --normalize measures places of steps as numpy does" {
  local t=$BATS_TEST_TMPDIR
  train scaled.npz
  answers scaled.npz >"$t/scaled"
  train plain.npz --normalize=standard
  answers plain.npz >"$t/plain"
  near "$t/plain" "$t/scaled"
  train plain.npz --normalize=minmax
  train plain.npz --normalize=0.5
  nn-predict --info "$t/m.st" | grep -qx '  column 2: number, mean 0, sd 2'
}

# refused FILE MESSAGE OPTION...
refused() {
  run -1 nn-train -q -m 'input ?x2, gru 4, dense ?' "$1" --epochs=1 -o "$BATS_TEST_TMPDIR/x.st" "${@:3}"
  [[ $output == *"$2" ]] || { echo "$output"; return 1; }
}

@test "missing steps: without --missing they are refused, in prediction where the model fills nothing" {
  printf '{"x":[[1,2],[2,3]],"y":[0,1]}\n{"x":[[1,2],[2,null]],"y":[0,1]}\n' >null.jsonl
  refused null.jsonl 'null.jsonl:2: JSON, byte 16: found null, expected a number'
  "${PYTHON:-python3}" -c 'import numpy as np; np.savez("nan.npz", x=[[1, 2], [1, 2], [3, np.nan]], lengths=[1, 2], y=[0, 1, 1])'
  refused nan.npz 'nan.npz: tensor x: row 2, step 2, column 2: found nan, expected a finite number'
  printf '{"x":[[1,2],[2,3]],"y":[0,1]}\n{"x":[[1,2],[2,3]],"y":[0,null]}\n' >target.jsonl
  refused target.jsonl 'y: found null, expected a number' --missing=mean
  refused target.jsonl 'y: found null, expected a number'
  train whole.npz
  run -1 nn-predict "$BATS_TEST_TMPDIR/m.st" null.jsonl
  [[ $output == *'null.jsonl:2: JSON, byte 16: found null, expected a number' ]]
}
