#!/usr/bin/env python3
"""The folds of a CSV, found anew: train-folds.py FILE TARGET K SEED DIRECTORY writes train.N.csv and valid.N.csv there.

Written from the words of the design (a fold is the order by Philox value within a class, modulo K), not from the C source.
"""
import csv
import sys


def philox(seed, index, stream, block):
    """Philox4x32-10 (Salmon et al., SC'11)"""
    c = [index & 0xFFFFFFFF, index >> 32, stream, block]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


path, target, folds, seed, directory = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
with open(path, newline="") as file:
    header, *rows = csv.reader(file)
classes = {}
for number, row in enumerate(rows):
    x = philox(seed, number, 4, 0)
    label = row[header.index(target)] if target != "-" else None
    classes.setdefault(label, []).append((x[1] << 32 | x[0], number))
fold = {number: place % folds + 1 for members in classes.values() for place, (_, number) in enumerate(sorted(members))}
for n in range(1, folds + 1):
    for name, wanted in (("train", False), ("valid", True)):
        with open(f"{directory}/{name}.{n}.csv", "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(row for number, row in enumerate(rows) if (fold[number] == n) == wanted)
