"""PyTorch as referee of whole nets: outputs, loss, gradients and running values of one step in f64, and state dicts.

The canonical text in the model file is read here and built with torch.nn, so that names, numbers and defaults are compared
as well. Gradients are what one step of sgd with rate 1 takes off the weights.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
DIR = tempfile.mkdtemp()
SHARE = os.path.join(os.environ["NN_SRC"], "share", "examples")
claims = []


def report(why, claim):
    claims.append(not why)
    print(f"{'not ok' if why else 'ok'} {len(claims)} - nets: {claim}", flush=True)
    if why:
        print(f"# {why}")


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True, cwd=DIR)
    if done.returncode:
        raise RuntimeError(f"{' '.join(args)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def read(name):
    """Tensors and metadata of a safetensors file; with its own reader where that is installed."""
    with open(os.path.join(DIR, name), "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        head = json.loads(f.read(n))
        data = f.read()
    meta = head.pop("__metadata__")
    try:
        from safetensors.torch import load_file
        return load_file(os.path.join(DIR, name)), meta
    except ImportError:
        types = {"F32": np.float32, "F64": np.float64}
        return {k: torch.from_numpy(np.frombuffer(data[slice(*v["data_offsets"])], types[v["dtype"]]).reshape(v["shape"])
                                    .copy()) for k, v in head.items()}, meta


# ---- the canonical text, built with torch.nn ----

def pair(text):
    sizes = [int(n) for n in str(text).split("x")]
    return tuple(sizes * 2 if len(sizes) == 1 else sizes)


class Steps(nn.Module):
    """A recurrent layer of PyTorch whose output alone is taken; its parameters have no name of their own before theirs."""

    def __new__(cls, kind, size, args, keys):
        class Only(kind):
            def forward(self, x):
                return super().forward(x)[0]

        return Only(size, int(args[0]), int(keys.get("layers", 1)), bias=keys.get("bias") != "no", batch_first=True,
                    bidirectional=keys.get("bidirectional") == "yes",
                    **({"nonlinearity": keys["nonlinearity"]} if "nonlinearity" in keys else {}))


class Position(nn.Module):
    """A learned vector at each place."""

    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(*shape))

    def forward(self, x):
        return x + self.weight


class Attention(nn.MultiheadAttention):
    """Self-attention, of which the output alone is taken."""

    def __init__(self, size, heads, keys):
        super().__init__(size, heads, bias=keys.get("bias") != "no", batch_first=True)
        self.causal = keys.get("causal") == "yes"

    def forward(self, x):
        self.training = True  # PyTorch 1.13's other way to compute it cannot do without a bias
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.causal else None
        return super().forward(x, x, x, attn_mask=mask, need_weights=False)[0]


class Groups(nn.Module):
    """Batch normalization over groups of rows in training; a rest of less than half a group joins the one before."""

    def __init__(self, channels, image, group, **keys):
        super().__init__()
        self.norm, self.group = (nn.BatchNorm2d if image else nn.BatchNorm1d)(channels, **keys), group

    def forward(self, x):
        if not self.training or len(x) <= self.group:
            return self.norm(x)
        n = max(1, (len(x) + self.group // 2) // self.group)
        ends = [self.group * i for i in range(1, n)] + [len(x)]
        return torch.cat([self.norm(x[a:b]) for a, b in zip([0] + ends, ends)])


class Function(nn.Module):
    """A layer without parameters of one or several tensors."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *xs):
        return self.f(*xs)


def module(word, args, keys, shape):
    c = shape[0]
    plain = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "softplus": nn.Softplus,
             "identity": nn.Identity, "flatten": nn.Flatten}
    if word in plain:
        return plain[word]()
    if word == "dense":
        return nn.Linear(shape[-1], int(args[0]), bias=keys.get("bias") != "no")
    if word == "conv2d":
        return nn.Conv2d(c, int(args[0]), pair(args[1]), pair(keys.get("stride", 1)), pair(keys.get("pad", 0)),
                         pair(keys.get("dilation", 1)), int(keys.get("groups", 1)), keys.get("bias") != "no")
    if word == "conv1d":
        return nn.Conv1d(c, int(args[0]), int(args[1]), int(keys.get("stride", 1)), int(keys.get("pad", 0)),
                         int(keys.get("dilation", 1)), int(keys.get("groups", 1)), keys.get("bias") != "no")
    if word == "conv-transpose2d":
        return nn.ConvTranspose2d(c, int(args[0]), pair(args[1]), pair(keys.get("stride", 1)), pair(keys.get("pad", 0)),
                                  pair(keys.get("out-pad", 0)), int(keys.get("groups", 1)), keys.get("bias") != "no",
                                  pair(keys.get("dilation", 1)))
    if word in ("maxpool1d", "avgpool1d"):
        kind = nn.MaxPool1d if word == "maxpool1d" else nn.AvgPool1d
        return kind(int(args[0]), int(keys.get("stride", args[0])), int(keys.get("pad", 0)))
    if word == "pad":
        (a, b), (p, q) = pair(args[0]), pair(keys.get("after", args[0]))
        return nn.ConstantPad2d((b, q, a, p), float(keys.get("value", 0))) if len(shape) == 3 \
            else nn.ConstantPad1d((b, q), float(keys.get("value", 0)))
    if word == "crop":
        def crop(x, like=None):
            size = pair(args[0]) if like is None else like.shape[2:]
            top, left = ((n - m) // 2 for n, m in zip(x.shape[2:], size))
            return x[:, :, top:top + size[0], left:left + size[1]]
        return Function(crop)
    if word == "slice":
        cut = (slice(None),) * (int(keys.get("dim", 0)) + 1) + (slice(int(args[0]), int(args[1]), int(keys.get("step", 1))),)
        return Function(lambda x: x[cut])
    if word == "transpose":
        a, b = (int(n) + 1 for n in (args + [0, 1][len(args):]))
        return Function(lambda x: x.transpose(a, b))
    if word == "upsample":
        if "mode" not in keys:
            return nn.Upsample(scale_factor=pair(args[0]) if len(shape) == 3 else int(args[0]))
        return nn.Upsample(scale_factor=pair(args[0]), mode="bilinear", align_corners=keys.get("align-corners") == "yes")
    if word in ("maxpool2d", "avgpool2d"):
        kind = nn.MaxPool2d if word == "maxpool2d" else nn.AvgPool2d
        return kind(pair(args[0]), pair(keys.get("stride", args[0])), pair(keys.get("pad", 0)))
    if word == "global-avgpool":
        return Function(lambda x: x.flatten(2).mean(2))
    if word == "batchnorm":
        return Groups(c, len(shape) == 3, int(keys["group"]), eps=float(keys.get("eps", 1e-5)),
                      momentum=float(keys.get("momentum", 0.1)))
    if word == "layernorm":
        return nn.LayerNorm(shape[-1], float(keys.get("eps", 1e-5)))
    if word == "position":
        return Position(shape)
    if word == "attention":
        return Attention(shape[-1], int(args[0]), keys)
    if word in ("rnn", "lstm", "gru"):
        return Steps(getattr(nn, word.upper()), shape[-1], args, keys)
    if word == "last":
        return Function(lambda x: x[:, -1])
    if word == "leaky-relu":
        return nn.LeakyReLU(float((args or [0.01])[0]))
    if word == "elu":
        return nn.ELU(float((args or [1])[0]))
    if word == "reshape":
        return Function(lambda x: x.reshape(len(x), *(int(n) for n in args[0].split("x"))))
    if word == "softmax":
        return nn.Softmax(-1)
    if word == "log-softmax":
        return nn.LogSoftmax(-1)
    if word == "concat":
        return Function(lambda *xs: torch.cat(xs, int(keys.get("dim", 0)) + 1))
    if word == "add":
        return Function(lambda *xs: sum(xs[1:], xs[0]))
    if word == "mul":
        return Function(lambda *xs: torch.stack(xs).prod(0) if len(xs) > 2 else xs[0] * xs[1])
    raise RuntimeError(f"{word} is not known here")


class Net(nn.Module):
    def __init__(self, text):
        super().__init__()
        self.lines, values, number = [], {}, 0
        for line in text.splitlines():
            words = line.split()
            name = words.pop(0)[:-1] if words[0].endswith(":") else None
            word, words = words[0], words[1:]
            keys = dict(w.split("=", 1) for w in words if "=" in w)
            args = [w for w in words if "=" not in w]
            if word == "input":
                last = "input"
                values[last] = torch.zeros(2, *(int(n) for n in args[0].split("x")), dtype=torch.float64)
                continue
            sources = keys.pop("from", last).split("+")
            key = name or str(number)
            number += 1
            made = module(word, args, keys, values[sources[0]].shape[1:]).double()
            self.add_module(key, made)
            last = key
            values[key] = made(*(values[s] for s in sources)).detach()
            self.lines.append((key, sources))

    def forward(self, x):
        values = {"input": x}
        for key, sources in self.lines:
            values[key] = getattr(self, key)(*(values[s] for s in sources))
        return values[self.lines[-1][0]]

    def names(self):
        """Parameters and buffers as nntools names them."""
        return {k.replace(".norm.", "."): v for k, v in self.state_dict(keep_vars=True).items() if "num_batches" not in k}

    def take(self, tensors):
        mine = self.names()
        if mine.keys() != tensors.keys():
            raise RuntimeError(f"names differ: {sorted(mine.keys() ^ tensors.keys())}")
        with torch.no_grad():
            for k, v in mine.items():
                if v.shape != tensors[k].shape:
                    raise RuntimeError(f"{k} is {list(tensors[k].shape)}, expected {list(v.shape)}")
                v.copy_(tensors[k])


def off(ours, theirs, what, tolerance=1e-10):
    """Says how far ours is from theirs, by the largest value of the tensor, where that is too far."""
    ours, theirs = ours.double(), theirs.detach().double()
    if ours.shape != theirs.shape:
        return f"{what}: {list(ours.shape)}, expected {list(theirs.shape)}; "
    far = ((ours - theirs).abs().max() / (theirs.abs().max() + 1e-12)).item()
    return "" if far <= tolerance else f"{what} is off by {far:.3g} of its largest value; "


# ---- nets ----

ACTIVATIONS = ["relu", "leaky-relu 0.2", "elu", "elu 0.5", "gelu", "silu", "sigmoid", "tanh", "softplus", "softmax",
               "log-softmax"]
NETS = {
    "LeNet": (open(f"{SHARE}/lenet.nn").read().replace("dense ?", "dense 10"), (1, 28, 28), 10, 12),
    "ResNet-8": (open(f"{SHARE}/resnet8.nn").read(), (3, 32, 32), 10, 8),
    "a residual net with groups of rows": (
        "input 3x8x8\nconv2d 8 3x3 pad=1 bias=no\nbatchnorm group=8\na: relu\nconv2d 8 3x3 pad=1\nb: batchnorm group=8\n"
        "add from=a+b\nrelu\nmaxpool2d 2\nflatten\ndense 12\nbatchnorm group=8\ntanh\ndense 5", (3, 8, 8), 5, 29),
    "groups, dilation, strides and padding": (
        "input 4x13x11\nconv2d 8 3x5 stride=2x1 pad=1x2 groups=2\nleaky-relu 0.1\nconv2d 16 3x3 groups=8 pad=2 dilation=2\nsilu\n"
        "conv2d 16 3x2 stride=3x2 groups=16 pad=1x0 bias=no\nelu\nconv2d 6 1x1 stride=2\nsoftplus\nflatten\ndense 4", (4, 13, 11), 4, 9),
    "pools": (
        "input 3x12x10\nconv2d 5 3x3\nin: gelu\np: maxpool2d 3 stride=2 pad=1\nq: avgpool2d 3x3 stride=2 pad=1 from=in\n"
        "c: concat from=p+q\nconv2d 6 2x2\nr: avgpool2d 2x1\ng: global-avgpool from=c\nf: flatten from=r\nconcat from=g+f\ndense 4",
        (3, 12, 10), 4, 7),
    "mul, add of three and concat of rows": (
        "input 2x6x6\na: conv2d 4 3x3 pad=1\nb: tanh\nc: sigmoid from=a\nd: mul from=b+c\ne: mul from=a+b+c\nf: add from=d+e+a\n"
        "h: concat dim=1 from=f+a\nconcat dim=2 from=h+h\nflatten\ndense 3", (2, 6, 6), 3, 6),
    "layernorm and dense over the last dimension": (
        "input 4x3x6\nlayernorm\ndense 7\ngelu\nlayernorm eps=1e-3\nreshape 12x7\ndense 5\nsilu\nflatten\nidentity\ndense 3 bias=no",
        (4, 3, 6), 3, 11),
    "a rest of rows that joins the group before": (
        "input 6\ndense 7\nbatchnorm group=8\nrelu\ndense 5\nbatchnorm group=8 eps=1e-3 momentum=0.3\ndense 3", (6,), 3, 27),
    "groups of 5 rows with a rest of 2": ("input 6\ndense 7\nbatchnorm group=5\ntanh\ndense 3", (6,), 3, 12),
    "groups of 5 rows with a rest of 3": ("input 6\ndense 7\nbatchnorm group=5\ntanh\ndense 3", (6,), 3, 13),
    "rnn": ("input 7x5\nrnn 6\nrnn 4 nonlinearity=relu bias=no layers=2\nlast\ndense 3", (7, 5), 3, 9),
    "lstm": ("input 9x3\nlstm 8\nlast\ndense 3", (9, 3), 3, 11),
    "gru": ("input 9x3\ngru 8\nlast\ndense 3", (9, 3), 3, 11),
    "lstm, layers in both directions": ("input 6x4\nlstm 5 layers=3 bidirectional=yes\nflatten\ndense 3", (6, 4), 3, 7),
    "gru, layers in both directions": ("input 6x4\ngru 5 layers=2 bidirectional=yes bias=no\nflatten\ndense 3", (6, 4), 3, 7),
    "rnn in both directions, of one step": ("input 1x4\nrnn 5 bidirectional=yes\nlast\ndense 3", (1, 4), 3, 7),
    "attention": ("input 7x6\nattention 3\nattention 2 bias=no\nflatten\ndense 3", (7, 6), 3, 9),
    "blocks of a transformer": (
        "input 20x12\na: position\nlayernorm\nb: attention 4 causal=yes\nc: add from=a+b\nlayernorm\ndense 48\ngelu\nd: dense 12\ne: add from=c+d\n"
        "layernorm\nf: attention 1 causal=yes\nadd from=e+f\nlayernorm\nflatten\ndense 3", (20, 12), 3, 9),
    "lines": (
        "input 4x15\na: conv1d 6 3 pad=1\nbatchnorm group=8\nrelu\nb: maxpool1d 3 stride=2 pad=1\nconv1d 8 3 stride=2 groups=2 dilation=2 pad=2 bias=no\n"
        "tanh\nc: upsample 2\nd: avgpool1d 2 pad=1 from=a\ne: pad 2x1 after=0x3 value=0.5\nslice 1 5\ntranspose\ndense 3\ntranspose 1 0\nf: flatten\n"
        "g: global-avgpool from=c\nconcat from=f+g\ndense 4", (4, 15), 4, 9),
    "a U-Net": (
        "input 3x12x8\nconv2d 5 3x3 pad=1\na: relu\nmaxpool2d 2\nconv2d 8 3x3 pad=1\nb: relu\nmaxpool2d 2\nconv2d 8 3x3 pad=1\nrelu\n"
        "conv-transpose2d 8 2x2 stride=2\nc: relu\nconcat from=c+b\nd: conv-transpose2d 6 3x3 stride=2 pad=1 out-pad=1\nconcat from=d+a\n"
        "conv2d 4 3x3 pad=1\nrelu\nglobal-avgpool", (3, 12, 8), 4, 7),
    "transposed convolutions": (
        "input 6x5x4\na: conv-transpose2d 9 3x2 stride=2x3 pad=1x0 out-pad=1x2 groups=3\nsigmoid\nconv-transpose2d 9 4x4 groups=9 stride=2 pad=1 bias=no\n"
        "leaky-relu 0.1\nconv-transpose2d 4 1x2 stride=3x2\ngelu\nconv-transpose2d 5 3x3 dilation=2 pad=2\nrelu\nglobal-avgpool", (6, 5, 4), 5, 7),
    "crops, slices and paddings": (
        "input 3x9x8\na: conv2d 6 3x3 pad=1\nb: conv2d 5 3x3 stride=2 from=input\nc: crop from=a+b\nconcat from=b+c\nd: crop 2x3\n"
        "e: slice 0 6 step=3 from=a\nf: slice 2 6 step=2 dim=1\ng: slice 0 8 step=3 dim=2\nconcat from=d+g\npad 1x2 after=2x0 value=-1\ntranspose 0 2\n"
        "transpose 1 2\nconv2d 3 2x2\nflatten\ndense 4", (3, 9, 8), 4, 7),
    "pictures made larger": (
        "input 3x4x5\nconv2d 4 3x3 pad=1\na: upsample 2\nb: upsample 2 mode=bilinear from=input\nc: upsample 2 mode=bilinear align-corners=yes from=input\n"
        "concat from=a+b+c\nconv2d 5 3x3\nupsample 1x3 mode=bilinear\nglobal-avgpool", (3, 4, 5), 5, 7),
    "one value a row": ("input 1\ndense 1\ntanh\ndense 2", (1,), 2, 3),
}
for word in ACTIVATIONS:
    NETS[f"dense {word} dense"] = (f"input 9\ndense 8\n{word}\ndense 3", (9,), 3, 17)
    if "softmax" not in word:
        NETS[f"conv2d {word} conv2d"] = (f"input 2x5x5\nconv2d 5 3x3 pad=1\n{word}\nconv2d 4 3x3\n{word}\nflatten\ndense 3",
                                         (2, 5, 5), 3, 5)


def step(text, shape, classes, rows):
    x = 1.5 * torch.randn(rows, *shape, dtype=torch.float64)
    y = torch.arange(rows) % classes
    np.save(f"{DIR}/x.npy", x.numpy())
    np.save(f"{DIR}/y.npy", y.numpy())
    with open(f"{DIR}/net.nn", "w") as f:
        f.write(text)
    for name in os.listdir(DIR):
        if name.endswith(".safetensors") or name == "log":
            os.unlink(f"{DIR}/{name}")
    common = ["nn-train", "-q", "--shuffle=no", f"--batch={rows}", "--precision=f64", "--optimizer=sgd", "--lr=1"]
    run(*common, "-m", "net.nn", "--steps=0", "-o", "start.safetensors", "x.npy", "y.npy")
    run(*common, "-m", "net.nn", "--steps=1", "--log=log", "--log-every=1", "-o", "end.safetensors", "x.npy", "y.npy")
    start, meta = read("start.safetensors")
    end, _ = read("end.safetensors")
    net = Net(meta["nn.model"])
    net.take(start)
    net.train()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    with open(f"{DIR}/log") as f:
        logged = [e["loss"] for e in map(json.loads, f) if e["event"] == "step"][0]
    why = off(torch.tensor(logged, dtype=torch.float64), loss, "loss", 1e-12)
    for name, value in net.names().items():
        if value.grad is None:
            why += off(end[name], value, name)
            continue
        # what cancels is left out: below 1e-13 a gradient is zero but for rounding
        if value.grad.abs().max() > 1e-13 or (start[name] - end[name]).abs().max() > 1e-12:
            why += off(start[name] - end[name], value.grad, f"gradient of {name}", 1e-9)
    net.take(end)
    net.eval()
    run("nn-predict", "--emit=logits", "--to=npy", "-o", "out.npy", "end.safetensors", "x.npy")
    with torch.no_grad():
        why += off(torch.from_numpy(np.load(f"{DIR}/out.npy")), net(x), "output", 1e-10)
    return why


def check_steps():
    for name, net in NETS.items():
        try:
            why = step(*net)
        except RuntimeError as e:
            why = str(e).replace("\n", " ")
        report(why, f"outputs and gradients, {name}")


def check_sequential():
    """nn.Sequential loads an unnamed model as it is."""
    x = torch.rand(40, 1, 28, 28)
    np.save(f"{DIR}/x.npy", x.numpy())
    np.save(f"{DIR}/y.npy", np.arange(40) % 10)
    run("nn-train", "-q", "-m", f"{SHARE}/lenet.nn", "--epochs=1", "-o", "lenet.safetensors", "x.npy", "y.npy")
    lenet = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
    lenet.load_state_dict(read("lenet.safetensors")[0])
    run("nn-predict", "--emit=logits", "--to=npy", "-o", "out.npy", "lenet.safetensors", "x.npy")
    with torch.no_grad():
        report(off(torch.from_numpy(np.load(f"{DIR}/out.npy")), lenet(x), "output", 1e-5),
               "nn.Sequential loads LeNet strictly and gives the same outputs")
    run("nn-predict", "--to=npy", "-o", "out.npy", "lenet.safetensors", "x.npy")
    with torch.no_grad():
        report(off(torch.from_numpy(np.load(f"{DIR}/out.npy")), lenet(x).softmax(1), "output", 1e-5),
               "without --emit a classifier gives the softmax of what PyTorch gives")


def check_attributes():
    """A module with attributes of the lines' names loads a named model."""
    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc1, self.norm, self.head = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(4, 3)

        def forward(self, x):
            y = self.enc1(x)
            return self.head((y + self.norm(y)).mean((2, 3)))

    x = torch.randn(64, 2, 6, 6)
    np.save(f"{DIR}/x.npy", x.numpy())
    np.save(f"{DIR}/y.npy", np.arange(64) % 3)
    run("nn-train", "-q", "-m", "input 2x6x6, enc1: conv2d 4 3x3 pad=1, norm: batchnorm, add from=enc1+norm, global-avgpool, "
        "head: dense ?", "--epochs=3", "-o", "named.safetensors", "x.npy", "y.npy")
    named = Named().eval()
    named.load_state_dict(read("named.safetensors")[0])
    run("nn-predict", "--emit=logits", "--to=npy", "-o", "out.npy", "named.safetensors", "x.npy")
    with torch.no_grad():
        report(off(torch.from_numpy(np.load(f"{DIR}/out.npy")), named(x), "output", 1e-5),
               "a module with attributes loads a named model and gives the same outputs")


def check_states():
    """state_dicts of recurrent layers, by name: of a module, of one layer alone, of all in a module of its own."""
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps, self.head = nn.GRU(3, 6, 2, batch_first=True, bidirectional=True), nn.Linear(12, 4)

        def forward(self, x):
            return self.head(self.steps(x)[0][:, -1])

    x = torch.randn(9, 5, 3)
    np.save(f"{DIR}/x.npy", x.numpy())
    reader, alone = Reader(), nn.LSTM(3, 7, 2, batch_first=True, bidirectional=True)
    cases = {
        "a module with gru": ("input 5x3, steps: gru 6 layers=2 bidirectional=yes, last, head: dense 4", reader.state_dict(), reader(x)),
        "lstm alone": ("input 5x3, lstm 7 layers=2 bidirectional=yes", alone.state_dict(), alone(x)[0]),
        "lstm in a module": ("input 5x3, lstm 7 layers=2 bidirectional=yes", {"module.encoder." + k: v for k, v in alone.state_dict().items()},
                             alone(x)[0]),
    }
    for name, (text, state, y) in cases.items():
        torch.save(state, f"{DIR}/state.pt")
        try:
            run("nn-predict", "-m", text, "--emit=logits", "--to=npy", "-o", "out.npy", "state.pt", "x.npy")
            why = off(torch.from_numpy(np.load(f"{DIR}/out.npy")).flatten(1), y.detach().flatten(1), "output", 1e-5)
        except RuntimeError as e:
            why = str(e).replace("\n", " ")
        report(why, f"a state_dict of PyTorch is read by its names, {name}")


def check_columns():
    """Two inputs of columns, two outputs: the losses are added with their weights, and so are the gradients."""
    rows = 12
    x = torch.randn(rows, 5, dtype=torch.float64)
    kind = torch.arange(rows) % 3
    price = torch.randn(rows, 1, dtype=torch.float64)
    with open(f"{DIR}/rows.csv", "w") as f:
        f.write("a,b,c,d,e,kind,price\n")
        for row, k, p in zip(x.tolist(), kind.tolist(), price[:, 0].tolist()):
            f.write(",".join(map(repr, row)) + f",{'lmn'[k]},{p!r}\n")
    text = ("wide: input columns=a,c, deep: input columns=e,b,d, one: dense 4 from=deep, two: tanh, both: concat from=two+wide, "
            "kind: dense ? output target=kind, price: dense 1 output target=price weight=0.25 from=both")
    common = ["nn-train", "-q", "--shuffle=no", "--batch=12", "--precision=f64", "--optimizer=sgd", "--lr=1", "--normalize=none",
              "--target=kind,price", "-m", text]
    run(*common, "--steps=0", "-o", "start.safetensors", "rows.csv")
    run(*common, "--steps=1", "-o", "end.safetensors", "rows.csv")
    start, end = read("start.safetensors")[0], read("end.safetensors")[0]
    net = nn.ModuleDict({"one": nn.Linear(3, 4), "kind": nn.Linear(6, 3), "price": nn.Linear(6, 1)}).double()
    net.load_state_dict(start)
    both = torch.cat([net["one"](x[:, [4, 1, 3]]).tanh(), x[:, [0, 2]]], 1)
    (nn.functional.cross_entropy(net["kind"](both), kind) + 0.25 * nn.functional.mse_loss(net["price"](both), price)).backward()
    report("".join(off(start[k] - end[k], v.grad, f"gradient of {k}", 1e-9) for k, v in net.named_parameters()),
           "outputs and gradients, two inputs of columns and two outputs of different losses")


if __name__ == "__main__":
    try:
        check_steps()
        check_states()
        check_columns()
        check_sequential()
        check_attributes()
    finally:
        shutil.rmtree(DIR)
    print(f"1..{len(claims)}")
    sys.exit(not all(claims))
