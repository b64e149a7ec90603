#!/usr/bin/env bats
# Rows of different length in prediction: bad ones are left out or marked, members are kept, a row in gives a row out.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load lengths.bash

setup_file() {
  begin_lengths data
  nn-train -q -m 'input ?x2, lstm 5, last, dense ?' padded.npz --epochs=2 -b 16 -o rows.st
  nn-train -q -m 'input ?x2, gru 5, dense ?' steps.npz --epochs=2 -b 16 -o steps.st
  long='[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2]'
  printf '%s\n' '{"x":[],"y":0}' "$(sed -n 1p rows.jsonl)" '{"x":[1,2],"y":0}' '{"x":null}' "$(sed -n 2p rows.jsonl)" '[1' \
    '{"x":"long"}' "{\"x\":[$long],\"y\":1}" '{"x":[[1,2,3]],"y":1}' '{"y":1}' "$(sed -n 3,40p rows.jsonl)" '{"x":[[1,1e99]],"y":1}' >bad.jsonl
  "${PYTHON:-python3}" - <<'PYTHON'
import numpy as np
for name in "padded", "steps":
    data = dict(np.load(f"{name}.npz"))
    good = np.ones(40, bool)
    good[[0, 3, 4, 39]] = False
    np.savez(f"{name}-good.npz", **{k: v[good] for k, v in data.items()})
    for r, bad in (0, np.nan), (4, -np.inf):
        data["x"][r, data["lengths"][r] - 1, 1] = bad
    data["lengths"][3] = 0
    data["x"][39, 0, 0] = np.inf
    np.savez(f"{name}-bad.npz", **data)
    packed = np.concatenate([row[:n] for row, n in zip(data["x"], data["lengths"])])
    np.savez(f"{name}-packed.npz", x=packed.astype("f8"), lengths=data["lengths"], y=data["y"])
PYTHON
}

@test "rows of steps: bad JSON lines are left out, or keep their place with what is wrong" {
  run -1 --separate-stderr nn-predict rows.st bad.jsonl
  [ "$stderr" = 'nn-predict: bad.jsonl: row 1 has no steps, expected at least one' ]
  nn-predict rows.st rows.jsonl >good
  nn-predict -q --on-error=skip rows.st bad.jsonl | cmp - good
  run -0 --separate-stderr nn-predict --on-error=skip rows.st bad.jsonl
  [ "$stderr" = 'nn-predict: warning: 9 rows could not be read and were left out' ]
  nn-predict -q --on-error=mark rows.st bad.jsonl >marked
  grep -v error marked | cmp - good
  [ "$(wc -l <marked)" = 49 ]
  [ "$(sed -n 1p marked)" = '{"error":"bad.jsonl: row 1 has no steps, expected at least one"}' ]
  [ "$(sed -n 3p marked)" = '{"error":"bad.jsonl:3: JSON, byte 10: x: lists are 2, the input line says ?x2"}' ]
  [ "$(sed -n 8p marked)" = '{"error":"bad.jsonl: row 8 has 10 steps, the model takes at most 9 (max= of its input line)"}' ]
  [ "$(nn-predict -q --on-error=mark --to=csv rows.st bad.jsonl | sed -n 1,2p)" = $'p.0,p.1\n,' ]
  nn-predict -q --on-error=skip -t 2 --batch=3 rows.st - <bad.jsonl | cmp - good
  nn-predict -q --on-error=skip steps.st bad.jsonl | cmp - <(nn-predict steps.st rows.jsonl)
}

@test "rows of steps: so are rows of arrays that are not finite or have no steps, filled up or one after another" {
  local model data form
  for model in rows steps; do
    data=padded
    [ $model = rows ] || data=steps
    nn-predict --to=jsonl $model.st $data-good.npz >good
    for form in bad packed; do
      run -1 nn-predict --to=jsonl $model.st $data-$form.npz
      nn-predict -q --on-error=skip --to=jsonl $model.st $data-$form.npz | cmp - good
      nn-predict -q --on-error=mark --to=jsonl $model.st $data-$form.npz >marked
      grep -v error marked | cmp - good
      [ "$(wc -l <marked)" = 40 ]
      [[ "$(sed -n 1p marked)" == *'tensor x: row 1, step 9, column 2: found nan, expected a finite number"}' ]]
      [[ "$(sed -n 4p marked)" == *': row 4 has no steps, expected at least one"}' ]]
      [[ "$(sed -n 5p marked)" == *'column 2: found -inf, expected a finite number'*'"}' ]]
    done
  done
  [ "$(nn-predict -q --score --on-error=skip rows.st padded-bad.npz)" = "$(nn-predict --score rows.st padded-good.npz)" ]
  [ "$(nn-predict -q --score --on-error=skip steps.st steps-packed.npz)" = "$(nn-predict --score steps.st steps-good.npz)" ]
}

@test "rows of steps: figures of JSON lines are those of the good ones, whatever stands in the bad ones" {
  [ "$(nn-predict -q --score --on-error=skip rows.st bad.jsonl)" = "$(nn-predict --score rows.st rows.jsonl)" ]
  sed '5s/"y": *\[/"y":["?",/' steps.jsonl >bad-steps.jsonl
  nn-train -q -m 'input ?x2, gru 5, dense ?' steps.jsonl --epochs=1 -o words.st
  run -1 nn-predict --score words.st bad-steps.jsonl
  [ "$(nn-predict -q --score --on-error=skip words.st bad-steps.jsonl)" = "$(sed 5d steps.jsonl | nn-predict --score words.st)" ]
}

@test "rows of steps: categories that there are not make a row bad" {
  printf '{"x":[%s],"y":%s}\n' 1,2,3 0 2 1 3,3 0 >tokens.jsonl
  nn-train -q -m 'input ?, embedding 3, lstm 4, last, dense ?' tokens.jsonl --loss=cross-entropy --steps=2 -o tokens.st
  printf '{"x":[%s]}\n' 1 4 2,3 1,0.5 3,3 >asked.jsonl
  nn-predict -q --on-error=mark tokens.st asked.jsonl >marked
  [ "$(sed -n 2p marked)" = '{"error":"asked.jsonl: row 2, step 1: found 4, expected the number of a category, from 0 to 3"}' ]
  [ "$(grep -c error marked)" = 2 ]
  [ "$(sed -n 4p marked)" = '{"error":"asked.jsonl: row 4, step 2: found 0.5, expected the number of a category, from 0 to 3"}' ]
}

@test "rows of steps: --keep gives members of a line beside its answer, one that is not there is refused" {
  nn-predict rows.st rows.jsonl >plain
  sed 's/^{/{"id":"a b","n":12345678901234567890,/' rows.jsonl >ids.jsonl
  nn-predict --keep=id,n rows.st ids.jsonl | cmp - <(sed 's/^{/{"id":"a b","n":12345678901234567890,/' plain)
  [ "$(nn-predict --keep=id --to=csv rows.st ids.jsonl | head -n 2)" = "id,p.0,p.1
a b,$(nn-predict --to=csv rows.st rows.jsonl | sed -n 2p)" ]
  run -1 --separate-stderr nn-predict --keep=id,other rows.st ids.jsonl
  [ "$stderr" = 'nn-predict: ids.jsonl:1: has no member "other", which --keep names' ]
  run -2 nn-predict --keep=probs rows.st ids.jsonl
  [ "$(nn-predict -q --keep=id --on-error=mark rows.st <<<'{"id":7,"x":[]}')" = '{"id":7,"error":"-: row 1 has no steps, expected at least one"}' ]
}

@test "rows of steps: through a pipe a row in gives a row out, before the next one comes" {
  mkfifo in out
  nn-predict rows.st <in >out &
  exec 5>in 6<out
  local line i
  for i in 1 2 3; do
    sed -n ${i}p rows.jsonl >&5
    read -r -t 20 line <&6
    [ "$line" = "$(nn-predict rows.st rows.jsonl | sed -n ${i}p)" ]
  done
  exec 5>&-
  wait $!
  exec 6<&-
}
