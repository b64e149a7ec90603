#!/usr/bin/env bats
# nn-predict -m TEXT WEIGHTS: weights made elsewhere, in .npy files, by their names and shapes.
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
# a 2x2x2 picture, flattened: P as PyTorch orders it, N channels last
P = [[1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 0, 2, 0, 3, 0, 4]]
order = [c * 4 + hw for hw in range(4) for c in range(2)]
npy("P.npy", [2, 8], flat(P)); npy("N.npy", [8, 2], flat([[row[i] for row in P] for i in order]))
npy("pictures.npy", [2, 2, 2, 2], range(16))
npy("S.npy", [2, 2], [1, 2, 3, 4]); npy("xs.npy", [1, 2], [1, 10]); npy("z.npy", [2], [0, 0])
npy("one.npy", [2], [1, 1]); npy("mean.npy", [2], [0, 0]); npy("var.npy", [2], [0, 0.003])
# recurrent layers of 2 units over 3 values, as PyTorch has them (t) and as Keras (k): "rnn", "gru", "lstm"
for name, gates in ("rnn", 1), ("gru", 3), ("lstm", 4):
    order = [2, 3, 0, 1, 4, 5] if gates == 3 else range(2 * gates)
    ih = [[((7 * g + 3 * i) % 11 - 5) / 8 for i in range(3)] for g in range(2 * gates)]
    hh = [[((5 * g + 2 * i) % 7 - 3) / 4 for i in range(2)] for g in range(2 * gates)]
    bi = [(g % 5 - 2) / 8 for g in range(2 * gates)]
    bh = [(g % 3) / 8 if gates == 3 else 0 for g in range(2 * gates)]
    npy(name + "-tk.npy", [2 * gates, 3], flat(ih)); npy(name + "-kk.npy", [3, 2 * gates], flat(zip(*[ih[g] for g in order])))
    npy(name + "-tr.npy", [2 * gates, 2], flat(hh)); npy(name + "-kr.npy", [2, 2 * gates], flat(zip(*[hh[g] for g in order])))
    npy(name + "-ti.npy", [2 * gates], bi); npy(name + "-th.npy", [2 * gates], bh)
    both = [bi[g] for g in order] + [bh[g] for g in order]
    npy(name + "-kb.npy", [2, 6] if gates == 3 else [2 * gates], both if gates == 3 else bi)
npy("steps.npy", [4, 5, 3], [(i % 13 - 6) / 4 for i in range(60)])
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
  refused 1 "tensor '0.kernel' is 1x1x3x2, the model wants 3x2" 0.kernel=four.npy,0.bias=b.npy 'input 3, dense 2'
  refused 1 "tensor '0.kernel' is there beside '0.weight'" 0.kernel=K.npy,0.weight=W.npy,0.bias=b.npy
}

@test "weights: behind a flattened picture a kernel's rows are channels last" {
  nn-predict -m 'flatten, dense 2' 1.weight=P.npy,1.bias=z.npy pictures.npy -o want.npy
  for names in 1.kernel=N.npy,1.bias=z.npy kernel=N.npy,bias=z.npy n=N.npy,b=z.npy; do
    nn-predict -m 'input 2x2x2, flatten, dense 2' "$names" pictures.npy | cmp - want.npy
  done
  nn-predict -m 'flatten, dropout 0.1, dense ?' kernel=N.npy,bias=z.npy pictures.npy | cmp - want.npy
  run -1 --separate-stderr nn-predict -m 'flatten, dense ?' kernel=N.npy,bias=z.npy <pictures.npy
  [[ $stderr == *"the text does not say its shape (input AxBxC)" ]]
}

@test "weights: bare names, names by shape, and what all names begin with" {
  for names in weight=W.npy,bias=b.npy kernel=K.npy,bias=b.npy arr_0=W.npy,arr_1=b.npy arr_0=K.npy,arr_1=b.npy \
    W=K.npy,b=b.npy module.0.weight=W.npy,module.0.bias=b.npy model/dense/kernel:0=K.npy,model/dense/bias:0=b.npy \
    fc.weight=W.npy,fc.bias=b.npy; do
    [ "$(predict "$names")" = "$(cat y)" ] || { echo "$names"; return 1; }
  done
  [ "$(nn-predict -m 'dense ?' w=K.npy,b=b.npy x.npy --to=csv --to-header=no)" = "$(cat y)" ]
  [ "$(nn-predict -m 'dense 2 bias=no' W.npy x.npy --to=csv --to-header=no | tail -n 1)" = 17,1 ]
  refused 1 "its tensors do not fit the net: found W 2x3, b 2; expected 0.weight 3x3, 0.bias 3" W=W.npy,b=b.npy 'input 3, dense 3'
}

@test "weights: numbers in names say the order; else tensors of one shape are named" {
  one() { nn-predict -m 'dense 2 bias=no, dense 2 bias=no' "$@" xs.npy --to=csv --to-header=no --layout=torch; }
  # 1,10 by S = 21,43; by Q = [1 0, 1 1]: 21,64; the other way round 1,11 and 23,47
  py='import struct,sys; s=open("S.npy","rb").read(); open("Q.npy","wb").write(s[:-16]+struct.pack("<4f",1,0,1,1))'
  python3 -c "$py"
  [ "$(one arr_0=S.npy,arr_1=Q.npy)" = 21,64 ]
  [ "$(one arr_9=S.npy,arr_10=Q.npy)" = 21,64 ]
  [ "$(one d.weight=S.npy,d_1.weight=Q.npy)" = 21,64 ]
  [ "$(one d_1.weight=S.npy,d.weight=Q.npy)" = 23,47 ]
  run -1 --separate-stderr one left=S.npy,right=Q.npy
  [[ $stderr == *"tensors 'left' and 'right' are both 2x2, and either may come first"* ]]
}

@test "weights: square ones want --layout, which their names may say" {
  square() { nn-predict -m 'dense 2 bias=no' "$@" xs.npy --to=csv --to-header=no; }
  [ "$(square weight=S.npy)" = 21,43 ]
  [ "$(square kernel=S.npy)" = 31,42 ]
  [ "$(square W=S.npy --layout=torch)" = 21,43 ]
  [ "$(square W=S.npy --layout=keras)" = 31,42 ]
  [ "$(square weight=S.npy --layout=keras)" = 31,42 ]
  run -1 --separate-stderr square W=S.npy
  [[ $stderr == *"its tensors fit as [out,in] and as [in,out]; --layout=torch or --layout=keras says which they are" ]]
  run -2 --separate-stderr square W=S.npy --layout=tf
}

@test "weights: batch norm by Keras' names has Keras' eps, which the text may say" {
  norm() { nn-predict -m "$1" "$2" xs.npy --to=csv --to-header=no; }
  keras=gamma=one.npy,beta=z.npy,moving_mean=mean.npy,moving_variance=var.npy
  torch=weight=one.npy,bias=z.npy,running_mean=mean.npy,running_var=var.npy
  [ "$(norm batchnorm $keras)" = "$(norm 'batchnorm eps=1e-3' $torch)" ]
  [ "$(norm 'batchnorm eps=1e-5' $keras)" = "$(norm batchnorm $torch)" ]
  [ "$(norm batchnorm $keras)" != "$(norm batchnorm $torch)" ]
}

@test "weights: where the text has no input line, a file of arrays says the shape" {
  nn-predict -m 'input 2x2x2, global-avgpool, dense 2' weight=W.npy,bias=z.npy pictures.npy 2>/dev/null && return 1
  nn-predict -m 'input 2x2x2, global-avgpool, dense 2' weight=S.npy,bias=z.npy pictures.npy -o want.npy
  nn-predict -m 'global-avgpool, dense 2' weight=S.npy,bias=z.npy pictures.npy | cmp - want.npy
  run -1 --separate-stderr nn-predict -m 'global-avgpool, dense 2' weight=S.npy,bias=z.npy <pictures.npy
  [[ $stderr == *"the text does not say its shape (input AxBxC)" ]]
}

@test "weights: an object .npy gets the line that converts it, and what that makes is accepted" {
  python=
  for p in ${PYTHON:+"$PYTHON"} python3; do
    if [ -z "$python" ] && "$p" -c 'import numpy' 2>/dev/null; then python=$p; fi
  done
  [ -n "$python" ] || skip "numpy is not installed"
  "$python" -c '
import numpy as np
W, b = np.load("W.npy"), np.load("b.npy")
list = np.empty(2, object); list[:] = [W, b]
np.save("list.npy", list, allow_pickle=True); np.save("dict.npy", {"weight": W, "bias": b}, allow_pickle=True)'
  for f in list dict; do
    run -1 --separate-stderr nn-predict -m 'dense 2' $f.npy x.npy
    [[ $stderr == "nn-predict: $f.npy: holds Python objects, expected numbers; convert it: python3 -c "* ]]
    sed 's/.*python3/"$0"/' <<<"$stderr" >convert
    sh -c "$(cat convert)" "$python"
    [ "$(predict w.npz)" = "$(cat y)" ]
    rm w.npz
  done
}

@test "weights: a small prediction asks neither /proc nor /sys what the machine has" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=* ]] || skip "sanitizers read /proc themselves"
  command -v strace >/dev/null || skip "strace is not installed"
  strace -f -o "$BATS_TEST_TMPDIR/calls" nn-predict -m 'dense 2' dir x.npy --to=csv >/dev/null || skip "strace cannot trace here"
  ! grep -E 'open.*"/(proc|sys)/' "$BATS_TEST_TMPDIR/calls"
}

@test "weights: what is wrong is named" {
  refused 1 "tensor '0.bias' (2) is missing; the file has 0.weight 2x3" 0.weight=W.npy
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

@test "weights: recurrent layers of Keras, by name, in both directions and by position" {
  for cell in rnn gru lstm; do
    torch() { echo "$1.weight_ih_l0$2=$cell-tk.npy,$1.weight_hh_l0$2=$cell-tr.npy,$1.bias_ih_l0$2=$cell-ti.npy,$1.bias_hh_l0$2=$cell-th.npy"; }
    keras() { echo "$1/kernel=$cell-kk.npy,$1/recurrent_kernel=$cell-kr.npy,$1/bias=$cell-kb.npy"; }
    run_of() { nn-predict -m "r: $cell 2 $1, last" "$2" steps.npy --to=csv; }
    run_of "" "$(torch r)" >want
    [ "$(wc -l <want)" -eq 5 ]
    run_of "" "$(keras "r/${cell}_cell")" | cmp - want
    run_of "" "$(keras "model/${cell}_7/${cell}_cell_7")" | cmp - want
    run_of "" "arr_0=$cell-kk.npy,arr_1=$cell-kr.npy,arr_2=$cell-kb.npy" | cmp - want
    run_of bidirectional=yes "$(torch r),$(torch r _reverse)" >want
    run_of bidirectional=yes "$(keras "r/forward_$cell/${cell}_cell"),$(keras "r/backward_$cell/${cell}_cell")" | cmp - want
  done
  cell=gru
  refused 1 "tensor 'r/bias' is 6, expected two rows of gates: a GRU needs reset_after=True" \
    r/kernel=gru-kk.npy,r/recurrent_kernel=gru-kr.npy,r/bias=gru-ti.npy "gru 2, last"
  refused 1 "tensor 'r/recurrent_kernel' is 6x2, expected [units,gates] beside a kernel [in,gates]" \
    r/kernel=gru-kk.npy,r/recurrent_kernel=gru-tr.npy "gru 2, last"
  refused 1 "tensor 'r/recurrent_kernel' is 2x6, expected [units,gates] beside a kernel" r/recurrent_kernel=gru-kr.npy "gru 2, last"
}
