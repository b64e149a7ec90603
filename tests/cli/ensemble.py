#!/usr/bin/env python3
"""What numpy and scikit-learn make of the answers of several models: ensemble.py "DATA TARGET MODEL..."...

The mean of what nn-predict prints for each model alone, columns matched by name, has to be what --ensemble=mean prints
within 2e-7 of the largest (f32, and decimal digits that read back to it), and its figures those of --score within 1e-6.
Status 77: no scikit-learn.
"""
import csv
import json
import subprocess
import sys

try:
    import numpy as np
    from sklearn import metrics as sk
except ImportError:
    sys.exit(77)


def differs(path, target, *models):


    def answers(*arguments):
        out = subprocess.check_output(["nn-predict", "-q", *arguments, path], text=True)
        names, *rows = csv.reader(out.splitlines())
        return names, np.array(rows, dtype=np.float64)


    names, ensemble = answers("--ensemble=mean", *models)
    mean = np.zeros_like(ensemble)
    for model in models:
        own, values = answers(model)
        mean += values[:, [own.index(name) for name in names]] / len(models)
    wrong = np.abs(mean - ensemble).max() > 2e-7 * np.abs(mean).max()
    if wrong:
        print("the mean differs by", np.abs(mean - ensemble).max())

    score = json.loads(subprocess.check_output(["nn-predict", "-q", "--score", "--to=json", "--ensemble=mean", *models, path]))
    with open(path, newline="") as file:
        truth = [row[target] for row in csv.DictReader(file)]
    if names[0].startswith("p."):
        labels = [name[2:] for name in names]
        guess = [labels[i] for i in mean.argmax(1)]
        order = np.argsort(labels)
        expected = {"loss": sk.log_loss(truth, mean[:, order], labels=sorted(labels)), "accuracy": sk.accuracy_score(truth, guess),
                    "f1.macro": sk.f1_score(truth, guess, average="macro")}
        if len(labels) == 2:
            expected["auc"] = sk.roc_auc_score([t == labels[1] for t in truth], mean[:, 1])
    else:
        truth = np.array(truth, dtype=np.float64)
        expected = {"rmse": sk.mean_squared_error(truth, mean[:, 0]) ** 0.5, "mae": sk.mean_absolute_error(truth, mean[:, 0]),
                    "r2": sk.r2_score(truth, mean[:, 0])}
    for name, value in expected.items():
        if abs(score[name] - value) > 1e-6 * max(1, abs(value)):
            print(name, score[name], "expected", value)
            wrong = True
    return wrong


sys.exit(any([differs(*question.split()) for question in sys.argv[1:]]))  # all are asked
