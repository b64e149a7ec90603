#!/usr/bin/env bats
# What an attacker or a slip of the hand does to the tools: status, one line, and nothing lost.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  printf 'a,b,kind\n1,2,x\n2,1,y\n3,5,x\n' >d.csv
}

@test "the text of a model is never written over" {
  for option in --output --log --checkpoint; do
    echo 'dense ?' >net.nn
    run -2 --separate-stderr nn-train -q --epochs=1 -m net.nn --target=kind "$option=net.nn" d.csv
    [ "${#stderr_lines[@]}" -eq 1 ]
    [ "$(cat net.nn)" = 'dense ?' ]
  done
}

@test "the log has a file of its own" {
  run -2 nn-train -q --epochs=1 -m 'dense ?' --target=kind -o o --log=o d.csv
  run -2 nn-train -q --epochs=1 -m 'dense ?' --target=kind -o o --checkpoint=s --log=s d.csv
}

@test "a start model may be replaced by what comes of it" {
  nn-train -q --epochs=1 -m 'dense ?' --target=kind -o m d.csv
  nn-train -q --epochs=1 -m m --target=kind -o m d.csv
}

@test "stdin cannot be the model and the data" {
  nn-train -q --epochs=1 -m 'dense ?' --target=kind -o m d.csv
  run -2 --separate-stderr nn-predict - - <m
  [ "$stderr" = 'nn-predict: -: stdin can be MODEL or DATA, not both' ]
  run -2 nn-predict - <m
  nn-predict - d.csv <m
}

@test "a label of u8 beyond 2^63 is refused, not taken as negative" {
  python3 - <<'PYTHON'
import struct
def npy(name, descr, shape, data):
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).encode()
    header += b' ' * ((64 - (len(header) + 11) % 64) % 64) + b'\n'
    open(name, 'wb').write(b'\x93NUMPY\1\0' + struct.pack('<H', len(header)) + header + data)
npy('x.npy', '<f4', '(2, 2)', struct.pack('<4f', 1, 2, 3, 4))
npy('y.npy', '<u8', '(2,)', struct.pack('<2Q', 2**64 - 1, 0))
PYTHON
  run -1 --separate-stderr nn-train -q --epochs=1 -m 'dense ?' -o o x.npy y.npy
  [ "$stderr" = 'nn-train: y.npy: row 1: a label beyond 2^53' ]
}

@test "hostile: a place where no state can be written ends the run before it begins" {
  cd "$BATS_TEST_TMPDIR"
  zcat "$NN_SRC/share/data/digits.csv.gz" >digits.csv
  mkdir directory
  mkfifo fifo
  for place in directory directory/ nowhere/state fifo; do
    run -1 --separate-stderr nn-train -q -m 'dense ?' --target=digit --loss=cross-entropy --checkpoint="$place" digits.csv -o m.safetensors
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "nn-train: "*"$place"* || $stderr == "nn-train: directory"* ]]
    [ ! -e m.safetensors ]
  done
  run -2 --separate-stderr nn-train -q -m 'dense ?' --target=digit --loss=cross-entropy --checkpoint= digits.csv -o m.safetensors
}

@test "hostile: nn-predict does not write over the targets of --score" {
  cd "$BATS_TEST_TMPDIR"
  zcat "$NN_SRC/share/data/digits.csv.gz" >digits.csv
  cut -d, -f65 digits.csv >targets.csv
  cp targets.csv before.csv
  nn-train -q -m 'dense ?' --target=digit --loss=cross-entropy --epochs=1 digits.csv -o m.safetensors
  run -2 nn-predict --score=targets.csv m.safetensors digits.csv -o targets.csv
  cmp targets.csv before.csv
}

@test "hostile: 40 bytes that mean 99,990 layers take time as there are layers, to plan and to train" {
  model='dense 4, repeat 99990 { relu }, dense ?'
  ulimit -t 60 # of a processor: other processes may have most of it
  nn-train -q --target=kind --explain -m "$model" d.csv >plan
  nn-train -q --target=kind --epochs=1 -m "$model" -o m.safetensors d.csv
}
