#!/usr/bin/env bats
# nn-train --init and --freeze: weights made elsewhere, or another model's, as a start; layers that stay as they are.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  awk 'BEGIN { srand(3); print "a,b,c,kind,group"
    for (i = 0; i < 60; i++) { k = i % 3; printf "%.3f,%.3f,%.3f,%s,%s\n", k + rand(), 2 * rand() - k, rand(), substr("xyz", k + 1, 1), k ? "new" : "old" } }' >t.csv
  cut -d, -f1-4 t.csv >kind.csv
  cut -d, -f1-3,5 t.csv >group.csv
  nn-train -q -m 'dense 6, tanh, dense ?' --target=kind --epochs=2 kind.csv -o old.st
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

# tensor FILE NAME: its bytes
tensor() {
  python3 - "$1" "$2" <<'PYTHON'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
begin, end = json.loads(data[8:8 + n])[sys.argv[2]]["data_offsets"]
print(data[8 + n + begin:8 + n + end].hex())
PYTHON
}

@test "init: another model's tensors are the start, by name; nn.train has their hash" {
  nn-train -q -m 'dense 6, tanh, dense ?' --init=old.st --target=kind --steps=0 kind.csv -o same.st
  for t in 0.weight 0.bias 2.weight 2.bias; do
    [ "$(tensor same.st $t)" = "$(tensor old.st $t)" ]
  done
  [ "$(nn-predict same.st kind.csv)" = "$(nn-predict old.st kind.csv)" ]
  grep -qaE '\\"init\\":\\"[0-9a-f]{64}\\"' same.st
}

@test "init: a new head is left as initialized by --init-partial alone, and named" {
  train() { nn-train -m 'dense 6, tanh, dense ?' --init=old.st --target=group group.csv --steps=0 "$@"; }
  run -1 --separate-stderr train -q -o new.st
  [ "$stderr" = "nn-train: old.st: tensor '2.weight' is 3x6, the model wants 2x6; --init-partial leaves it as initialized" ]
  [ ! -e new.st ]
  run -0 --separate-stderr train --init-partial -o new.st
  [[ $stderr == *"nn-train: note: old.st: left as initialized: 2.weight (there 3x6), 2.bias (there 3)"* ]]
  nn-train -q -m 'dense 6, tanh, dense ?' --target=group group.csv --steps=0 -o fresh.st
  [ "$(tensor new.st 0.weight)" = "$(tensor old.st 0.weight)" ]
  [ "$(tensor new.st 2.weight)" = "$(tensor fresh.st 2.weight)" ]
  run -1 --separate-stderr nn-train -q -m 'a: dense 6, tanh, b: dense ?' --init=old.st --init-partial --target=group group.csv -o no.st
  [[ $stderr == "nn-train: old.st: its tensors do not fit the net: found 0.bias 6, "* ]]
}

@test "init: a state_dict and Keras' arrays are a start as well" {
  PYTHONPATH=$NN_SRC/tests/fuzz PYTHONDONTWRITEBYTECODE=1 python3 - <<'PYTHON'
from torchfile import *
W = [i / 8 for i in range(18)]
state = {"module.0.weight": Tensor("0", [6, 3]), "module.0.bias": Tensor("1", [6])}
open("w.pt", "wb").write(archive(pickled(state), {"0": floats(*W), "1": floats(*range(6))}))
def npy(name, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + floats(*values))
npy("K.npy", (3, 6), [W[o * 3 + i] for i in range(3) for o in range(6)]); npy("b.npy", (6,), range(6))
PYTHON
  awk -v OFS=, 'BEGIN { print "p,q,r,u,v,w,x,y,z"; for (i = 0; i < 9; i++) print i, i + 1, i * i, i, i, i, i, i, 1.5 * i }' >numbers.csv
  for w in w.pt kernel=K.npy,bias=b.npy arr_0=K.npy,arr_1=b.npy; do
    nn-train -q -m 'dense 6' --target=u,v,w,x,y,z --loss=mse --steps=0 --init=$w numbers.csv -o "$w.st"
    [ "$(tensor "$w.st" 0.weight)" = "$(tensor w.pt.st 0.weight)" ]
  done
  [ "$(tensor w.pt.st 0.bias)" = 000000000000803f0000004000004040000080400000a040 ]
}

@test "init: the same bytes over threads, ranks and a resume" {
  train() { nn-train -q -m 'dense 6, tanh, dense ?' --init=old.st --init-partial --target=group -b 32 group.csv "$@"; }
  train --steps=4 -o want.st
  train --steps=4 --threads=3 --micro-batch=5 -o threads.st
  cmp want.st threads.st
  train --steps=2 -o part.st --checkpoint=part.state
  train --steps=4 -o part.st --checkpoint=part.state --resume
  cmp want.st part.st
  lacking=$(lacking_ranks | head -n 1)
  [ -z "$lacking" ] || skip "$lacking"
  allow_ranks
  train --steps=4 --ranks=2 -o ranks.st
  cmp want.st ranks.st
}

@test "init: what does not go together is said" {
  refused() { run -"$1" --separate-stderr nn-train -q --target=kind kind.csv -o no.st "${@:3}"; [ "$stderr" = "nn-train: $2" ] || { echo "$stderr"; return 1; }; }
  refused 2 '--init-partial: needs --init' -m 'dense ?' --init-partial
  refused 2 '--init=old.st: -m old.st has weights of its own, expected a text of the model language' -m old.st --init=old.st
  refused 1 'none.npz: cannot open: No such file or directory' -m 'dense ?' --init=none.npz
  nn-train -q -m 'dense ?' --target=kind --steps=1 kind.csv -o m.st --checkpoint=m.state
  refused 1 'm.state: is the state of a training run, not weights' -m 'dense ?' --init=m.state
  refused 1 'kind.csv: looks like a text file, not a model' -m 'dense ?' --init=kind.csv
}

@test "nn-train(1): the example of FINE-TUNING runs, and its net knows odd from even" {
  cd "$BATS_TEST_TMPDIR"
  cp "$NN_SRC/share/data/digits.csv.gz" .
  sed -n '/^\.SH FINE-TUNING/,/^\.SH AUGMENTATION/p' "$NN_SRC/man/nn-train.1.in" | sed -n '/^\.RS$/,/^\.RE$/p' | grep -v '^\.' >examples
  bash -eo pipefail examples >out
  awk '$1 == "accuracy" { found = $2 > 0.9 } END { exit !found }' out
}

# Frozen: a convolution and batch norm that nothing trained stands before, or all between the first and the last layer.
frozen() {
  nn-train -q -m "input 1x8x8, conv2d 4 3x3 pad=1, batchnorm, r: relu, conv2d 4 3x3 pad=1, b: batchnorm, add from=r+b, relu, flatten, dense 8, layernorm, d: dense 8, relu, dense ?" \
    --target=digit --loss=cross-entropy --normalize=minmax -b 64 digits.csv "$@"
}
PREFIX=0,1
MIDDLE=1,3,b,8,9,d

setup_frozen() {
  [ -e base.st ] && return
  { zcat "$NN_SRC/share/data/digits.csv.gz" || true; } | head -n 200 >digits.csv
  frozen --steps=4 -o base.st
}

# changed FILE: the tensors in which it differs from base.st
changed() {
  python3 - base.st "$1" <<'PYTHON'
import json, struct, sys
def tensors(name):
    data = open(name, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    return {k: data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]] for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}
a, b = tensors(sys.argv[1]), tensors(sys.argv[2])
print(*sorted({k.split(".")[0] for k in a if a[k] != b[k]}))
PYTHON
}

@test "freeze: frozen layers keep their bytes, statistics included, for every optimizer; all others learn" {
  setup_frozen
  for optimizer in adam sgd adamw lamb; do
    frozen --init=base.st --freeze=$PREFIX --steps=3 --optimizer=$optimizer --weight-decay=0.1 --clip-norm=1 -o f.st
    [ "$(changed f.st)" = "12 3 8 9 b d" ] || { echo "$optimizer: $(changed f.st)"; return 1; }
    frozen --init=base.st --freeze=$MIDDLE --steps=3 --optimizer=$optimizer --weight-decay=0.1 -o f.st
    [ "$(changed f.st)" = "0 12" ] || { echo "$optimizer: $(changed f.st)"; return 1; }
  done
  grep -qa '\\"freeze\\":\\"'$MIDDLE'\\"' f.st
  frozen --freeze=$MIDDLE --init=base.st --selfcheck
}

@test "freeze: gradients go through frozen convolutions, and what is fused with them, to the layers before" {
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 97 >digits.csv
  for middle in '2: conv2d 4 3x3 pad=1, relu' '2: conv2d 4 3x3 pad=1, tanh, maxpool2d 2' '2: conv2d 4 3x3, leaky-relu, maxpool2d 3 stride=2' \
    '2: conv-transpose2d 4 2x2 stride=2, relu' 'b: b: conv2d 4 3x3 pad=1, add from=a+b, relu' '2: conv2d 4 1x1, gelu' '2: conv2d 4 3x3 groups=4, silu'; do
    printf '%s\n' 'input 1x8x8' 'conv2d 4 3x3 pad=1' 'a: tanh' >net.nn
    tr , '\n' <<<"${middle#*: }" >>net.nn
    printf '%s\n' flatten 'dense ?' >>net.nn
    train=(-q -m net.nn --target=digit --loss=cross-entropy -b 32)
    nn-train "${train[@]}" --steps=0 -o start.st digits.csv
    train+=(--init=start.st --freeze="${middle%%:*}" --epochs=2)
    nn-train "${train[@]}" --selfcheck digits.csv >checks || { echo "$middle"; cat checks; return 1; }
    nn-train "${train[@]}" -o one.st -t 1 digits.csv
    nn-train "${train[@]}" -o other.st -t 3 --micro-batch=5 digits.csv
    cmp one.st other.st
    for module in apart cuda; do # the CPU's kernels and those of nn-cuda.so
      [ -e "$NN_BUILD/tests/device/$module/.libs/nn-cuda.so" ] || continue
      NN_MODULE_PATH=$NN_BUILD/tests/device/$module/.libs nn-train "${train[@]}" --device=cuda -o there.st digits.csv
      cmp one.st there.st
    done
  done
}

@test "freeze: the same bytes over threads, kernels, a resume and ranks" {
  setup_frozen
  for layers in $PREFIX $MIDDLE; do
    train() { frozen --init=base.st --freeze=$layers "$@"; }
    train --steps=4 -o want.st
    train --steps=4 -o got.st --threads=3 --micro-batch=32
    cmp want.st got.st
    NN_CPU=generic train --steps=4 -o got.st
    cmp want.st got.st
    train --steps=2 -o part.st --checkpoint=f.state
    train --steps=4 -o part.st --checkpoint=f.state --resume
    cmp want.st part.st
  done
  run -2 --separate-stderr train --steps=5 -o part.st --checkpoint=f.state --resume --freeze=0
  [ "$stderr" = "nn-train: --freeze=0: f.state was made with --freeze=$MIDDLE" ]
  lacking=$(lacking_ranks | head -n 1)
  [ -z "$lacking" ] || skip "$lacking"
  allow_ranks
  for how in --shard-optimizer --pipeline=2 --strategy=master --tensor=2; do
    train --steps=4 --ranks=2 $how -o got.st
    cmp want.st got.st
  done
  train --steps=4 --ranks=2 --strategy=local:2 -o got.st
  [ "$(changed got.st)" = "0 12" ]
}

@test "freeze: the plan has no gradients and slots of frozen layers, and no backward of a frozen beginning" {
  figures() { frozen --explain=json "$@" | python3 -c 'import json, sys; e = json.load(sys.stdin); m = e["memory"]
print(e["parameters"], m["gradients"], m["optimizer"], e["layers"][0]["train_flops"], e["layers"][0]["forward_flops"])'; }
  setup_frozen
  read -r all gradients slots _ _ <<<"$(figures)"
  read -r frozen_all frozen_gradients frozen_slots train forward <<<"$(figures --freeze=$PREFIX,8)"
  [ "$all" -eq "$frozen_all" ]
  [ "$frozen_gradients" -lt $((gradients / 2)) ]
  [ "$frozen_slots" -lt $((slots / 2)) ]
  [ "$train" -eq "$forward" ]
}

@test "freeze: layers that are not there, have no weights, or are all of them" {
  setup_frozen
  refused() { run -2 --separate-stderr frozen -o no.st "${@:2}"; [ "$stderr" = "nn-train: $1" ] || { echo "$stderr"; return 1; }; }
  refused "--freeze=x: expected layers with weights: 0, 1, 3, b, 8, 9, d, 12" --freeze=0,x
  refused "--freeze=r: expected layers with weights: 0, 1, 3, b, 8, 9, d, 12" --freeze=r
  refused "--freeze=0,1,3,b,8,9,d,12: leaves nothing to train" --freeze=0,1,3,b,8,9,d,12
}
