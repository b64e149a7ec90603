#!/usr/bin/env python3
"""Time the nets of `make bench` in the peers that are installed: PyTorch, NumPy by hand, ONNX Runtime.

    peers.py step NET BATCH THREADS      one line per variant: peer, variant, seconds per training step with Adam
    peers.py predict NET BATCH THREADS   peer, variant, seconds per call

Medians over blocks of repetitions; what is not installed is left out.
"""
import os
import statistics
import sys
import time

os.environ.pop("OPENBLAS_CORETYPE", None)       # a comparison is fair against its best kernels
mode, net, batch, threads = (sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])) if __name__ == "__main__" \
    else ("", "", 0, 1)         # gpu.py sets them
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(threads)
seconds = float(os.environ.get("NN_BENCH_SECONDS", "1.5"))

DENSE = {"mlp": (784, 128, 10), "big": (1024, 2048, 2048, 1000), "tiny": (100, 2)}
STEPS = {"lstm": (64, 128), "gru": (64, 128)}
SHAPE = {"mnist-cnn": (1, 28, 28), "cifar-cnn": (3, 32, 32), "resnet8": (3, 32, 32), "vgg": (3, 32, 32),
         "inception": (3, 32, 32), "unet": (3, 96, 96)}


def measure(call):
    """Median seconds of a call; at least 5 blocks, as many as fit."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    inner = max(1, int(0.02 / once))
    blocks, end = [], time.perf_counter() + seconds
    while len(blocks) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(inner):
            call()
        blocks.append((time.perf_counter() - start) / inner)
    return statistics.median(blocks)


def report(peer, variant, call):
    print(peer, variant, "%.9f" % measure(call), sep="\t", flush=True)


def torch_net(torch, sparse=False):
    nn = torch.nn
    if net in DENSE:
        sizes, layers = DENSE[net], []
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            layers += [nn.Linear(a, b)] + ([nn.ReLU()] if i < len(sizes) - 2 else [])
        return nn.Sequential(*layers), (sizes[0],), sizes[-1]
    if net in STEPS:
        kind = getattr(nn, net.upper())

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.steps, self.head = kind(STEPS[net][1], 128, batch_first=True), nn.Linear(128, 10)

            def forward(self, x):
                return self.head(self.steps(x)[0][:, -1])

        return Net(), STEPS[net], 10
    if net == "mnist-cnn":
        return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 128), nn.ReLU(),
                             nn.Linear(128, 10)), SHAPE[net], 10
    if net == "cifar-cnn":
        return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                             nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                             nn.Linear(2048, 256), nn.ReLU(), nn.Linear(256, 10)), SHAPE[net], 10

    def convs(*channels):
        return [layer for a, b in zip(channels, channels[1:]) for layer in (nn.Conv2d(a, b, 3, padding=1), nn.ReLU())]

    if net == "vgg":
        return nn.Sequential(*convs(3, 32, 32), nn.MaxPool2d(2), *convs(32, 64, 64), nn.MaxPool2d(2), *convs(64, 128, 128),
                             nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2048, 256), nn.ReLU(), nn.Linear(256, 10)), SHAPE[net], 10

    class Branches(nn.Module):
        def __init__(self, n, c):
            super().__init__()
            self.one = nn.Sequential(nn.Conv2d(n, 16 * c, 1), nn.ReLU())
            self.three = nn.Sequential(nn.Conv2d(n, 16 * c, 1), nn.ReLU(), nn.Conv2d(16 * c, 32 * c, 3, padding=1), nn.ReLU())
            self.five = nn.Sequential(nn.Conv2d(n, 8 * c, 1), nn.ReLU(), nn.Conv2d(8 * c, 16 * c, 5, padding=2), nn.ReLU())
            self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(n, 16 * c, 1), nn.ReLU())

        def forward(self, x):
            return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)

    if net == "inception":
        return nn.Sequential(*convs(3, 32), nn.MaxPool2d(2), Branches(32, 1), nn.MaxPool2d(2), Branches(80, 2),
                             nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(160, 10)), SHAPE[net], 10

    class Skip(nn.Module):
        """Down to what is inside, up again, and joined with what came in."""

        def __init__(self, a, b, inside):
            super().__init__()
            self.inside = nn.Sequential(nn.MaxPool2d(2), inside, nn.ConvTranspose2d(b, a, 2, 2))

        def forward(self, x):
            return torch.cat([self.inside(x), x], 1)

    if net == "unet":
        inside = nn.Sequential(*convs(64, 128, 128))
        for a, b in ((64, 128), (32, 64), (16, 32)):
            inside = nn.Sequential(*convs(a // 2 if a > 16 else 3, a, a), Skip(a, b, inside), *convs(2 * a, a, a))
        return nn.Sequential(inside, nn.Conv2d(16, 3, 1)), SHAPE[net], 3

    if net == "transformer":
        class Transformer(nn.Module):
            def __init__(self):
                super().__init__()
                self.n1, self.n2, self.out = nn.LayerNorm(128), nn.LayerNorm(128), nn.Linear(128, 10)
                self.qkv, self.project, self.up, self.down = (nn.Linear(*size) for size in ((128, 384), (128, 128), (128, 512), (512, 128)))

            def forward(self, x):
                q, k, v = (part.view(len(x), 128, 4, 32).transpose(1, 2) for part in self.qkv(self.n1(x)).split(128, -1))
                y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
                x = x + self.project(y)
                return self.out((x + self.down(nn.functional.gelu(self.up(self.n2(x)))))[:, -1])

        return Transformer(), (128, 128), 10

    if net == "wide-and-deep":
        class WideAndDeep(nn.Module):
            def __init__(self):
                super().__init__()
                self.wide, self.deep = nn.EmbeddingBag(65536, 2, mode="sum", sparse=sparse), nn.Embedding(65536, 16, sparse=sparse)
                self.top = nn.Sequential(nn.Linear(26 * 16 + 13, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2))

            def forward(self, x):
                return self.wide(x[0]) + self.top(torch.cat([self.deep(x[0]).flatten(1), x[1]], 1))

        return WideAndDeep(), None, 2

    class Block(nn.Module):
        def __init__(self, a, b, stride):
            super().__init__()
            self.c1, self.n1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
            self.c2, self.n2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
            self.skip = nn.Identity() if a == b and stride == 1 else nn.Sequential(
                nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

        def forward(self, x):
            y = torch.relu(self.n1(self.c1(x)))
            return torch.relu(self.n2(self.c2(y)) + self.skip(x))

    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Block(16, 16, 1),
                         Block(16, 32, 2), Block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(64, 10)), SHAPE[net], 10


def torch_steps(torch):
    torch.set_num_threads(threads)
    image, tables = net in SHAPE, net == "wide-and-deep"
    variants = [("eager", False, False, False), ("fused", True, False, False)]
    if image:
        variants += [("channels-last", True, True, False)]
    if os.environ.get("NN_BENCH_COMPILE"):
        variants += [("compile", True, image, True)]
    # gradients of tables that are lists of rows, beside those of the same shape as the table
    variants = [v + (False,) for v in variants] + [("sparse-" + v[0],) + v[1:] + (True,) for v in variants if tables]
    for name, fused, last, compiled, sparse in variants:
        torch.manual_seed(1)
        model, shape, classes = torch_net(torch, sparse)
        x = (torch.randint(0, 65536, (batch, 26)), torch.rand(batch, 13)) if tables else torch.rand(batch, *shape)
        y = torch.randint(0, classes, (batch, 96, 96) if net == "unet" else (batch,))
        if last:
            model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
        listed = [*model.wide.parameters(), *model.deep.parameters()] if sparse else []
        rest = [p for p in model.parameters() if not any(p is q for q in listed)]
        optimizers = [torch.optim.Adam(rest, fused=fused or None)] + ([torch.optim.SparseAdam(listed)] if listed else [])
        run = torch.compile(model) if compiled else model

        def step():
            for optimizer in optimizers:
                optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(run(x), y).backward()
            for optimizer in optimizers:
                optimizer.step()
        try:
            report("torch", name, step)
        except Exception as error:      # a variant that this build lacks
            print("torch %s: %s" % (name, str(error).splitlines()[0]), file=sys.stderr)


def numpy_steps(np):
    if net not in DENSE:
        return
    rng, sizes = np.random.default_rng(1), DENSE[net]
    W = [(rng.random((a, b), dtype=np.float32) - .5) / np.float32(a ** .5) for a, b in zip(sizes, sizes[1:])]
    B = [np.zeros(b, np.float32) for b in sizes[1:]]
    P = W + B
    G, M, V, T = [np.empty_like(p) for p in P], [np.zeros_like(p) for p in P], [np.zeros_like(p) for p in P], \
        [np.empty_like(p) for p in P]
    x = rng.random((batch, sizes[0]), dtype=np.float32)
    y, rows, n, t = rng.integers(0, sizes[-1], batch), np.arange(batch), len(W), [0]

    def step():
        acts = [x]
        for i in range(n):
            z = acts[-1] @ W[i]
            z += B[i]
            if i < n - 1:
                np.maximum(z, 0, out=z)
            acts.append(z)
        z = acts[-1]
        z -= z.max(1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(1, keepdims=True)
        z[rows, y] -= 1
        z *= np.float32(1 / batch)
        for i in range(n - 1, -1, -1):
            np.dot(acts[i].T, z, out=G[i])
            z.sum(0, out=G[n + i])
            if i:
                z = z @ W[i].T
                z *= acts[i] > 0
        t[0] += 1
        c1, c2 = np.float32(1 - .9 ** t[0]), np.float32(1 - .999 ** t[0])
        for p, g, m, v, s in zip(P, G, M, V, T):
            m *= np.float32(.9)
            np.multiply(g, np.float32(.1), out=s)
            m += s
            v *= np.float32(.999)
            np.multiply(g, g, out=s)
            s *= np.float32(.001)
            v += s
            np.divide(v, c2, out=s)
            np.sqrt(s, out=s)
            s += np.float32(1e-8)
            np.divide(m, s, out=s)
            s *= np.float32(.001) / c1
            p -= s
    report("numpy", "openblas", step)


def onnx_predict(torch):
    import tempfile
    import onnxruntime as ort
    model, shape, _ = torch_net(torch)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        torch.onnx.export(model.eval(), (torch.rand(batch, *shape),), path, input_names=["x"], output_names=["y"],
                          dynamo=False)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    x = torch.rand(batch, *shape).numpy()
    report("onnxruntime", "cpu", lambda: session.run(None, {"x": x}))


def torch_predict(torch):
    torch.set_num_threads(threads)
    model, shape, _ = torch_net(torch)
    x = torch.rand(batch, *shape)
    model.eval()
    with torch.inference_mode():
        report("torch", "eager", lambda: model(x))


def attempt(module, *calls):
    try:
        loaded = __import__(module)
    except ImportError:
        return
    for call in calls:
        try:
            call(loaded)
        except ImportError as error:
            print("%s: %s" % (call.__name__, error), file=sys.stderr)


if mode == "step":
    attempt("torch", torch_steps)
    attempt("numpy", numpy_steps)
elif mode == "predict":
    attempt("torch", torch_predict, onnx_predict)
