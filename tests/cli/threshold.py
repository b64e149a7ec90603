#!/usr/bin/env python3
"""The threshold that scikit-learn's curves suggest: threshold.py "MODEL FILE TARGET f1|youden [WEIGHT]"...

Probabilities are read from nn-predict; of all thresholds of precision_recall_curve or roc_curve the smallest of the best has to
be the one in the model, to the last digit. Prints it. Status 77: no scikit-learn.
"""
import csv
import json
import struct
import subprocess
import sys

try:
    import numpy as np
    from sklearn import metrics as sk
except ImportError:
    sys.exit(77)


def differs(model, path, target, by, *weight):
    with open(model, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    stored = json.loads(header["__metadata__"]["nn.train"])["threshold"]
    names, *answers = csv.reader(subprocess.check_output(["nn-predict", "-q", model, path], text=True).splitlines())
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    truth = np.array([row[target] == names[1][2:] for row in rows])
    w = [float(row[weight[0]]) for row in rows] if weight else None
    p = np.array([float(a[1]) for a in answers])
    if by == "f1":
        precision, recall, thresholds = sk.precision_recall_curve(truth, p, sample_weight=w)
        precision, recall = precision[:-1], recall[:-1]
        figures = 2 * precision * recall / np.maximum(precision + recall, 1e-30)
    else:
        fpr, tpr, thresholds = sk.roc_curve(truth, p, sample_weight=w, drop_intermediate=False)
        figures, thresholds = (tpr - fpr)[1:], thresholds[1:]  # the first one is above all
    best = thresholds[figures > figures.max() - 1e-12].min()
    print(best)
    if stored != {"by": by, "value": best}:
        print("stored", stored, "expected", best, "with", figures.max())
        return True
    return False


sys.exit(any([differs(*question.split()) for question in sys.argv[1:]]))  # all are asked
