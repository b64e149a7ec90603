#!/usr/bin/env python3
"""What libFuzzer begins with: a small good file of every kind, in FOLDER/READER.

usage: tests/fuzz/seeds.py FOLDER
"""
import glob, os, sys, zipfile
sys.dont_write_bytecode = True
import mutate

HERE = os.path.dirname(os.path.abspath(__file__))
PICKS = b"\x00\x41\x82"  # the first byte of a table or a text says how it is read


def text(name):
    with open(name, "rb") as file:
        return file.read()


array = mutate.npy_file("<f4", "f", "(5, 3)", [i / 4 for i in range(15)])
seeds = {
    "tensors": [mutate.tensors_file(), array, mutate.npy_file("|u1", "B", "(6,)", range(6)), mutate.torch_file()] +
               [mutate.npz_file({"x.npy": array, "y.npy": array}, method) for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)],
    "table": [bytes([pick]) + data for pick in PICKS for data in (mutate.csv_file(9), mutate.csv_file(9).replace(b",", b"\t"), mutate.jsonl_file(9))],
    "svm": [bytes([pick]) + mutate.svm_file(9) for pick in PICKS],
    "idx": [bytes([pick]) + data for pick in (0, 1, 64, 128) for data in (mutate.idx_file((3, 2, 2), range(12)), mutate.idx_file((3, 4), range(12)))] +
           [bytes([pick]) + mutate.idx_file((3,), (1, 0, 2)) for pick in (2, 66, 130)],
    "cifar": [b"".join(bytes(labels) + bytes((i + k) % 256 for k in range(3072)) for i in range(2)) for labels in ((9,), (19, 99))],
    "text": [bytes([window]) + text(os.path.join(HERE, "seeds.py"))[:600] for window in (0, 7, 31)],
    "net": [b"\0" + text(name) for name in glob.glob(os.path.join(HERE, "../../share/examples/*.nn"))] +
           [b"\1input 4, a: dense 8, relu, dense 8 from=a, add from=a, repeat 2 { dense 3, tanh }, dense 2"],
}
for reader, files in seeds.items():
    folder = os.path.join(sys.argv[1], reader)
    os.makedirs(folder, exist_ok=True)
    for i, data in enumerate(files):
        with open(os.path.join(folder, f"seed-{i}"), "wb") as file:
            file.write(data)
