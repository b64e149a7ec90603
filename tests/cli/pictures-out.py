"""Pictures written by nn-predict, read by Python alone: `pictures-out.py make` and the checks below."""
import json
import os
import random
import struct
import sys
import zipfile
import zlib


def npy(kind, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join("%d, " % n for n in shape))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def make():
    """noise.npy and smooth.npy: u8 pictures of 1 to 4 channels; w1.npz to w4.npz: a convolution that changes nothing."""
    rng = random.Random(2)
    for c in range(1, 5):
        one = struct.pack("<%df" % (c * c), *[float(i == k) for i in range(c) for k in range(c)])
        with zipfile.ZipFile("w%d.npz" % c, "w") as z:
            z.writestr("0.weight.npy", npy("<f4", (c, c, 1, 1), one))
        values = bytes(rng.randrange(256) for _ in range(2 * c * 37 * 53))
        open("noise%d.npy" % c, "wb").write(npy("|u1", (2, c, 37, 53), values))
        values = bytes((3 * x + 5 * y + 40 * k + (x // 9) ** 2) % 256 for n in range(2) for k in range(c)
                       for y in range(37) for x in range(53 + n * 0))
        open("smooth%d.npy" % c, "wb").write(npy("|u1", (2, c, 37, 53), values))


def read_png(data):
    """Kind, palette, width, height and the values, in rows of pixels."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, palette = 8, b"", None
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        assert struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0] == zlib.crc32(kind + body), "checksum"
        at += 12 + n
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8
        packed += body if kind == b"IDAT" else b""
        palette = body if kind == b"PLTE" else palette
    assert kind == b"IEND"
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
    raw, row, out, above = zlib.decompress(packed), width * channels, [], None
    assert len(raw) == height * (row + 1)
    above = bytes(row)
    for y in range(height):
        how, line = raw[y * (row + 1)], bytearray(raw[y * (row + 1) + 1:(y + 1) * (row + 1)])
        for i in range(row):
            a, c = (line[i - channels], above[i - channels]) if i >= channels else (0, 0)
            b = above[i]
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, nearest)[how]) & 255
        out.append(bytes(line))
        above = line
    return colour, palette, width, height, b"".join(out)


def same(array, folder):
    """The pictures of the folder, by name, are those of a u8 array."""
    data = open(array, "rb").read()
    shape = eval(data[10:128].decode())["shape"]
    data = data[128:]
    n, c, h, w = shape
    names = sorted(os.listdir(folder))
    assert len(names) == n, names
    for k, name in enumerate(names):
        colour, _, width, height, values = read_png(open(os.path.join(folder, name), "rb").read())
        assert (colour, width, height) == ({1: 0, 2: 4, 3: 2, 4: 6}[c], w, h)
        at = k * c * h * w
        assert values == bytes(data[at + ch * h * w + p] for p in range(h * w) for ch in range(c)), name


def masks(answers, folder):
    """Those of the folder are the classes in JSON lines; colours are those of PASCAL VOC."""
    voc = bytes([0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0])
    for line in open(answers):
        row = json.loads(line)
        colour, palette, width, _, values = read_png(
            open(os.path.join(folder, os.path.splitext(row["file"])[0] + ".png"), "rb").read())
        assert colour == 3 and voc.startswith(palette), palette
        assert [[int(v) for v in r] for r in row["class"]] == \
            [list(values[i:i + width]) for i in range(0, len(values), width)]


globals()[sys.argv[1]](*sys.argv[2:])
