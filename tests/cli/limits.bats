#!/usr/bin/env bats
# What lies beyond a limit of a reader: a line that names what was found, the limit, and that it is fixed.
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

# repeat WORD N
repeat() {
  yes "$1" | head -n "$2" | tr -d '\n'
}

@test "limits: a line, a field and the columns of a table" {
  { printf 'a,t\n1,'; head -c 17000000 /dev/zero | tr '\0' 7; echo; } >line.csv
  says 'line.csv:2: line longer than 16 MiB (a fixed limit)' train --target=t line.csv
  { printf 'a,t\n'; repeat x 1048577; echo ,1.5; } >field.csv
  says 'field.csv:2:1: field of 1048577 bytes, expected at most 1 MiB (a fixed limit)' train --target=t field.csv
  { repeat a, 1000000; echo t; } >columns.csv
  says 'columns.csv:1: more than 1000000 columns (a fixed limit)' train --target=t columns.csv
  { printf '{"a":1,"t":"'; head -c 17000000 /dev/zero | tr '\0' 7; echo '"}'; } >line.jsonl
  says 'line.jsonl:1: line longer than 16 MiB (a fixed limit)' train --target=t line.jsonl
}

@test "limits: JSON is nested up to a depth" {
  { printf '{"a":1,"t":0.5}\n{"t":1.5,"a":'; repeat '[' 200; echo; } >deep.jsonl
  says 'deep.jsonl:2: JSON is nested more than 100 deep (a fixed limit)' train --target=t deep.jsonl
  { printf '{"x":[[1],[2]],"t":1.5}\n{"z":'; repeat '[' 100; echo; } >rows.jsonl
  net='input ?x1, last, dense 1' says 'rows.jsonl:2: JSON, byte *: found more than 64 levels of arrays and objects (a fixed limit)' train --target=t rows.jsonl
  { printf '{"x":'; repeat '[' 9; echo; } >rows.jsonl
  net='input ?x1, last, dense 1' says 'rows.jsonl:1: JSON, byte 14: found more than 8 dimensions (a fixed limit)' train --target=t rows.jsonl
  { printf '{"t":1.5'; for i in {1..1100}; do printf ',"k%d":1' "$i"; done; echo '}'; } >rows.jsonl
  net='input ?x1, last, dense 1' says 'rows.jsonl:1: JSON, byte *: found more than 1024 keys in objects that are open (a fixed limit)' train --target=t rows.jsonl
}

@test "limits: labels that are known beforehand" {
  printf 'a,t\n1,x\n2,y\n' >d.csv
  seq 1000001 >labels
  says 'labels:1000001: more than 1000000 labels (a fixed limit)' train --target=t --classes=labels d.csv
  run -2 --separate-stderr nn-train -q -m 'dense ?' --target=t --classes=1000001 d.csv -o m
  [[ $stderr == 'nn-train: --classes=1000001: expected 1 to 1000000 classes (a fixed limit)' ]]
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
  { echo 'a,t'; yes 1,2 | head -c 80000000; } | xz -9e >bomb.csv.xz
  says 'bomb.csv.xz: decompresses to more than 1100 times its size (a fixed limit)' train --loss=mse --target=t bomb.csv.xz
}

@test "limits: lines, repeats and inputs of a model" {
  printf 'a,t\n1,0.5\n2,1.5\n' >d.csv
  { repeat 'repeat 1 { ' 101; echo 'relu'; repeat ' }' 101; } >deep.nn
  says 'deep.nn:1: repeat: more than 100 repeats inside each other (a fixed limit)' nn-train -q -m deep.nn --target=t d.csv -o m
  printf 'repeat 1000 {\n repeat 101 {\n relu\n }\n}\ndense ?\n' >long.nn
  says 'long.nn:3: relu: the model has more than 100000 layers (a fixed limit)' nn-train -q -m long.nn --target=t d.csv -o m
  { echo '# a comment'; head -c 17000000 /dev/zero | tr '\0' '#'; } >text.nn
  says 'text.nn: a model text of more than 16777216 bytes (a fixed limit)' nn-train -q -m text.nn --target=t d.csv -o m
}
