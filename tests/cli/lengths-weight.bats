#!/usr/bin/env bats
# nn-train --weight of arrays and of rows of different length: in losses and metrics, of rows and of steps.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load lengths.bash

setup_file() {
  begin_lengths weighed
}

# text rows|steps
text() {
  if [ "$1" = rows ]; then echo 'input ?x2, gru 4, last, dense ?'; else echo 'input ?x2, gru 4, dense ?'; fi
}

# figures FILE: epochs of a log, of training and of held-out rows
figures() {
  jq -c 'select(.event == "epoch") | [.loss, .valid_loss, .accuracy, ."f1.macro"]' "$1"
}

@test "weights: whole ones are rows that stand there as often, for rows, their steps and plain arrays" {
  local t=$BATS_TEST_TMPDIR name text
  for name in rows steps plain; do
    text=$(text $name)
    [ $name != plain ] || text='dense 4, tanh, dense ?'
    train=(-q -m "$text" --optimizer=sgd --lr=0.5 --shuffle=no --precision=f64 --epochs=4)
    nn-train "${train[@]}" --weight=w -b 40 --log="$t/a.log" -o "$t/a.st" whole-$name.npz
    nn-train "${train[@]}" -b 400 --log="$t/b.log" -o "$t/b.st" often-$name.npz
    losses() { jq -r 'select(.event == "epoch") | [.loss, .train_accuracy][]' "$1" | awk '{ printf "%.9g\n", $1 }'; }
    [ "$(losses "$t/a.log")" = "$(losses "$t/b.log")" ]
    diff <(nn-predict --score "$t/a.st" whole-$name.npz | sed 1d | awk '{ printf "%s %.9g\n", $1, $2 }') \
      <(nn-predict --score "$t/b.st" often-$name.npz | sed 1d | awk '{ printf "%s %.9g\n", $1, $2 }')
  done
}

@test "weights: beside PyTorch, weights of the net after a step in f64" {
  "${PYTHON:-python3}" -c 'from importlib.util import find_spec; assert find_spec("torch").origin' 2>/dev/null || skip "no PyTorch"
  "${PYTHON:-python3}" "$NN_SRC/tests/cli/lengths.py" weights
}

@test "weights: the same model from arrays, JSON lines and a cache, for threads, micro-batches, ranks and a resumed training" {
  local t=$BATS_TEST_TMPDIR name
  for name in rows steps; do
    train=(-q -m "$(text $name)" --weight=w --loss=cross-entropy --valid=0.5 -b 8 --leaves=2)
    nn-train "${train[@]}" --epochs=4 --log="$t/one.log" -o "$t/one.st" w-$name.npz
    nn-train "${train[@]}" --epochs=4 -t 3 --micro-batch=3 --log="$t/other.log" -o "$t/other.st" w-$name.npz
    cmp "$t/one.st" "$t/other.st"
    nn-train "${train[@]}" --epochs=2 --checkpoint="$t/state" -o "$t/other.st" w-$name.npz
    nn-train "${train[@]}" --epochs=4 --checkpoint="$t/state" --resume -o "$t/other.st" w-$name.npz
    cmp "$t/one.st" "$t/other.st"
    rm "$t/state"
    nn-train "${train[@]}" --epochs=4 --log="$t/lines.log" -o "$t/other.st" w-$name.jsonl
    cmp <(figures "$t/one.log") <(figures "$t/lines.log")
    for run in made again; do
      nn-train "${train[@]}" --epochs=4 --cache="$t/$name.cache" -o "$t/$run.st" w-$name.npz
      cmp "$t/one.st" "$t/$run.st"
    done
    cmp <(nn-predict --score "$t/one.st" w-$name.npz) <(nn-predict --score --batch=7 "$t/one.st" w-$name.jsonl)
    nn-train -q -m "$(text $name)" --weight=w -b 8 --epochs=1 --folds=2 w-$name.npz >"$t/folds"
    nn-train -q -m "$(text $name)" --weight=w -b 8 --epochs=1 --folds=2 w-$name.jsonl --loss=cross-entropy | cmp - "$t/folds"
  done
}

@test "weights: ranks give the same model, and the same figures of steps of many held-out rows" {
  [ -z "$(lacking_ranks)" ] || skip "$(lacking_ranks | head -n 1)"
  local t=$BATS_TEST_TMPDIR
  train=(-q -m "$(text steps)" --weight=w --valid=0.5 -b 64 --leaves=4 --epochs=2 many-steps.npz)
  nn-train "${train[@]}" --log="$t/one.log" -o "$t/one.st"
  for ranks in 2 3; do
    nn-train "${train[@]}" --ranks=$ranks -t 1 --log="$t/ranks.log" -o "$t/other.st"
    cmp "$t/one.st" "$t/other.st"
    cmp <(figures "$t/one.log") <(figures "$t/ranks.log")
  done
}

# refused FILE MESSAGE
refused() {
  run -1 nn-train -q -m "$(text rows)" --weight=w --loss=cross-entropy --epochs=1 -o "$BATS_TEST_TMPDIR/x.st" "$1"
  [[ $output == *"$2" ]] || { echo "$output"; return 1; }
}

@test "weights: what is none is refused by its row" {
  refused minus.npz 'minus.npz: tensor w: row 1: found -2, expected a weight of 0 or more'
  refused inf.npz 'inf.npz: tensor w: row 1: found inf, expected a weight of 0 or more'
  refused nan.npz 'nan.npz: tensor w: row 1: found nan, expected a weight of 0 or more'
  refused few.npz 'few.npz: tensor w: is 39, expected a weight for each of 40 rows'
  refused zeros.npz '--weight=w: every row of zeros.npz weighs 0'
  refused often-rows.npz '--weight: often-rows.npz: has no tensor w; its tensors: lengths, x, y'
  printf '{"x":[[1,2]],"y":1,"w":1}\n{"x":[[1,2]],"y":0,"w":-2}\n' >minus.jsonl
  refused minus.jsonl 'minus.jsonl:2: JSON, byte 24: w: found -2, expected a weight of 0 or more'
  printf '{"x":[[1,2]],"y":1,"w":1}\n{"x":[[1,2]],"y":0,"w":null}\n' >minus.jsonl
  refused minus.jsonl 'w: found null, expected a weight of 0 or more'
  printf '{"x":[[1,2]],"y":1,"w":1}\n{"x":[[1,2]],"y":0}\n' >minus.jsonl
  refused minus.jsonl 'minus.jsonl:2: has no weight "w"'
  printf '{"x":[[1,2]],"y":1,"w":"1"}\n' >minus.jsonl
  refused minus.jsonl 'w: expected a weight of 0 or more'
}

@test "weights: data without them are scored with a warning" {
  nn-train -q -m "$(text rows)" --weight=w --epochs=1 -o "$BATS_TEST_TMPDIR/m.st" w-rows.npz
  run -0 --separate-stderr nn-predict --score "$BATS_TEST_TMPDIR/m.st" often-rows.npz
  [[ $stderr == *'have no column "w"'* ]]
  run -0 --separate-stderr nn-predict --score "$BATS_TEST_TMPDIR/m.st" w-rows.jsonl
  [ -z "$stderr" ]
  sed 's/"w":[^,]*,//' w-rows.jsonl >plain.jsonl
  run -0 --separate-stderr nn-predict --score "$BATS_TEST_TMPDIR/m.st" plain.jsonl
  [[ $stderr == *'have no column "w"'* ]]
}
