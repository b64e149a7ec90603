#!/usr/bin/env bats
# nn-train --classes: labels known beforehand, of every kind of data; what does not fit is named.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  printf 'a,b,kind\n1,2,x\n3,4,y\n2,2,x\n' >text.csv
  printf 'a,b,kind\n1,2,3\n3,4,10\n2,2,3\n' >whole.csv
  printf '%s\n' y z x >names
}

train() {
  nn-train -q -m 'dense 3, relu, dense ?' --steps=2 "$@"
}

# labels FILE: those that the model has, in order
labels() {
  python3 -c 'import json, sys; print(json.loads(sys.argv[1])["labels"])' "$(metadata "$1" nn.target)"
}

# refuses STATUS TEXT OPTION...
refuses() {
  local text=$2
  run "-$1" --separate-stderr train -o m "${@:3}"
  [ "$stderr" = "nn-train: $text" ] || { echo "$stderr"; return 1; }
}

@test "classes: a file lists labels of a table, in the order of classes whatever its own" {
  train -o m --target=kind --classes=names text.csv
  [ "$(labels m)" = "['x', 'y', 'z']" ]
  train -o p --target=kind --classes=names - <text.csv
  same m p
  [ "$(nn-predict m text.csv | head -n 1 | tr ',' '\n' | wc -l)" -ge 3 ]
}

@test "classes: integers are classes by value; N are 0 to N-1; the list says that integers are classes" {
  printf '10\n 9\n3\r\n' >numbers
  train -o m --target=kind --classes=numbers whole.csv
  [ "$(labels m)" = "[3, 9, 10]" ]
  train -o m --target=kind --classes=11 whole.csv
  [ "$(labels m)" = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]" ]
  train -o all --target=kind --loss=cross-entropy -m 'dense 3, relu, dense 11' whole.csv
  train -o m -m 'dense 3, relu, dense 11' --target=kind --loss=cross-entropy --classes=11 whole.csv
  [ "$(labels m)" = "$(labels all)" ]
}

@test "classes: a list of just what occurs trains to the same weights" {
  printf '%s\n' x y >two
  train -o m --target=kind --classes=two text.csv
  train -o want --target=kind text.csv
  [ "$(metadata m nn.target)" = "$(metadata want nn.target)" ]
  cmp <(nn-predict m text.csv) <(nn-predict want text.csv)
}

@test "classes: a label that is not listed is an error with its place, in training and held-out data" {
  printf '%s\n' x z >two
  refuses 1 'text.csv:3:3: label "y" is not among those of --classes' --target=kind --classes=two text.csv
  refuses 1 'whole.csv:3:3: label "10" is not among those of --classes' --target=kind --classes=10 whole.csv
  refuses 1 'text.csv:2:3: label "x" is not among those of --classes' --target=kind --classes=10 text.csv
  printf 'a,b,kind\n1,2,w\n' >held.csv
  refuses 1 'held.csv:2:3: label "w" is not among those of --classes' --target=kind --classes=names --valid=held.csv text.csv
}

@test "classes: arrays, LIBSVM and JSON lines" {
  python3 - <<'PYTHON'
import struct
def put(name, kind, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
put("x.npy", "<f4", (3, 2), struct.pack("<6f", 1, 2, 3, 4, 2, 2))
put("y.npy", "<i8", (3,), struct.pack("<3q", 0, 2, 0))
PYTHON
  train -o m --classes=4 x.npy y.npy
  [ "$(labels m)" = "[0, 1, 2, 3]" ]
  refuses 1 'y.npy: row 2: label 2 is not among those of --classes' --classes=2 x.npy y.npy
  refuses 1 'y.npy: found integers, --classes lists text' --classes=names x.npy y.npy
  printf '+1 1:1 2:2\n-1 1:3 2:4\n' >t.svm
  printf '%s\n' 1 0 -1 >signs
  train -o m --classes=signs t.svm
  [ "$(labels m)" = "[-1, 0, 1]" ]
  refuses 1 't.svm:2:1: label "-1" is not among those of --classes' --classes=2 t.svm
  printf '%s\n' '{"a":1,"b":2,"kind":"x"}' '{"a":3,"b":1,"kind":"y"}' >t.jsonl
  train -o m --target=kind --classes=names t.jsonl
  [ "$(labels m)" = "['x', 'y', 'z']" ]
}

@test "classes: pictures by folders" {
  python3 - <<'PYTHON'
import os, struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for label, value in ("x", 10), ("y", 200):
    os.makedirs("pictures/" + label)
    with open(f"pictures/{label}/0.png", "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(bytes([0, value, value] * 2))) + chunk(b"IEND", b""))
PYTHON
  [ -e "$NN_BUILD/lib/nn-png.so" ] || skip "built without PNG"
  nn-train -q -m 'flatten, dense ?' --steps=1 -o m --classes=names pictures
  [ "$(labels m)" = "['x', 'y', 'z']" ]
}

@test "classes: the list itself is read with care" {
  printf 'x\ny\nx\n' >twice
  refuses 1 'twice:3: label "x" occurs twice' --target=kind --classes=twice text.csv
  printf '1\n+1\n' >twice
  refuses 1 'twice:2: label "+1" occurs twice' --target=kind --classes=twice text.csv
  printf 'x\n\ny\n' >gap
  refuses 1 'gap:2: empty line, expected a label' --target=kind --classes=gap text.csv
  printf 'x\ny\n\n' >end
  train -o m --target=kind --classes=end text.csv
  : >nothing
  refuses 1 'nothing: has no labels' --target=kind --classes=nothing text.csv
  refuses 2 '--classes=0: expected at least 1 class' --target=kind --classes=0 text.csv
  refuses 2 '--classes=1000001: expected 1 to 1000000 labels (--limit=classes=1000001)' --target=kind --classes=1000001 text.csv
  for list in - -3 ''; do
    refuses 2 "--classes=$list: expected the name of a file, or a number" --target=kind "--classes=$list" text.csv
  done
  refuses 1 '--classes: none: cannot open: No such file or directory' --target=kind --classes=none text.csv
  refuses 1 '--classes: lists 3 labels, the output line has room for 2' -m 'dense 2' --target=kind --classes=names text.csv
}

@test "classes: numbers, texts and start models have no use for it" {
  refuses 2 '--classes: needs classes, that is --loss=cross-entropy' --loss=mse --target=kind --classes=names text.csv
  refuses 2 '--classes: the classes of a text (--window) are its characters' --window=3 --classes=names text.csv
  train -o start --target=kind text.csv
  run -2 --separate-stderr nn-train -q -m start --steps=1 --target=kind --classes=names -o m text.csv
  [[ $stderr == *'start has classes of its own, which its weights were trained with' ]]
}

@test "classes: folds, tries, an ignored label; a resumed run has the same list" {
  train -o m --target=kind --classes=names --ignore=y text.csv
  [ "$(labels m)" = "['x', 'z']" ]
  for _ in 1 2 3; do tail -n +2 text.csv; done | cat <(head -n 1 text.csv) - >more.csv
  train --folds=2 --target=kind --classes=names more.csv >folds
  cp names other
  train -o m --target=kind --classes=names --checkpoint=state text.csv
  refuses 2 '--classes=other: state was made with --classes=names' --resume --steps=4 --checkpoint=state --target=kind --classes=other text.csv
  printf '%s\n' y w x >names
  refuses 1 'state: the data are not those it was trained on' --resume --steps=4 --checkpoint=state --target=kind --classes=names text.csv
}

@test "classes: rows of different length, a label for each row or each step" {
  "${PYTHON:-python3}" - <<'PYTHON'
import json
with open("whole.jsonl", "w") as w, open("steps.jsonl", "w") as s, open("numbers.jsonl", "w") as n:
    for i in range(24):
        x = [[((i * 7 + k * 3) % 5) / 2] for k in range(1 + i % 4)]
        w.write(json.dumps({"x": x, "y": "zx"[i % 2]}) + "\n")
        s.write(json.dumps({"x": x, "y": ["zx"[v[0] > 1] for v in x]}) + "\n")
        n.write(json.dumps({"x": x, "y": i % 3}) + "\n")
PYTHON
  local whole='input ?x1, gru 3, last, dense ?' steps='input ?x1, gru 3, dense ?'
  train -o m -m "$whole" --classes=names whole.jsonl
  [ "$(labels m)" = "['x', 'y', 'z']" ]
  nn-predict m whole.jsonl | head -n 1 | grep -q '"x":.*"y":.*"z":'
  train -o m -m "$steps" --classes=names steps.jsonl
  [ "$(labels m)" = "['x', 'y', 'z']" ]
  train -o m -m "$whole" --classes=4 numbers.jsonl
  [ "$(labels m)" = '[0, 1, 2, 3]' ]
  printf 'x\ny\n' >few
  refuses 1 'whole.jsonl:1: JSON, byte 21: y: label "z" is not among those of --classes' -m "$whole" --classes=few whole.jsonl
  refuses 1 'steps.jsonl:1: JSON, byte 22: y: label "z" is not among those of --classes' -m "$steps" --classes=few steps.jsonl
  refuses 1 'numbers.jsonl: row 3: label 2 is not among those of --classes' -m "$whole" --classes=2 numbers.jsonl
}

@test "classes: of several outputs each may have its list, by name" {
  sed 's/\([^,]*\)$/\1,\1\1/; 1s/,[^,]*$/,kind2/' text.csv >two.csv
  printf '%s\n' zz yy xx >doubled
  local net='h: dense 4, k: dense ? output target=kind, c: dense ? output target=kind2 from=h'
  lists() { python3 -c 'import json, sys; print([t["labels"] for t in json.loads(sys.argv[1])])' "$(metadata m nn.target)"; }
  train -o m -m "$net" --classes=k=names,c=doubled two.csv
  [ "$(lists)" = "[['x', 'y', 'z'], ['xx', 'yy', 'zz']]" ]
  train -o m -m "$net" --classes=c=doubled two.csv
  [ "$(lists)" = "[['x', 'y'], ['xx', 'yy', 'zz']]" ]
  # integers are classes where there is a list, and numbers of another output stay numbers
  sed '1s/.*/a,b,kind/' whole.csv | sed 's/\([^,]*\)$/\1,\1.5/; 1s/,[^,]*$/,n/' >mixed.csv
  train -o m -m 'h: dense 4, k: dense ? output target=kind, v: dense ? output target=n from=h' --classes=k=11 mixed.csv
  [ "$(lists)" = "[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], None]" ]
  refuses 1 'two.csv:2:4: label "xx" is not among those of --classes' -m "$net" --classes=c=names two.csv
  for value in names k=names,k=names k=names,z=names 'k=names,' names,c=names; do
    refuses 2 "--classes=$value: expected OUTPUT=FILE|N,... with outputs of k, c, each once at most" -m "$net" --classes=$value two.csv
  done
  refuses 2 '--classes=k=names,c=: expected the name of a file, or a number' -m "$net" --classes=k=names,c= two.csv
}

@test "classes: --cache is made anew where the list of an output changed" {
  sed 's/\([^,]*\)$/\1,\1\1/; 1s/,[^,]*$/,kind2/' text.csv >two.csv
  local net='h: dense 4, k: dense ? output target=kind, c: dense ? output target=kind2 from=h'
  printf '%s\n' x y z >list
  train -o m -m "$net" --classes=k=list --cache=cache two.csv
  printf '%s\n' z y x >list
  train -o m -m "$net" --classes=k=list --cache=cache two.csv
  train -o n -m "$net" --classes=k=list two.csv
  same m n
}

@test "classes: labels of which one has a leading zero are text, as they stood in the data" {
  printf 'a,zip\n1,00501\n2,10001\n3,00502\n4,7\n5,007\n' >zip.csv
  train -o m --target=zip --loss=cross-entropy zip.csv
  [ "$(labels m)" = "['00501', '00502', '007', '10001', '7']" ]
  nn-predict m zip.csv | head -n 1 | grep -qx 'p.00501,p.00502,p.007,p.10001,p.7'
  nn-train -q -m 'dense 32, relu, dense ?' --target=zip --loss=cross-entropy --epochs=600 --lr=0.01 -o good zip.csv
  [ "$(nn-predict --emit=class --to-header=no good zip.csv)" = "$(tail -n +2 zip.csv | cut -d, -f2)" ]
  cut -d, -f2 zip.csv >zips.csv
  cut -d, -f1 zip.csv >as.csv
  for score in "--score good zip.csv" "--score=zips.csv good as.csv"; do
    # shellcheck disable=SC2086
    nn-predict $score >figures
    grep -qx 'accuracy 1' figures
    grep -qx 'support.007 1' figures
  done
  printf '7\n007\n00501\n00502\n10001\n' >zips
  train -o m --target=zip --classes=zips zip.csv
  [ "$(labels m)" = "['00501', '00502', '007', '10001', '7']" ]
}

@test "classes: labels of LIBSVM are numbers, leading zeros or not" {
  printf '01 1:1\n2 1:2\n' >zero.svm
  train -o m --loss=cross-entropy zero.svm
  [ "$(labels m)" = "[1, 2]" ]
}

@test "classes: 0, +1, -1 and blanks around a number are numbers" {
  printf 'a,k\n1,0\n2,+1\n3,-1\n4, 10\n5,1\n' >signs.csv
  train -o m --target=k --loss=cross-entropy signs.csv
  [ "$(labels m)" = "[-1, 0, 1, 10]" ]
  printf 'a,k\n1,-01\n2,1\n' >minus.csv
  train -o m --target=k --loss=cross-entropy minus.csv
  [ "$(labels m)" = "['-01', '1']" ]
}
