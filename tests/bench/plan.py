"""make bench: the time of a step that nn-train predicts, beside what later steps take.

usage: plan.py [WORD]...     rows whose name holds every WORD: "LeNet", "f64", "ranks=2"; without any all rows
Each row trains twice with --log on an empty XDG_CACHE_HOME: `plan` is what --explain says before both, `first` and `second` what
the trainings say before their first step, in microseconds; errors are predictions over the step measured by the same training, in
percent (of the plan: the first training). A line that is off by more than 15 % ends with OFF. Reads NN_BUILD, and NN_PLAN_SECONDS,
the length of a training (1.5).
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from ranks import make_data

TRAIN = os.environ["NN_BUILD"] + "/cmd/nn-train"
SECONDS = float(os.environ.get("NN_PLAN_SECONDS", "1.5"))
MOST = 0.15
EXAMPLES = os.environ.get("NN_SRC", os.path.dirname(__file__) + "/../..") + "/share/examples/"
MLP = "dense 128, relu, dense 10"
CNN = "conv2d 32 3x3, relu, maxpool2d 2, conv2d 64 3x3, relu, maxpool2d 2, flatten, dense 128, relu, dense 10"
WORDS = "input columns=a,b, embedding 32 sparse=yes, flatten, dense 64, relu, dense ?"
NETS = [
    ("784-128-10", 128, MLP, (784,), 10, 12800),
    ("784-128-10", 1, MLP, (784,), 10, 12800),
    ("100-2", 32, "dense 2", (100,), 2, 12800),
    ("LeNet", 64, EXAMPLES + "lenet.nn", (1, 28, 28), 10, 6400),
    ("MNIST CNN", 64, CNN, (1, 28, 28), 10, 3200),
    ("CIFAR CNN", 64, EXAMPLES + "cifar-cnn.nn", (3, 32, 32), 10, 1600),
    ("ResNet-8", 128, EXAMPLES + "resnet8.nn", (3, 32, 32), 10, 1600),
    ("1024-2048-2048-1000", 256, "dense 2048, relu, dense 2048, relu, dense 1000", (1024,), 1000, 2560),
    ("embedding", 128, WORDS, None, 3, 20000),
]
WAYS = ["-t 1", "-t 2", "-t 1 --ranks=2", "-t 1 --precision=f64", "-t 2 --precision=f64"]
STRATEGY_NETS = ("784-128-10", "1024-2048-2048-1000", "MNIST CNN")
STRATEGIES = ["-t 1 --ranks=2 --strategy=local:8", "-t 1 --ranks=2 --tensor=2", "-t 1 --ranks=2 --pipeline=2"]


def make_table(folder, classes, rows):
    rng = random.Random(1)
    with open(f"{folder}/t.csv", "w", encoding="ascii") as file:
        file.write("a,b,y\n")
        for _ in range(rows):
            file.write(f"u{rng.randrange(5000)},v{rng.randrange(300)},c{rng.randrange(classes)}\n")


def command(folder, net, batch, shape, how):
    if shape:
        data = [f"{folder}/x.npy", f"{folder}/y.npy"]
    else:
        data = ["--target=y", "--loss=cross-entropy", f"{folder}/t.csv"]
    return [TRAIN, "-m", net, "-b", str(batch), *how.split(), *data]


def run(words, cache):
    done = subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={**os.environ, "XDG_CACHE_HOME": cache})
    return done.stdout


def train(words, folder, cache):
    """Seconds of a step: predicted, None where it is not known, and measured."""
    log = f"{folder}/log"
    run([*words, "-q", f"--log={log}", "-o", "/dev/null"], cache)
    with open(log, encoding="utf-8") as file:
        step = json.loads(file.readlines()[-1])["predicted"]["step_s"]
    os.unlink(log)
    return step["predicted"], step["measured"]


def row(folder, net, batch, shape, how):
    words = command(folder, net, batch, shape, how)
    with tempfile.TemporaryDirectory() as cache:
        plan = json.loads(run([*words, "--explain=json"], cache))["time"]["step_s"]
    with tempfile.TemporaryDirectory() as cache:
        _, about = train([*words, "--steps=20"], folder, cache)
    with tempfile.TemporaryDirectory() as cache:
        words += [f"--steps={max(20, int(SECONDS / about))}"]
        first, second = train(words, folder, cache), train(words, folder, cache)
    return [(plan, first[1]), first, second]


def figures(pair):
    predicted, measured = pair
    if predicted is None:
        return f"{'-':>10}{'':8}"
    return f"{predicted * 1e6:10.0f}{100 * (predicted / measured - 1):+7.1f}%"


def holds(text, words):
    return all(word in text for word in words)


def main():
    wanted = [word.lower() for word in sys.argv[1:]]
    print(f"{'net':22}{'batch':>6}  {'how':34}{'plan':>10}{'error':>8}{'first':>10}{'error':>8}{'second':>10}{'error':>8}"
          f"{'measured':>10}{'again':>10}   load {os.getloadavg()[0]:.1f}")
    for name, batch, net, shape, classes, rows in NETS:
        ways = [how for how in WAYS + (STRATEGIES if name in STRATEGY_NETS else []) if batch > 1 or "--ranks" not in how]
        ways = [how for how in ways if holds(f"{name} {batch} {how} {'' if 'f64' in how else 'f32'}".lower(), wanted)]
        with tempfile.TemporaryDirectory() as folder:
            if ways and shape:
                make_data(folder, shape, classes, rows)
            elif ways:
                make_table(folder, classes, rows)
            for how in ways:
                pairs = row(folder, net, batch, shape, how)
                off = any(predicted is not None and abs(predicted / measured - 1) > MOST for predicted, measured in pairs)
                print(f"{name:22}{batch:6}  {how:34}{''.join(map(figures, pairs))}{pairs[1][1] * 1e6:10.0f}{pairs[2][1] * 1e6:10.0f}"
                      f"{'  OFF' if off else ''}", flush=True)


if __name__ == "__main__":
    main()
