#!/usr/bin/env bats
# Products by cuBLASLt: --precision=tf32 and --reproducible=no on cuda, with a library that computes on the host (tests/device/cublaslt.c).
# shellcheck disable=SC2154
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
  for ((n = 1; n <= calls; n++)); do
    NN_CUBLAS_FAULT=$n run --separate-stderr nn-train "${net[@]}" --device=cuda --precision=tf32 -o m.st some.csv
    [ "$status" = 1 ] || [ "$status" = 3 ]
    [ "${#stderr_lines[@]}" = 1 ]
    [[ $stderr == "nn-train: "*"device cuda:0: cublasLtCreate: "* || $stderr == "nn-train: "*"device cuda:0: cuBLASLt, a"*" failed: "* ]]
    cmp m.st was.st
  done
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
  nn-train --explain "${wide[@]}" --precision=tf32 | grep -q '^device: cuda+tf32: products of dense layers by cuBLASLt'
  all=$(nn-train --explain=json "${wide[@]}" --precision=tf32 | jq .memory.device)
  NN_CUDA_ROOM=$((all + (3 * 8 << 20) + 65536)) nn-train -q "${wide[@]}" --precision=tf32 -o m.st
  [ -s m.st ]
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
