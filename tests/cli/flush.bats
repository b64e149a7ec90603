#!/usr/bin/env bats
# Subnormals are zero: rows, targets, weights and moments full of them give one model, whoever computes it.
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  begin_ranks || true
  cd "$BATS_FILE_TMPDIR" || return
  cat >small.py <<'PYTHON'
# small.py rows TYPE: x.npy and y.npy in which every third number is subnormal
# small.py state FILE: so are weights and moments from now on; small.py count FILE: how many there are
import hashlib, json, math, struct, sys
LEAST = {"F32": 2.0 ** -126, "F64": 2.0 ** -1022}

def npy(name, kind, shape, values):
    head = "{'descr': '<f%d', 'fortran_order': False, 'shape': %r, }" % (4 if kind == "F32" else 8, tuple(shape))
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(struct.pack("<%d%s" % (len(values), "f" if kind == "F32" else "d"), *values))

def tensors(name):
    data = open(name, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    meta = head.pop("__metadata__")
    found = {}
    for key in sorted(head):
        t = head[key]
        raw = data[8 + n:][slice(*t["data_offsets"])]
        code = "f" if t["dtype"] == "F32" else "d"
        found[key] = (t["dtype"], t["shape"], list(struct.unpack("<%d%s" % (len(raw) // (4 if code == "f" else 8), code), raw)), code)
    return found, meta

if sys.argv[1] == "rows":
    kind = sys.argv[2]
    x = [math.sin(i * 1.3) for i in range(160 * 24)]
    y = [math.cos(i * 0.7) for i in range(160 * 2)]
    for values in x, y:
        for i in range(0, len(values), 3):
            values[i] *= LEAST[kind]
    npy("x.npy", kind, (160, 24), x)
    npy("y.npy", kind, (160, 2), y)
elif sys.argv[1] == "state":
    found, meta = tensors(sys.argv[2])
    sha, head, blob = hashlib.sha256(), {}, b""
    for key, (kind, shape, values, code) in found.items():
        values = [v if i % 3 else (v or 1) * LEAST[kind] * 0.3 for i, v in enumerate(values)]
        raw = struct.pack("<%d%s" % (len(values), code), *values)
        head[key] = {"dtype": kind, "shape": shape, "data_offsets": [len(blob), len(blob) + len(raw)]}
        blob += raw
        sha.update(b"\0".join([key.encode(), kind.lower().encode(), "x".join(map(str, shape)).encode(), b""]) + raw)
    for key in sorted(meta):
        if key != "nn.checksum":
            sha.update(key.encode() + b"\0" + meta[key].encode() + b"\0")
    meta["nn.checksum"] = sha.hexdigest()
    text = json.dumps({"__metadata__": meta, **head}).encode()
    text += b" " * (-len(text) % 64)
    open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + blob)
else:
    found, _ = tensors(sys.argv[2])
    print(sum(0 < abs(v) < LEAST[kind] for kind, _, values, _ in found.values() for v in values))
PYTHON
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  small=$BATS_FILE_TMPDIR/small.py
}

# begin DTYPE: a training that stopped after an epoch, and its state with subnormals
begin() {
  python3 "$small" rows "${1^^}"
  words=(-q --precision="$1" --normalize=none --loss=mse -b 64 --seed=5 --log=log x.npy y.npy)
  net='dense 40, leaky-relu, dense 24, gelu, layernorm, dense 16, sigmoid, dense ?'
  nn-train "${words[@]}" -m "$net" --epochs=1 --checkpoint-every=1 -o first.safetensors
  python3 "$small" state first.state.safetensors
  [ "$(python3 "$small" count first.state.safetensors)" -gt 1000 ]
}

# go_on OPTION...: its model after three more epochs, as m
go_on() {
  cp first.safetensors m.safetensors
  cp first.state.safetensors m.state.safetensors
  nn-train "${words[@]}" -m "$net" --epochs=4 --checkpoint-every=1 -o m.safetensors --resume "$@"
}

@test "flush: subnormal rows, targets, weights and moments give one model on every instruction set and thread count, without any" {
  for dtype in f32 f64; do
    begin $dtype
    go_on -t 1
    cp m.safetensors one
    [ "$(python3 "$small" count one)" -eq 0 ]
    [ "$(python3 "$small" count m.state.safetensors)" -eq 0 ]
    for isa in avx512 avx2 neon generic; do
      there $isa || continue
      for t in 1 2 3 4; do
        NN_CPU=$isa go_on -t $t
        same one m.safetensors
      done
    done
    nn-predict one x.npy -o p.npy
    NN_CPU=generic nn-predict one x.npy -t 3 -o q.npy
    same p.npy q.npy
  done
}

@test "flush: and for 2 and 3 ranks" {
  [ -z "$LACKING" ] || skip "$LACKING"
  begin f32
  go_on -t 1
  cp m.safetensors one
  for n in 2 3; do
    go_on --ranks=$n
    same one m.safetensors
  done
}
