#!/usr/bin/env python3
"""TAP: onnx.checker takes what nn-train writes, ONNX Runtime computes the same, and what PyTorch exports is read."""
import glob, os, subprocess, sys, tempfile, warnings

BUILD = os.path.abspath(os.environ.get("NN_BUILD", "build"))
TRAIN, PREDICT = (os.path.join(BUILD, "cmd", t) for t in ("nn-train", "nn-predict"))
warnings.simplefilter("ignore")
try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError:
    for other in glob.glob("/opt/*/bin/python3"):  # where a machine keeps its referees
        tried = os.environ.get("NN_TRIED", "").split(":")
        if other not in tried and os.access(other, os.X_OK):
            os.execve(other, [other] + sys.argv, os.environ | {"NN_TRIED": ":".join(tried + [other])})
    print("1..0 # SKIP Python has no numpy, onnx and onnxruntime")
    sys.exit(0)
if not os.path.exists(f"{BUILD}/lib/nn-onnx.so"):
    print("1..0 # SKIP nn-onnx is not built")
    sys.exit(0)

ALL = """input 2x8x8
a: conv2d 4 3x3 pad=1 bias=no
batchnorm group=16 eps=0.001
r: silu
conv2d 4 3x3 pad=1 groups=2
g: gelu
add from=g+a
leaky-relu 0.2
b: maxpool2d 2
c: avgpool2d 2 from=r
concat from=b+c
conv2d 6 2x3 stride=2x1 pad=0x1
elu 0.5
reshape 6x8
layernorm eps=0.001
dense 5
softplus
dropout 0.3
s: sigmoid
t: tanh from=s
mul from=s+t+s
flatten
dense 3
softmax
log-softmax
"""
n = 0


def claim(text, wrong):
    global n
    n += 1
    print(f"{'not ok' if wrong else 'ok'} {n} - onnx: {text}")
    for line in wrong:
        print("#  " + str(line)[:300])


def tool(*command):
    r = subprocess.run(command, capture_output=True, timeout=100, check=False)
    return r.stderr.decode() if r.returncode else ""


def difference(a, b):
    return "" if a.size == b.size and np.max(np.abs(a.reshape(b.shape) - b) / (1 + np.abs(b)), initial=0) <= 1e-5 else f"{a} {b}"


def runtime(path, x):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def images(text, x):
    y = np.arange(len(x)) % 3
    np.save("x.npy", x)
    np.save("y.npy", y)
    with open("all.nn", "w", encoding="utf-8") as file:
        file.write(text)
    yield tool(TRAIN, "-q", "-m", "all.nn", "--loss=cross-entropy", "--epochs=2", "-o", "all.onnx", "x.npy", "y.npy")
    yield tool(PREDICT, "--emit=logits", "-o", "out.npy", "all.onnx", "x.npy")
    yield difference(runtime("all.onnx", x), np.load("out.npy"))


def table(target, emit, rng):
    rows = np.round(rng.normal(size=(60, 3)) * [100, 0.01, 1] + [1000, 0, -5], 3)
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write("a,b,c,t\n" + "".join(f"{a},{b},{c},{target(a, c)}\n" for a, b, c in rows))
    yield tool(TRAIN, "-q", "-m", "dense 6, tanh, dense ?", "--target=t", "--epochs=3", "-o", "t.onnx", "t.csv")
    yield tool(PREDICT, f"--emit={emit}", "--to=npy", "-o", "t.npy", "t.onnx", "t.csv")
    yield difference(runtime("t.onnx", rows.astype("f")), np.load("t.npy"))


def embedded(mode, rng):
    x = rng.integers(0, 7, size=(60, 3))
    np.save("x.npy", x)
    np.save("y.npy", rng.normal(size=(60, 2)).astype("f"))
    yield tool(TRAIN, "-q", "-m", f"input 3, embedding 4 rows=7{mode}, flatten, dense ?", "--epochs=3", "-o", "e.onnx", "x.npy", "y.npy")
    yield tool(PREDICT, "-o", "out.npy", "e.onnx", "x.npy")
    yield difference(runtime("e.onnx", x), np.load("out.npy"))


def exported_table(rng):
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(9, 4)
            self.fc = torch.nn.Linear(20, 3)

        def forward(self, x):
            return self.fc(self.words(x).flatten(1))

    net, x = Net().eval(), rng.integers(0, 9, size=(6, 5))
    np.save("x.npy", x)
    with torch.no_grad():
        wanted = net(torch.from_numpy(x)).numpy()
    torch.onnx.export(net, torch.from_numpy(x[:1]), "table.onnx", opset_version=13, input_names=["x"], dynamic_axes={"x": {0: "rows"}}, dynamo=False)
    yield tool(PREDICT, "-o", "out.npy", "table.onnx", "x.npy")
    yield difference(np.load("out.npy"), wanted)


def recurrent(text, rng):
    x = rng.normal(size=(12, 7, 3)).astype("f")
    np.save("x.npy", x)
    np.save("y.npy", np.arange(12) % 3)
    yield tool(TRAIN, "-q", "-m", f"input 7x3, {text}, last, dense ?", "--loss=cross-entropy", "--epochs=2", "-o", "r.onnx", "x.npy", "y.npy")
    yield tool(PREDICT, "--emit=logits", "-o", "out.npy", "r.onnx", "x.npy")
    yield difference(runtime("r.onnx", x), np.load("out.npy"))
    yield tool(TRAIN, "-q", "-m", "r.onnx", "--steps=0", "-o", "r.st")
    yield tool(TRAIN, "-q", "-m", "r.st", "--steps=0", "-o", "again.onnx")
    yield difference(runtime("again.onnx", x), runtime("r.onnx", x))


def exported_recurrent(rng):
    import torch

    class Net(torch.nn.Module):
        def __init__(self, cell, layers, ways, head):
            super().__init__()
            self.cell = getattr(torch.nn, cell)(3, 5, layers, batch_first=True, bidirectional=ways == 2)
            self.fc, self.head = torch.nn.Linear(5 * ways, 2), head

        def forward(self, x):
            y, h = self.cell(x)
            h = h[0] if isinstance(h, tuple) else h
            return self.fc({"steps": y, "last": y[:, -1], "state": h[-1], "both": torch.cat([h[-2], h[-1]], 1) if len(h) > 1 else None}[self.head])

    x = rng.normal(size=(6, 7, 3)).astype("f")
    np.save("x.npy", x)
    for cell, layers, ways, head in ("LSTM", 1, 1, "last"), ("GRU", 2, 2, "steps"), ("RNN", 1, 1, "state"), ("LSTM", 1, 2, "both"), ("GRU", 2, 1, "state"):
        net = Net(cell, layers, ways, head).eval()
        with torch.no_grad():
            wanted = net(torch.from_numpy(x)).numpy()
        for opset in (9, 13):
            torch.onnx.export(net, torch.from_numpy(x[:1]), "cell.onnx", opset_version=opset, input_names=["x"],
                              dynamic_axes={"x": {0: "rows"}} if opset > 9 else None, dynamo=False)
            yield tool(PREDICT, "-o", "out.npy", "cell.onnx", "x.npy")
            yield difference(np.load("out.npy"), wanted)


def exported(rng):
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(3, 8, 3, padding=1, bias=False)
            self.bn = torch.nn.BatchNorm2d(8)
            self.conv2 = torch.nn.Conv2d(8, 8, 3, padding=1, groups=2)
            self.fc = torch.nn.Linear(8, 5)
            self.norm = torch.nn.LayerNorm(5)

        def forward(self, x):
            y = torch.relu(self.bn(self.conv1(x)))
            z = torch.nn.functional.max_pool2d(torch.nn.functional.gelu(self.conv2(y)) + y, 2)
            z = torch.nn.functional.adaptive_avg_pool2d(z, 1)
            return torch.nn.functional.log_softmax(self.norm(self.fc(z.view(z.size(0), -1))), 1)

    torch.manual_seed(1)
    net, x = Net().eval(), rng.normal(size=(4, 3, 8, 8)).astype("f")
    np.save("x.npy", x)
    with torch.no_grad():
        wanted = net(torch.from_numpy(x)).numpy()
    for opset in (9, 13, 17):
        torch.onnx.export(net, torch.from_numpy(x[:1]), "net.onnx", opset_version=opset, input_names=["x"],
                          dynamic_axes={"x": {0: "rows"}} if opset > 9 else None, dynamo=False)
        yield tool(PREDICT, "-o", "out.npy", "net.onnx", "x.npy")
        yield difference(np.load("out.npy"), wanted)


def main():
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        x = rng.normal(size=(12, 2, 8, 8)).astype("f")
        claim("ONNX Runtime computes what nn-predict does, of every layer that is written", [w for w in images(ALL, x) if w])
        claim("scales of columns are nodes: a table's classes", [w for w in table(lambda a, c: "yes" if a > 1000 else "no", "logits", rng) if w])
        claim("scales of columns and target are nodes: a table's numbers", [w for w in table(lambda a, c: 3 * a + c, "values", rng) if w])
        for mode in "", " mode=sum":
            claim(f"numbers of rows are an int64 input: an embedding{mode}", [w for w in embedded(mode, rng) if w])
        for text in "rnn 4 nonlinearity=relu layers=2", "lstm 4 layers=2 bidirectional=yes", "gru 5 bidirectional=yes bias=no":
            claim(f"recurrent layers and the last step: {text}", [w for w in recurrent(text, rng) if w])
        try:
            claim("recurrent layers of torch.onnx, all steps, the last one and states, give PyTorch's numbers", [w for w in exported_recurrent(rng) if w])
            claim("an embedding of torch.onnx is read and gives PyTorch's numbers", [w for w in exported_table(rng) if w])
            claim("what torch.onnx exports is read and gives PyTorch's numbers, of opsets 9, 13 and 17", [w for w in exported(rng) if w])
        except (ImportError, ModuleNotFoundError) as missing:
            print(f"ok {n + 1} - onnx: what torch.onnx exports is read # SKIP {missing}")
        os.chdir("/")
    print(f"1..{max(n, 11)}")


main()
