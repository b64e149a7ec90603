#!/usr/bin/env bats
# Models as ONNX files: written by nn-train, read by all.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  [ -e "$NN_BUILD/lib/nn-onnx.so" ] || return 0
  cd "$BATS_FILE_TMPDIR" || return
  awk 'BEGIN { OFS = ","; print "a,b,c,kind,price"
    for (i = 0; i < 90; i++) print i % 7 * 100 + 0.25, i % 5 / 1000, i % 3, i % 3 == 1 ? "yes" : "no", 5000 + i % 7 * 10 }' >t.csv
  cat >all.nn <<'END'
input 2x8x8
a: conv2d 4 3x3 pad=1 bias=no
batchnorm group=16 eps=0.001 momentum=0.2
r: silu
conv2d 4 3x3 pad=2 groups=2 dilation=2
g: gelu
add from=g+a
leaky-relu 0.2
b: maxpool2d 2
c: avgpool2d 2 from=r
concat from=b+c
conv2d 6 2x3 stride=2x1 pad=0x1
elu 0.5
reshape 6x8
layernorm eps=0.001
dense 5
softplus
dropout 0.3
reshape 5x6x1
s: sigmoid
t: tanh from=s
mul from=s+t+s
global-avgpool
dense 3
END
}

setup() {
  [ -e "$NN_BUILD/lib/nn-onnx.so" ] || skip "nn-onnx is not built"
  cd "$BATS_FILE_TMPDIR" || return
}

@test "onnx: a classifier of a table keeps columns, scales and labels, and gives the bytes of the model file" {
  for model in m.safetensors m.onnx; do
    nn-train -q -m 'dense 5, tanh, dense ?' --target=kind --epochs=2 -o $model t.csv
    nn-predict $model t.csv >$model.out
    nn-predict --score $model t.csv >$model.score
  done
  cmp m.safetensors.out m.onnx.out
  cmp m.safetensors.score m.onnx.score
  [ "$(head -n 1 m.onnx.out)" = "p.no,p.yes" ]
  # and from a model file to an ONNX file and back, without data
  nn-train -q -m m.safetensors --steps=0 -o again.onnx
  cmp again.onnx m.onnx
  nn-train -q -m again.onnx --steps=0 -o back.safetensors
  cmp back.safetensors m.safetensors
}

@test "onnx: values of a regression come back in units of the target" {
  for model in p.safetensors p.onnx; do
    nn-train -q -m 'input columns=a,b,c
dense 5
relu
dense ?' --target=price --loss=mse --epochs=3 -o $model t.csv
    nn-predict $model t.csv >$model.out
  done
  cmp p.safetensors.out p.onnx.out
  awk 'NR > 1 && ($1 < 4000 || $1 > 6000) { exit 1 }' p.onnx.out
}

@test "onnx: every layer that can be written comes back with its text and its tensors' bytes" {
  python3 -c 'import struct
shape, n = (8, 2, 8, 8), 8 * 128
head = "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": %s, }" % (shape,)
head += " " * (63 - (len(head) + 10) % 64) + "\n"
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % n, *[(i * 37 % 101 - 50) / 25 for i in range(n)]))'
  printf '%s\n' 0 1 2 0 1 2 0 1 >y.csv
  nn-train -q -m all.nn --loss=cross-entropy --epochs=2 --batch=4 -o all.safetensors x.npy y.csv
  nn-train -q -m all.safetensors --steps=0 -o all.onnx
  nn-train -q -m all.onnx --steps=0 -o again.safetensors
  cmp again.safetensors all.safetensors
  nn-predict --emit=logits -o a.npy all.onnx x.npy
  nn-predict --emit=logits -o b.npy all.safetensors x.npy
  cmp a.npy b.npy
}

@test "onnx: text columns are refused before training, and what was there stays" {
  echo before >old.onnx
  run -1 --separate-stderr nn-train -m 'input columns=a,kind
dense 3
dense ?' --target=price --loss=mse --time-limit=1000 -o old.onnx t.csv
  [ "$stderr" = "nn-train: old.onnx: column 'kind' holds categories, an ONNX graph takes numbers alone; write a model file (another suffix than .onnx)" ]
  [ "$(cat old.onnx)" = before ]
}

@test "onnx: the best of --try is an ONNX file too, and no other text than a model's is converted without DATA" {
  nn-train -q -m 'dense 5, tanh, dense ?' --target=kind --valid=0.2 --epochs=1 --try=lr=0.001,0.01 -o best.onnx t.csv
  [ "$(head -c 2 best.onnx | od -An -tx1)" = " 08 07" ]
  run -2 nn-train -m all.nn --steps=0 -o none.onnx
  [ "$output" = "nn-train: all.nn: is a text; without DATA, --steps=0 writes a model again" ]
  run -2 nn-train -m 'dense 3' --steps=0 -o none.onnx
  [[ $output == "nn-train: no DATA given"* ]]
}

@test "onnx: without the module one line says what is missing, status 3" {
  mkdir -p tree/bin tree/lib
  cp "$NN_BUILD"/cmd/nn-predict tree/bin/
  cp -L "$NN_BUILD"/lib/libnn.so.0 tree/lib/
  nn-train -q -m 'dense 5, tanh, dense ?' --target=kind --epochs=1 -o m.onnx t.csv
  run -3 --separate-stderr tree/bin/nn-predict m.onnx t.csv
  [ "$stderr" = "nn-predict: m.onnx: ONNX needs protobuf-c: module nn-onnx.so is not installed" ]
}

@test "onnx: --version -v names it, and tools start without it" {
  run -0 nn-predict --version -v
  [[ $output == *$'\nONNX: opsets 7 to 22 in, 13 out'* ]]
}

@test "onnx: large weights stay in the file until they are packed; a pipe gives the same bytes" {
  awk 'BEGIN { for (i = 0; i < 400; i++) printf "c%d,", i; print "y"; for (r = 0; r < 4; r++) { for (i = 0; i < 400; i++) printf "%d,", (i + r) % 9; print r } }' >wide-train.csv
  nn-train -q -m 'dense 300, relu, dense 1' --target=y --loss=mse --epochs=1 --normalize=none wide-train.csv -o large.onnx
  nn-predict large.onnx wide-train.csv >there
  cat large.onnx | nn-predict - wide-train.csv >piped
  cmp there piped
  nn-predict -m 'dense 300, relu, dense 1' large.onnx wide-train.csv >as
  [ -s as ]
}
