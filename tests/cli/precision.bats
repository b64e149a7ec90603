#!/usr/bin/env bats
# Model files in bf16, f16 and int8: what --precision writes, who reads it, and what it cannot hold.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

net=(-m 'dense 64, relu, dense ?' --target=digit --loss=cross-entropy)

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  gzip -dc "$NN_SRC/share/data/digits.csv.gz" >digits.csv
  head -n 1201 digits.csv >train.csv
  (head -n 1 digits.csv && tail -n +1202 digits.csv) >held.csv
  nn-train -q "${net[@]}" --epochs=8 -o f32.st train.csv
  for type in bf16 f16 int8; do
    nn-train -m f32.st --steps=0 --precision=$type -o $type.st
    nn-train -m $type.st --steps=0 --precision=f32 -o $type-wide.st
  done
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

# bytes FILE: of its tensors
bytes() {
  nn-predict --info "$1" | sed -n 's/^tensors: .* \([0-9]*\) bytes$/\1/p'
}

# content FILE: its bytes behind the header
content() {
  tail -c "$(bytes "$1")" "$1" | od -An -tx1 -v
}

# figure NAME ARGUMENT...: what nn-predict --score says under that name
figure() {
  nn-predict -q --score "${@:2}" | awk -v name="$1" '$1 == name { print $2 }'
}

# poke FILE BYTES: the last value of the file, an f32 weight
poke() {
  printf "$2" | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 4)) conv=notrunc status=none
}

# told STATUS MESSAGE COMMAND...
told() {
  run "-$1" --separate-stderr "${@:3}"
  [ "$stderr" = "$2" ] || { printf '%s\n' "$stderr"; return 1; }
}

@test "precision: bf16 and f16 halve a model, int8 about quarters it" {
  [ "$(bytes bf16.st)" -eq $(($(bytes f32.st) / 2)) ]
  [ "$(bytes f16.st)" -eq $(($(bytes f32.st) / 2)) ]
  # 4736 weights of a byte, 74 biases and 74 scales of four
  [ "$(bytes int8.st)" -eq $((4736 + 2 * 4 * 74)) ]
  for type in bf16 f16 int8; do
    [ $(($(stat -c %s f32.st) - $(stat -c %s $type.st))) -gt $((($(bytes f32.st) - $(bytes $type.st)) * 9 / 10)) ]
  done
}

@test "precision: without DATA an option that means nothing is status 2, --log is written" {
  for option in --resume --normalize=none --init=f32.st --freeze=0 --lr=0.1 --epochs=3 --valid=held.csv --window=4 --replay=9 --plot=p.svg \
    --tensorboard=board --cache=c --spool=s --ranks=2 --target=digit --checkpoint=no --batch=3 --folds=3 --selfcheck --strategy=sync --timeout=9; do
    run -2 --separate-stderr nn-train -m f32.st --steps=0 $option -o none.st
    [[ $stderr == "nn-train: --$(cut -d= -f1 <<<"${option#--}")"[:\ =]* && ${#stderr_lines[@]} = 1 ]] || { echo "$option: $stderr"; false; }
    [ ! -e none.st ]
  done
  told 2 'nn-train: --resume: needs DATA; without, -m MODEL --steps=0 writes a finished model again' nn-train -m f32.st --steps=0 --resume -o none.st
  told 1 'nn-train: nowhere/log: cannot write: No such file or directory' nn-train -m f32.st --steps=0 --log=nowhere/log -o none.st
  nn-train -q -m f32.st --steps=0 --seed=3 -t 1 --device=cpu --log=log -o again.st
  cmp f32.st again.st
  [ "$(jq -r '.event, .reason // empty' log | xargs)" = 'start end done' ]
  run -1 nn-train -m held.csv --steps=0 --log=log -o none.st
  [ "$(jq -r '.event, .reason // empty' log | xargs)" = 'start end error' ]
}

@test "precision: the values are those numpy rounds to" {
  python3 -c 'import numpy' 2>/dev/null || skip "no numpy"
  PYTHONDONTWRITEBYTECODE=1 python3 - <<'PYTHON'
import json, numpy as np
def read(name):
    data = open(name, "rb").read()
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__")
    types = {"F32": np.float32, "F16": np.float16, "BF16": np.uint16, "I8": np.int8}
    return {k: np.frombuffer(data[8 + n:][slice(*t["data_offsets"])], types[t["dtype"]]).reshape(t["shape"]) for k, t in header.items()}
f32, f16, bf16, int8 = (read(name + ".st") for name in ("f32", "f16", "bf16", "int8"))
for name, w in f32.items():
    assert np.array_equal(f16[name], w.astype(np.float16)), name
    bits = w.view(np.uint32).astype(np.uint64)
    assert np.array_equal(bf16[name], ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)), name
    if w.ndim == 1:
        assert np.array_equal(int8[name], w), name
        continue
    scale = int8[name + "_scale"]
    assert np.allclose(scale, np.abs(w).max(axis=1, keepdims=True) / 127, rtol=1e-5, atol=0)
    assert np.array_equal(int8[name], np.rint(w / scale)), name
    assert np.array_equal(read("int8-wide.st")[name], int8[name] * scale)
PYTHON
}

@test "precision: a small model predicts as its values in f32, the same bytes for any threads and instruction set" {
  for type in bf16 f16; do
    nn-predict -t 1 $type-wide.st digits.csv >wide
    for threads in 1 2 3; do
      nn-predict -t $threads $type.st digits.csv | cmp - wide
    done
    for cpu in generic neon avx2 avx512; do
      NN_CPU=$cpu nn-predict $type.st digits.csv >"$cpu" 2>err || { [ $? -eq 3 ]; continue; }
      cmp "$cpu" wide
    done
    run ! cmp -s wide <(nn-predict f32.st digits.csv)
  done
  nn-predict --precision=f32 int8.st digits.csv | cmp - <(nn-predict int8-wide.st digits.csv)
}

@test "precision: products of int8 have the same bytes for any threads, batch and instruction set, and are close to f32" {
  printf '%s\n' 'input 1x8x8' 'conv2d 7 3x3 pad=1' 'batchnorm' 'skip: relu' 'conv2d 7 3x3 pad=1 groups=7' 'add from=skip+' 'conv2d 5 3x3 stride=2 pad=1' \
    'gelu' 'maxpool2d 2' 'flatten' 'dense 40' 'tanh' 'dense ?' | sed 's/from=skip+$/from=skip+inner/; s/^conv2d 7 3x3 pad=1 groups/inner: &/' >conv.nn
  nn-train -q -m conv.nn --target=digit --loss=cross-entropy --epochs=3 -o conv.st train.csv
  nn-train -m conv.st --steps=0 --precision=int8 -o conv-int8.st
  for model in int8 conv-int8; do
    nn-predict -t 1 $model.st digits.csv >whole
    for how in '-t 2' '-t 3 --batch=1' '-t 1 --batch=5' '-t 2 --batch=700'; do
      # shellcheck disable=SC2086
      nn-predict $how $model.st digits.csv | cmp - whole
    done
    for cpu in generic neon avx2 avx512; do
      NN_CPU=$cpu nn-predict $model.st digits.csv >"$cpu" 2>err || { [ $? -eq 3 ]; continue; }
      cmp "$cpu" whole
    done
    nn-predict --precision=f32 $model.st digits.csv >wide
    paste -d, whole wide | awk -F, 'NR > 1 { for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d > 0.05 || d < -0.05) bad = 1 } } END { exit bad || NR < 2 }'
    # the kernels of CUDA compute in f32
    [ "${NN_TEST_MODULE-}" = cuda ] || run ! cmp -s whole wide
  done
}

@test "precision: a model written again keeps its type and bytes" {
  for type in f32 bf16 f16 int8; do
    nn-train -m $type.st --steps=0 -o again.st
    cmp again.st $type.st
    NN_CPU=generic nn-train -m f32.st --steps=0 --precision=$type -t 1 -o again.st
    cmp again.st $type.st
  done
}

@test "precision: a training in bf16, f16 and int8 rounds what it writes and nothing before" {
  export NN_DEVICE=cpu     # on cuda bf16 and f16 are arithmetic, too
  for type in bf16 f16 int8; do
    for threads in 1 2; do
      nn-train -q "${net[@]}" --epochs=8 --precision=$type -t $threads -o trained.st train.csv
      [ "$(content trained.st)" = "$(content $type.st)" ]
    done
    grep -qaF "\\\"precision\\\":\\\"$type\\\"" trained.st
  done
  nn-train -q "${net[@]}" --steps=60 --precision=bf16 -o part.st --checkpoint=part.state train.csv
  nn-train -q "${net[@]}" --epochs=8 --precision=bf16 -o part.st --checkpoint=part.state --resume train.csv
  [ "$(content part.st)" = "$(content bf16.st)" ]
}

@test "precision: digits are recognized within 0.3 points of f32" {
  whole=$(figure accuracy f32.st held.csv)
  for type in bf16 f16 int8; do
    awk -v a="$whole" -v b="$(figure accuracy $type.st held.csv)" 'BEGIN { d = a - b; exit !(d < 0.003 && d > -0.003) }'
  done
}

@test "precision: small models are starts, weights for a text, and ONNX files of f32" {
  for type in bf16 f16 int8; do
    nn-train -q -m $type.st --target=digit --loss=cross-entropy --steps=5 -o a.st train.csv
    nn-train -q -m $type-wide.st --target=digit --loss=cross-entropy --steps=5 -o b.st train.csv
    [ "$(content a.st)" = "$(content b.st)" ]
    nn-train -q "${net[@]}" --init=$type.st --steps=0 -o c.st train.csv
    [ "$(content c.st)" = "$(content $type-wide.st)" ]
    cut -d, -f1-64 held.csv >pixels.csv
    nn-predict -m 'dense 64, relu, dense ?' $type.st pixels.csv >from.small
    nn-predict -m 'dense 64, relu, dense ?' $type-wide.st pixels.csv | cmp - from.small
  done
  nn-predict --version -v | grep -q '^ONNX: none' && skip "no ONNX"
  nn-train -m int8.st --steps=0 -o int8.onnx
  nn-predict int8.onnx held.csv | cmp - <(nn-predict --precision=f32 int8.st held.csv)
}

@test "precision: models of bf16 and f16 are averaged, those with scales are not" {
  for type in bf16 f16; do
    nn-allreduce $type.st $type.st $type.st -o mean.st
    [ "$(content mean.st)" = "$(content $type.st)" ]
  done
  told 1 "nn-allreduce: int8.st: tensor \"0.weight\": is int8 with scales of its own, expected numbers; models are averaged before they are made smaller" \
    nn-allreduce int8.st int8.st -o none.st
  told 1 "nn-allreduce: f16.st: tensor \"0.bias\": found f16, expected bf16 as in bf16.st" nn-allreduce bf16.st f16.st -o none.st
  [ ! -e none.st ]
}

@test "precision: what f16 and int8 cannot hold is told, and no file is written" {
  cp f32.st big.st
  poke big.st '\x00\xb8\x88\x47' # 70000
  told 1 "nn-train: --precision=f16: tensor '2.weight': found 70000, the largest f16 is 65504; bf16 has the range of f32" \
    nn-train -m big.st --steps=0 --precision=f16 -o none.st
  [ ! -e none.st ]
  nn-train -m big.st --steps=0 --precision=bf16 -o some.st
  poke big.st '\x00\xef\x7f\x47' # 65519, whose f16 is 65504
  nn-train -m big.st --steps=0 --precision=f16 -o some.st
  poke big.st '\x00\x00\xc0\x7f' # NaN
  nn-train -m big.st --steps=0 --precision=f16 -o some.st
  told 1 "nn-train: --precision=int8: tensor '2.weight': found values that are not finite, for which there is no scale" \
    nn-train -m big.st --steps=0 --precision=int8 -o none.st
  [ ! -e none.st ]
}

@test "precision: a training whose weights f16 cannot hold goes on from its state to bf16" {
  export NN_DEVICE=cpu     # on cuda bf16 and f16 are arithmetic, too
  cp f32.st big.st
  poke big.st '\x00\xb8\x88\x47'
  start=(-q -m big.st --target=digit --loss=cross-entropy --lr=1e-6 --epochs=1 train.csv -o late.st)
  run -1 --separate-stderr nn-train "${start[@]}" --precision=f16
  [[ $stderr == "nn-train: --precision=f16: tensor '2.weight': found 70000, "* ]]
  [ ! -e late.st ]
  told 2 "nn-train: --precision=f64: late.st.state.safetensors was made with --precision=f16" nn-train "${start[@]}" --precision=f64 --resume
  nn-train "${start[@]}" --precision=bf16 --resume
  [ "$(bytes late.st)" -eq "$(bytes bf16.st)" ]
}

@test "precision: a type that means nothing to a tool is told" {
  export NN_DEVICE=cpu     # on cuda bf16 and f16 are arithmetic, too
  for type in bf16 f16 int8; do
    rest="--precision=$type: is a type of model files, which nn-train writes; computation is in f32 or f64"
    told 2 "nn-predict: $rest" nn-predict --precision=$type f32.st digits.csv
    told 2 "nn-bench: $rest" nn-bench run f32.st --precision=$type
    told 2 "nn-allreduce: $rest" nn-allreduce --bench --precision=$type
    told 2 "nn-train: --precision: the ONNX file m.onnx holds f32 or f64; safetensors hold bf16, f16 and int8, too" \
      nn-train -m f32.st --steps=0 --precision=$type -o m.onnx
  done
  told 2 "nn-train: --precision=int4: expected one of f32, f64, f16, bf16, int8, tf32; did you mean int8?" nn-train -m f32.st --steps=0 --precision=int4
}

# damaged FROM TO OF MESSAGE: the header of OF with other words of the same length
damaged() {
  LC_ALL=C sed "s/$1/$2/" "$3" >damaged.st
  ! cmp -s damaged.st "$3" || return
  told 1 "nn-predict: damaged.st: $4" nn-predict damaged.st digits.csv
}

@test "precision: a file of a type that cannot be read is one line" {
  damaged '"dtype":"BF16"' '"dtype":"F8_E"' bf16.st "tensor \"0.bias\": dtype F8_E is not supported"
  damaged '0.weight_scale' '0.weight_zzzzz' int8.st "tensor '0.weight' is i8, wanted f32, f64, f16 or bf16, or its scales beside it"
  damaged '"shape":\[64,1\]' '"shape":[1,64]' int8.st "tensor '0.weight_scale' is 1x64 f32, expected 64x1 f32"
}
