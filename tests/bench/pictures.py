#!/usr/bin/env python3
"""Decoding pictures in one thread beside Pillow: JPEG of 32x32 and 480x360, PNG of both sizes, each made from noise and edges.

    pictures.py PROGRAM [SECONDS]     the program is tests/bench/pictures; rounds of both take turns, the ratio is that of medians
"""
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from PIL import Image

program, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
rng = np.random.default_rng(1)


def picture(width, height):
    """Smooth colours with edges and some noise, as photographs have."""
    y, x = np.mgrid[:height, :width]
    planes = [128 + 80 * np.sin(x / rng.uniform(5, 40) + y / rng.uniform(5, 40) + rng.uniform(0, 6)) for _ in range(3)]
    image = np.stack(planes, -1) + rng.normal(0, 6, (height, width, 3))
    image[height // 3:height // 2, width // 4:width // 2] *= 0.5
    return Image.fromarray(image.clip(0, 255).astype(np.uint8))


def pillow(files):
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds / 6:
        for data in files:
            np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        done += len(files)
    return done / (time.perf_counter() - start)


def ours(folder):
    return float(subprocess.run([program, folder, "3", str(seconds / 6)], check=True, capture_output=True, text=True).stdout)


print("kind,ours_per_s,pillow_per_s,ratio")
for kind, width, height, n in (("JPEG", 32, 32, 256), ("JPEG", 480, 360, 16), ("PNG", 32, 32, 256), ("PNG", 480, 360, 16)):
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i in range(n):
            file = io.BytesIO()
            picture(width, height).save(file, kind, **({"quality": 90} if kind == "JPEG" else {}))
            files.append(file.getvalue())
            with open(os.path.join(folder, f"{i:04}.{kind.lower()}"), "wb") as out:
                out.write(files[-1])
        rounds = [(ours(folder), pillow(files)) for _ in range(6)]
        a, b = (statistics.median(r) for r in zip(*rounds))
        print(f"{kind} {width}x{height},{a:.0f},{b:.0f},{a / b:.2f}", flush=True)
