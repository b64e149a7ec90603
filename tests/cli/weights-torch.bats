#!/usr/bin/env bats
# PyTorch's .pt files: state_dicts as torch.save writes them, and what is refused without being executed.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

# py CODE: with torchfile.py, and put(NAME, BYTES)
py() {
  PYTHONPATH=$NN_SRC/tests/fuzz PYTHONDONTWRITEBYTECODE=1 python3 - <<PYTHON
from torchfile import *
from collections import OrderedDict
def put(name, data): open(name, "wb").write(data)
W, b = floats(1, 2, 3, -1, 0.5, 0.25), floats(10, 20)
def save(name, state, storages={"0": W, "1": b}, **how): put(name, archive(pickled(state), storages, **how))
def net(**weight): return OrderedDict([("0.weight", Tensor(**{"key": "0", "shape": [2, 3], **weight})), ("0.bias", Tensor("1", [2]))])
$1
PYTHON
}

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  py '
save("plain.pt", net())
save("module.pt", OrderedDict(("module." + k, v) for k, v in net().items()))
save("parameter.pt", net(parameter=True))
save("prefix.pt", net(), prefix="a/b/")
save("transposed.pt", net(stride=[1, 2]), {"0": floats(1, -1, 2, 0.5, 3, 0.25), "1": b})
save("part.pt", net(offset=2, stride=[4, 1], count=9), {"0": floats(7, 7, 1, 2, 3, 7, -1, 0.5, 0.25), "1": b})
shared = {"0": floats(1, 2, 3, -1, 0.5, 0.25, 10, 20)}
save("shared.pt", OrderedDict([("0.weight", Tensor("0", [2, 3], count=8)), ("0.bias", Tensor("0", [2], offset=6, count=8))]), shared)
save("big.pt", net(), {"0": struct.pack(">6f", 1, 2, 3, -1, 0.5, 0.25), "1": struct.pack(">2f", 10, 20)}, byteorder=b"big")
save("noorder.pt", net(), byteorder=None)
save("half.pt", net(kind="Half"), {"0": struct.pack("<6e", 1, 2, 3, -1, 0.5, 0.25), "1": b})
'
  printf '1,0,0\n0,1,0\n0,0,1\n1,2,4\n' >x.csv
  printf '11,19\n12,20.5\n13,20.25\n27,21\n' >y
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

predict() {
  nn-predict -m 'dense 2' "$1" x.csv
}

# refused MESSAGE FILE: in one line, status 1
refused() {
  run -1 --separate-stderr predict "$2"
  [ "$stderr" = "nn-predict: $2: $1" ] || { echo "$stderr"; return 1; }
}

@test "torch: views with strides and offsets, shared storages, parameters, f16, big endian, module." {
  for f in plain module parameter prefix transposed part shared big noorder half; do
    [ "$(predict $f.pt)" = "$(cat y)" ] || { echo $f; return 1; }
  done
  [ "$(nn-predict --info plain.pt | tail -n 2)" = "  0.bias 2 f32
  0.weight 2x3 f32" ]
}

@test "torch: nothing is called, whoever asks" {
  py '
import os
class Call:
    def __reduce__(self): return os.system, ("touch called",)
save("call.pt", OrderedDict([("0.weight", Call())]))
put("tensor.pt", archive(pickled(net()).replace(b"collections\nOrderedDict", b"builtins\neval"), {"0": W, "1": b}))
put("new.pt", archive(b"\x80\2ccollections\nOrderedDict\n)\x81.", {}))
put("global.pt", archive(b"\x80\4\x95\1\0\0\0\0\0\0\0.", {}))
put("text.pt", archive(b"cos\nsystem\n(S\"touch called\"\ntR.", {}))
put("word.pt", archive(b"\x80\2ctorch\nFloatStorage\n)R.", {}))
put("inner.pt", archive(archive(b"\x80\2}.", {}), {}))'
  refused "asks for posix.system, and only tensors are read: torch.save(net.state_dict(), 'w.pt') writes those alone" call.pt
  refused "asks for builtins.eval, and only tensors are read: torch.save(net.state_dict(), 'w.pt') writes those alone" tensor.pt
  refused "the pickle's opcode 0x81 (NEWOBJ) at byte 28 is not one of a state_dict" new.pt
  refused "the pickle's opcode 0x95 (FRAME) at byte 2 is not one of a state_dict" global.pt
  refused "asks for os.system, and only tensors are read: torch.save(net.state_dict(), 'w.pt') writes those alone" text.pt
  refused "the pickle calls what is no function at byte 24" word.pt
  refused "the pickle's opcode 0x50 (PERSID) at byte 0 is not one of a state_dict" inner.pt
  [ ! -e called ]
}

@test "torch: other pickles are named, with what to do" {
  py '
save("check.pt", {"epoch": 3, "optimizer": {"state": {}}, "weights": net()})
save("list.pt", list(net().values()))
save("number.pt", OrderedDict([("0.weight", 3.5)]))
put("old.pt", pickled(net()))
with zipfile.ZipFile("k.keras", "w") as z: z.writestr("model.weights.h5", b"x")'
  refused "is a checkpoint, with a dict 'weights' in it, not a state_dict; save the weights alone: torch.save(torch.load('check.pt')['weights'], 'w.pt')" check.pt
  refused "holds no state_dict; torch.save(net.state_dict(), 'w.pt') writes one" list.pt
  refused "tensor '0.weight': is no tensor; a state_dict has nothing else" number.pt
  refused "looks like a pickle file, not a model" old.pt
  refused "is a model of Keras; save its weights as .npz: numpy.savez('w.npz', *model.get_weights()) in Python" k.keras
}

@test "torch: sizes that lie, storages outside and damage are refused" {
  py '
save("outside.pt", net(offset=1))
save("stride.pt", net(stride=[1 << 62, 1]))
save("promise.pt", net(count=1000))
save("missing.pt", net(key="7"))
save("negative.pt", net(offset=-1))
save("rank.pt", OrderedDict([("0.weight", Tensor("0", [1] * 9))]))
save("huge.pt", net(shape=[1 << 40, 1 << 30], stride=[0, 0], count=6))
save("wide.pt", net(shape=[1 << 20, 1], stride=[0, 0], count=6))
save("complex.pt", net(kind="ComplexFloat"))
save("order.pt", net(), byteorder=b"middle")
save("packed.pt", net(), method=zipfile.ZIP_DEFLATED)
put("cut.pt", archive(pickled(net())[:-40], {"0": W, "1": b}))
put("memo.pt", archive(b"\x80\2}r\xff\xff\xff\xff.", {}))
put("empty.pt", archive(b"", {}))
data = bytearray(open("plain.pt", "rb").read()); data[data.index(W)] ^= 1; put("crc.pt", bytes(data))'
  refused "tensor '0.weight': lies outside its storage" outside.pt
  refused "tensor '0.weight': lies outside its storage" stride.pt
  refused "tensor '0.weight': its storage promises 1000 values, found 6" promise.pt
  refused "tensor '0.weight': its storage data/7 is missing" missing.pt
  refused "tensor '0.weight': its place in the storage is not three lists of numbers" negative.pt
  refused "tensor '0.weight': has more than 8 dimensions (a fixed limit)" rank.pt
  refused "tensor '0.weight': lies outside its storage" huge.pt
  refused "tensor '0.weight': the views of the file hold more than 16 times its size (--limit=views=32)" wide.pt
  refused "asks for torch.ComplexFloatStorage, and only tensors are read: torch.save(net.state_dict(), 'w.pt') writes those alone" complex.pt
  refused "its byteorder is neither little nor big" order.pt
  refused "member 'archive/data.pkl' is compressed, expected it stored as torch.save does" packed.pt
  refused "the pickle leaves out a memo at byte 8" memo.pt
  refused "the pickle ends early at byte 0" empty.pt
  refused "member 'archive/data/0' is damaged: its checksum is wrong" crc.pt
  run -1 --separate-stderr predict cut.pt
  [ "${#stderr_lines[@]}" -eq 1 ]
}
