#!/usr/bin/env bats
# Products by cuBLASLt: --precision=tf32, bf16, f16 and --reproducible=no on cuda, with a library that computes on the host (tests/device/cublaslt.c).
# shellcheck disable=SC2154
load ranks.bash
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export NN_MODULE_PATH=$NN_BUILD/tests/device/runtime/.libs LD_LIBRARY_PATH=$NN_BUILD/tests/device/cublas/.libs
  printf 'a,b,kind\n' >some.csv
  awk 'BEGIN { for (i = 0; i < 96; i++) printf "%g,%g,%s\n", sin(i), cos(i * i), i % 3 ? "x" : "y" }' >>some.csv
  net=(-q -m 'dense 12, relu, dense 7, tanh, dense ?' --target=kind -b 32 --epochs=2)
}

# told STATUS PATTERN COMMAND...: nothing on stdout, one line on stderr
told() {
  run "-$1" --separate-stderr "${@:3}"
  [ -z "$output" ]
  [ "${#stderr_lines[@]}" = 1 ]
  # shellcheck disable=SC2053
  [[ $stderr == $2 ]] || { printf '%s\n' "$stderr"; return 1; }
}

# tensors FILE: the bytes of its values
tensors() {
  "$PYTHON" -c 'import struct, sys
data = open(sys.argv[1], "rb").read()
sys.stdout.buffer.write(data[8 + struct.unpack("<Q", data[:8])[0]:])' "$1" | sha256sum
}

@test "products: --precision=tf32 on the CPU is status 3 and one line that names the device that may have it" {
  told 3 'nn-train: --precision=tf32: device cpu has no tensor cores; --device=cuda may have' nn-train "${net[@]}" --precision=tf32 -o m.st some.csv
  [ ! -e m.st ]
  nn-train "${net[@]}" -o there.st some.csv
  told 3 'nn-predict: --precision=tf32: device cpu has no *' nn-predict --precision=tf32 there.st some.csv
  told 3 'nn-bench: --precision=tf32: device cpu has no *' nn-bench run there.st --device=cpu --precision=tf32 --time=0.1 --to=csv
  told 3 'nn-bench: --precision=tf32: device cpu has no *' nn-bench ops dense:2x3x4 --precision=tf32 --time=0.1 --to=csv
  told 2 'nn-allreduce: --precision=tf32: is a way to multiply*' nn-allreduce --bench -n 2 --precision=tf32
}

@test "products: a library that is not there or too old is status 3 and one line that names it" {
  mkdir empty old
  : >empty/libcublasLt.so.13
  cp "$NN_BUILD/tests/device/runtime/.libs/nn-cuda.so" old/libcublasLt.so.13
  for how in --precision=tf32 --reproducible=no; do
    LD_LIBRARY_PATH=$PWD/empty told 3 'nn-train: device cuda+*: cannot load *libcublasLt.so.13: *' nn-train "${net[@]}" --device=cuda $how -o m.st some.csv
    LD_LIBRARY_PATH=$PWD/old told 3 'nn-train: device cuda+*: libcublasLt.so.13 has no cublasLtCreate' nn-train "${net[@]}" --device=cuda $how -o m.st some.csv
    [ ! -e m.st ]
  done
  LD_LIBRARY_PATH=$PWD/empty nn-train "${net[@]}" --device=cuda -o m.st some.csv # its own products need none
  [ -s m.st ]
}

@test "products: a module built without the library's header is status 3 and says so" {
  NN_MODULE_PATH=$NN_BUILD/tests/device/plain/.libs told 3 'nn-train: device cuda+tf32: nn-cuda.so was built without cublasLt.h*' \
    nn-train "${net[@]}" --device=cuda --precision=tf32 -o m.st some.csv
}

@test "products: every call of the library that fails is one line that names it, and files stay as they were" {
  nn-train "${net[@]}" -o m.st some.csv
  cp m.st was.st
  NN_CUBLAS_CALLS=calls nn-train "${net[@]}" --device=cuda --precision=tf32 -o other.st some.csv
  read -r calls products <calls
  [ "$products" -gt 12 ]
  [ "$calls" -gt "$products" ]
  touch -d @1000000000 m.st
  touch begun
  for ((n = 1; n <= calls; n++)); do
    status=0
    NN_CUBLAS_FAULT=$n nn-train "${net[@]}" --device=cuda --precision=tf32 -o m.st some.csv >out 2>err || status=$?
    [ "$status" = 1 ] || [ "$status" = 3 ]
    mapfile -t said <err
    [ "${#said[@]}" = 1 ]
    [[ ${said[0]} == "nn-train: "*"device cuda:0: cublasLtCreate: "* || ${said[0]} == "nn-train: "*"device cuda:0: cuBLASLt, a"*" failed: "* ]]
    [ m.st -ot begun ] # who writes a model makes a new file
  done
  cmp m.st was.st
  for n in 1 2 9; do
    NN_CUBLAS_FAULT=$n run --separate-stderr nn-predict --device=cuda --precision=tf32 m.st some.csv
    [ "$status" = 1 ] || [ "$status" = 3 ]
    [ "${#lines[@]}" -le 1 ] # the header
    [ "${#stderr_lines[@]}" = 1 ]
  done
}

@test "products: in any order they have the CPU's values where a batch is one leaf, dense layers behind pictures too" {
  printf '%s\n' 'input 1x8x8' 'conv2d 6 3x3 pad=1' 'relu' 'flatten' 'dense 20' 'gelu' 'dense 12 bias=no' 'dense ?' >net.nn
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 161 >digits.csv
  for precision in f32 f64; do
    one=(-q -m net.nn --target=digit --loss=cross-entropy --epochs=2 -b 96 --leaves=1 --clip-norm=1 --precision="$precision" digits.csv)
    nn-train "${one[@]}" --device=cpu -o cpu.st
    NN_CUBLAS_CALLS=calls nn-train "${one[@]}" --device=cuda --reproducible=no -o any.st
    read -r _ products <calls
    [ "$products" -ge 18 ]
    [ "$(tensors any.st)" = "$(tensors cpu.st)" ]
    nn-predict --device=cuda --reproducible=no cpu.st digits.csv >any.txt
    nn-predict cpu.st digits.csv >cpu.txt
    cmp any.txt cpu.txt
  done
}

@test "products: tf32 rounds factors: answers are near those of f32, the model file holds f32 and is the CPU's to read" {
  nn-train "${net[@]}" --device=cuda --precision=tf32 --log=log -o m.st some.csv
  nn-train "${net[@]}" -o f32.st some.csv
  [ "$(tensors m.st)" != "$(tensors f32.st)" ]
  [ "$(stat -c %s m.st)" -lt $(($(stat -c %s f32.st) + 64)) ]
  nn-predict --info m.st >info
  grep -q '^tensors: .* f32' info || grep -q f32 info
  nn-predict --emit=probs f32.st some.csv >cpu.txt
  nn-predict --emit=probs --device=cuda --precision=tf32 f32.st some.csv >tf32.txt
  run ! cmp -s cpu.txt tf32.txt
  # three layers of at most 12 products, each factor off by 2^-11 of itself
  paste -d, cpu.txt tf32.txt | awk -F, 'NR > 1 { d = $1 - $3; if (d < 0) d = -d; if (d > most) most = d } END { exit !(most > 0 && most < 4e-3) }'
  jq -se '.[0] | .device == "cuda+tf32" and .blas == "cublas"' log
  nn-train "${net[@]}" --device=cuda --reproducible=no --log=log -o any.st some.csv
  jq -se '.[0] | .device == "cuda+cublas" and .blas == "cublas"' log
  nn-bench run f32.st --device=cuda --precision=tf32 --batch=4 --time=0.1 --to=csv | grep -q ',cuda+tf32,tf32,4,'
}

@test "products: the plan counts the library's workspace, and a training takes no more of the device than planned" {
  wide=(-m 'dense 400, relu, dense 400, relu, dense ?' --target=kind -b 96 --epochs=1 --leaves=1 --device=cuda some.csv)
  own=$(nn-train --explain=json "${wide[@]}" | jq .memory.device_workspace)
  [ "$(nn-train --explain=json "${wide[@]}" --precision=tf32 | jq .memory.device_workspace)" -ge $((own + (4 << 20))) ]
  nn-train --explain "${wide[@]}" --precision=tf32 | grep -q '^device: cuda+tf32: products of dense layers and convolutions by cuBLASLt'
  all=$(nn-train --explain=json "${wide[@]}" --precision=tf32 | jq .memory.device)
  NN_CUDA_ROOM=$((all + (3 * 8 << 20) + 65536)) nn-train -q "${wide[@]}" --precision=tf32 -o m.st
  [ -s m.st ]
}

# pictures OPTION...: a training of convolutions on digits.csv, one of several groups and one that is frozen among them
pictures() {
  [ -e digits.csv ] || zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 129 >digits.csv
  nn-train -q -m 'input 1x8x8, conv2d 12 3x3 pad=1, relu, maxpool2d 2, conv2d 8 3x3 pad=1, batchnorm group=32, relu, conv2d 8 1x1, tanh, conv2d 8 3x3 groups=2, conv-transpose2d 6 2x2 stride=2, leaky-relu, flatten, dense ?' \
    --target=digit --loss=cross-entropy --optimizer=sgd -b 64 --epochs=2 "$@" digits.csv
}

# near ONE OTHER MOST: the largest difference of tensors of f32, in parts of the largest value, is less than MOST, but not 0
near() {
  "$PYTHON" -c 'import json, struct, sys
def values(name):
    data = open(name, "rb").read()
    n = 8 + struct.unpack("<Q", data[:8])[0]
    return struct.unpack(f"<{(len(data) - n) // 4}f", data[n:])
one, other = values(sys.argv[1]), values(sys.argv[2])
off = max(abs(a - b) for a, b in zip(one, other)) / max(abs(b) for b in other)
sys.exit(not (len(one) == len(other) and 0 < off < float(sys.argv[3])))' "$@"
}

@test "products: those of convolutions are the library's, near those of f32, the same bytes twice, with few columns in memory too" {
  pictures --device=cpu -o cpu.st
  for how in 'reproducible=no 2e-6' 'precision=tf32 2e-3'; do
    read -r how most <<<"$how"
    NN_CUBLAS_CALLS=calls NN_CUDA_NODES=nodes pictures --device=cuda --$how -o m.st
    read -r _ products <calls
    [ "$products" = 28 ] # of two steps, then they are replayed: three of a layer, of the first two, those of several groups are ours
    [ "$(grep -c '^columns' nodes)" = 6 ] && [ "$(grep -c '^image' nodes)" = 2 ] # those of 1x1 need none
    near m.st cpu.st "$most"
    pictures --device=cuda --$how -o again.st
    [ "$(tensors again.st)" = "$(tensors m.st)" ]
    for columns in 20000 3000; do # some rows, some lines of one
      NN_CUBLAS_CALLS=calls NN_CUDA_COLUMNS=$columns pictures --device=cuda --$how -o m.st
      read -r _ more <calls
      [ "$more" -gt $((2 * products)) ]
      near m.st cpu.st "$most"
    done
  done
}

@test "products: a convolution that is frozen and one of f16 with its scaled loss train as they do without the library" {
  pictures --device=cpu -o base.st
  pictures --device=cpu --init=base.st --freeze=6 -o cpu.st
  pictures --device=cuda --precision=tf32 --init=base.st --freeze=6 -o m.st
  near m.st cpu.st 3e-3
  pictures --device=cuda --precision=f16 --log=log -o m.st
  jq -se '.[-1] | .loss_scale == 65536 and .skipped_steps == 0' log
  nn-train -q -m m.st --steps=0 --precision=f32 -o wide.st
  near wide.st base.st 4e-3
}

@test "products: the plan counts columns, and a training takes no more of the device than planned" {
  [ -e digits.csv ] || zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 129 >digits.csv
  wide=(-m 'input 1x8x8, conv2d 16 3x3 pad=1, relu, conv2d 16 3x3 pad=1, relu, maxpool2d 2, flatten, dense ?' --target=digit --loss=cross-entropy -b 64 --epochs=1 --leaves=1 --device=cuda digits.csv)
  own=$(nn-train --explain=json "${wide[@]}" | jq .memory.device_workspace)
  # of the second convolution: rows x pixels x taps x channels x 4 bytes, and no weights in another order
  columns=$((64 * 64 * 9 * 16 * 4)) turned=$((9 * 16 * 16 * 4))
  [ "$(nn-train --explain=json "${wide[@]}" --precision=tf32 | jq .memory.device_workspace)" -ge $((own + (4 << 20) + columns - 2 * turned)) ]
  for bytes in $((64 << 20)) 100000; do
    export NN_CUDA_COLUMNS=$bytes
    all=$(nn-train --explain=json "${wide[@]}" --precision=tf32 | jq .memory.device)
    NN_CUDA_ROOM=$((all + (3 * 8 << 20) + 65536)) nn-train -q "${wide[@]}" --precision=tf32 -o m.st
    [ -s m.st ]
    rm m.st
  done
  [ "$all" -lt $((columns + (8 << 20))) ]
}

@test "products: what rests on the CPU's bytes refuses them, and a training goes on in the arithmetic it began with" {
  told 2 'nn-train: --precision=tf32: promises nothing that --selfcheck could check' nn-train -q -m 'dense ?' --target=kind --selfcheck --device=cuda --precision=tf32 some.csv
  told 2 'nn-train: --precision=tf32: not with --tensor*' nn-train -q -m 'dense 4, dense ?' --target=kind --ranks=2 --tensor=2 --device=cuda --precision=tf32 -o m.st some.csv
  nn-train "${net[@]}" --device=cuda --precision=tf32 --checkpoint=state -o m.st some.csv
  told 2 'nn-train: --precision=f32: state was made with --precision=tf32' nn-train "${net[@]}" --device=cuda --checkpoint=state --resume --epochs=3 -o m.st some.csv
  nn-train "${net[@]}" --device=cuda --precision=tf32 --checkpoint=state --resume --epochs=4 -o m.st some.csv
  nn-train "${net[@]}" --device=cuda --precision=tf32 --epochs=4 -o whole.st some.csv
  [ "$(tensors m.st)" = "$(tensors whole.st)" ]
}

# skipped LOG: steps that updated nothing
skipped() {
  jq -r 'select(.event == "end").skipped_steps' "$1"
}

@test "products: bf16 and f16 round the factors and add in f32: answers are those of a product in f64 with rounded factors" {
  printf '%s\n' 'a,b,c,kind' >x.csv
  awk 'BEGIN { for (i = 0; i < 40; i++) printf "%.9g,%.9g,%.9g,%s\n", sin(i) * 9, cos(i * i), sin(i + 7) / 3, i % 3 ? "x" : "y" }' >>x.csv
  nn-train -q -m 'dense ?' --target=kind --normalize=none --steps=0 -o m.st x.csv
  for precision in bf16 f16; do
    nn-predict --emit=logits --device=cuda --precision=$precision m.st x.csv >found.csv
    "$PYTHON" - $precision <<'EOF'
import csv, json, struct, sys
def f32(v): return struct.unpack("<f", struct.pack("<f", v))[0]
def bf16(v):
    bits = struct.unpack("<I", struct.pack("<f", v))[0]
    return struct.unpack("<f", struct.pack("<I", (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000))[0]
def f16(v): return struct.unpack("<e", struct.pack("<e", v))[0]
narrow = {"bf16": bf16, "f16": f16}[sys.argv[1]]
data = open("m.st", "rb").read()
n = struct.unpack("<Q", data[:8])[0]
tensors = {}
for name, what in json.loads(data[8:8 + n]).items():
    if name != "__metadata__":
        begin, end = (8 + n + at for at in what["data_offsets"])
        tensors[name.split(".")[1]] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
rows = [[f32(float(v)) for v in row[:3]] for row in list(csv.reader(open("x.csv")))[1:]]
found = [[float(v) for v in row] for row in list(csv.reader(open("found.csv")))[1:]]
assert len(found) == len(rows) == 40
off = whole = 0
for row, logits in zip(rows, found):
    for out in range(2):
        w = tensors["weight"][3 * out:3 * out + 3]
        bias = tensors["bias"][out]
        off = max(off, abs(logits[out] - bias - sum(narrow(a) * narrow(b) for a, b in zip(row, w))))
        whole = max(whole, abs(logits[out] - bias - sum(a * b for a, b in zip(row, w))))
# sums of three products below 16, in f32, and 8 digits of each answer
assert off < 4e-6 and whole > 1e-3, (off, whole)
EOF
  done
}

@test "products: f16 scales the loss: where a gradient overflows the step is skipped, counted and told, and training goes on" {
  awk 'BEGIN { print "a,b,y"; for (i = 0; i < 64; i++) printf "%g,%g,%g\n", sin(i), cos(i * i), 3 * sin(i) - cos(i * i) }' >y.csv
  numbers=(-m 'dense 12, tanh, dense ?' --target=y --optimizer=adam y.csv --device=cuda)
  nn-train "${numbers[@]}" -b 1 --epochs=3 --precision=f16 --log=log -o m.st 2>said
  n=$(skipped log)
  [ "$n" -ge 1 ] && [ "$n" -lt 8 ]
  grep -q "; $n steps* skipped, the gradient was not finite in f16; written" said
  jq -se --argjson n "$n" '.[-1].loss_scale == 65536 / pow(2; $n)' log
  # a skipped step is no step of Adam's: the first update is as large as f32's
  nn-train -q "${numbers[@]}" -b 1 --epochs=3 --log=log32 -o f32.st
  jq -se '.[-1] | has("loss_scale") | not' log32
  nn-predict --score m.st y.csv >score
  awk '$1 == "rmse" && $2 < 1 { ok = 1 } END { exit !ok }' score
  # the norm is that of the gradient itself
  nn-train -q "${numbers[@]}" -b 64 --steps=3 --log-every=1 --precision=f16 --log=log -o m.st
  nn-train -q "${numbers[@]}" -b 64 --steps=3 --log-every=1 --log=log32 -o m.st
  jq -s '[.[] | select(.event == "step").grad_norm]' log log32 | jq -se '.[0] as $n | [range(3)] | all(($n[.] / $n[. + 3] - 1) | fabs < 0.01)'
}

@test "products: a training in f16 that was stopped between skipped steps goes on to the same bytes" {
  awk 'BEGIN { print "a,b,y"; for (i = 0; i < 64; i++) printf "%g,%g,%g\n", sin(i), cos(i * i), 3 * sin(i) - cos(i * i) }' >y.csv
  numbers=(-q -m 'dense 12, tanh, dense ?' --target=y -b 1 --device=cuda --precision=f16 --clip-norm=1 y.csv)
  nn-train "${numbers[@]}" --steps=100 --log=whole -o whole.st
  for stop in 1 2 60; do
    nn-train "${numbers[@]}" --steps=$stop --checkpoint=state -o m.st
    nn-train "${numbers[@]}" --steps=100 --checkpoint=state --resume --log=log -o m.st
    [ "$(tensors m.st)" = "$(tensors whole.st)" ]
    [ "$(skipped log)" = "$(skipped whole)" ]
    rm state log
  done
  nn-train "${numbers[@]}" --steps=2 --checkpoint=state -o m.st
  told 2 'nn-train: --precision=f32: state was made with --precision=f16' nn-train "${numbers[@]}" --precision=f32 --steps=9 --checkpoint=state --resume -o m.st
}

@test "products: ranks, micro-batches, stages and shards skip the same steps of a training in f16" {
  LACKING=$(lacking_ranks | head -n 1)
  [ -z "$LACKING" ] || skip "$LACKING"
  allow_ranks
  awk 'BEGIN { print "a,b,y"; for (i = 0; i < 64; i++) printf "%g,%g,%g\n", sin(i), cos(i * i), i % 8 ? sin(i) : 30 }' >y.csv
  export NN_MODULE_PATH=$NN_MODULE_PATH:$NN_BUILD/lib/.libs
  numbers=(-q -m 'dense 12, tanh, dense ?' --target=y -b 2 --leaves=2 --steps=24 --device=cuda --precision=f16 y.csv)
  nn-train "${numbers[@]}" --log=one -o one.st
  [ "$(skipped one)" -ge 1 ]
  for how in --micro-batch=1 --ranks=2 '--ranks=2 --shard-optimizer' '--ranks=2 --pipeline=2'; do
    # shellcheck disable=SC2086
    nn-train "${numbers[@]}" $how --log=log -o m.st
    [ "$(skipped log)" = "$(skipped one)" ]
    [ "$(jq -r 'select(.event == "end").loss_scale' log)" = "$(jq -r 'select(.event == "end").loss_scale' one)" ]
  done
}

@test "products: bf16 and f16 on the CPU are types of files, as they were; what cannot scale its loss refuses f16" {
  nn-train "${net[@]}" --precision=bf16 --log=log -o m.st some.csv
  nn-train "${net[@]}" -o f32.st some.csv
  nn-train -q -m f32.st --steps=0 --precision=bf16 -o small.st
  [ "$(tensors m.st)" = "$(tensors small.st)" ]
  jq -se '.[0] | .device == "cpu" and .blas == null' log
  told 2 'nn-predict: --precision=bf16: is a type of model files*' nn-predict --precision=bf16 f32.st some.csv
  told 2 'nn-bench: --precision=f16: is a type of model files*' nn-bench run f32.st --precision=f16 --time=0.1 --to=csv
  told 2 'nn-allreduce: --precision=f16: is a type of model files*' nn-allreduce --bench -n 2 --precision=f16 --device=cuda
  told 2 'nn-train: --precision=f16: needs --strategy=sync' nn-train "${net[@]}" --device=cuda --precision=f16 --ranks=2 --strategy=local:2 -o n.st some.csv
  told 2 'nn-train: --precision=bf16: not with --tensor*' nn-train -q -m 'dense 4, dense ?' --target=kind --ranks=2 --tensor=2 --device=cuda --precision=bf16 -o n.st some.csv
  NN_MODULE_PATH=$NN_BUILD/tests/device/plain/.libs told 3 'nn-train: device cuda+f16: nn-cuda.so was built without cublasLt.h*' nn-train "${net[@]}" --device=cuda --precision=f16 -o n.st some.csv
  mkdir empty
  : >empty/libcublasLt.so.13
  LD_LIBRARY_PATH=$PWD/empty told 3 'nn-train: device cuda+bf16: cannot load *' nn-train "${net[@]}" --device=cuda --precision=bf16 -o n.st some.csv
  [ ! -e n.st ]
}

@test "products: nn-bench names the library that a row's device computes with" {
  nn-train "${net[@]}" -o f32.st some.csv
  for precision in tf32 bf16 f16; do
    nn-bench run f32.st --device=cuda --precision=$precision --batch=4 --time=0.1 --to=json 2>/dev/null >rows
    jq -e --arg p $precision 'all(.[]; .device == "cuda+" + $p and .precision == $p and .blas == "cublas")' rows
  done
  nn-bench run f32.st --device=cuda --batch=4 --time=0.1 --to=json 2>/dev/null | jq -e 'all(.[]; .precision == "f32" and .blas == null)'
}

@test "products: nn-bench ops has rows of cublas beside ours, or in their place where the option asks for them" {
  nn-bench ops --device=cuda --to=json --time=0.05 dense:4x20x12 activation:4x16,gelu 2>/dev/null >rows
  jq -e '[.[].kernel] == ["ours", "cublas", "ours", "cublas", "ours", "ours"] and all(.[]; .device == "cuda" and .check == "ok")' rows
  nn-bench ops --device=cuda --to=json --time=0.05 conv2d:4x3x6x6,8,3x3,pad=1 conv2d:4x8x6x6,8,3x3,stride=2 conv-transpose2d:4x8x6x6,8,2x2,stride=2 2>/dev/null >rows
  jq -e '[.[].kernel] == [range(6) | "ours", "cublas"] and all(.[]; .check == "ok")' rows
  for precision in tf32 f16; do
    nn-bench ops --device=cuda --precision=$precision --to=json --time=0.05 dense:4x20x12 activation:4x16,gelu 2>/dev/null >rows
    jq -e --arg p "cuda+$precision" '[.[].kernel] == ["cublas", "cublas", "ours", "ours"] and all(.[]; .device == $p and .check == "ok")' rows
  done
  mkdir empty
  : >empty/libcublasLt.so.13
  LD_LIBRARY_PATH=$PWD/empty nn-bench ops --device=cuda --to=csv --time=0.05 dense:4x20x12 2>notes | cut -d, -f1-4 >rows
  [ "$(grep -c ',cuda,ours' rows)" = 2 ]
  grep -q 'nn-bench: note: no rows of cublas: ' notes
}
