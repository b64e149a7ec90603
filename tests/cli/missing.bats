#!/usr/bin/env bats
# --missing: numbers that are not there, in training, in held-out rows and in prediction.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

# holes.csv: b of every fifth row is empty or nan; its mean is exactly 4. filled.csv: with 4 there. fewer.csv: without those rows.
setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  awk 'BEGIN {
    print "a,b,word,kind" >"holes.csv"; print "a,b,word,kind" >"filled.csv"; print "a,b,word,kind" >"fewer.csv"
    for (i = 0; i < 200; i++) {
      a = i % 16; b = int(i / 5) % 2 ? 6 : 2; word = i < 3 ? "" : i % 3 ? "red" : "blue"
      kind = a + b > 12 ? "up" : "down"; hole = i % 5 == 2
      print a "," (hole ? (i % 2 ? "" : "NaN") : b) "," word "," kind >"holes.csv"
      print a "," (hole ? 4 : b) "," word "," kind >"filled.csv"
      if (!hole)
        print a "," b "," word "," kind >"fewer.csv"
    }
  }'
  awk -F, -v OFS=, 'NR % 7 == 3 { $4 = "" } { $3 = NR - 1; print }' holes.csv | sed '1s/.*/a,b,n,price/' | sed 's/down/1.5/; s/up/2.5/' >prices.csv
  cut -d, -f1,2 holes.csv >x.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

train() {
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=3 "$@"
}

refused() {
  run -"$1" --separate-stderr "${@:3}"
  [ "${#stderr_lines[@]}" -eq 1 ]
  [[ $stderr == *"$2"* ]] || { echo "$stderr"; return 1; }
}

@test "missing: by default an empty field and nan are errors that name the place and what helps" {
  refused 1 'holes.csv:4:2: found "NaN" in column "b", expected a finite number; --missing=mean fills it, --missing=drop leaves' \
    train -o m "$data/holes.csv"
  sed 4d "$data/holes.csv" >later.csv
  refused 1 'later.csv:8:2: empty field in column "b", expected a number; --missing=mean fills it' train -o m later.csv
  [ ! -e m ]
}

@test "missing: mean trains and predicts as a file in which the mean was written" {
  for how in auto none minmax standard 0.5; do
    train --missing=mean --normalize=$how -o mean "$data/holes.csv"
    sed 's/^\([0-9]*\),4,/\1,4,/' "$data/filled.csv" >filled.csv
    train --missing=mean --normalize=$how -o hand filled.csv
    nn-predict mean "$data/holes.csv" >a
    nn-predict hand filled.csv >b
    # only minmax and none do not depend on how many values there are
    case $how in none | minmax | 0.5) same a b ;; esac
    nn-predict mean filled.csv >c
    same a c
    nn-predict mean --score "$data/holes.csv" >score
    nn-predict mean --score filled.csv >score.filled
    same score score.filled
  done
}

@test "missing: the model keeps the mean of what is there in the training rows, in units of the data" {
  train --missing=mean -o mean "$data/holes.csv"
  [[ $(metadata mean nn.input) == *'"mean":4,"missing":4,"name":"b","sd":2'* ]]
  [[ $(metadata mean nn.train) == *'"missing":"mean"'* ]]
  train --missing=mean --normalize=none -o mean "$data/holes.csv"
  [[ $(metadata mean nn.input) == *'{"kind":"number","missing":4,"name":"b"}'* ]]
  train -o plain "$data/filled.csv"
  [[ $(metadata plain nn.train) != *missing* ]]
}

@test "missing: drop trains as on a file without those rows, and says how many once" {
  train --missing=drop -o drop "$data/holes.csv"
  train -o fewer "$data/fewer.csv"
  nn-predict drop "$data/fewer.csv" >a
  nn-predict fewer "$data/fewer.csv" >b
  same a b
  run -0 --separate-stderr nn-train -m 'dense ?' --target=kind --epochs=1 --missing=drop -o m "$data/holes.csv"
  [ "${stderr_lines[0]}" = "nn-train: note: $data/holes.csv: 40 of 200 rows miss a value and are left out" ]
  [ "${stderr_lines[1]}" = '3 columns: 2 numbers, 1 text (word 3); target kind: 2 classes' ]
}

@test "missing: where rows were dropped in training, a bad row of a prediction goes by --on-error" {
  train --missing=drop -o drop "$data/holes.csv"
  refused 1 'holes.csv:4:2' nn-predict drop -o out "$data/holes.csv"
  run -0 --separate-stderr nn-predict drop --on-error=skip "$data/holes.csv"
  [ "${#lines[@]}" -eq 161 ]
  run -0 --separate-stderr nn-predict drop --on-error=mark "$data/holes.csv"
  [ "${#lines[@]}" -eq 201 ]
  [ "${lines[3]}" = , ]
}

@test "missing: held-out rows are filled and left out like the others" {
  for how in mean drop; do
    train --missing=$how --valid="$data/holes.csv" --log=log -o m "$data/holes.csv"
    log_check log 'of("epoch")[-1]["accuracy"] is not None'
    nn-predict m --score --on-error=skip "$data/holes.csv" 2>err >score
    python3 - log score <<'PYTHON'
import json, sys
logged = [json.loads(l) for l in open(sys.argv[1]) if '"epoch"' in l.split(",")[0]][-1]["accuracy"]
scored = dict(l.split() for l in open(sys.argv[2]))
assert float(scored["accuracy"]) == logged, (scored, logged)
PYTHON
  done
}

@test "missing: the same bytes for any threads and micro-batch" {
  for how in mean drop; do
    train --missing=$how --valid=0.2 -o a "$data/holes.csv"
    train --missing=$how --valid=0.2 --threads=3 --micro-batch=7 -o b - <"$data/holes.csv"
    same a b
  done
}

@test "missing: a missing target is never filled; drop leaves its row out" {
  for how in error mean; do
    sed 's/NaN//' "$data/prices.csv" | awk -F, 'NR == 1 || $2 != ""' >p.csv
    refused 1 'in column "price", expected a number; --missing=drop leaves the row out' \
      nn-train -q -m 'dense ?' --target=price --epochs=1 --missing=$how -o m p.csv
  done
  nn-train -q -m 'dense ?' --target=price --epochs=1 --missing=drop -o m p.csv
  cut -d, -f1-3 p.csv >in.csv
  cut -d, -f4 p.csv | sed 's/^$/nan/' >t.csv
  refused 1 't.csv:3:1: found "nan" in column "price"' nn-train -q -m 'dense ?' --epochs=1 --missing=mean -o m in.csv t.csv
  nn-train -q -m 'dense ?' --epochs=1 --missing=drop -o n in.csv t.csv
  nn-predict m in.csv >a
  nn-predict n in.csv >b
  same a b
}

@test "missing: an integer label that is missing leaves its row out, in the start model's labels too" {
  printf 'a,b,y\n1,2,0\n2,1,1\n3,1,\n4,4,1\n5,4,0\n' >c.csv
  nn-train -q -m 'dense ?' --target=y --loss=cross-entropy --epochs=1 --missing=drop -o m c.csv
  grep -q '"labels":\[0,1\]' <<<"$(metadata m nn.target)"
  nn-train -q -m m --target=y --epochs=1 --missing=drop -o n c.csv
  run -0 --separate-stderr nn-train -m m --target=y --epochs=1 --missing=drop -o n c.csv
  [[ $stderr == *"1 of 5 rows misses a value and is left out"* ]]
}

@test "missing: in a column of text an empty field is the value \"\", before the first word too" {
  for how in mean drop; do
    train --missing=$how -o m "$data/holes.csv"
    [[ $(metadata m nn.input) == *'"values":["","blue","red"]'* ]]
    train --missing=$how -o m "$data/fewer.csv"
    train -o n "$data/fewer.csv"
    nn-predict m "$data/fewer.csv" >a
    nn-predict n "$data/fewer.csv" >b
    [ $how = mean ] || same a b
  done
}

@test "missing: an infinity is no missing number" {
  printf 'a,b,y\n1,2,0.5\n2,inf,1.5\n' >c.csv
  for how in error mean drop; do
    refused 1 'c.csv:3:2: found "inf" in column "b", expected a finite number' \
      nn-train -q -m 'dense ?' --target=y --epochs=1 --missing=$how -o m c.csv
  done
}

@test "missing: a column without a value in the training rows is named" {
  printf 'a,b,y\n1,,0.5\n2,,1.5\n' >c.csv
  refused 1 'c.csv:2:2: no value in column "b", in this row and in all others' \
    nn-train -q -m 'dense ?' --target=y --epochs=1 --missing=mean -o m c.csv
  # in the fraction that is trained on
  { echo a,b,y; for i in 1 2 3 4 5 6 7 8 9 10; do echo "$i,,$i.5"; done; } >base.csv
  found=0
  for i in 2 3 4 5 6 7 8 9 10 11; do
    sed "${i}s/,,/,7,/" base.csv >c.csv
    nn-train -q -m 'dense ?' --target=y --epochs=1 --missing=mean --valid=0.1 -o m c.csv 2>err && continue
    found=$((found + 1))
    [ "$(cat err)" = "nn-train: c.csv: column 2 has no value at all in the rows that are trained on" ]
  done
  [ "$found" -eq 1 ]
}

@test "missing: no rows left to train on is an error" {
  printf 'a,b,y\n1,,0.5\n,2,1.5\n' >c.csv
  refused 1 'no samples to train on' nn-train -q -m 'dense ?' --target=y --epochs=1 --missing=drop -o m c.csv
}

@test "missing: nan in .npy and safetensors arrays is filled or left out; infinities and the row and column are named" {
  python3 - <<'PYTHON'
import json, math, struct
def npy(name, rows, kind, pack):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }" % (kind, len(rows), len(rows[0]))
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
                           b"".join(struct.pack("<" + pack, v) for row in rows for v in row))
nan = math.nan
holes = [[i % 8, nan if i % 5 == 2 else (2 if i % 2 else 6), i % 3] for i in range(100)]
filled = [[4 if v != v else v for v in row] for row in holes]
fewer = [i for i in range(100) if i % 5 != 2]
y = [[1.0 * (i % 8 > 3)] for i in range(100)]
for pack, kind in ("f", "<f4"), ("d", "<f8"):
    npy("holes." + pack, holes, kind, pack); npy("filled." + pack, filled, kind, pack)
    npy("fewer." + pack, [holes[i] for i in fewer], kind, pack)
npy("y", y, "<f4", "f"); npy("y.fewer", [y[i] for i in fewer], "<f4", "f")
npy("y.holes", [[nan if i % 5 == 2 else y[i][0]] for i in range(100)], "<f4", "f")
npy("inf", [[1, 2, 3], [4, -math.inf, math.nan]], "<f4", "f"); npy("y2", y[:2], "<f4", "f")
npy("big", [[1, 2, 3], [4, 1e300, 6]], "<f8", "d")
x = b"".join(struct.pack("<f", v) for row in holes for v in row); t = b"".join(struct.pack("<f", v) for v, in y)
head = json.dumps({"x": {"dtype": "F32", "shape": [100, 3], "data_offsets": [0, 1200]},
                   "y": {"dtype": "F32", "shape": [100, 1], "data_offsets": [1200, 1600]}}).encode()
open("holes.st", "wb").write(struct.pack("<Q", len(head)) + head + x + t)
PYTHON
  learn() { nn-train -q -m 'dense 4, tanh, dense ?' --epochs=3 "$@"; }
  refused 1 'holes.f: row 3, column 2: found nan, expected a finite number' learn -o m holes.f y
  refused 1 'inf: row 2, column 2: found -inf, expected a finite number' learn --missing=mean -o m inf y2
  refused 1 'big: row 2, column 2: found 1e300, expected a finite number within f32' learn --missing=mean -o m big y2
  refused 1 'y.holes: row 3, column 1: found nan' learn --missing=mean -o m holes.f y.holes
  for type in f d; do
    for how in auto standard minmax; do
      learn --missing=mean --normalize=$how -o mean holes.$type y
      nn-predict mean holes.$type >a
      nn-predict mean filled.$type >b
      same a b
    done
    learn --missing=drop -o drop holes.$type y
    learn -o fewer fewer.$type y.fewer
    nn-predict drop filled.$type >a
    nn-predict fewer filled.$type >b
    same a b
    learn --missing=drop -o also filled.$type y.holes
    nn-predict also filled.$type >c
    same a c
  done
  learn --missing=mean -o mean holes.f y
  learn --missing=mean -o tensors holes.st
  nn-predict mean holes.f >a
  nn-predict tensors holes.st >b
  same a b
  refused 1 'big: row 2, column 2: found 1e300, expected a finite number within f32' nn-predict mean big -o out
  learn -o plain filled.f y
  refused 1 'holes.f: row 3, column 2: found nan, expected a finite number' nn-predict plain holes.f -o out
  refused 1 'found nan, expected a finite number' nn-predict plain holes.st -o out
  # a model of arrays that is trained further learns what to fill
  learn -m plain --missing=mean -o further holes.f y
  nn-predict further holes.f >a
  nn-predict further filled.f >b
  same a b
}

@test "missing: a start model keeps what it fills" {
  train --missing=mean -o mean "$data/holes.csv"
  awk -F, -v OFS=, 'NR > 1 && $2 ~ /[0-9]/ { $2 += 10 } { print }' "$data/holes.csv" >other.csv
  nn-train -q -m mean --target=kind --missing=mean --epochs=1 -o on other.csv
  [[ $(metadata on nn.input) == *'"missing":4,"name":"b"'* ]]
}

@test "missing: --resume with another --missing is refused" {
  train --missing=mean --checkpoint-every=1h -o m "$data/holes.csv"
  refused 2 --missing nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=4 --missing=drop -o m --resume "$data/holes.csv"
}

@test "missing: a start model fills without being told again, to the same bytes, and keeps its scales" {
  train --missing=mean --epochs=1 -o m "$data/holes.csv"
  nn-train -q -m m --target=kind --epochs=1 --missing=mean -o told "$data/holes.csv"
  nn-train -q -m m --target=kind --epochs=1 -o kept "$data/holes.csv"
  cmp told kept
  run -2 --separate-stderr nn-train -q -m m --target=kind --normalize=none -o none "$data/filled.csv"
  [ "$stderr" = "nn-train: --normalize=none: m has scales of its own, which its weights were trained with" ]
}
