#!/usr/bin/env python3
# Rows of different length beside PyTorch's packed sequences: answers, and in f64 the weights after a step of SGD.
# usage: lengths.py data|compare
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
            for steps in 0, 1:
                train = f"nn-train -q -m".split() + [text, file, "--precision=f64", "--optimizer=sgd", "--lr=0.5"]
                subprocess.run(train + ["-b", "40", f"--steps={steps}", "-o", f"{steps}.st"], check=True)
            before, after = state("0.st"), state("1.st")
            layer = getattr(torch.nn, cell.upper())(2, 5, 2, bidirectional=two, batch_first=True).double()
            layer.load_state_dict({k[2:]: torch.tensor(v) for k, v in before.items() if k[0] == "0"})
            last = "1" if file == "steps.npz" else "2"
            dense = torch.nn.Linear(10 if two else 5, 2).double()
            dense.load_state_dict({k[2:]: torch.tensor(v) for k, v in before.items() if k[0] == last})
            out, n = pad_packed_sequence(layer(packed)[0], batch_first=True)
            if file == "steps.npz":
                y = torch.cat([torch.tensor((np.cumsum(r[:, 0]) > 0).astype(int)) for r in x])
                out = torch.cat([o[:k] for o, k in zip(out, n)])
            else:
                y = torch.tensor([int(r[:, 0].sum() > 0) for r in x])
                out = torch.stack([o[k - 1] for o, k in zip(out, n)])
            torch.nn.functional.cross_entropy(dense(out), y).backward()
            for prefix, module in ("0", layer), (last, dense):
                for name, p in module.named_parameters():
                    found, wanted = after[f"{prefix}.{name}"], (p - 0.5 * p.grad).detach().numpy()
                    off = abs(found - wanted).max()
                    # the same sums in another order
                    if not off < 1e-12:
                        sys.exit(f"{text}: {prefix}.{name}: off by {off}")


{"data": data, "compare": compare}[sys.argv[1]]()
