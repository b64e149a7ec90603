#!/usr/bin/env python3
# Rows of different length beside PyTorch's packed sequences, and its attention with a mask of keys: in f64 the weights after a
# step of SGD.
# usage: lengths.py data|compare|attention|weighed|weights|numbers|regression|score|beside|scored|missing|elsewhere MODEL
import json
import subprocess
import sys

import numpy as np


def rows(n=40, longest=9, seed=1):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, n)
    lengths[0] = longest
    return [rng.normal(size=(k, 2)).astype("f4") for k in lengths], lengths


def data():
    x, lengths = rows()
    y = np.array([int(r[:, 0].sum() > 0) for r in x])
    steps = [(np.cumsum(r[:, 0]) > 0).astype(int) for r in x]
    padded, of_steps = np.zeros((len(x), 9, 2), "f4"), np.full((len(x), 9), 5)
    for i, r in enumerate(x):
        padded[i, : len(r)] = r
        of_steps[i, : len(r)] = steps[i]
    other = padded.copy()
    for i, r in enumerate(x):
        other[i, len(r) :] = np.nan
    np.savez("padded.npz", x=padded, lengths=lengths, y=y)
    np.savez("other.npz", x=other, lengths=lengths.astype("u1"), y=y)
    np.savez("packed.npz", x=np.concatenate(x), lengths=lengths, y=y)
    np.savez("steps.npz", x=padded, lengths=lengths, y=of_steps)
    np.savez("packed-steps.npz", x=np.concatenate(x), lengths=lengths, y=np.concatenate(steps))
    with open("rows.jsonl", "w") as f, open("steps.jsonl", "w") as g:
        for r, k, s in zip(x, y, steps):
            f.write(json.dumps({"x": r.tolist(), "y": int(k)}) + "\n")
            g.write(json.dumps({"y": [("no", "yes")[v] for v in s], "id": 1, "x": r.tolist()}) + "\n")
    np.savez("short.npz", x=padded, lengths=np.r_[lengths[:-1], 0], y=y)
    np.savez("long.npz", x=padded, lengths=np.r_[lengths[:-1], 10], y=y)
    np.savez("few.npz", x=padded, lengths=lengths[:-1], y=y)
    np.savez("sum.npz", x=np.concatenate(x)[:-1], lengths=lengths, y=y)
    np.savez("none.npz", x=padded, y=y)
    np.savez("float.npz", x=padded, lengths=lengths + 0.5, y=y)
    np.savez("wide.npz", x=np.concatenate([padded, padded], 2), lengths=lengths, y=y)
    np.save("all.npy", padded[:3])


def state(path):
    with open(path, "rb") as f:
        raw = f.read()
    n = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + n])
    kinds = {"F64": "f8", "F32": "f4"}
    return {
        k: np.frombuffer(raw[8 + n :][slice(*v["data_offsets"])], kinds[v["dtype"]]).reshape(v["shape"])
        for k, v in head.items()
        if k != "__metadata__"
    }


def step_of_sgd(text, file, *options):
    """The weights before and after a step with all rows."""
    for steps in 0, 1:
        train = "nn-train -q -m".split() + [text, file, "--precision=f64", "--optimizer=sgd", "--lr=0.5", *options]
        subprocess.run(train + ["-b", "40", f"--steps={steps}", "-o", f"{steps}.st"], check=True)
    return state("0.st"), state("1.st")


def fill(module, prefix, tensors):
    import torch

    n = len(prefix) + 1
    module.load_state_dict({k[n:]: torch.tensor(v) for k, v in tensors.items() if k.startswith(prefix + ".")})


def same_step(text, modules, after):
    """Are these the weights after a step of SGD by the gradients that the modules have?"""
    for prefix, module in modules.items():
        for name, p in module.named_parameters():
            off = abs(after[f"{prefix}.{name}"] - (p - 0.5 * p.grad).detach().numpy()).max()
            # the same sums in another order
            if not off < 1e-12:
                sys.exit(f"{text}: {prefix}.{name}: off by {off}")


def attention():
    import torch

    torch.set_num_threads(1)
    x, lengths = rows()
    padded = torch.zeros(len(x), 9, 2, dtype=torch.float64)
    for i, r in enumerate(x):
        padded[i, : len(r)] = torch.tensor(r)
    behind = torch.arange(9) >= torch.tensor(lengths)[:, None]
    for causal in False, True:
        for file in ("padded.npz", "steps.npz"):
            text = f"input ?x2, dense 6, attention 2{' causal=yes' if causal else ''}, "
            text += "dense ?" if file == "steps.npz" else "last, dense ?"
            before, after = step_of_sgd(text, file)
            last = "2" if file == "steps.npz" else "3"
            modules = {
                "0": torch.nn.Linear(2, 6).double(),
                "1": torch.nn.MultiheadAttention(6, 2, batch_first=True).double(),
                last: torch.nn.Linear(6, 2).double(),
            }
            for prefix, module in modules.items():
                fill(module, prefix, before)
            v = modules["0"](padded)
            mask = torch.ones(9, 9, dtype=torch.bool).triu(1) if causal else None
            out = modules["1"](v, v, v, key_padding_mask=behind, attn_mask=mask)[0]
            if file == "steps.npz":
                y = torch.cat([torch.tensor((np.cumsum(r[:, 0]) > 0).astype(int)) for r in x])
                out = out[~behind]
            else:
                y = torch.tensor([int(r[:, 0].sum() > 0) for r in x])
                out = torch.stack([o[k - 1] for o, k in zip(out, lengths)])
            torch.nn.functional.cross_entropy(modules[last](out), y).backward()
            same_step(text, modules, after)


def compare():
    import torch
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

    torch.set_num_threads(1)
    x, lengths = rows()
    packed = pack_sequence([torch.tensor(r, dtype=torch.float64) for r in x], enforce_sorted=False)
    for cell, two in (("lstm", True), ("gru", False), ("rnn", True)):
        for file in ("padded.npz", "steps.npz"):
            text = f"input ?x2, {cell} 5 layers=2{' bidirectional=yes' if two else ''}, "
            text += "dense ?" if file == "steps.npz" else "last, dense ?"
            before, after = step_of_sgd(text, file)
            layer = getattr(torch.nn, cell.upper())(2, 5, 2, bidirectional=two, batch_first=True).double()
            fill(layer, "0", before)
            last = "1" if file == "steps.npz" else "2"
            dense = torch.nn.Linear(10 if two else 5, 2).double()
            fill(dense, last, before)
            out, n = pad_packed_sequence(layer(packed)[0], batch_first=True)
            if file == "steps.npz":
                y = torch.cat([torch.tensor((np.cumsum(r[:, 0]) > 0).astype(int)) for r in x])
                out = torch.cat([o[:k] for o, k in zip(out, n)])
            else:
                y = torch.tensor([int(r[:, 0].sum() > 0) for r in x])
                out = torch.stack([o[k - 1] for o, k in zip(out, n)])
            torch.nn.functional.cross_entropy(dense(out), y).backward()
            same_step(text, {"0": layer, last: dense}, after)


def weighed():
    """Rows with weights, whole ones and others, as arrays and as JSON lines; rows that stand there as often."""
    x, lengths = rows()
    rng = np.random.default_rng(2)
    whole, w = rng.integers(0, 4, len(x)), rng.random(len(x)) + 0.25
    y = np.array([int(r[:, 0].sum() > 0) for r in x])
    steps = [(np.cumsum(r[:, 0]) > 0).astype(int) for r in x]
    often = np.repeat(np.arange(len(x)), whole)
    packed = {"x": np.concatenate(x), "lengths": lengths}
    there = {"x": np.concatenate([x[i] for i in often]), "lengths": lengths[often]}
    for name, of, of_often in (
        ("rows", y, y[often]),
        ("steps", np.concatenate(steps), np.concatenate([steps[i] for i in often])),
    ):
        np.savez(f"whole-{name}.npz", y=of, w=whole, **packed)
        np.savez(f"often-{name}.npz", y=of_often, **there)
        np.savez(f"w-{name}.npz", y=of, w=w[:, None].astype("f4"), **packed)
        with open(f"w-{name}.jsonl", "w") as f:
            for i, r in enumerate(x):
                of_row = int(y[i]) if name == "rows" else steps[i].tolist()
                f.write(json.dumps({"x": r.tolist(), "w": float(np.float32(w[i])), "y": of_row}) + "\n")
    for name, bad in (("minus", w * 0 - 2), ("inf", w * np.inf), ("nan", w * np.nan), ("few", w[1:]), ("zeros", w * 0)):
        np.savez(f"{name}.npz", y=y, w=bad, **packed)
    many, n = rows(600, seed=3)
    of_steps = [(np.cumsum(r[:, 0]) > 0).astype(int) for r in many]
    np.savez("many-steps.npz", x=np.concatenate(many), lengths=n, y=np.concatenate(of_steps), w=rng.random(600))
    vectors = np.stack([np.r_[r.sum(0), len(r)] for r in x])
    np.savez("whole-plain.npz", x=vectors, y=y, w=whole.astype("u1"))
    np.savez("often-plain.npz", x=vectors[often], y=y[often])


def weights():
    import torch
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

    torch.set_num_threads(1)
    x, lengths = rows()
    packed = pack_sequence([torch.tensor(r, dtype=torch.float64) for r in x], enforce_sorted=False)
    for file in ("w-rows.npz", "w-steps.npz"):
        of_rows = file == "w-rows.npz"
        text = "input ?x2, lstm 5, " + ("last, dense ?" if of_rows else "dense ?")
        before, after = step_of_sgd(text, file, "--weight=w")
        layer, dense = torch.nn.LSTM(2, 5, batch_first=True).double(), torch.nn.Linear(5, 2).double()
        last = "2" if of_rows else "1"
        fill(layer, "0", before)
        fill(dense, last, before)
        out, n = pad_packed_sequence(layer(packed)[0], batch_first=True)
        w = torch.tensor(np.load(file)["w"][:, 0], dtype=torch.float64)
        if of_rows:
            out = torch.stack([o[k - 1] for o, k in zip(out, n)])
        else:
            out = torch.cat([o[:k] for o, k in zip(out, n)])
            w = w.repeat_interleave(n)
        loss = torch.nn.functional.cross_entropy(dense(out), torch.tensor(np.load(file)["y"]), reduction="none")
        ((loss * w).sum() / w.sum()).backward()
        same_step(text, {"0": layer, last: dense}, after)


def of_steps():
    """Two numbers, and one, for each step of each row."""
    x, lengths = rows()
    two = [np.stack([np.cumsum(r[:, 0]), r[:, 1] * 2 + 0.5], 1) for r in x]
    return x, lengths, two, [t[:, 0] for t in two]


def numbers():
    x, lengths, two, one = of_steps()
    w = np.random.default_rng(2).random(len(x)) + 0.25
    padded = np.zeros((len(x), 9, 2), "f4")
    filled = {"two": np.full((len(x), 9, 2), np.nan), "one": np.full((len(x), 9), 7.0)}
    for i, r in enumerate(x):
        padded[i, : len(r)] = r
        filled["two"][i, : len(r)], filled["one"][i, : len(r)] = two[i], one[i]
    for name, of in (("two", two), ("one", one)):
        np.savez(f"{name}.npz", x=padded, lengths=lengths, y=filled[name], w=w)
        np.savez(f"{name}-packed.npz", x=np.concatenate(x), lengths=lengths, y=np.concatenate(of), w=w)
        with open(f"{name}.jsonl", "w") as f:
            for r, t, v in zip(x, of, w):
                f.write(json.dumps({"y": t.tolist(), "w": v, "x": r.tolist()}) + "\n")
    many, n = rows(600, seed=3)
    np.savez("many.npz", x=np.concatenate(many), lengths=n, y=np.concatenate([np.cumsum(r[:, 0]) for r in many]))
    shares = np.concatenate([1 / (1 + np.exp(-t)) for t in one])
    np.savez("shares.npz", x=np.concatenate(x), lengths=lengths, y=np.stack([shares, 1 - shares], 1))
    # rows that are all as long as there are outputs: numbers of rows, where the net has one answer for each
    np.savez("vectors.npz", x=padded, lengths=np.full(len(x), 9), y=padded[:, :, 0])
    bad = np.concatenate(two)
    bad[lengths[0] + 1, 1] = np.nan
    np.savez("nan.npz", x=np.concatenate(x), lengths=lengths, y=bad)
    bad = np.concatenate(x)
    bad[lengths[0], 1] = np.inf
    np.savez("inf.npz", x=bad, lengths=lengths, y=np.concatenate(two))


def regression():
    import torch
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

    torch.set_num_threads(1)
    x, lengths, two, one = of_steps()
    packed = pack_sequence([torch.tensor(r, dtype=torch.float64) for r in x], enforce_sorted=False)
    w = torch.tensor(np.load("two.npz")["w"]).repeat_interleave(torch.tensor(lengths))
    f = torch.nn.functional
    for file, loss, of in (
        ("two.npz", "mse", lambda y, t: f.mse_loss(y, t, reduction="none").mean(1)),
        ("one.npz", "mae", lambda y, t: f.l1_loss(y, t, reduction="none").mean(1)),
        ("two.npz", "huber", lambda y, t: f.smooth_l1_loss(y, t, reduction="none").mean(1)),
        ("shares.npz", "bce", lambda y, t: f.binary_cross_entropy_with_logits(y, t, reduction="none").mean(1)),
        ("shares.npz", "cross-entropy", lambda y, t: f.cross_entropy(y, t, reduction="none")),
    ):
        weighs = loss == "mse"
        text = "input ?x2, gru 5, dense ?"
        before, after = step_of_sgd(text, file, f"--loss={loss}", *(["--weight=w"] if weighs else []))
        y = np.load("shares.npz")["y"] if file == "shares.npz" else np.concatenate(two if file == "two.npz" else one)
        y = torch.tensor(y.reshape(len(y), -1), dtype=torch.float64)
        layer, dense = torch.nn.GRU(2, 5, batch_first=True).double(), torch.nn.Linear(5, y.shape[1]).double()
        fill(layer, "0", before)
        fill(dense, "1", before)
        out, n = pad_packed_sequence(layer(packed)[0], batch_first=True)
        losses = of(dense(torch.cat([o[:k] for o, k in zip(out, n)])), y)
        ((losses * w).sum() / w.sum() if weighs else losses.mean()).backward()
        same_step(f"{text} --loss={loss}", {"0": layer, "1": dense}, after)


def score():
    """--score of the model m.st beside numpy, in f64, from its own answers; with weights, and without."""
    run = lambda *a: subprocess.run(["nn-predict", *a], check=True, capture_output=True, text=True).stdout
    x, lengths, two, _ = of_steps()
    t = np.concatenate(two)
    answers = [json.loads(line)["values"] for line in run("m.st", "two.jsonl").splitlines()]
    y = np.array([list(step.values()) for row in answers for step in row])
    if [len(row) for row in answers] != lengths.tolist():
        sys.exit("answers are not as long as rows")
    for file, w in (("two-packed.npz", np.load("two.npz")["w"]), ("unweighed.npz", np.ones(len(x)))):
        w = np.repeat(w, lengths)[:, None] / np.repeat(w, lengths).sum()
        square, away = ((y - t) ** 2 * w).sum(0), (abs(y - t) * w).sum(0)
        spread = ((t - (t * w).sum(0)) ** 2 * w).sum(0)
        want = {"samples": 40, "loss": square.mean(), "rmse": square.mean() ** 0.5, "mae": away.mean()}
        want["r2"] = (1 - square / spread).mean()
        for c in range(2):
            want[f"rmse.y{c + 1}"], want[f"mae.y{c + 1}"] = square[c] ** 0.5, away[c]
            want[f"r2.y{c + 1}"] = 1 - square[c] / spread[c]
        found = dict(line.split() for line in run("--score", "m.st", file).splitlines())
        if found.keys() != want.keys():
            sys.exit(f"{file}: {sorted(found)} for {sorted(want)}")
        for name, value in want.items():
            if abs(float(found[name]) - value) > 1e-12 * max(1, abs(value)):
                sys.exit(f"{file}: {name} is {found[name]}, expected {value}")


def beside():
    """Classes of steps, some ignored, in files of their own: filled up, to more than the longest too, one after another, as tables."""
    x, lengths = rows()
    of = [np.where(r[:, 1] > 1, 9, (np.cumsum(r[:, 0]) > 0) + (r[:, 1] > 0)) for r in x]
    padded, filled = np.zeros((len(x), 9, 2), "f4"), np.full((len(x), 12), 1)
    for i, r in enumerate(x):
        padded[i, : len(r)], filled[i, : len(r)] = r, of[i]
    np.savez("padded.npz", x=padded, lengths=lengths)
    np.savez("packed.npz", x=np.concatenate(x), lengths=lengths)
    np.savez("with.npz", x=padded, lengths=lengths, y=filled[:, :9])
    with open("rows.jsonl", "w") as f:
        f.writelines(json.dumps({"x": r.tolist()}) + "\n" for r in x)
    np.save("filled.npy", filled[:, :9])
    np.save("wide.npy", filled)
    np.save("line.npy", np.concatenate(of).astype("i2"))
    np.savez("named.npz", y=filled, other=lengths)
    words = np.array(["no", "yes", "maybe"] + 7 * ["odd"])
    for name, values in ("", [t.tolist() for t in of]), ("words-", [words[t].tolist() for t in of]):
        with open(name + "lists.jsonl", "w") as f, open(name + "steps.csv", "w") as g:
            f.writelines(json.dumps({"id": 7, "y": v}) + "\n" for v in values)
            g.write("id,y\n" + "".join(f"{i},{t}\n" for i, v in enumerate(values) for t in v))
    with open("both.jsonl", "w") as f:
        f.writelines(json.dumps({"y": words[t].tolist(), "x": r.tolist()}) + "\n" for r, t in zip(x, of))
    np.save("few.npy", filled[1:])
    np.save("short.npy", filled[:, :8])
    other = np.concatenate(of)
    other[lengths[0]] = 7
    np.save("other.npy", other)


def scored():
    """--score=line.npy of the model m.st beside numpy in f64, from its own answers."""
    run = lambda *a: subprocess.run(["nn-predict", *a], check=True, capture_output=True, text=True).stdout
    t = np.load("line.npy")
    answers = [json.loads(line)["probs"] for line in run("m.st", "rows.jsonl").splitlines()]
    p = np.array([list(step.values()) for row in answers for step in row])[t != 9]
    t, best = t[t != 9], p.argmax(1)
    want = {"samples": 40, "loss": -np.log(p[np.arange(len(t)), t]).mean(), "accuracy": (best == t).mean()}
    found = {k: float(v) for k, v in (line.split() for line in run("--score=line.npy", "m.st", "rows.jsonl").splitlines())}
    if found.keys() != want.keys():
        sys.exit(f"{sorted(found)} for {sorted(want)}")
    for name, value in want.items():
        if abs(found[name] - value) > 1e-12 * max(1, value):
            sys.exit(f"{name} is {found[name]}, expected {value}")


def missing():
    """Rows of which some miss values, in steps and in targets; those without them; filled with means by numpy."""
    x, lengths, two, one = of_steps()
    rng = np.random.default_rng(4)
    gone = [rng.random(r.shape) < 0.04 for r in x]
    steps = [(np.cumsum(r[:, 0]) > 0).astype(int) for r in x]
    holed = [np.where(g, np.float32(np.nan), r) for r, g in zip(x, gone)]
    all_steps = np.concatenate(holed).astype("f8")
    means = np.nanmean(all_steps, 0)
    whole = [i for i, g in enumerate(gone) if not g.any()]
    assert 5 < len(whole) < 35

    def save(name, values, of, y):
        np.savez(f"{name}.npz", x=np.concatenate([values[i] for i in of]), lengths=lengths[of], y=y)
        with open(f"{name}.jsonl", "w") as f:
            for k, i in enumerate(of):
                row = [[None if v != v else v for v in map(float, step)] for step in values[i]]
                f.write(json.dumps({"x": row, "y": steps[i].tolist()}) + "\n")

    every = list(range(len(x)))
    classes = lambda of: np.concatenate([steps[i] for i in of])
    save("holed", holed, every, classes(every))
    save("whole", holed, whole, classes(whole))
    save("filled", [np.where(g, means.astype("f4"), r) for r, g in zip(x, gone)], every, classes(every))
    padded, of_steps_ = np.full((len(x), 9, 2), np.nan, "f4"), np.zeros((len(x), 9), int)
    for i, r in enumerate(holed):
        padded[i, : len(r)], of_steps_[i, : len(r)] = r, steps[i]
    np.savez("holed-padded.npz", x=padded, lengths=lengths, y=of_steps_)
    scaled = (np.concatenate(x).astype("f8") - np.concatenate(x).astype("f8").mean(0)) / np.concatenate(x).astype("f8").std(0)
    np.savez("plain.npz", x=np.concatenate(x), lengths=lengths, y=classes(every))
    np.savez("scaled.npz", x=scaled, lengths=lengths, y=classes(every))
    # targets of steps that are missing leave out their rows
    some = [t.copy() for t in one]
    some[3][-1] = np.nan
    rest = [i for i in every if i != 3]
    np.savez("gone.npz", x=np.concatenate(x), lengths=lengths, y=np.concatenate(some))
    np.savez("rest.npz", x=np.concatenate([x[i] for i in rest]), lengths=lengths[rest], y=np.concatenate([one[i] for i in rest]))
    with open("gone.jsonl", "w") as f:
        for r, t in zip(x, some):
            f.write(json.dumps({"x": r.tolist(), "y": [None if v != v else v for v in t.tolist()]}) + "\n")
    print(*means)


def elsewhere(model):
    """A trained model as others write them: without nn.input and nn.target, without the lengths in it, and its weights alone."""
    raw = open(model, "rb").read()
    n = int.from_bytes(raw[:8], "little")
    head, values = json.loads(raw[8 : 8 + n]), raw[8 + n :]
    known = head["__metadata__"]
    without = json.dumps({k: v for k, v in json.loads(known["nn.input"]).items() if k != "lengths"})
    for name, metadata in (
        ("bare", {k: known[k] for k in ("nn.model", "nn.version")}),
        ("unsaid", known | {"nn.input": without}),
        ("fixed", known | {"nn.model": known["nn.model"].replace("?x2 max=9", "9x2")}),
        ("columns", known | {"nn.input": without[:-1] + ',"columns":' + json.dumps([{"kind": "number"}] * 18) + "}"}),
        ("weights", {}),
    ):
        text = json.dumps(head | {"__metadata__": metadata}).encode()
        open(f"{name}.st", "wb").write(len(text).to_bytes(8, "little") + text + values)
    open("text.nn", "w").write(known["nn.model"])


modes = {"data": data, "compare": compare, "attention": attention, "weighed": weighed, "weights": weights}
modes |= {"beside": beside, "scored": scored}
modes |= {"numbers": numbers, "regression": regression, "score": score, "missing": missing, "elsewhere": elsewhere}
modes[sys.argv[1]](*sys.argv[2:])
