#!/usr/bin/env python3
"""A plain program for what ranks do with --strategy: linear regression y = x w + b in f64, with SGD, all in one process.

strategies.py data N                      x.npy, y.npy of N rows
strategies.py local START H@STEP:RANKS:MOMENTUM:MODEL...   the largest difference between a MODEL and local steps with averages, of all
strategies.py async START RECORD LR? MODEL     the largest difference between MODEL and the recorded updates; LR?: yes for --staleness-lr

Both train on 48 rows in their order, batches of 16 in 4 leaves, rate 0.05, for 4 epochs.
"""
import json
import struct
import sys

import numpy as np

BATCH, LEAVES, RATE, STEPS = 16, 4, 0.05, 12


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    header.pop("__metadata__")
    values = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        values[name] = np.frombuffer(data[8 + n + begin:8 + n + end], "<f8").reshape(t["shape"])
    (weight,) = [v for k, v in values.items() if k.endswith("weight")]
    (bias,) = [v for k, v in values.items() if k.endswith("bias")]
    return weight.copy(), bias.copy()


def gradient(p, x, y):
    """Of the mean of squares over rows and columns."""
    weight, bias = p
    d = 2 * (x @ weight.T + bias - y) / y.size
    return d.T @ x, d.sum(0)


def moved(p, g, rate):
    return p[0] - rate * g[0], p[1] - rate * g[1]


def pushed(slot, g, momentum):
    return momentum * slot[0] + g[0], momentum * slot[1] + g[1]


def batch(step):
    at = step * BATCH % len(x)
    return slice(at, at + BATCH)


def mean(parts, weights):
    return tuple(sum(w * p[i] for p, w in zip(parts, weights)) / sum(weights) for i in range(2))


if sys.argv[1] == "data":
    rng = np.random.default_rng(7)
    x = rng.normal(size=(int(sys.argv[2]), 3))
    np.save("x.npy", x)
    np.save("y.npy", x @ rng.normal(size=(3, 2)) + rng.normal(size=(len(x), 2)) / 10 + 1)
    sys.exit()
x, y = np.load("x.npy"), np.load("y.npy")


def local(start, every, since, ranks, momentum):
    """What RANKS that average after H steps, from STEP on, have at the end; momenta stay their own but where an epoch ends."""
    # a rank has leaves floor(r L / n) to floor((r + 1) L / n) - 1
    runs = [slice(r * LEAVES // ranks * BATCH // LEAVES, (r + 1) * LEAVES // ranks * BATCH // LEAVES) for r in range(ranks)]
    weights = [run.stop - run.start for run in runs]
    all_ranks, steps = [start] * ranks, 0
    slots = [tuple(np.zeros_like(v) for v in start)] * ranks
    for step in range(STEPS):
        bx, by = x[batch(step)], y[batch(step)]
        if step < since:
            slots = [pushed(slots[0], gradient(all_ranks[0], bx, by), momentum)] * ranks
            all_ranks = [moved(all_ranks[0], slots[0], RATE)] * ranks
            continue
        slots = [pushed(s, gradient(p, bx[run], by[run]), momentum) for s, p, run in zip(slots, all_ranks, runs)]
        all_ranks = [moved(p, s, RATE) for p, s in zip(all_ranks, slots)]
        steps += 1
        # after H steps, and where an epoch ends
        if steps == every or (step + 1) * BATCH % len(x) == 0:
            all_ranks, steps = [mean(all_ranks, weights)] * ranks, 0
        if (step + 1) * BATCH % len(x) == 0:
            slots = [mean(slots, weights)] * ranks
    return all_ranks[0]


def updated(start, record, slower):
    """What the updates of a record make."""
    versions = [start]
    with open(record, encoding="ascii") as file:
        next(file)  # what was trained
        next(file)
        for line in file:
            step, _, number, version = map(int, line.split())
            rate = RATE / (step - version) if slower else RATE
            b = batch(number - 1)
            versions.append(moved(versions[-1], gradient(versions[version], x[b], y[b]), rate))
    assert len(versions) == STEPS + 1
    return versions[-1]


def difference(path, expected):
    return max(np.abs(a - b).max() for a, b in zip(load(path), expected))


if sys.argv[1] == "local":
    far = 0
    for word in sys.argv[3:]:
        terms, ranks, momentum, model = word.split(":")
        every, _, since = terms.partition("@")
        far = max(far, difference(model, local(load(sys.argv[2]), int(every), int(since or 0), int(ranks), float(momentum))))
    print(far)
else:
    print(difference(sys.argv[5], updated(load(sys.argv[2]), sys.argv[3], sys.argv[4] == "yes")))
