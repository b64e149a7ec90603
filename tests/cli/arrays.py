#!/usr/bin/env python3
"""Arrays that a training reads in every way: types, orders, broken ones, and some of many rows.

usage: tests/cli/arrays.py        (writes into the current folder)
"""
import json
import struct
import zipfile

ROWS, WIDE = 180, 12
values = [((i * 7919) % 1000 - 500) / 128 for i in range(ROWS * WIDE)]
counts = [(i * 31) % 17 for i in range(ROWS * WIDE)]
labels = [sum(values[r * WIDE:r * WIDE + 4]) > 0 for r in range(ROWS)]


def npy(kind, pack, shape, numbers, fortran=False):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (kind, fortran, "".join("%d," % d for d in shape))
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    order = ">" if kind[0] == ">" else "<"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("%s%d%s" % (order, len(numbers), pack), *numbers)


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)


def turned(numbers, shape):
    """Columns that follow each other: the first dimension counts fastest."""
    wide = len(numbers) // shape[0]
    inner = shape[1:]
    out = []
    for c in range(wide):
        at, rest, below = 0, c, wide
        for d in inner:
            below //= d
            at += rest % d * below
            rest //= d
        out += [numbers[r * wide + at] for r in range(shape[0])]
    return out


shape = [ROWS, WIDE]
for kind, pack in (("<f4", "f"), ("<f8", "d"), (">f4", "f"), (">f8", "d")):
    write("x%s%s.npy" % (kind[1:], "b" if kind[0] == ">" else ""), npy(kind, pack, shape, values))
write("i8.npy", npy("<i8", "q", shape, counts))
write("u1.npy", npy("|u1", "B", shape, counts))
write("f.npy", npy("<f8", "d", shape, turned(values, shape), True))
write("fb.npy", npy(">f4", "f", [ROWS, 3, 2, 2], turned(values, [ROWS, 3, 2, 2]), True))
write("rows.npy", npy("<f4", "f", [ROWS, 3, 2, 2], values))
write("y.npy", npy("<i8", "q", [ROWS], labels))
write("x.idx", bytes([0, 0, 8, 3]) + struct.pack(">3I", ROWS, 3, 4) + bytes(counts))
write("v.npy", npy("<f4", "f", [20, WIDE], values[:20 * WIDE]))
write("vy.npy", npy("<i8", "q", [20], labels[:20]))

# targets as large: classes of places, of several types and orders, and numbers
MAP, places = [ROWS, 3, 4], [c % 3 - 1 for c in counts]
for kind, pack in (("<i8", "q"), (">i4", "i"), ("|i1", "b")):
    write("t%s%s.npy" % (kind[1:], "b" if kind[0] == ">" else ""), npy(kind, pack, MAP, places))
write("tu1.npy", npy("|u1", "B", MAP, [c + 1 for c in places]))
write("narrow.npy", npy("<f4", "f", [ROWS, 2], values[:2 * ROWS]))
write("tf.npy", npy("<i8", "q", MAP, turned(places, MAP), True))
write("n.npy", npy(">f8", "d", shape, values[::-1]))
holes = list(values)
holes[40] = holes[1000] = float("nan")
write("holes.npy", npy("<f4", "f", shape, holes))
write("shares.npy", npy("<f4", "f", shape, [1 / WIDE] * len(values)))
write("noshares.npy", npy("<f4", "f", shape, [1 / WIDE] * (len(values) - 1) + [2]))

missing = list(values)
for at in (5 * WIDE + 3, 17 * WIDE + 7, 17 * WIDE + 8, 80 * WIDE):
    missing[at] = float("nan")
write("nan.npy", npy("<f4", "f", shape, missing))
write("nanf.npy", npy("<f4", "f", shape, turned(missing, shape), True))
missing[40 * WIDE + 1] = float("inf")
write("inf.npy", npy("<f4", "f", shape, missing))
write("large.npy", npy("<f8", "d", shape, values[:-3] + [1e300, 0, 0]))
write("short.npy", npy("<f4", "f", shape, values)[:-9])
write("long.npy", npy("<f4", "f", shape, values) + b"x")

# named arrays, large enough to stay in their files
MANY = 200 * ROWS
many, long_shape, y = values * 200, [MANY, WIDE], labels * 200
F4, F8, Y = npy("<f4", "f", long_shape, many), npy("<f8", "d", long_shape, many), npy("<i8", "q", [MANY], y)
U1, F = npy("|u1", "B", long_shape, counts * 200), npy("<f4", "f", long_shape, turned(many, long_shape), True)
B = npy(">f4", "f", long_shape, many)
FB = npy(">f8", "d", [MANY, 3, 2, 2], turned(many, [MANY, 3, 2, 2]), True)
BAD = npy("<f4", "f", long_shape, many[:-1] + [float("nan")])
for name, method, members in (("s4.npz", zipfile.ZIP_STORED, {"y": Y, "x": F4}), ("d4.npz", zipfile.ZIP_DEFLATED, {"x": F4, "y": Y}),
                              ("s8.npz", zipfile.ZIP_STORED, {"z": F4, "x": F8, "y": Y, "a": F4}), ("u1.npz", zipfile.ZIP_STORED, {"x": U1, "y": Y}),
                              ("b4.npz", zipfile.ZIP_STORED, {"x": B, "y": Y}), ("df4.npz", zipfile.ZIP_DEFLATED, {"x": F, "y": Y}),
                              ("db4.npz", zipfile.ZIP_DEFLATED, {"y": Y, "x": B}), ("dfb.npz", zipfile.ZIP_DEFLATED, {"x": FB, "z": F, "y": Y}),
                              ("fb.npz", zipfile.ZIP_STORED, {"x": FB, "y": Y}), ("f4.npz", zipfile.ZIP_STORED, {"x": F, "y": Y}), ("nan.npz", zipfile.ZIP_STORED, {"x": BAD, "y": Y}),
                              ("dnan.npz", zipfile.ZIP_DEFLATED, {"x": BAD, "y": Y}), ("d8.npz", zipfile.ZIP_DEFLATED, {"y": Y, "z": F4, "x": F8}),
                              ("dtext.npz", zipfile.ZIP_DEFLATED, {"x": F4 + b"x", "y": Y}), ("text.npz", zipfile.ZIP_STORED, {"x": F4 + b"x", "y": Y})):
    with zipfile.ZipFile(name, "w", method) as z:
        for member, data in members.items():
            with z.open(member + ".npy", "w", force_zip64=True) as f:
                f.write(data)
with open("s4.npz", "rb") as file:
    whole = file.read()
write("crc.npz", whole[:400000] + b"?" + whole[400001:])
write("cut.npz", whole[:-9])
with open("d4.npz", "rb") as file:
    whole = file.read()
write("dcrc.npz", whole[:9000] + bytes([whole[9000] ^ 64]) + whole[9001:])
PLACES = npy("<i4", "i", [MANY, 3, 4], places * 200)
for name, method, members in (("places.npz", zipfile.ZIP_STORED, {"y": PLACES}), ("dplaces.npz", zipfile.ZIP_DEFLATED, {"y": PLACES}),
                              ("two.npz", zipfile.ZIP_STORED, {"at": PLACES, "sums": F8}), ("nany.npz", zipfile.ZIP_STORED, {"y": BAD})):
    with zipfile.ZipFile(name, "w", method) as z:
        for member, data in {"x": F4, **members}.items():
            with z.open(member + ".npy", "w", force_zip64=True) as f:
                f.write(data)
X, L = struct.pack("<%df" % len(many), *many), struct.pack("<%dq" % MANY, *y)
for name, x in (("s4.safetensors", X), ("nan.safetensors", X[:-4] + struct.pack("<f", float("nan")))):
    head = json.dumps({"x": {"dtype": "F32", "shape": long_shape, "data_offsets": [0, len(X)]},
                       "y": {"dtype": "I64", "shape": [MANY], "data_offsets": [len(X), len(X) + len(L)]}}).encode()
    write(name, struct.pack("<Q", len(head)) + head + x + L)

# several inputs: numbers, bytes of an odd number, and one that is too small to stay in its file
NINE, ONE = [MANY, 9], [MANY, 1]
GAPS, FEW_GAPS = list(many), many[:9 * MANY]
GAPS[3 * WIDE + 1] = GAPS[4000 * WIDE] = GAPS[4000 * WIDE + 5] = FEW_GAPS[7 * 9] = float("nan")
PARTS = {"a": F4, "b": npy("|u1", "B", NINE, counts[:9 * ROWS] * 200), "c": npy("|u1", "B", ONE, counts[:ROWS] * 200), "y": Y}
for name, method, members in (("several.npz", zipfile.ZIP_STORED, {}), ("dseveral.npz", zipfile.ZIP_DEFLATED, {"a": FB}),
                              ("fseveral.npz", zipfile.ZIP_STORED, {"a": F8, "b": npy("<f4", "f", NINE, many[:9 * MANY])}),
                              ("gaps.npz", zipfile.ZIP_STORED, {"a": npy("<f4", "f", long_shape, GAPS), "b": npy("<f8", "d", NINE, FEW_GAPS)})):
    with zipfile.ZipFile(name, "w", method) as z:
        for member, data in {**PARTS, **members}.items():
            with z.open(member + ".npy", "w", force_zip64=True) as f:
                f.write(data)
parts, head = {"a": ("F32", long_shape, X), "b": ("U8", NINE, bytes(counts[:9 * ROWS] * 200)), "c": ("U8", ONE, bytes(counts[:ROWS] * 200)), "y": ("I64", [MANY], L)}, {}
for name, (dtype, dims, data) in parts.items():
    begin = sum(h["data_offsets"][1] - h["data_offsets"][0] for h in head.values())
    head[name] = {"dtype": dtype, "shape": dims, "data_offsets": [begin, begin + len(data)]}
head = json.dumps(head).encode()
write("several.safetensors", struct.pack("<Q", len(head)) + head + b"".join(data for _, _, data in parts.values()))

# 32 MiB, in few steps
piece = struct.pack("<4096f", *[((i * 7919) % 1000 - 500) / 128 for i in range(4096)])
with open("big.npy", "wb") as file:
    file.write(npy("<f4", "f", [1 << 17, 64], []))
    for _ in range(2048):
        file.write(piece)
write("bigy.npy", npy("|u1", "B", [1 << 17], []) + bytes([0, 1] * (1 << 16)))
with zipfile.ZipFile("bigf.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
    with z.open("x.npy", "w", force_zip64=True) as file:
        file.write(npy(">f4", "f", [1 << 17, 64], [], True))
        for _ in range(2048):
            file.write(struct.pack(">4096f", *struct.unpack("<4096f", piece)))
    with z.open("y.npy", "w") as file:
        file.write(npy("|u1", "B", [1 << 17], [0, 1] * (1 << 16)))

# 8 MiB of classes, a byte each
write("bigt.npy", npy("|u1", "B", [1 << 17, 8, 8], []) + bytes([0, 1, 2, 1] * (1 << 21)))

# two inputs of 16 MiB
with zipfile.ZipFile("bigs.npz", "w") as z:
    for name in "ab":
        with z.open(name + ".npy", "w", force_zip64=True) as file:
            file.write(npy("<f4", "f", [1 << 16, 64], []))
            for _ in range(1024):
                file.write(piece)
    with z.open("y.npy", "w") as file:
        file.write(npy("|u1", "B", [1 << 16], []) + bytes([0, 1] * (1 << 15)))
