#!/usr/bin/env python3
"""Products and training steps on a GPU beside PyTorch on the same one: a table in Markdown.

    gpu.py [NET:BATCH ...]      tools from PATH, NN_MODULE_PATH as they need it

Steps are with Adam in f32, without TF32; PyTorch's rows lie on the device already, ours are copied there. Its variants: eager
and fused, channels last for pictures, and the whole step as a CUDA graph; the best of each kind is told.
"""
import json
import os
import re
import subprocess
import sys
import time

import peers
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = float(os.environ.get("NN_BENCH_SECONDS", "0.4"))
ROWS = sys.argv[1:] or ["mlp:32", "mlp:128", "big:256", "mnist-cnn:64", "cifar-cnn:64", "resnet8:64", "resnet8:256",
                        "lstm:32", "transformer:16"]


def nets():
    """Texts of nets.h by name."""
    text = open(os.path.join(HERE, "nets.h")).read()
    found = {}
    for name, strings in re.findall(r'\{ "([\w-]+)",\s*((?:"[^"]*"\s*)+),', text):
        found[name] = "".join(re.findall(r'"([^"]*)"', strings))
    return found


def ours(text, batch, precision):
    call = ["nn-bench", "run", text, "--mode=train", "--batch=%d" % batch, "--device=cuda", "--time=%g" % SECONDS,
            "--precision=" + precision, "--to=jsonl", "-q"]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr.strip(), file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[0])["p50_s"]


def measure(call):
    """Median seconds of a call that waits for the device at the end of each block."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    inner = max(1, int(0.02 / max(time.perf_counter() - start, 1e-6)))
    blocks, end = [], time.perf_counter() + SECONDS
    while len(blocks) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(inner):
            call()
        torch.cuda.synchronize()
        blocks.append((time.perf_counter() - start) / inner)
    return sorted(blocks)[len(blocks) // 2]


def theirs(net, batch, tf32):
    """Seconds of the best eager step and of the best step as a CUDA graph."""
    peers.net, peers.batch = net, batch
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    best = {"eager": None, "graph": None}
    for last in (False, True) if net in peers.SHAPE else (False,):
        for graphed in (False, True):
            torch.manual_seed(1)
            model, shape, classes = peers.torch_net(torch)
            model, x = model.cuda(), torch.rand(batch, *shape).cuda()
            y = torch.randint(0, classes, (batch, 96, 96) if net == "unet" else (batch,)).cuda()
            if last:
                model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
            optimizer = torch.optim.Adam(model.parameters(), fused=True, capturable=graphed)

            def step():
                optimizer.zero_grad(set_to_none=True)
                torch.nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
            call = step
            try:
                if graphed:
                    side = torch.cuda.Stream()
                    side.wait_stream(torch.cuda.current_stream())
                    with torch.cuda.stream(side):
                        for _ in range(3):
                            step()
                    torch.cuda.current_stream().wait_stream(side)
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        step()
                    call = graph.replay
                s = measure(call)
            except Exception as error:
                print("torch %s: %s" % (net, str(error).splitlines()[0]), file=sys.stderr)
                continue
            kind = "graph" if graphed else "eager"
            best[kind] = min(s, best[kind] or s)
    return best["eager"], best["graph"]


def products():
    for tf32 in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        for m, k, n in ((4096, 4096, 4096), (256, 2048, 2048), (256, 1024, 2048), (128, 784, 128)):
            a, b = torch.rand(m, k).cuda(), torch.rand(k, n).cuda()
            s = measure(lambda: torch.mm(a, b))
            print("torch.mm %s %dx%dx%d: %.1f us, %.2f TFLOP/s" % ("tf32" if tf32 else "f32", m, k, n, s * 1e6,
                                                                   2 * m * k * n / s * 1e-12), flush=True)


def us(s):
    return "-" if s is None else "%.1f" % (s * 1e6)


def main():
    texts = nets()
    precisions = os.environ.get("NN_BENCH_PRECISIONS", "f32").split()
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    products()
    print("| net | batch | precision | ours, us | PyTorch eager, us | as a CUDA graph, us | eager / ours | graph / ours |")
    print("|---|---|---|---|---|---|---|---|")
    for row in ROWS:
        net, batch = row.split(":")
        for precision in precisions:
            own = ours(texts[net], int(batch), precision)
            eager, graph = theirs(net, int(batch), precision == "tf32")
            print("| %s | %s | %s | %s | %s | %s | %s | %s |" % (
                net, batch, precision, us(own), us(eager), us(graph), "%.2f" % (eager / own) if own and eager else "-",
                "%.2f" % (graph / own) if own and graph else "-"), flush=True)


main()
