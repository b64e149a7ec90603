#!/usr/bin/env bats
# nn-predict -m TEXT WEIGHTS: weights made elsewhere, in .npy files.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

# W.npy [2,3], K.npy its transpose, b.npy, x.npy [4,3]; y: what x W' + b is
setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  python3 - <<'PYTHON'
import struct
def npy(name, shape, values, kind="<f4", pack="f", order="False"):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s,), }" % (kind, order, ", ".join(map(str, shape)))
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
                           struct.pack("<%d%s" % (len(values), pack), *values))
W = [[1, 2, 3], [-1, 0.5, 0.25]]
b = [10, 20]
x = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 2, 4]]
flat = lambda rows: [v for row in rows for v in row]
npy("W.npy", [2, 3], flat(W)); npy("b.npy", [2], b); npy("x.npy", [4, 3], flat(x))
npy("K.npy", [3, 2], flat(zip(*W))); npy("F.npy", [2, 3], flat(zip(*W)), order="True")
npy("D.npy", [2, 3], flat(W), "<f8", "d"); npy("db.npy", [2], b, "<f8", "d"); npy("I.npy", [2, 3], [1] * 6, "<i4", "i")
npy("four.npy", [1, 1, 3, 2], [1] * 6)
with open("y", "w") as f:
    for row in x:
        print(",".join("%g" % (sum(w * v for w, v in zip(ws, row)) + c) for ws, c in zip(W, b)), file=f)
PYTHON
  mkdir dir kernels
  cp W.npy dir/0.weight.npy
  cp b.npy dir/0.bias.npy
  echo other >dir/README
  cp K.npy kernels/0.kernel.npy
  cp b.npy kernels/0.bias.npy
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

predict() {
  nn-predict -m 'dense 2' "$1" --to=csv --to-header=no "${2-x.npy}"
}

refused() {
  run -"$1" --separate-stderr nn-predict -m "${4-dense 2}" "$3" x.npy -o "$BATS_TEST_TMPDIR/out"
  [ "${#stderr_lines[@]}" -eq 1 ]
  [[ $stderr == *"$2"* ]] || { echo "$stderr"; return 1; }
  [ ! -e "$BATS_TEST_TMPDIR/out" ]
}

@test "weights: a directory of .npy files named as tensors, and files by name" {
  [ "$(predict dir)" = "$(cat y)" ]
  [ "$(predict dir/)" = "$(cat y)" ]
  [ "$(predict 0.weight=W.npy,0.bias=b.npy)" = "$(cat y)" ]
  [ "$(predict 0.bias=b.npy,0.weight=./W.npy)" = "$(cat y)" ]
}

@test "weights: Fortran order, f64 and gzip are read" {
  [ "$(predict 0.weight=F.npy,0.bias=b.npy)" = "$(cat y)" ]
  [ "$(predict 0.weight=D.npy,0.bias=db.npy)" = "$(cat y)" ]
  gzip -c W.npy >W.npy.gz
  [ "$(predict 0.weight=W.npy.gz,0.bias=b.npy)" = "$(cat y)" ]
}

@test "weights: a kernel [in,out] is turned to a weight [out,in]" {
  [ "$(predict kernels)" = "$(cat y)" ]
  [ "$(predict 0.kernel=K.npy,0.bias=b.npy)" = "$(cat y)" ]
  refused 1 "tensor '0.weight' is 3x2, the model wants 2x3" 0.weight=K.npy,0.bias=b.npy 'input 3, dense 2'
  refused 1 "tensor '0.kernel' has 4 dimensions" 0.kernel=four.npy,0.bias=b.npy
  refused 1 "tensor '0.kernel' is there beside a weight" 0.kernel=K.npy,0.weight=W.npy,0.bias=b.npy
  refused 1 'a network that flattens images' 1.kernel=K.npy,1.bias=b.npy 'input 3x1x1, flatten, dense 2'
}

@test "weights: a small prediction asks neither /proc nor /sys what the machine has" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=* ]] || skip "sanitizers read /proc themselves"
  command -v strace >/dev/null || skip "strace is not installed"
  strace -f -o "$BATS_TEST_TMPDIR/calls" nn-predict -m 'dense 2' dir x.npy --to=csv >/dev/null || skip "strace cannot trace here"
  ! grep -E 'open.*"/(proc|sys)/' "$BATS_TEST_TMPDIR/calls"
}

@test "weights: what is wrong is named" {
  refused 1 "tensor '0.bias'" 0.weight=W.npy
  refused 1 "the model has no tensor '1.bias'" 0.weight=W.npy,0.bias=b.npy,1.bias=b.npy
  refused 1 "tensor '0.bias' is given twice" 0.weight=W.npy,0.bias=b.npy,0.bias=b.npy
  refused 1 'none.npy: cannot open' 0.weight=none.npy,0.bias=b.npy
  refused 1 'y: looks like a text file, expected .npy' 0.weight=y,0.bias=b.npy
  refused 1 "tensor '0.weight' is i32" 0.weight=I.npy,0.bias=b.npy
  mkdir -p empty
  refused 1 'empty: no *.npy in this directory' empty
  for bad in 0.weight= =W.npy '0.weight=W.npy,' 0.weight=W.npy,b.npy; do
    refused 2 'expected NAME=FILE,NAME=FILE' "$bad"
  done
  head -c 100 W.npy >short.npy
  refused 1 'short.npy: ' 0.weight=short.npy,0.bias=b.npy
  cat W.npy W.npy >two.npy
  refused 1 'two.npy: other bytes follow the array' 0.weight=two.npy,0.bias=b.npy
}

@test "weights: -o equal to one of the files is refused, and it stays" {
  cp W.npy own.npy
  run -2 --separate-stderr nn-predict -m 'dense 2' 0.weight=own.npy,0.bias=b.npy x.npy -o own.npy
  [ "$stderr" = "nn-predict: --output=own.npy: is an input, which would be lost" ]
  cmp W.npy own.npy
  run -2 --separate-stderr nn-predict -m 'dense 2' dir x.npy -o dir/0.bias.npy
  cmp b.npy dir/0.bias.npy
}
