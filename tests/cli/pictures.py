"""Makes folders and tars of small pictures, good and bad, in the current directory. Needs nothing but Python."""
import base64
import io
import os
import random
import struct
import tarfile
import zlib

# pictures of 8x8 pixels
JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGB"
    "YUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAAI"
    "AAgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAf/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAABwj/xA"
    "AUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCKADdar//Z")
GREY_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQDQ4RDgsLEBYQERMUFRUVDA8XGB"
    "YUGBIUFRT/wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAABf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AKf/Z")
CMYK_JPEG = base64.b64decode(
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwADAgIDAgIDAwMDBAMDBAUIBQUEBAUKBwcGCAwKDAwLCgsLDQ4SEA0OEQ4LCxAWEBETFBUVFQwPFxgWFB"
    "gSFBUU/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EABUAAQEAAAAAAAAAAAAAAAAAAAkI/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAA4EQwBNAFkA"
    "SwAAPwBOCOkDXQ//2Q==")
GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
rng = random.Random(1)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows, width, kind=RGB, depth=8, palette=None, size=None, extra=b""):
    """Rows of packed bytes as a PNG."""
    header = struct.pack(">IIBBBBB", *(size or (width, len(rows))), depth, kind, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    plte = chunk(b"PLTE", bytes(palette)) if palette else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + plte + chunk(b"IDAT", data)
            + chunk(b"IEND", b""))


def put(name, data):
    if os.path.dirname(name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as file:
        file.write(data)


def coloured(c, size=8):
    """A noisy picture, mostly of one of three colours."""
    return png([[rng.randrange(60) + (180 if i % 3 == c else 0) for i in range(3 * size)] for _ in range(size)], size)


def squares(mask):
    """The picture that a mask of classes 0, 1 and 2 belongs to."""
    return png([[rng.randrange(40) + (200 if v == c else 0) for v in row for c in range(3)] for row in mask], len(mask[0]))


def random_mask():
    cells = [[rng.randrange(3) for _ in range(2)] for _ in range(2)]
    return [[cells[y // 4][x // 4] for x in range(8)] for y in range(8)]


def tar(name, members, form=tarfile.USTAR_FORMAT):
    with tarfile.open(name, "w", format=form) as file:
        for member, data, *rest in members:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            for key, value in (rest[0] if rest else {}).items():
                setattr(info, key, value)
            file.addfile(info, io.BytesIO(data))


def good():
    colours = ("red", "green", "blue")
    for split, n in (("train", 12), ("test", 4)):
        for c, name in enumerate(colours):
            for i in range(n):
                put(f"{split}/{name}/{i:02}.png", coloured(c))
    put("train/red/notes.txt", b"not a picture")
    tar("folders.tar", [(f"train/{name}/{i:02}.png", open(f"train/{name}/{i:02}.png", "rb").read())
                        for name in sorted(colours) for i in range(12)])
    shard = []
    for i in range(36):
        shard += [(f"s/{i:04}.png", coloured(i % 3)), (f"s/{i:04}.cls", b"%d\n" % (i % 3))]
    tar("shard.tar", shard)
    tar("a.tar", shard[:36])
    tar("b.tar", shard[36:])
    long = "x" * 130
    named = [(f"{long}/{i}.{end}", coloured(i % 3) if end == "png" else b'{"label": "c%d"}' % (i % 3))
             for i in range(9) for end in ("png", "json")]
    tar("pax.tar", named, tarfile.PAX_FORMAT)
    tar("gnu.tar", named, tarfile.GNU_FORMAT)
    masked = []
    for i in range(10):
        mask = random_mask()
        palette = [0, 0, 0, 255, 0, 0, 0, 255, 0]
        put(f"images/{i}.png", squares(mask))
        put(f"masks/{i}.png", png(mask, 8, PALETTE, 8, palette) if i % 2 else png(
            [[row[2 * k] << 4 | row[2 * k + 1] for k in range(4)] for row in mask], 8, GREY, 4))
        masked += [(f"{i}.png", open(f"images/{i}.png", "rb").read()), (f"{i}.seg.png", open(f"masks/{i}.png", "rb").read())]
    tar("masked.tar", masked)
    large = png([[0, 90, 180] * 200] * 200, 200), png([[0] * 100 + [1] * 100] * 200, 200, GREY)
    for i in range(300):  # more than a plan reads
        put(f"large/{i:03}.png", large[0])
        put(f"large-masks/{i:03}.png", large[1])
    put("jpeg/red/a.jpg", JPEG)
    put("jpeg/blue/b.JPEG", JPEG)
    for labels, name in ((1, "c10.bin"), (2, "c100.bin")):
        put(name, b"".join(bytes([i % 10, 10 * i % 100][-labels:] if labels == 2 else [i % 10]) + bytes(
            rng.randrange(256) for _ in range(3072)) for i in range(20)))


def bad():
    one = coloured(0)
    for name, data in {
        "cut": one[:-30], "broken": one[:60] + b"\xff" + one[61:], "empty": b"", "text": b"some text\n",
        "deep": png([[0] * 48] * 8, 8, RGB, 16), "alpha": png([[9] * 32] * 8, 8, RGBA),
        "other": coloured(0, 9), "grey": png([[7] * 8] * 8, 8, GREY), "cmyk": CMYK_JPEG, "cutjpeg": JPEG[:-20],
        "wide": png([[0]], 1, GREY, 8, None, (30000, 30000)), "flat": png([[0]], 1, GREY, 8, None, (0, 1)),
        "greyjpeg": GREY_JPEG,
    }.items():
        put(f"bad-{name}/red/a.png", one)
        put(f"bad-{name}/red/b." + ("jpg" if "jpeg" in name or name == "cmyk" else "png"), data)
    put("one/red/a.png", png([[1, 2, 3]], 1))
    put("one/blue/a.png", png([[3, 2, 1]], 1))
    put("loud/red/a.png", png([[1, 9, 3]], 1))
    put("palette/a/a.png", png([[0x12] * 4] * 8, 8, PALETTE, 4, [0, 0, 0, 10, 20, 30, 40, 50, 60]))
    put("lonely/0.png", one)
    file = ("red/a.png", one)
    tar("links.tar", [file, ("red/b.png", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})])
    tar("dots.tar", [file, ("../red/b.png", one)])
    tar("alone.tar", [file, ("red/b.cls", b"1")])
    with open("folders.tar", "rb") as whole:
        data = whole.read()
    put("half.tar", data[:5 * 512 + 100])
    put("headless.tar", data[:512 * 3])
    put("noend.tar", data.rstrip(b"\0") + b"\0" * (-len(data.rstrip(b"\0")) % 512))
    tar("huge.tar", [file])
    with open("huge.tar", "r+b") as file:
        header = bytearray(file.read(512))
        header[124:136] = b"77777777777\0"
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        file.seek(0)
        file.write(header)


def npy(kind, shape, values, fortran=False, end=b""):
    """An array by struct's letter of its type."""
    descr = {"B": "|u1", "f": "<f4", "d": "<f8", "h": ">i2"}[kind]
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (descr, fortran, "".join(f"{n}, " for n in shape))
    text += " " * (-(len(text) + 11) % 64) + "\n"
    order = ">" if kind == "h" else "<"
    return (b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()
            + struct.pack(f"{order}{len(values)}{kind}", *values) + end)


def arrays():
    """The same rows as arrays of files and as members of tars, of bytes and of numbers."""
    def c_order(values):  # of 2x3x4, which lies in Fortran order
        return [values[i + 2 * j + 6 * k] for i in range(2) for j in range(3) for k in range(4)]

    for kind, name, top in (("B", "bytes", 255), ("f", "floats", 1)):
        rows = [[rng.randrange(256) if kind == "B" else rng.gauss(i % 3, 0.3) for _ in range(24)] for i in range(36)]
        if kind == "B":
            rows = [[v // 4 + 64 * (i % 3) for v in row] for i, row in enumerate(rows)]
        shard = []
        for i, row in enumerate(rows):
            turned = i % 5 == 3
            shard += [(f"{i:04}.npy", npy(kind, (2, 3, 4), row, turned)), (f"{i:04}.txt", b" %d \r\n" % (i % 3))]
        rows = [c_order(row) if i % 5 == 3 else row for i, row in enumerate(rows)]
        put(f"{name}.npy", npy(kind, (36, 2, 3, 4), sum(rows, [])))
        tar(f"{name}.tar", shard)
        tar(f"{name}-cls.tar", [(n.replace(".txt", ".cls"), data) for n, data in shard])
    put("classes.npy", npy("h", (36,), [i % 3 for i in range(36)]))
    tokens = [[rng.randrange(7) for _ in range(5)] for _ in range(36)]
    put("tokens.npy", npy("h", (36, 5), sum(tokens, [])))
    tar("tokens.tar", [(f"{i:02}.{end}", npy("h", (5,), row) if end == "npy" else b"%d" % (i % 3))
                       for i, row in enumerate(tokens) for end in ("cls", "npy")])
    masks = [[int(v > 1) for v in row] for row in tokens]
    tar("token-masks.tar", [(f"{i:02}.npy", npy("h", (5,), row)) for i, row in enumerate(masks)])
    put("token-masks.npy", npy("h", (36, 5), sum(masks, [])))
    one = npy("f", (4,), [1, 2, 3, 4])
    tar("words.tar", [(f"{i}.{end}", one if end == "npy" else b"c%d\n" % (i % 2)) for i in range(6) for end in ("npy", "txt")])
    tar("few.tar", [(f"{i}.{end}", one if end == "npy" else b"c%d\n" % (i % 2)) for i in range(2) for end in ("npy", "txt")])
    picture = coloured(0)
    tar("beside.tar", [("read.me.txt", b"x" * 999), ("README.txt", b"y" * 999), ("a/1.cls", b"u"), ("a/1.npy", one), ("a/1.png", picture), ("a/1.txt", b"z" * 999),
                       ("a/2.jpg.json", b'{"label": "v"}'), ("a/2.png", picture), ("a/2.npy", one), ("a/2.txt", b"w")])
    for name, data in {
        "cut": one[:-2], "long": one + b"x", "shape": npy("f", (5,), [1] * 5), "type": npy("d", (4,), [1] * 4),
        "nan": npy("f", (4,), [1, 2, float("nan"), 4]), "lying": npy("f", (1 << 40, 1 << 20), []),
        "none": npy("f", (0, 4), []), "objects": one.replace(b"'<f4'", b"'|O' "), "text": b"some text\n", "empty": b"",
        "deep": npy("f", (1, 1, 1, 1, 1, 1, 1, 4), [1] * 4),
    }.items():
        tar(f"array-{name}.tar", [("1.npy", one), ("1.cls", b"1"), ("2.npy", data), ("2.cls", b"2")])
    tar("first.tar", [("1.npy", npy("f", (1 << 40, 1 << 20), [])), ("1.cls", b"1")])
    tar("array-picture.tar", [("1.npy", one), ("1.cls", b"1"), ("2.png", picture), ("2.cls", b"2")])
    tar("picture-array.tar", [("1.png", picture), ("1.cls", b"1"), ("2.npy", one), ("2.cls", b"2")])
    tar("nolabel.tar", [("1.npy", one), ("1.txt", b" \n"), ("2.npy", one), ("2.txt", b"2")])
    tar("longlabel.tar", [("1.npy", one), ("1.txt", b"x" * 257), ("2.npy", one), ("2.txt", b"2")])
    with tarfile.open("folders.tar") as file:
        hidden = [(m.name, file.extractfile(m).read()) for m in file]
    tar("hidden.tar", [("./train/.hidden.png", b"no picture")] + [("./" + n, data) for n, data in hidden]
        + [(".trash/cat/a.png", b"no picture"), ("._a.cls", b"")])


good()
bad()
arrays()
