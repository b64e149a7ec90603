#!/usr/bin/env python3
"""What libFuzzer begins with for caches: those that nn-train makes of small data, without checksums.

usage: tests/fuzz/cache-seeds.py FOLDER NN_TRAIN
"""
import json, os, re, subprocess, sys, tempfile

folder, train = sys.argv[1], os.path.abspath(sys.argv[2])
TABLE = "a,b,w,y\n" + "".join(f"{i % 5}.5,{'red blue'.split()[i % 2]},{i % 3},{'up down'.split()[i // 2 % 2]}\n" for i in range(8)) + ",red,1,up\n"
LINES = '{"x":[[1],[2]],"y":"p"}\n{"x":[[3]],"y":"q"}\n'
STEPS = '{"x":[1,2],"y":[0,1]}\n{"x":[3],"y":[1]}\n'
# how it is opened, as cache.c reads it, and what makes it
seeds = [
    (0x10, TABLE, ["-m", "dense ?", "--target=y", "--missing=mean"]),
    (0x28, TABLE, ["-m", "dense ?", "--target=y", "--missing=drop", "--weight=w"]),
    (0x21, TABLE, ["-m", "dense ?", "--target=y", "--missing=drop", "--valid=data"]),
    (0x60, TABLE, ["-m", "dense ?", "--target=y", "--missing=drop"]),
    (0x24, TABLE, ["-m", "input columns=b, embedding 2, flatten, dense ?", "--target=y", "--missing=drop"]),
    (0x02, LINES, ["-m", "input ?x1, gru 2, last, dense ?"]),
    (0x06, STEPS, ["-m", "input ?, embedding 2, gru 2, dense ?"]),
]
os.makedirs(folder, exist_ok=True)
for i, (how, data, options) in enumerate(seeds):
    with tempfile.TemporaryDirectory() as there:
        with open(os.path.join(there, "data"), "w") as file:
            file.write(data)
        subprocess.run([train, "-q", *options, "--epochs=1", "--cache=cache", "-o", "m", "data"], cwd=there, check=True)
        with open(os.path.join(there, "cache"), "rb") as file:
            cache = file.read()
    length = int.from_bytes(cache[-24:-16], "little")
    said = re.sub(rb'"crc":\d+', b'"crc":0', cache[-24 - length:-24])
    said = re.sub(rb'"key":"[^"]*"', b'"key":"k"', said)
    json.loads(said)
    with open(os.path.join(folder, f"seed-{i}"), "wb") as file:
        file.write(bytes([how]) + len(said).to_bytes(2, "little") + said + cache[8:-24 - length])
