#!/usr/bin/env python3
"""First models: nn-train with all its defaults beside scikit-learn's MLPClassifier and MLPRegressor with theirs, five folds.

    defaults.py [-s SEEDS] [SET...] [--OPTION=VALUE...]      options go to nn-train: --lr=0.003, -b32, --net='dense 100, relu, dense ?'

The net is `dense 32, relu, dense ?`; scikit-learn has one hidden layer of 100 and standardized columns and target. Both get the
same tables: sets of scikit-learn, penguins of palmerpenguins, and titanic.csv (Survived) and housing.csv (median_house_value)
where $NN_DATA has them. A row is the mean over SEEDS (3), each with folds of its own: accuracy of classes, RMSE of numbers.
The last column says by how much ours is worse: points of accuracy, percent of RMSE. Needs numpy, pandas and scikit-learn.
"""
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
import pandas
from sklearn import datasets
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

DATA = os.environ.get("NN_DATA", os.path.join(os.environ.get("NN_SRC", "."), "../shared/data"))
TRAIN = os.path.join(os.environ["NN_BUILD"], "cmd/nn-train") if "NN_BUILD" in os.environ else "nn-train"
NET = "dense 32, relu, dense ?"


def bundled(load, classes):
    """A set of scikit-learn as a table with the target in its last column."""
    found = load()
    frame = pandas.DataFrame(found.data)
    frame.columns = [f"x{i}" for i in range(frame.shape[1])]
    frame["target"] = [f"class{c}" for c in found.target] if classes else found.target.astype(float)
    return frame


def penguins(target):
    import palmerpenguins
    frame = palmerpenguins.load_penguins()
    return frame[frame[target].notna()].assign(target=lambda f: f[target]).drop(columns=[target])


def table(name, target, leave_out, classes):
    frame = pandas.read_csv(os.path.join(DATA, name)).drop(columns=leave_out)
    frame["target"] = frame[target].map(lambda c: f"class{c}") if classes else frame[target].astype(float)
    return frame.drop(columns=[target])


def made(x, y, classes):
    frame = pandas.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])])
    frame["target"] = [f"class{c}" for c in y] if classes else y
    return frame


SETS = {
    "iris": (lambda: bundled(datasets.load_iris, True), True),
    "wine": (lambda: bundled(datasets.load_wine, True), True),
    "digits": (lambda: bundled(datasets.load_digits, True), True),
    "penguins": (lambda: penguins("species"), True),
    "titanic": (lambda: table("titanic.csv", "Survived", ["PassengerId", "Name", "Ticket", "Cabin"], True), True),
    "breast-cancer": (lambda: bundled(datasets.load_breast_cancer, True), True),
    "moons": (lambda: made(*datasets.make_moons(500, noise=0.25, random_state=1), True), True),
    "classification": (lambda: made(*datasets.make_classification(1000, 20, n_informative=6, n_classes=3, random_state=1), True), True),
    "body-mass": (lambda: penguins("body_mass_g"), False),
    "housing": (lambda: table("housing.csv", "median_house_value", [], False), False),
    "diabetes": (lambda: bundled(lambda: datasets.load_diabetes(scaled=False), False), False),
    "friedman": (lambda: made(*datasets.make_friedman1(1000, noise=1, random_state=1), False), False),
    "friedman-large": (lambda: made(*datasets.make_friedman1(20000, noise=1, random_state=1), False), False),
    "swiss-roll": (lambda: made(*datasets.make_swiss_roll(20000, noise=0.5, random_state=1), False), False),
}


def nntools(frame, classes, seeds, options):
    """The mean over seeds of the mean over folds, and the seconds of one cross-validation."""
    net = next((o[6:] for o in options if o.startswith("--net=")), NET)
    more = [o for o in options if not o.startswith("--net=")]
    figures, start = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "t.csv")
        frame.to_csv(path, index=False)  # a value that is missing is an empty field
        for seed in range(1, seeds + 1):
            out = subprocess.run([TRAIN, "-q", "-m", net, "--target=target", f"--loss={'cross-entropy' if classes else 'mse'}", "--missing=mean",
                                  "--folds=5", f"--seed={seed}", f"--split-seed={seed}", *more, path], stdout=subprocess.PIPE, text=True, check=True).stdout
            rows = [line.split("\t") for line in out.splitlines()]
            figures.append(next(float(row[2]) for row in rows if row[0] == "mean" and row[1] == ("accuracy" if classes else "rmse")))
    return numpy.mean(figures), (time.perf_counter() - start) / seeds


def sklearn(frame, classes, seeds):
    x, y = frame.drop(columns=["target"]), frame["target"]
    numbers = [c for c in x.columns if pandas.api.types.is_numeric_dtype(x[c])]
    texts = [c for c in x.columns if c not in numbers]
    columns = ColumnTransformer([("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
                                 ("texts", OneHotEncoder(handle_unknown="ignore"), texts)])
    figures, start = [], time.perf_counter()
    for seed in range(1, seeds + 1):
        net = MLPClassifier(random_state=seed) if classes else TransformedTargetRegressor(MLPRegressor(random_state=seed), transformer=StandardScaler())
        folds = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=seed)
        score = cross_val_score(make_pipeline(columns, net), x, y, cv=folds, scoring="accuracy" if classes else "neg_root_mean_squared_error")
        figures.append(abs(score.mean()))
    return numpy.mean(figures), (time.perf_counter() - start) / seeds


def main(words):
    seeds = 3
    if "-s" in words:
        at = words.index("-s")
        seeds = int(words[at + 1])
        del words[at:at + 2]
    options = [w for w in words if w.startswith("-")]
    names = [w for w in words if not w.startswith("-")] or list(SETS)
    warnings.simplefilter("ignore")  # scikit-learn says of most of them that they have not converged
    print(f"{'set':16}{'rows':>7}{'metric':>10}{'nntools':>12}{'scikit-learn':>14}{'s':>8}{'s':>8}{'worse by':>12}")
    for name in names:
        make, classes = SETS[name]
        try:
            frame = make()
        except (FileNotFoundError, ImportError) as why:
            print(f"{name:16}{'':>7} skipped: {why}")
            continue
        ours, ours_s = nntools(frame, classes, seeds, options)
        theirs, theirs_s = sklearn(frame, classes, seeds)
        worse = f"{100 * (theirs - ours):.1f} points" if classes else f"{100 * (ours / theirs - 1):.1f} %"
        form = "{:.3f}" if classes else "{:.4g}"
        print(f"{name:16}{len(frame):>7}{'accuracy' if classes else 'rmse':>10}{form.format(ours):>12}{form.format(theirs):>14}"
              f"{ours_s:8.2f}{theirs_s:8.2f}{worse:>12}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
