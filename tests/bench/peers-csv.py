#!/usr/bin/env python3
"""Time how the readers that are installed take a CSV file of f32 numbers (and columns of text where there are some).

    peers-csv.py FILE THREADS       one line per variant: peer, variant, median seconds; numpy and pandas read with one thread
"""
import os
import statistics
import sys
import time

path, threads = sys.argv[1], int(sys.argv[2])
os.environ["POLARS_MAX_THREADS"] = str(threads)
with open(path) as file:
    names = file.readline().rstrip("\n").split(",")
    words = [i for i, field in enumerate(file.readline().split('"')[0].split(",")) if not field]
text = bool(words)


def report(peer, variant, call, times=3):
    took = []
    for _ in range(times + 1):
        start = time.perf_counter()
        result = call()
        took.append(time.perf_counter() - start)
        del result
    print(f"{peer}\t{variant}\t{statistics.median(took[1:]):.6f}", flush=True)


def with_numpy():
    import numpy
    report("numpy", "loadtxt", lambda: numpy.loadtxt(path, delimiter=",", skiprows=1, dtype=numpy.float32), 1)


def with_pandas():
    import numpy
    import pandas
    if text:
        report("pandas", "frame", lambda: pandas.read_csv(path))
    else:
        report("pandas", "f32", lambda: pandas.read_csv(path, dtype=numpy.float32).to_numpy())


def with_polars():
    import polars
    report("polars", "frame", lambda: polars.read_csv(path))
    if not text:
        report("polars", "f32", lambda: polars.read_csv(path, schema_overrides=[polars.Float32] * len(names)))


for peer in [with_polars] + ([with_pandas] if threads == 1 else []) + ([with_numpy] if threads == 1 and not text else []):
    try:
        peer()
    except ImportError:
        pass
