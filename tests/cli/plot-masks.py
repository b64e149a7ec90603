"""Pictures in a plot, read by Python alone: `plot-masks.py make`, and `check PLOT FOUND [IGNORED]` of what it made."""
import random
import re
import struct
import sys
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"
HEIGHT, WIDTH, STEP, N = 50, 200, 3, 7  # 200 pixels fit into 96 by threes


def npy(name, shape, values):
    head = "{'descr': '|u1', 'fortran_order': False, 'shape': (%s), }" % ", ".join(map(str, shape))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(values))


def read_npy(name):
    """Class numbers, one after another."""
    data = open(name, "rb").read()
    n = struct.unpack("<H", data[8:10])[0]
    kind = {"<i4": "i", "<i8": "q", "|u1": "B"}[re.search(r"'descr': '(...)'", data[:10 + n].decode("latin-1")).group(1)]
    return [v[0] for v in struct.iter_unpack("<" + kind, data[10 + n:])]


def make():
    """Noisy pictures of three classes, in blocks: x, y to train on, hx, hy held out."""
    rng = random.Random(3)
    for name, n in (("", 6), ("h", N)):
        x, y = [], []
        for _ in range(n):
            blocks = [[rng.randrange(3) for _ in range(5)] for _ in range(2)]
            mask = [[blocks[r // 25][c // 40] for c in range(WIDTH)] for r in range(HEIGHT)]
            for channel in range(3):
                x += [rng.randrange(60) + 150 * (v == channel) for row in mask for v in row]
            y += [v for row in mask for v in row]
        npy(name + "x.npy", (n, 3, HEIGHT, WIDTH), x)
        npy(name + "y.npy", (n, HEIGHT, WIDTH), y)


def pictures(plot):
    """Those of the gallery, each as rows of colours."""
    gallery = next(g for g in xml.parse(plot).iter(SVG + "g") if g.get("id") == "gallery")
    for g in gallery.findall(SVG + "g"):
        cells = {}
        for path in g.findall(SVG + "path"):
            for x, y, n in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d")):
                for k in range(int(n)):
                    assert (int(y), int(x) + k) not in cells, "a pixel is drawn twice"
                    cells[int(y), int(x) + k] = path.get("stroke")
        height, width = (max(at[i] for at in cells) + 1 for i in (0, 1))
        assert len(cells) == height * width, "a pixel is not drawn"
        yield [[cells[y, x] for x in range(width)] for y in range(height)]


def small_mask(classes, row, ignored):
    colours = {0: "#000000", 1: "#800000", 2: "#008000"}
    if ignored is not None:
        colours[ignored] = "#dddddd"
    at = classes[row * HEIGHT * WIDTH:]
    return [[colours[at[y * WIDTH + x]] for x in range(0, WIDTH, STEP)] for y in range(0, HEIGHT, STEP)]


def small_picture(values, row):
    size = HEIGHT * WIDTH
    at = values[row * 3 * size:(row + 1) * 3 * size]
    low, high = min(at), max(at)

    def level(y, x, channel):
        block = [at[channel * size + i * WIDTH + k] for i in range(y, min(y + STEP, HEIGHT))
                 for k in range(x, min(x + STEP, WIDTH))]
        return (sum(block) / len(block) - low) / (high - low) * 255

    return [[[level(y, x, c) for c in range(3)] for x in range(0, WIDTH, STEP)] for y in range(0, HEIGHT, STEP)]


def check(plot, found, ignored=None):
    shown = list(pictures(plot))
    assert len(shown) == 9, len(shown)
    classes, true, values = read_npy(found), read_npy("hy.npy"), read_npy("hx.npy")
    ignored = None if ignored is None else int(ignored)
    for i, row in enumerate((1, 3, 5)):  # the middle of each third of seven
        picture, mask, answer = shown[3 * i:3 * i + 3]
        assert mask == small_mask(true, row, ignored), "true mask of row %d" % row
        assert answer == small_mask(classes, row, None), "mask found of row %d" % row
        for line, wanted in zip(picture, small_picture(values, row)):
            for colour, levels in zip(line, wanted):
                for c in range(3):  # 32 levels of each colour: half of a step away, and rounding
                    assert abs(int(colour[2 * c + 1:2 * c + 3], 16) - levels[c]) < 5.5, (row, colour, levels)


if __name__ == "__main__":
    make() if sys.argv[1] == "make" else check(*sys.argv[2:])
