#!/usr/bin/env python3
"""What scikit-learn says of a model's answers beside nn-predict --score: score.py "MODEL FILE TARGET [WEIGHT]"...

Answers are read from nn-predict; figures have to agree within 1e-6 (answers are printed in f32). Status 77: no scikit-learn.
"""
import csv
import json
import subprocess
import sys

try:
    from sklearn import metrics as sk
except ImportError:
    sys.exit(77)


def differs(model, path, target, *weight):
    score = json.loads(subprocess.check_output(["nn-predict", "-q", "--score", "--to=json", model, path]))
    answers = list(csv.reader(subprocess.check_output(["nn-predict", "-q", model, path], text=True).splitlines()))
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    w = [float(row[weight[0]]) for row in rows] if weight else None
    names, values = answers[0], [[float(v) for v in a] for a in answers[1:]]
    truth = [row[target] for row in rows]
    expected = {"samples": len(rows)}
    if names[0].startswith("p."):
        labels = [name[2:] for name in names]
        guess = [labels[max(range(len(a)), key=a.__getitem__)] for a in values]
        p, r, f, s = sk.precision_recall_fscore_support(truth, guess, labels=labels, sample_weight=w, zero_division=0)
        table = sk.confusion_matrix(truth, guess, labels=labels, sample_weight=w)
        expected["accuracy"] = sk.accuracy_score(truth, guess, sample_weight=w)
        expected["f1.macro"] = f.mean()
        for i, label in enumerate(labels):
            expected |= {f"precision.{label}": p[i], f"recall.{label}": r[i], f"f1.{label}": f[i], f"support.{label}": s[i]}
            expected |= {f"confusion.{label}.{other}": v for other, v in zip(labels, table[i]) if v}
        expected["loss"] = sk.log_loss(truth, values, labels=labels, sample_weight=w)
        if len(labels) == 2:
            expected["auc"] = sk.roc_auc_score([t == labels[1] for t in truth], [a[1] for a in values], sample_weight=w)
    else:
        truth, guess = [float(t) for t in truth], [a[0] for a in values]
        expected["rmse"] = sk.mean_squared_error(truth, guess, sample_weight=w) ** 0.5
        expected["mae"] = sk.mean_absolute_error(truth, guess, sample_weight=w)
        expected["r2"] = sk.r2_score(truth, guess, sample_weight=w)
        score.pop("loss")  # of standardized units
    if score.keys() != expected.keys() or any(abs(score[k] - v) > 1e-6 * max(1, abs(v)) for k, v in expected.items()):
        print(score, expected, sep="\n")
        return True
    return False


sys.exit(any([differs(*question.split()) for question in sys.argv[1:]]))  # all are asked
