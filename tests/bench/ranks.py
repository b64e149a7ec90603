"""make bench: nn-train on two ranks of one thread, and on one rank of two threads, against one rank of one thread, in turn.

usage: ranks.py [RUNS]     (5) medians of epochs after the first; wanted: what two ranks are to gain at least
Reads NN_BUILD. Adam, data of noise; ratios are times of one rank over those beside it.
"""
import array
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile

TRAIN = os.environ["NN_BUILD"] + "/cmd/nn-train"
NETS = [
    ("784-128-10", 128, "dense 128, relu, dense 10", (784,), 10, 12800, 1.2),
    ("1024-2048-2048-1000", 256, "dense 2048, relu, dense 2048, relu, dense 1000", (1024,), 1000, 2048, 1.65),
    ("MNIST CNN", 64, "conv2d 32 3x3, relu, maxpool2d 2, conv2d 64 3x3, relu, maxpool2d 2, flatten, dense 128, relu, dense 10",
     (1, 28, 28), 10, 1600, 1.85),
]


def save(path, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def make_data(folder, shape, classes, rows):
    rng = random.Random(1)
    count = rows
    for n in shape:
        count *= n
    noise = array.array("f", [rng.gauss(0, 1) for _ in range(65537)]).tobytes()
    save(f"{folder}/x.npy", "<f4", (rows, *shape), (noise * (count * 4 // len(noise) + 1))[:count * 4])
    labels = array.array("q", [i if i < classes else rng.randrange(classes) for i in range(rows)])
    save(f"{folder}/y.npy", "<i8", (rows,), labels.tobytes())


def step_of(folder, net, batch, how):
    """Median seconds of a step, and the share of it that is exposed communication on the worst rank."""
    log = f"{folder}/log"
    subprocess.run([TRAIN, "-q", "-m", net, "-b", str(batch), "--epochs=4", f"--log={log}", *how, f"{folder}/x.npy", f"{folder}/y.npy"],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with open(log, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    os.unlink(log)
    steps = events[0]["steps_per_epoch"]
    seconds = statistics.median([e["seconds"] for e in events if e["event"] == "epoch"][1:]) / steps
    ranks = events[-1]["ranks"]
    return seconds, max(r["comm_s"] / (r["compute_s"] + r["comm_s"] + r["wait_s"]) for r in ranks)


def main(runs):
    print(f"{'net':22}{'batch':>6}{'one us':>10}{'2 ranks':>9}{'wanted':>8}{'exposed':>9}{'2 threads':>11}   load {os.getloadavg()[0]:.1f}")
    for name, batch, net, shape, classes, rows, wanted in NETS:
        with tempfile.TemporaryDirectory() as folder:
            make_data(folder, shape, classes, rows)
            found = [[], [], []]
            for _ in range(runs):
                for times, how in zip(found, (["-t", "1"], ["-t", "1", "--ranks=2"], ["-t", "2"])):
                    times.append(step_of(folder, net, batch, how))
        one, ranks, threads = (statistics.median(s for s, _ in times) for times in found)
        exposed = statistics.median(share for _, share in found[1])
        print(f"{name:22}{batch:6}{one * 1e6:10.0f}{one / ranks:9.2f}{wanted:8.2f}{100 * exposed:8.1f}%{one / threads:11.2f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
