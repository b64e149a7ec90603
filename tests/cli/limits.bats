#!/usr/bin/env bats
# What lies beyond a limit of a reader: a line that names what was found, the limit, and the option that moves it where one does.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
}

# says MESSAGE COMMAND...: status 1 and this line alone
says() {
  local message=$1

  shift
  run -1 --separate-stderr "$@"
  [[ $stderr == nn-*": "$message ]] || {
    echo "expected: $message"
    echo "got: $stderr"
    return 1
  }
  [ "${#stderr_lines[@]}" -eq 1 ]
}

train() {
  nn-train -q -m "${net:-dense ?}" "$@" -o m
}

# gives_way LIMIT COMMAND...: what the limit refuses is read with the option that the message names, of what cannot be
# known at once again and again
gives_way() {
  local limit=$1 tries=0

  shift
  run -1 --separate-stderr "$@" "--limit=$limit"
  until [ "$status" -eq 0 ]; do
    [[ $stderr =~ \(--limit=(${limit%%=*}=[0-9]+M?)\) ]] && [ $((tries += 1)) -le 40 ] || {
      echo "$*, --limit=$limit: $stderr"
      return 1
    }
    limit=${BASH_REMATCH[1]}
    run --separate-stderr "$@" "--limit=$limit"
  done
}

# repeat WORD N
repeat() {
  yes "$1" | head -n "$2" | tr -d '\n'
}

@test "limits: a line, a field and the columns of a table" {
  { printf 'a,t\n1,'; head -c 17000000 /dev/zero | tr '\0' 7; echo; } >line.csv
  says 'line.csv:2: line longer than 16 MiB (--limit=line=32M)' train --target=t line.csv
  { printf 'a,t\n'; repeat x 1048577; echo ,1.5; } >field.csv
  says 'field.csv:2:1: field of 1048577 bytes, expected at most 1 MiB (--limit=field=2M)' train --target=t field.csv
  { repeat a, 1000000; echo t; } >columns.csv
  says 'columns.csv:1: more than 1000000 columns (--limit=columns=2000000)' train --target=t columns.csv
  { printf '{"a":1,"t":"'; head -c 17000000 /dev/zero | tr '\0' 7; echo '"}'; } >line.jsonl
  says 'line.jsonl:1: line longer than 16 MiB (--limit=line=32M)' train --target=t line.jsonl
}

@test "limits: JSON is nested up to a depth" {
  { printf '{"a":1,"t":0.5}\n{"t":1.5,"a":'; repeat '[' 200; echo; } >deep.jsonl
  says 'deep.jsonl:2: JSON is nested more than 100 deep (--limit=depth=200)' train --target=t deep.jsonl
  { printf '{"x":[[1],[2]],"t":1.5}\n{"z":'; repeat '[' 101; echo; } >rows.jsonl
  net='input ?x1, last, dense 1' says 'rows.jsonl:2: JSON, byte *: found more than 100 levels of arrays and objects (--limit=depth=200)' train --target=t rows.jsonl
  { printf '{"x":'; repeat '[' 9; echo; } >rows.jsonl
  net='input ?x1, last, dense 1' says 'rows.jsonl:1: JSON, byte 14: found more than 8 dimensions (a fixed limit)' train --target=t rows.jsonl
  { printf '{"t":1.5'; for i in {1..1100}; do printf ',"k%d":1' "$i"; done; echo '}'; } >rows.jsonl
  net='input ?x1, last, dense 1' says 'rows.jsonl:1: JSON, byte *: found more than 1024 keys in objects that are open (a fixed limit)' train --target=t rows.jsonl
}

@test "limits: labels that are known beforehand" {
  printf 'a,t\n1,x\n2,y\n' >d.csv
  seq 1000001 >labels
  says 'labels:1000001: more than 1000000 labels (--limit=classes=2000000)' train --target=t --classes=labels d.csv
  run -2 --separate-stderr nn-train -q -m 'dense ?' --target=t --classes=1000001 d.csv -o m
  [[ $stderr == 'nn-train: --classes=1000001: expected 1 to 1000000 labels (--limit=classes=1000001)' ]]
  run -2 --separate-stderr train --target=t --limit=classes=1 --classes=2 d.csv
  [[ $stderr == 'nn-train: --classes=2: expected 1 to 1 label (--limit=classes=2)' ]]
  printf '%s\n' x y >two
  says 'two:2: more than 1 label (--limit=classes=2)' train --target=t --limit=classes=1 --classes=two d.csv
  train --target=t --steps=1 --limit=classes=2 --classes=two d.csv
}

@test "limits: dimensions and headers of arrays" {
  printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }" >rank.npy
  says 'rank.npy: found more than 8 dimensions (a fixed limit)' train rank.npy rank.npy
  { printf '\223NUMPY\2\0\21\47\0\0'; head -c 20000 /dev/zero; } >header.npy
  says 'header.npy: an .npy header of 10001 bytes, expected at most 10000 (a fixed limit)' train header.npy header.npy
  { printf '\377\377\377\377\0\0\0\0{'; head -c 1000 /dev/zero; } >m.safetensors
  says '*a header of 4294967295 bytes, expected at most 100000000 (a fixed limit)' nn-predict m.safetensors /dev/null
}

@test "limits: what decompresses to far more" {
  [ -e "$NN_BUILD/lib/nn-xz.so" ] || skip "built without xz"
  { echo 'a,t'; yes 1,2 | head -c 80000000; } | xz --lzma2=preset=0,dict=64MiB >bomb.csv.xz
  says 'bomb.csv.xz: decompresses to more than 1100 times its size (--limit=ratio=2200)' train --loss=mse --target=t bomb.csv.xz
  says 'bomb.csv.xz: decompresses to more than 20 times its size (--limit=ratio=40)' train --loss=mse --target=t --limit=ratio=20 bomb.csv.xz
  says 'bomb.csv.xz: the xz data want * MiB of memory, expected at most 1 MiB (--limit=xz-memory=*M)' train --loss=mse --target=t --limit=xz-memory=1M bomb.csv.xz
}

@test "limits: each gives way to the option that its message names" {
  { printf 'a,b,t\n'; for i in {1..40}; do printf '%d,w%d,%d.5\n' "$i" $((i % 30)) $((i % 7)); done; } >d.csv
  regress() { nn-train -q -m 'dense 1' --loss=mse --target=t --steps=1 -o m "$@"; }
  gives_way line=5 regress d.csv
  gives_way field=1 regress d.csv
  gives_way columns=1 regress d.csv
  gives_way words=3 regress d.csv
  printf '%s\n' {1..5}.5 >labels
  gives_way classes=2 nn-train -q -m 'dense ?' --steps=1 --target=t --classes=labels -o c <(sed 's/,[0-6]\./,2./' d.csv)
  printf '{"x":[[1],[2]],"t":1.5}\n' >rows.jsonl
  gives_way depth=1 nn-train -q -m 'x: input ?x1, last, dense 1' --target=t --steps=1 -o r rows.jsonl
  printf 'repeat 3 {\n relu\n}\ndense 1\n' >m.nn
  gives_way layers=2 regress -m m.nn d.csv
  gives_way model-text=9 regress -m m.nn d.csv
  gives_way json-values=9 nn-predict m d.csv
  # a state_dict of PyTorch: the weight a view of one value 1000 times
  if command -v python3 >/dev/null; then
    PYTHONPATH=$NN_SRC/tests/fuzz PYTHONDONTWRITEBYTECODE=1 python3 - <<'PYTHON'
from torchfile import *
from collections import OrderedDict
net = OrderedDict([("0.weight", Tensor("0", [1, 1000], stride=[0, 0], count=1)), ("0.bias", Tensor("1", [1]))])
open("w.pt", "wb").write(archive(pickled(net), {"0": floats(1), "1": floats(1)}))
PYTHON
    { repeat 1, 999; echo 1; } >x.csv
    gives_way views=1 nn-predict -m 'dense 1' w.pt x.csv
    gives_way pickle=9 nn-predict -m 'dense 1' w.pt x.csv
    gives_way pickle-values=2 nn-predict -m 'dense 1' w.pt x.csv
    [ "$output" = 1001 ]
  fi
}

@test "limits: of what decompresses, each gives way to its option" {
  [ -e "$NN_BUILD/lib/nn-xz.so" ] || skip "built without xz"
  { echo 'a,t'; seq 300000 | sed 's/$/,1/'; } | xz --lzma2=preset=0,dict=8MiB >d.csv.xz
  gives_way xz-memory=1M nn-train -q -m 'dense 1' --loss=mse --target=t --steps=1 -o m d.csv.xz
  gives_way ratio=2 nn-train -q -m 'dense 1' --loss=mse --target=t --steps=1 -o m d.csv.xz
}

@test "limits: of pictures, each gives way to its option" {
  [ -e "$NN_BUILD/lib/nn-png.so" ] || skip "built without libpng"
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 "$NN_SRC/tests/cli/pictures.py"
  for limit in side pixels member; do
    gives_way $limit=1 nn-train -q -m 'flatten, dense ?' --steps=1 -o m train
  done
}

@test "limits: lines, repeats and inputs of a model" {
  printf 'a,t\n1,0.5\n2,1.5\n' >d.csv
  { repeat 'repeat 1 { ' 101; echo 'relu'; repeat ' }' 101; } >deep.nn
  says 'deep.nn:1: repeat: more than 100 repeats inside each other (a fixed limit)' nn-train -q -m deep.nn --target=t d.csv -o m
  printf 'repeat 1000 {\n repeat 101 {\n relu\n }\n}\ndense ?\n' >long.nn
  says 'long.nn:3: relu: the model has more than 100000 layers (--limit=layers=200000)' nn-train -q -m long.nn --target=t d.csv -o m
  { echo '# a comment'; head -c 17000000 /dev/zero | tr '\0' '#'; } >text.nn
  says 'text.nn: a model text of more than 16 MiB (--limit=model-text=32M)' nn-train -q -m text.nn --target=t d.csv -o m
}

@test "limits: --limit=NAME=N reads what the message said it would, and no more" {
  { printf 'a,t\n1,'; head -c 17000000 /dev/zero | tr '\0' 7; echo; } >line.csv
  says 'line.csv:2:2: field of 17000000 bytes, expected at most 1 MiB (--limit=field=17M)' train --target=t --limit=line=32M line.csv
  { printf 'a,t\nxy,1\nx,2\n'; repeat x 1048577; echo ,1.5; } >field.csv
  train --loss=mse --target=t --epochs=1 --batch=1 --limit=field=2M field.csv
  says 'field.csv:2:1: field of 2 bytes, expected at most 1 byte (--limit=field=1M)' train --loss=mse --target=t --limit=field=1 field.csv
  says 'field.csv:1: more than 1 column (--limit=columns=2)' train --target=t --limit=columns=1 field.csv
  says 'field.csv:4: line longer than 9 bytes (--limit=line=1M)' train --target=t --limit=line=9 field.csv
  { printf '{"a":1,"t":0.5}\n{"a":2,"t":1.5,"z":'; repeat '[' 150; repeat ']' 150; echo '}'; } >deep.jsonl
  says 'deep.jsonl:2: found an array in column "z"*' train --loss=mse --target=t --limit=depth=200 deep.jsonl
  says 'deep.jsonl:2: JSON is nested more than 120 deep (--limit=depth=240)' train --target=t --limit=depth=120 deep.jsonl
  printf 'repeat 3 {\n relu\n}\ndense ?\n' >m.nn
  says 'm.nn:1: repeat: 3 rounds, but a model has at most 2 layers (--limit=layers=3)' nn-train -q -m m.nn --limit=layers=2 --limit=depth=5 --target=t field.csv -o m
  printf 'limit = layers=3\n' >config
  says 'm.nn:4: dense: the model has more than 3 layers (--limit=layers=6)' nn-train -q -m m.nn --config=config --target=t field.csv -o m
  says 'm.nn: a model text of more than 9 bytes (--limit=model-text=1M)' nn-train -q -m m.nn --limit=model-text=9 --target=t field.csv -o m
}

@test "limits: --limit tells the names, the bounds, and where nothing allows more" {
  run -2 --separate-stderr nn-train -q -m 'dense ?' --limit=lines=5 d.csv -o m
  [[ $stderr == 'nn-train: --limit=lines=5: expected NAME=N with a name of line, field, columns, depth, '* ]]
  run -2 --separate-stderr nn-predict --limit=line m.st d.csv
  [[ $stderr == 'nn-predict: --limit=line: expected NAME=N with a name of line, '* ]]
  for value in 0 5G 1x '' -1; do
    run -2 --separate-stderr nn-predict --limit=line=$value m.st d.csv
    [ "$stderr" = "nn-predict: --limit=line=$value: expected a number of bytes from 1 to 1G" ]
  done
  run -2 --separate-stderr nn-predict --limit=depth=1001 m.st d.csv
  [ "$stderr" = 'nn-predict: --limit=depth=1001: expected a whole number from 1 to 1000' ]
  { printf '{"a":1,"t":0.5}\n{"t":1.5,"a":'; repeat '[' 1200; echo; } >deep.jsonl
  says 'deep.jsonl:2: JSON is nested more than 1000 deep (--limit=depth allows no more)' train --target=t --limit=depth=1000 deep.jsonl
}

@test "limits: every one takes K, M and G, which are powers of 1024" {
  sed -n '/NN_LIMITS(NN_LIMIT)/,/^enum/s/.*NN_LIMIT([A-Z_]*, "\([a-z-]*\)".*/\1/p' "$NN_SRC/lib/base/limit.h" >names
  [ "$(wc -l <names)" -gt 15 ]
  while read -r name; do
    run -0 nn-train --limit="$name=1K" --help
  done < <(grep -vx depth names) # at most 1000
  run -2 --separate-stderr nn-train --limit=pixels=2G --help
  [ "$stderr" = 'nn-train: --limit=pixels=2G: expected a whole number from 1 to 1073741824' ]
  printf 'a,b,t\n1,2,x\n' >three.csv
  run -0 nn-train -q -m 'dense 1' --target=t --steps=0 --limit=words=1K -o m three.csv
}

@test "limits: nn-data(5) lists every name with its default and the most it takes" {
  nn-train --help=all >help
  grep -q -e '--limit=NAME=N' help
  run -2 --separate-stderr nn-train --limit=x=1
  names=${stderr##*a name of }
  for name in ${names//,/}; do
    grep -q "^${name//-/.*-}	[0-9]*[KMG]*	[0-9]*[KMG]*	" "$NN_SRC/man/nn-data.5" || {
      echo "nn-data(5) has no $name"
      return 1
    }
  done
}

@test "limits: nodes and tensors of an ONNX graph" {
  [ -e "$NN_BUILD/lib/nn-onnx.so" ] || skip "built without ONNX"
  printf 'a,t\n1,2\n2,3\n' >d.csv
  nn-train -q -m 'dense 2, relu, dense 1' --target=t --loss=mse --steps=1 -o m.onnx d.csv
  nn-predict m.onnx d.csv
  for limit in nodes tensors layers; do gives_way $limit=1 nn-predict m.onnx d.csv; done
  says 'm.onnx: the graph has more than 1 node (--limit=nodes=2)' nn-predict --limit=nodes=1 m.onnx d.csv
  says 'm.onnx: the graph has more than 1 tensor (--limit=tensors=2)' nn-predict --limit=tensors=1 m.onnx d.csv
  says 'm.onnx:*: relu: the model has more than 1 layer (--limit=layers=2)' nn-predict --limit=layers=1 m.onnx d.csv
}
