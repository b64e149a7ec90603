#!/usr/bin/env python3
"""Softmax regression on digits.csv.gz, data-parallel: nn-allreduce adds up what the processes have found.

    python3 data-parallel.py digits.csv.gz                one process
    mpirun -n 4 python3 data-parallel.py digits.csv.gz    four, each with every fourth row

Each process writes its gradient into the pipe of an nn-allreduce of its own, one .npy array per step, and reads the sum
over all of them from another. Whoever adds in whatever order of arrival, the sum has the same bytes on every rank.
"""
import gzip
import io
import os
import subprocess
import sys

import numpy as np

rank, size = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0)), int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))
ranks = subprocess.Popen(["nn-allreduce", "--stream", "--op=sum"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def total(array):
    """The sum of the arrays of all processes."""
    frame = io.BytesIO()
    np.save(frame, array)
    ranks.stdin.write(frame.getvalue())
    ranks.stdin.flush()
    np.lib.format.read_magic(ranks.stdout)
    shape, _, dtype = np.lib.format.read_array_header_1_0(ranks.stdout)
    return np.frombuffer(ranks.stdout.read(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)


with gzip.open(sys.argv[1], "rt") as file:
    names = file.readline().strip().split(",")
    rows = np.loadtxt(file, delimiter=",")
label = names.index("digit")
x, y = np.delete(rows, label, 1)[rank::size] / 16, rows[rank::size, label].astype(int)

weights = np.zeros((x.shape[1], 10))
for step in range(100):
    z = x @ weights
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    right = (p.argmax(1) == y).sum()
    p[np.arange(len(y)), y] -= 1
    gradient = x.T @ p
    # one frame: the gradient, then how many rows there were and how many were right
    frame = total(np.append(gradient.ravel(), [len(y), right]))
    weights -= 2.0 * frame[:-2].reshape(weights.shape) / frame[-2]
ranks.stdin.close()
ranks.wait()
if rank == 0:
    print(f"rows {frame[-2]:.0f} accuracy {frame[-1] / frame[-2]:.4f}")
