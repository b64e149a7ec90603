#!/usr/bin/env bats
# Data through the doors of the tools: formats, pipes, what is odd but valid, and what bad data do.
# shellcheck disable=SC2154

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  python=${PYTHON:-python3}
  {
    echo 'a,city,b,kind'
    for i in 1 2 3 4 5 6 7 8; do
      echo "$i.5,Oslo,$((i * 7 % 5)),x"
      echo "-$i,\"New York\",$((i * 3 % 7)),y"
    done
  } >t.csv
}

# The model of a file, as a hash.
model_of() {
  nn-train -q -m 'dense 4, tanh, dense ?' "$@" --target=kind --epochs=2 --seed=3 | sha256sum
}

@test "data: a table gives the same model from a file, a pipe, a FIFO, gzip, with CRLF and with a BOM" {
  want=$(model_of t.csv)
  [ "$(model_of - <t.csv)" = "$want" ]
  [ "$(cat t.csv | model_of -)" = "$want" ]
  mkfifo p
  cat t.csv >p &
  [ "$(model_of p)" = "$want" ]
  gzip -c t.csv >t.gz
  [ "$(model_of t.gz)" = "$want" ]
  [ "$(cat t.gz | model_of -)" = "$want" ]
  { printf '\357\273\277'; sed 's/$/\r/' t.csv; printf '\r\n'; } >crlf.csv
  [ "$(model_of crlf.csv)" = "$want" ]
  tr , '\t' <t.csv >t.tsv
  [ "$(model_of t.tsv)" = "$want" ]
  sed 's/^\([^,]*\),\([^,]*\),/"\1",\2,/' t.csv >quoted.csv
  [ "$(model_of quoted.csv)" = "$want" ]
}

@test "data: another order of columns, and columns nobody asked for, change no answer" {
  nn-train -q -m 'dense 4, tanh, dense ?' t.csv --target=kind --epochs=1 -o m.st
  nn-predict m.st t.csv >want
  awk -F, '{ print "more " $4 "," $3 "," $2 "," $1 }' t.csv | sed '1s/.*/new,b,city,a/' >other.csv
  nn-predict m.st other.csv | cmp - want
  nn-predict m.st <t.csv | cmp - want
  cut -d, -f1-3 t.csv | nn-predict m.st | cmp - want
  tail -n +2 t.csv | cut -d, -f1-3 | nn-predict m.st --header=no | cmp - <(tail -n +2 want)
}

@test "data: through a pipe a row in gives a row out" {
  nn-train -q -m 'dense ?' t.csv --target=kind --epochs=1 -o m.st
  mkfifo in out
  nn-predict m.st <in >out 3>&- &
  exec 7>in 8<out
  echo 'a,city,b' >&7
  echo '1,Oslo,2' >&7
  read -t 20 -r header <&8
  read -t 20 -r one <&8
  [ "$header" = p.x,p.y ] && [ -n "$one" ]
  echo '1,Oslo,2' >&7
  read -t 20 -r two <&8
  [ "$two" = "$one" ]
  exec 7>&- 8<&-
  wait
}

@test "data: mistakes have the status of tools.md and leave what was there" {
  echo before >m.st
  train() { nn-train -q -m 'dense ?' -o m.st --epochs=1 "$@"; }
  says 2 'nn-train: --target=COLUMN is needed for t.csv; its columns: a, city, b, kind' train t.csv
  { printf 'column%d,' {1..40} && echo kind && printf '%d,' {1..40} && echo x; } >wide.csv
  run -2 --separate-stderr train wide.csv
  [[ $stderr == *'; its columns: column1, column2, '*', ..., kind' ]]
  says 2 'nn-train: t.csv: the integers of b could be classes or numbers; say --loss=cross-entropy for classes or --loss=mse for a number' \
    train t.csv --target=b
  says 1 'nn-train: --target=kin: t.csv has no such column; did you mean kind?' train t.csv --target=kin
  printf 'a,b\n1,2.5\n3\n' >ragged.csv
  says 1 'nn-train: ragged.csv:3: expected 2 columns, got 1' train ragged.csv --target=b
  printf 'a,b\n1,2.5\nnan,1\n' >nan.csv
  says 1 'nn-train: nan.csv:3:1: found "nan" in column "a", expected a finite number; --missing=mean fills it, --missing=drop leaves the row out' train nan.csv --target=b
  : >empty
  says 1 'nn-train: empty: is empty, expected CSV or TSV, JSON lines, LIBSVM, .npy, IDX, .npz, safetensors, CIFAR, PNG, JPEG, tar or a folder of pictures' train empty --target=b
  mkdir d
  says 1 'nn-train: d: has pictures and no columns, so --target=b is not in it; folders are classes, masks a folder of their own' train d --target=b
  says 1 'nn-train: nowhere: cannot open: No such file or directory' train nowhere --target=b
  [ "$(cat m.st)" = before ]
}

@test "data: gzip that is cut or followed by other bytes is refused" {
  gzip -c t.csv >t.gz
  head -c 60 t.gz >cut.gz
  says 1 'nn-train: cut.gz: the gzip data end early' nn-train -q -m 'dense ?' cut.gz --target=kind
  { cat t.gz; echo more; } >more.gz
  says 1 'nn-train: more.gz: other bytes follow the gzip data' nn-train -q -m 'dense ?' more.gz --target=kind
}

@test "data: an empty input gives an empty output and status 0" {
  nn-train -q -m 'dense ?' t.csv --target=kind --epochs=1 -o m.st
  [ -z "$(nn-predict m.st </dev/null)" ]
  [ "$(head -n 1 t.csv | nn-predict m.st)" = p.x,p.y ]
}

@test "data: labels of IDX and of numpy are the same classes" {
  printf '\0\0\010\003\0\0\0\004\0\0\0\002\0\0\0\002' >p
  printf '\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020' >>p
  printf '\0\0\010\001\0\0\0\004\005\003\003\005' >l
  nn-train -q -m 'dense ?' p l --epochs=1 -o m.st
  [ "$(nn-predict m.st p | head -n 1)" = p.3,p.5 ]
  [ "$(nn-predict m.st --emit=class p | wc -l)" = 5 ]
  nn-predict m.st --score=l p | grep -q '^support.5 2$'
}

@test "data: targets to score with have as many values as the model" {
  printf '\0\0\010\003\0\0\0\002\0\0\0\002\0\0\0\002abcdefgh' >p
  printf '\0\0\010\003\0\0\0\002\0\0\0\002\0\0\0\002\0\001\0\001\001\001\0\001' >mask
  printf '\0\0\010\001\0\0\0\002\0\001' >labels
  nn-train -q -m 'conv2d ? 1x1' p mask --epochs=1 -o m.st
  nn-predict m.st p --score=mask | grep -q '^samples 2$'
  says 1 'nn-predict: --score: found 1 target values per row, the model has 4' nn-predict m.st p --score=labels
}

# nn.input of m.st replaced, in bad.st
other_input() {
  "$python" - "$1" <<'P'
import json, sys
d = open("m.st", "rb").read()
n = int.from_bytes(d[:8], "little")
h = json.loads(d[8:8 + n])
h["__metadata__"]["nn.input"] = sys.argv[1]
j = json.dumps(h).encode()
open("bad.st", "wb").write(len(j).to_bytes(8, "little") + j + d[8 + n:])
P
}

@test "data: a model that says other things of its input than its text is refused" {
  command -v "$python" || skip "no python"
  nn-train -q -m 'dense ?' t.csv --target=kind --epochs=1 -o m.st
  other_input '{"shape":[400000]}'
  says 1 'nn-predict: bad.st: nn.input: found a shape of 400000 values, nn.model has 4' nn-predict bad.st t.csv
  run -1 nn-train -m bad.st t.csv --target=kind -o n.st
  [ ! -e n.st ]
  other_input '{"columns":[{"kind":"number","mean":0,"name":"a","sd":0}],"shape":[1]}'
  says 1 'nn-predict: bad.st: nn.input: columns[0]: mean and sd are not two numbers, sd above 0' nn-predict bad.st t.csv
  other_input '{'
  says 1 "nn-predict: bad.st: nn.input: JSON, byte 2: found the end of the text, expected a key or }" nn-predict bad.st t.csv
}

@test "data: whatever numpy writes is read as numpy reads it" {
  "$python" -c 'import numpy' 2>/dev/null || skip "no numpy"
  "$python" - <<'P'
import numpy as np
r = np.random.default_rng(1)
x = r.integers(0, 100, (7, 2, 3))
np.save("x.npy", x.astype("<f4"))
np.save("y.npy", r.normal(size=(7, 2)).astype("<f4"))
for t in "<f2 <f4 <f8 >f2 >f4 >f8 i1 u1 <i2 >i2 <u2 >u2 <i4 >i4 <u4 >u4 <i8 >i8 <u8 >u8".split():
    for order in "CF":
        for version in (1, 2, 3):
            name = "v_%s%s_%d.npy" % (t.replace("<", "l").replace(">", "b"), order, version)
            with open(name, "wb") as f:
                np.lib.format.write_array(f, x.astype(t, order=order), version=(version, 0))
b = x > 50
np.save("b_bool.npy", b)
np.save("b_f4.npy", b.astype("<f4"))
P
  nn-train -q -m 'input 2x3, flatten, dense ?' x.npy y.npy --loss=mse --epochs=1 -o m.st
  nn-predict m.st x.npy >want
  [ -s want ]
  for f in v_*.npy; do
    nn-predict m.st "$f" | cmp - want || { echo "$f"; false; }
  done
  nn-predict m.st b_bool.npy >bool
  nn-predict m.st b_f4.npy | cmp - bool
  cat x.npy v_bf8F_2.npy | nn-predict m.st >two
  cmp two <(cat want want)
}

@test "data: means and deviations are those of numpy" {
  "$python" -c 'import numpy' 2>/dev/null || skip "no numpy"
  "$python" - <<'P'
import numpy as np
r = np.random.default_rng(2)
x = r.normal(5, 3, (500, 3))
x[:, 1] = 4
with open("n.csv", "w") as f:
    f.write("a,b,c\n")
    for row in x:
        f.write(",".join(repr(float(np.float32(v))) for v in row) + "\n")
P
  nn-train -q -m 'dense ?' n.csv --target=c --loss=mse --steps=0 -o m.st
  "$python" - <<'P'
import json, numpy as np
d = open("m.st", "rb").read()
n = int.from_bytes(d[:8], "little")
meta = json.loads(d[8:8 + n])["__metadata__"]
x = np.loadtxt("n.csv", delimiter=",", skiprows=1).astype(np.float32).astype(np.float64)
i, t = json.loads(meta["nn.input"]), json.loads(meta["nn.target"])
assert [c["name"] for c in i["columns"]] == ["a", "b"] and i["shape"] == [2], i
assert abs(i["columns"][0]["mean"] - x[:, 0].mean()) < 1e-12 and abs(i["columns"][0]["sd"] - x[:, 0].std()) < 1e-12
assert i["columns"][1]["mean"] == 4 and i["columns"][1]["sd"] == 1
assert t["columns"] == ["c"] and t["labels"] is None and abs(t["mean"][0] - x[:, 2].mean()) < 1e-12
assert meta["nn.input"] == json.dumps(i, sort_keys=True, separators=(",", ":"))
P
}

@test "data: u8 arrays of three or more dimensions are pictures, as those of IDX; of two they are numbers" {
  "$python" - <<'PYTHON'
import io, struct, zipfile
values = [i * 37 % 256 for i in range(12 * 16)]

def npy(shape, order=False, flat=values):
    head = "{'descr': '|u1', 'fortran_order': %s, 'shape': %s, }" % (order, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(flat)

def put(name, data):
    open(name, "wb").write(data)

labels = [i % 3 for i in range(12)]
put("x.idx", bytes([0, 0, 8, 3]) + struct.pack(">3I", 12, 4, 4) + bytes(values))
put("y.idx", bytes([0, 0, 8, 1]) + struct.pack(">I", 12) + bytes(labels))
put("x.npy", npy((12, 1, 4, 4)))
put("fortran.npy", npy((12, 1, 4, 4), True, [values[r * 16 + i * 4 + j] for j in range(4) for i in range(4) for r in range(12)]))
put("flat.npy", npy((12, 16)))
y = npy((12,), flat=labels)
put("y.npy", y)
with zipfile.ZipFile("t.npz", "w") as z:
    z.writestr("x.npy", npy((12, 1, 4, 4)))
    z.writestr("y.npy", y)
PYTHON
  pictures() { nn-train -q -m 'conv2d 2 3x3, relu, flatten, dense ?' --steps=3 "$@"; }
  pictures -o m x.idx y.idx
  pictures x.npy y.npy | cmp - m
  pictures t.npz | cmp - m
  [[ $(metadata m nn.input) == *'"scale":0.00392'* ]]
  nn-predict m --to=csv x.idx >want
  for file in x.npy fortran.npy t.npz; do nn-predict m --to=csv "$file" | cmp - want; done
  nn-train -q -m 'dense ?' --steps=3 -o flat flat.npy y.npy
  [[ $(metadata flat nn.input) != *scale* ]]
  printf 'PAR1\0\0' >t.parquet
  run -1 --separate-stderr nn-predict m t.parquet
  [[ $stderr == *'t.parquet: looks like a parquet file, expected CSV or TSV'* ]]
}
