"""PyTorch as referee: nn-train and torch.optim from the same start file, on the same batches, for 20 steps."""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch

torch.set_num_threads(1)
torch.manual_seed(0)
STEPS, BATCH, ROWS, CLASSES = 20, 32, 80, 5      # 80 rows: batches of 32, 32 and 16
DIR = tempfile.mkdtemp()
claims = []


def report(good, claim, why=""):
    claims.append(good)
    print(f"{'ok' if good else 'not ok'} {len(claims)} - torch: {claim}{'' if good else '  # ' + why}", flush=True)


# ---- files ----

def read_safetensors(path):
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        head = json.loads(f.read(n))
        data = f.read()
    types = {"F32": np.float32, "F64": np.float64}
    return {k: torch.from_numpy(np.frombuffer(data[v["data_offsets"][0]:v["data_offsets"][1]], types[v["dtype"]])
                                .reshape(v["shape"]).copy())
            for k, v in head.items() if k != "__metadata__"}


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, cwd=DIR)
    if done.returncode:
        raise RuntimeError(f"{' '.join(args)}: status {done.returncode}: {done.stderr}")
    return done.stdout


# ---- nets ----

def dense():
    return torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, CLASSES))


def conv():
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 8, 3, padding=1), torch.nn.Tanh(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 6, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(54, CLASSES))


def norm():
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
        torch.nn.AvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(8 * 16, CLASSES))


def table():
    return torch.nn.Sequential(torch.nn.Embedding(30, 6, padding_idx=2), torch.nn.Flatten(), torch.nn.Linear(42, CLASSES))


def bag():
    return torch.nn.Sequential(torch.nn.EmbeddingBag(30, 9, mode="sum", padding_idx=4), torch.nn.Tanh(), torch.nn.Linear(9, CLASSES))


def sparse():
    return torch.nn.Sequential(torch.nn.Embedding(300, 6, sparse=True), torch.nn.Flatten(), torch.nn.Linear(42, CLASSES))


class Steps(torch.nn.Module):
    """What a recurrent layer gives of all steps, under the names of its parameters."""

    def __new__(cls, kind, *args, **keys):
        class Only(kind):
            def forward(self, x):
                return super().forward(x)[0]

        return Only(*args, batch_first=True, **keys)


class Last(torch.nn.Module):
    def forward(self, x):
        return x[:, -1]


# a net, and the line it is here
STEPS_OF = {
    "rnn": (lambda: Steps(torch.nn.RNN, 4, 9), "rnn 9"),
    "lstm": (lambda: Steps(torch.nn.LSTM, 4, 8), "lstm 8"),
    "gru": (lambda: Steps(torch.nn.GRU, 4, 8), "gru 8"),
    "lstm of layers": (lambda: Steps(torch.nn.LSTM, 4, 5, 2, bidirectional=True), "lstm 5 layers=2 bidirectional=yes"),
}


# a fourth value: samples are numbers of categories below it
NETS = {
    "embedding": (table, (7,), "input 7, embedding 6 rows=30 padding=2, flatten, dense 5", 30),
    "bag of embeddings": (bag, (7,), "input 7, embedding 9 rows=30 padding=4 mode=sum, tanh, dense 5", 30),
    "dense": (dense, (20,), "input 20, dense 32, relu, dense 5"),
    "conv": (conv, (2, 8, 8), "input 2x8x8, conv2d 8 3x3 pad=1, tanh, maxpool2d 2, conv2d 6 3x3 stride=2, relu, flatten, "
             "dense 5"),
    "batchnorm": (norm, (2, 8, 8), "input 2x8x8, conv2d 8 3x3 pad=1 bias=no, batchnorm group=32, relu, avgpool2d 2, "
                  "flatten, dense 5"),
}
NETS["conv"] = (conv, (2, 14, 14), NETS["conv"][2].replace("2x8x8", "2x14x14"))
NETS["batchnorm"] = (norm, (2, 8, 8), NETS["batchnorm"][2])


# ---- what PyTorch lacks, as the papers have it ----

class Lars(torch.optim.Optimizer):
    def __init__(self, params, lr=0.01, momentum=0, weight_decay=0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                g, ratio, decay = p.grad, 1.0, group["weight_decay"]
                if p.ndim > 1:
                    w, n = p.norm(), g.norm()
                    if w > 0 and n > 0:
                        ratio = 0.001 * w / (n + decay * w)
                    g = g + decay * p
                g = group["lr"] * ratio * g
                if group["momentum"]:
                    v = self.state[p].setdefault("v", torch.zeros_like(p))
                    v.mul_(group["momentum"]).add_(g)
                    g = v
                p.sub_(g)


class Lamb(torch.optim.Optimizer):
    def __init__(self, params, lr=0.01, weight_decay=0):
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                s = self.state[p]
                s["t"] = s.get("t", 0) + 1
                m, v = s.setdefault("m", torch.zeros_like(p)), s.setdefault("v", torch.zeros_like(p))
                m.mul_(0.9).add_(p.grad, alpha=0.1)
                v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                r, ratio = (m / (1 - 0.9 ** s["t"])) / ((v / (1 - 0.999 ** s["t"])).sqrt() + 1e-6), 1.0
                if p.ndim > 1:
                    r = r + group["weight_decay"] * p
                    if p.norm() > 0 and r.norm() > 0:
                        ratio = p.norm() / r.norm()
                p.sub_(group["lr"] * ratio * r)


class Parts:
    """An optimizer for the tables, another for the rest."""

    def __init__(self, params, tables, rest):
        params = list(params)
        self.parts = [tables(params[:1]), rest(params[1:])]
        self.param_groups = [g for p in self.parts for g in p.param_groups]

    def zero_grad(self):
        for p in self.parts:
            p.zero_grad()

    def step(self):
        for p in self.parts:
            p.step()


class RowAdam(torch.optim.Optimizer):
    """SparseAdam with eps where Adam has it."""

    def __init__(self, params):
        super().__init__(params, dict(lr=0.001))

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            s, g = self.state[p], p.grad.coalesce()
            rows, g = g.indices()[0], g.values()
            s["t"] = s.get("t", 0) + 1
            m, v = s.setdefault("m", torch.zeros_like(p)), s.setdefault("v", torch.zeros_like(p))
            m[rows] += 0.1 * (g - m[rows])
            v[rows] = 0.999 * v[rows] + 0.001 * g * g
            p[rows] -= 0.001 * (m[rows] / (1 - 0.9 ** s["t"])) / ((v[rows] / (1 - 0.999 ** s["t"])).sqrt() + 1e-8)


OPT = torch.optim
OPTIMIZERS = {
    "sgd": (lambda p: OPT.SGD(p, 0.1), ["--optimizer=sgd", "--lr=0.1"]),
    "sgd with momentum and decay": (lambda p: OPT.SGD(p, 0.05, momentum=0.9, weight_decay=0.01),
                                    ["--optimizer=sgd", "--lr=0.05", "--momentum=0.9", "--weight-decay=0.01"]),
    "sgd with Nesterov's momentum": (lambda p: OPT.SGD(p, 0.05, momentum=0.8, nesterov=True),
                                     ["--optimizer=sgd", "--lr=0.05", "--momentum=0.8", "--nesterov"]),
    "adam": (lambda p: OPT.Adam(p), []),
    "adam with decay": (lambda p: OPT.Adam(p, 0.003, weight_decay=0.02), ["--lr=0.003", "--weight-decay=0.02"]),
    "adamw": (lambda p: OPT.AdamW(p), ["--optimizer=adamw"]),
    "adamw with decay": (lambda p: OPT.AdamW(p, 0.002, weight_decay=0.1),
                         ["--optimizer=adamw", "--lr=0.002", "--weight-decay=0.1"]),
    "rmsprop": (lambda p: OPT.RMSprop(p, 0.001), ["--optimizer=rmsprop", "--lr=0.001"]),
    "rmsprop with decay": (lambda p: OPT.RMSprop(p, 0.001, weight_decay=0.01),
                           ["--optimizer=rmsprop", "--lr=0.001", "--weight-decay=0.01"]),
    "rmsprop with momentum": (lambda p: OPT.RMSprop(p, 0.001, momentum=0.9),
                              ["--optimizer=rmsprop", "--lr=0.001", "--momentum=0.9"]),
    "rprop": (lambda p: OPT.Rprop(p, 0.001), ["--optimizer=rprop", "--lr=0.001"]),
    "lars": (lambda p: Lars(p, 1.0), ["--optimizer=lars", "--lr=1"]),
    "lars with momentum and decay": (lambda p: Lars(p, 1.0, 0.9, 0.01),
                                     ["--optimizer=lars", "--lr=1", "--momentum=0.9", "--weight-decay=0.01"]),
    "lamb": (lambda p: Lamb(p), ["--optimizer=lamb"]),
    "lamb with decay": (lambda p: Lamb(p, 0.005, 0.05), ["--optimizer=lamb", "--lr=0.005", "--weight-decay=0.05"]),
}


# ---- one comparison ----

def data(net, dtype, target):
    rng = np.random.default_rng(len(net))
    shape = (ROWS, *NETS[net][1])
    x = rng.integers(0, NETS[net][3], shape) if len(NETS[net]) > 3 else rng.standard_normal(shape).astype(dtype)
    y = {"classes": lambda: rng.integers(0, CLASSES, ROWS),
         "numbers": lambda: rng.standard_normal((ROWS, CLASSES)).astype(dtype),
         "shares": lambda: rng.random((ROWS, CLASSES)).astype(dtype)}[target]()
    np.save(f"{DIR}/x.npy", x)
    np.save(f"{DIR}/y.npy", y)
    return torch.from_numpy(x), torch.from_numpy(y)


def worst(ours, theirs, rtol):
    """The largest difference in units of what is allowed: rtol of the value, or of the tensor's typical size near 0."""
    most, name = 0.0, ""
    for key, value in theirs.items():
        if "num_batches" in key:
            continue
        mine = ours[key].double()
        allowed = rtol * torch.maximum(value.double().abs(), value.double().abs().mean())
        off = ((mine - value.double()).abs() / allowed).max().item()
        if off > most:
            most, name = off, key
    return most, name


def losses(path):
    with open(path) as f:
        return [e["loss"] for e in map(json.loads, f) if e["event"] == "step"]


def compare(net, precision, optimizer, args, loss=None, target="classes", clip=None, rates=None):
    """Weights, buffers and losses after 20 steps; returns why they differ, or nothing."""
    dtype = {"f32": np.float32, "f64": np.float64}[precision]
    rtol = {"f32": 1e-4, "f64": 1e-9}[precision]
    x, y = data(net, dtype, target)
    loss = loss or torch.nn.CrossEntropyLoss()
    common = ["nn-train", "-q", "--shuffle=no", f"--batch={BATCH}", f"--precision={precision}", *args]
    if os.path.exists(f"{DIR}/log"):
        os.unlink(f"{DIR}/log")
    run(*common, "-m", NETS[net][2], "--steps=0", "-o", "start.safetensors", "x.npy", "y.npy")
    run(*common, "-m", "start.safetensors", f"--steps={STEPS}", "--log=log", "--log-every=1", "-o", "end.safetensors",
        "x.npy", "y.npy")
    model = NETS[net][0]().to({"f32": torch.float32, "f64": torch.float64}[precision])
    if precision == "f64" and hasattr(loss, "weight") and loss.weight is not None:
        loss = loss.double()
    model.load_state_dict(read_safetensors(f"{DIR}/start.safetensors"), strict=False)
    model.train()
    opt = optimizer(model.parameters())
    seen, at = [], 0
    for step in range(STEPS):
        xb, yb = x[at:at + BATCH], y[at:at + BATCH]
        at = (at + BATCH) % 96
        opt.zero_grad()
        value = loss(model(xb), yb)
        value.backward()
        seen.append(value.item())
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        if rates:
            for group in opt.param_groups:
                group["lr"] = rates(step)
        opt.step()
    off, where = worst(read_safetensors(f"{DIR}/end.safetensors"), model.state_dict(), rtol)
    if off > 1:
        return f"{where} is off by {off:.3g} times the tolerance"
    if not np.allclose(losses(f"{DIR}/log"), seen, rtol=max(rtol, 2e-5 if precision == "f32" else 0)):
        return f"losses {losses(f'{DIR}/log')} against {seen}"
    return ""


def check(claim, *args, **kwargs):
    why = []
    for precision in "f32", "f64":
        try:
            text = compare(args[0], precision, *args[1:], **kwargs)
        except RuntimeError as e:
            text = str(e).replace("\n", " ")
        if text:
            why.append(f"{precision}: {text}")
    report(not why, claim, "; ".join(why))


# ---- claims ----

def check_optimizers():
    for net in NETS:
        for name, (make, args) in OPTIMIZERS.items():
            check(f"{name} on the {net} net agrees after {STEPS} steps", net, make, args)


def check_recurrent():
    for name, (make, line) in STEPS_OF.items():
        size = int(line.split()[1]) * (2 if "bi" in line else 1)
        NETS[name] = (lambda make=make, size=size: torch.nn.Sequential(make(), Last(), torch.nn.Linear(size, CLASSES)), (6, 4),
                      f"input 6x4, {line}, last, dense 5")
        for optimizer in "sgd with momentum and decay", "adam":
            check(f"{optimizer} on the {name} net agrees after {STEPS} steps", name, *OPTIMIZERS[optimizer])


def check_sparse():
    NETS["sparse embedding"] = (sparse, (7,), "input 7, embedding 6 rows=300 sparse=yes, flatten, dense 5", 300)
    check("sgd on rows agrees with sparse gradients", "sparse embedding", *OPTIMIZERS["sgd"])
    check("adam on rows agrees", "sparse embedding", lambda p: Parts(p, RowAdam, OPT.Adam), [])


def check_losses():
    sgd = OPTIMIZERS["sgd"][0]
    base = OPTIMIZERS["sgd"][1]
    nn = torch.nn
    weights = torch.tensor([0.5, 1, 2, 0.25, 3])
    check("class weights agree", "dense", sgd, base + ["--class-weight=0.5,1,2,0.25,3"], nn.CrossEntropyLoss(weight=weights))
    check("an ignored class agrees", "conv", sgd, base + ["--ignore=2"], nn.CrossEntropyLoss(ignore_index=2))
    check("class weights with an ignored class agree", "dense", sgd,
          base + ["--class-weight=0.5,1,2,0.25,3", "--ignore=0"], nn.CrossEntropyLoss(weight=weights, ignore_index=0))
    check("mse agrees", "dense", sgd, base, nn.MSELoss(), target="numbers")
    check("mae agrees", "dense", sgd, base + ["--loss=mae"], nn.L1Loss(), target="numbers")
    check("huber agrees", "conv", sgd, base + ["--loss=huber"], nn.HuberLoss(), target="numbers")
    check("bce agrees", "dense", sgd, base + ["--loss=bce"], nn.BCEWithLogitsLoss(), target="shares")


def check_clipping():
    sgd = OPTIMIZERS["sgd"]
    check("clipping by the global norm agrees", "conv", sgd[0], sgd[1] + ["--clip-norm=0.1"], clip=0.1)
    adam = OPTIMIZERS["adam"]
    check("clipping before adam agrees", "batchnorm", adam[0], adam[1] + ["--clip-norm=0.2"], clip=0.2)


def torch_rates(make, lr=0.1):
    opt = OPT.SGD([torch.zeros(1)], lr)
    schedule, rates = make(opt), []
    for _ in range(STEPS):
        rates.append(opt.param_groups[0]["lr"])
        opt.step()
        schedule.step()
    return lambda step: rates[step]


def check_schedules():
    sgd = OPTIMIZERS["sgd"]
    lr = OPT.lr_scheduler
    cases = {
        "cosine": (["--schedule=cosine"], torch_rates(lambda o: lr.CosineAnnealingLR(o, STEPS))),
        "step:7:0.5": (["--schedule=step:7:0.5"], torch_rates(lambda o: lr.StepLR(o, 7, 0.5))),
        "linear": (["--schedule=linear"], torch_rates(lambda o: lr.LambdaLR(o, lambda s: 1 - s / STEPS))),
        "warm-up": (["--warmup=6"], torch_rates(lambda o: lr.LambdaLR(o, lambda s: min(1, (s + 1) / 6)))),
    }
    for name, (args, rates) in cases.items():
        check(f"the schedule {name} agrees", "dense", sgd[0], sgd[1] + args, rates=rates)


def check_outputs():
    for net, (make, shape, text, *rows) in NETS.items():
        x, _ = data(net, np.float32, "classes")
        run("nn-train", "-q", "--epochs=2", f"--batch={BATCH}", "-m", text, "-o", "m.safetensors", "x.npy", "y.npy")
        run("nn-predict", "--emit=logits", "--to=npy", "-o", "p.npy", "m.safetensors", "x.npy")
        model = make()
        missing = model.load_state_dict(read_safetensors(f"{DIR}/m.safetensors"), strict=False)
        model.eval()
        with torch.no_grad():
            theirs = model(x).numpy()
        ours = np.load(f"{DIR}/p.npy")
        strange = [k for k in missing.missing_keys if "num_batches" not in k] + missing.unexpected_keys
        report(not strange and np.allclose(ours, theirs, rtol=1e-4, atol=1e-5),
               f"the {net} model loads with load_state_dict and gives the same outputs",
               f"keys {strange}, off by {abs(ours - theirs).max():.3g}")


if __name__ == "__main__":
    check_optimizers()
    check_recurrent()
    check_sparse()
    check_losses()
    check_clipping()
    check_schedules()
    check_outputs()
    subprocess.run(["rm", "-rf", DIR])
    print(f"1..{len(claims)}")
    sys.exit(not all(claims))
