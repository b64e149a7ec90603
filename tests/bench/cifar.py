#!/usr/bin/env python3
"""A whole job, from a tar of JPEGs to a model: nn-train beside PyTorch with its DataLoader and Pillow.

    cifar.py NN_TRAIN MODEL [ROWS [EPOCHS [TAR]]]     MODEL is share/examples/resnet8.nn

TAR has pictures of 32x32, CLASS/NAME.EXT, of any kind that Pillow reads; without it they are made. ROWS of them become
JPEGs in a tar of their own, which both are given. Two threads, or as THREADS in the environment says; PyTorch has its best of 0, 1 and 2 workers. A row for each
says its seconds and those of the processor, of the process and all its children: beside other work only one thread's are telling,
since threads of PyTorch wait for each other by working.
"""
import io
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
import time

from PIL import Image

train, model = sys.argv[1], sys.argv[2]
rows, epochs = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((3, 10000), (4, 5)))
source = sys.argv[5] if len(sys.argv) > 5 else None
THREADS, BATCH = int(os.environ.get("THREADS", 2)), 64


def pictures():
    """(class, picture), rows of them."""
    if source:
        with tarfile.open(source) as tar:
            for member in tar:
                if member.isfile() and "/" in member.name:
                    yield member.name.split("/")[-2], Image.open(io.BytesIO(tar.extractfile(member).read())).convert("RGB")
    import numpy
    rng = numpy.random.default_rng(1)
    while True:
        label = int(rng.integers(10))
        plane = 128 + 60 * numpy.sin(numpy.arange(32) / (1 + label) + rng.uniform(0, 6))
        yield str(label), Image.fromarray((plane[None, :, None] + rng.normal(0, 25, (32, 32, 3))).clip(0, 255).astype("uint8"))


def make_tar(path):
    labels = set()
    with tarfile.open(path, "w") as tar:
        for i, (label, picture) in zip(range(rows), pictures()):
            file = io.BytesIO()
            picture.save(file, "JPEG", quality=95)
            info = tarfile.TarInfo(f"{label}/{i:06}.jpg")
            info.size = len(file.getvalue())
            tar.addfile(info, io.BytesIO(file.getvalue()))
            labels.add(label)
    return sorted(labels)


def job(path, classes, workers):
    """PyTorch's, in a process of its own."""
    import numpy
    import torch
    nn = torch.nn
    torch.set_num_threads(THREADS)

    class Tar(torch.utils.data.Dataset):
        def __init__(self):
            self.rows = []
            with tarfile.open(path) as tar:
                for member in tar:
                    self.rows.append((tar.extractfile(member).read(), classes.index(member.name.split("/")[0])))

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            data, label = self.rows[i]
            return torch.from_numpy(numpy.array(Image.open(io.BytesIO(data)).convert("RGB"))).permute(2, 0, 1).float() / 255, label

    class Block(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.one, self.two = nn.Conv2d(a, b, 3, b // a, 1, bias=False), nn.Conv2d(b, b, 3, 1, 1, bias=False)
            self.n1, self.n2 = nn.BatchNorm2d(b), nn.BatchNorm2d(b)
            self.skip = nn.Identity() if a == b else nn.Sequential(nn.Conv2d(a, b, 1, 2, bias=False), nn.BatchNorm2d(b))

        def forward(self, x):
            return torch.relu(self.n2(self.two(torch.relu(self.n1(self.one(x))))) + self.skip(x))

    net = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Block(16, 16), Block(16, 32), Block(32, 64),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, len(classes))).to(memory_format=torch.channels_last)
    optimizer, loss = torch.optim.Adam(net.parameters()), nn.CrossEntropyLoss()
    loader = torch.utils.data.DataLoader(Tar(), BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss(net(x.to(memory_format=torch.channels_last)), y).backward()
            optimizer.step()
    torch.save(net.state_dict(), os.path.join(os.path.dirname(path), "model.pt"))


def measure(command):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if train == "--job":
    job(model, sys.argv[5].split(","), int(os.environ["WORKERS"]))
    sys.exit()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "train.tar")
    classes = make_tar(path)
    text = os.path.join(folder, "model.nn")
    with open(model) as file, open(text, "w") as out:
        out.write(file.read().replace("dense 10", f"dense {len(classes)}"))
    print("job,seconds,processor_s", flush=True)
    found = {}
    for name in ("nn-train", "nn-train in place", "torch 0", "torch 1", "torch 2"):
        if name.startswith("torch"):
            os.environ["WORKERS"] = name[-1]
            command = [sys.executable, __file__, "--job", path, str(rows), str(epochs), ",".join(classes)]
        else:
            command = [train, "-q", "-m", text, f"--threads={THREADS}", "-b", str(BATCH), f"--epochs={epochs}", path, "-o", os.path.join(folder, "m")]
            command += ["--input-memory=2M"] if name.endswith("place") else []
        found[name] = measure(command)
        print("%s,%.2f,%.2f" % (name, *found[name]), flush=True)
    best = min((found[name] for name in found if name.startswith("torch")))
    print("ratio,%.2f,%.2f" % (best[0] / found["nn-train"][0], best[1] / found["nn-train"][1]))
