"""Same bytes for every layer, whoever computes it: 1, 2, 3 and 4 ranks, 1 and 2 threads, over every transport, with every strategy
that promises them. usage: same-ranks.py [SEED [NET]...]

A run is one value of each factor below. Every net meets every number of ranks and every transport, each twice, and every second
strategy, its neighbour the others; two nets in three meet a given number of ranks over a given transport. What else there is
(optimizers, schedules, losses, weights, clipping, precision, sizes of batches, threads, micro-batches, parameters) is drawn for these
runs so that any two values of different factors meet in some run, which is counted at the end; three values need not meet.
Each run is compared with one process of one thread of the processor (NN_DEVICE may say another device for the others), and so is
one process of two threads: model and state."""
import concurrent.futures
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 1
SRC = os.environ["NN_SRC"]
DIR = tempfile.mkdtemp()
TOGETHER = 3  # cases at a time: starting ranks is mostly waiting

# ---- factors: NAME -> {VALUE: options or text} ----

IMAGE = "input 2x6x6, conv2d 4 3x3 pad=1, a: relu"
NUMBERS = "numbers: input columns=x0,x1,x2,x3"
# A small net around each layer of layers.def, named after it, and variants. They take the 72 numbers of a row, or its towns and ways.
NETS = {
    "dense": "dense 9, reshape 3x3, dense 4 bias=no, flatten",
    "conv2d": "input 2x6x6, conv2d 6 3x3 pad=1, conv2d 6 3x3 groups=6 pad=2 dilation=2, conv2d 5 1x1 stride=2 bias=no, flatten",
    "conv2d-strides": "input 2x6x6, conv2d 6 3x3 stride=2x1 pad=4, tanh, conv2d 5 2x3 stride=2 pad=1x4 bias=no, relu, conv2d 4 1x1 stride=2, flatten",
    "conv2d-groups": "input 6x4x3, conv2d 12 3x3 groups=3 pad=1, relu, conv2d 8 2x2 stride=2 groups=4 pad=1, tanh, conv2d 4 1x1 groups=2, flatten",
    "conv2d-pools": "input 2x6x6, conv2d 5 3x3 pad=1, tanh, maxpool2d 3 stride=1, conv2d 4 2x2 pad=1, leaky-relu 0.3, maxpool2d 2 stride=2x1, flatten",
    "conv1d": "input 8x9, conv1d 6 3 pad=1, relu, conv1d 6 3 stride=2 groups=3 dilation=2 pad=2, batchnorm group=4, conv1d 4 2 bias=no, flatten",
    "conv-transpose2d": "input 8x3x3, conv-transpose2d 6 2x2 stride=2, relu, conv-transpose2d 5 3x3 stride=2 pad=1 out-pad=1 bias=no, flatten, dense 6, tanh",
    "conv-transpose2d-groups": "input 6x4x3, a: conv-transpose2d 6 3x2 groups=6 pad=1x0, b: conv-transpose2d 6 3x2 groups=2 pad=1x0 from=input, "
    "add from=a+b, tanh, conv-transpose2d 3 2x2 stride=3x2 dilation=2, flatten, dense 6, tanh",
    "maxpool1d": "input 8x9, conv1d 5 3, maxpool1d 3 stride=2 pad=1, flatten",
    "avgpool1d": "input 8x9, conv1d 5 3, avgpool1d 2, flatten",
    "transpose": "input 2x6x6, transpose 0 2, conv2d 4 3x1, transpose 1 2, transpose, flatten, reshape 8x4, transpose, dense 3, flatten",
    "pad": IMAGE + ", pad 1x2 after=0x1 value=0.5, conv2d 3 3x3, flatten, pad 2 after=0, dense 5",
    "crop": IMAGE + ", b: conv2d 3 3x3, c: crop from=a+b, concat from=b+c, crop 3x2, flatten",
    "slice": IMAGE + ", slice 1 4, b: slice 0 6 step=2 dim=2, flatten, slice 3 30 step=2",
    "upsample": IMAGE + ", upsample 2, maxpool2d 2, upsample 2x3 mode=bilinear, conv2d 2 3x3 stride=3, upsample 2 mode=bilinear align-corners=yes, flatten",
    "maxpool2d": IMAGE + ", maxpool2d 3 stride=2 pad=1, flatten",
    "avgpool2d": IMAGE + ", avgpool2d 3 stride=2 pad=1, flatten",
    "global-avgpool": IMAGE + ", global-avgpool",
    "batchnorm": "dense 11, batchnorm group=8, relu",
    "batchnorm-images": IMAGE + ", batchnorm group=4 momentum=0.3, conv2d 3 3x3, batchnorm group=4, flatten",
    "layernorm": "dense 12, layernorm, reshape 3x4, layernorm, flatten",
    "dropout": "dropout 0.1, dense 9, relu, dropout 0.4",
    "embedding": "input columns=town, embedding 3, flatten, dense 6, tanh",
    "embedding-columns": "words: input columns=town,way, embedding 4 padding=2, b: flatten, " + NUMBERS + ", concat from=b+numbers, dense 6, tanh",
    "embedding-sparse": "pair: input cross=town+way hash=40, b: embedding 3 mode=sum sparse=yes, " + NUMBERS + ", concat from=b+numbers, dense 6, tanh",
    "rnn": "input 9x8, rnn 7 layers=2, last, dense 5",
    "rnn-relu": "input 12x6, rnn 5 bidirectional=yes nonlinearity=relu bias=no, flatten, dense 5",
    "lstm": "input 6x12, lstm 9, flatten, dense 6, tanh",
    "lstm-layers": "input 24x3, dense 4, lstm 6 layers=2 bidirectional=yes, dense 3, flatten",
    "gru": "input 8x9, gru 7, tanh, gru 5 bias=no, last, dense 6",
    "last": "input 6x12, a: last, gru 4 from=input, b: last, concat from=a+b, dense 5",
    "position": "dense 12, reshape 3x4, position, tanh, flatten",
    "attention": "input 9x8, attention 4 causal=yes, dense 6, attention 3 bias=no, flatten",
    "attention-block": "input 6x12, a: position, layernorm, b: attention 2 causal=yes, c: add from=a+b, layernorm, dense 9, gelu, d: dense 12, add from=c+d, flatten",
    "flatten": IMAGE + ", flatten, dense 5",
    "reshape": "dense 12, reshape 3x2x2, conv2d 2 2x2, reshape 2",
    "identity": "identity, dense 7, identity",
    "concat": IMAGE + ", b: conv2d 3 1x1, concat from=b+a, flatten",
    "add": "a: dense 7, b: tanh, add from=a+b+a",
    "mul": IMAGE + ", b: conv2d 4 1x1, mul from=a+b, flatten",
    "relu": "dense 9, relu", "leaky-relu": "dense 9, leaky-relu 0.2", "elu": "dense 9, elu 0.7", "gelu": "dense 9, gelu",
    "silu": "dense 9, silu", "sigmoid": "dense 9, sigmoid", "tanh": "dense 9, tanh", "softplus": "dense 9, softplus",
    "softmax": "dense 9, softmax, dense 5", "log-softmax": "dense 9, log-softmax, dense 5",
}
TRANSPORTS = {  # what Open MPI may use: nn-train then has common memory, or not
    "common memory": "self,vader",
    "messages in shared memory": "^smcuda,openib,ofi",
    "messages over TCP": "self,tcp",
}
# The sizes of messages. The first is what users have.
MESSAGES = {"usual buckets": [], "small buckets": ["--bucket=1K"], "odd buckets": ["--bucket=3001"], "one bucket": ["--bucket=1G"]}
RANKS = ["2 ranks", "3 ranks", "4 ranks"]
STRATEGIES = {  # beside sync itself, with their ranks: a pipeline wants a multiple of its stages
    "master": (3, ["--strategy=master"]),
    "shard-optimizer": (3, ["--shard-optimizer"]),
    "pipeline": (2, ["--pipeline=2"]),
    "pipelines": (4, ["--pipeline=2:gpipe"]),
    "tensor": (2, ["--tensor=2"]),
    "tensors": (6, ["--tensor=3"]),
    "tensor and pipeline": (4, ["--tensor=2", "--pipeline=2"]),
}
FACTORS = {
    "optimizer": {
        "sgd": ["--optimizer=sgd"], "momentum": ["--optimizer=sgd", "--momentum=0.9", "--nesterov", "--weight-decay=0.01"],
        "adam": ["--optimizer=adam"], "adamw": ["--optimizer=adamw"], "rmsprop": ["--optimizer=rmsprop"],
        "rprop": ["--optimizer=rprop"], "lars": ["--optimizer=lars", "--momentum=0.9", "--weight-decay=0.1"],
        "lamb": ["--optimizer=lamb", "--weight-decay=0.1"],
    },
    "schedule": {
        "constant": [], "cosine": ["--schedule=cosine"], "step": ["--schedule=step"], "step:N:F": ["--schedule=step:2:0.5"],
        "linear": ["--schedule=linear", "--warmup=2"],
        "plateau": ["--schedule=plateau", "--valid=0.2", "--valid-every=1", "--patience=9"],
    },
    "loss": {
        "cross-entropy": ["--loss=cross-entropy"], "mse": ["--loss=mse"],
        "bce": ["--loss=bce"], "huber": ["--loss=huber"], "mae": ["--loss=mae"],
    },
    "classes": {"classes": [], "weights": ["--class-weight=1,3,0.5"], "balanced": ["--class-weight=balanced"],
                "ignored": ["--ignore=low"]},
    "clip": {"no clip": [], "clip": ["--clip-norm=0.05"]},
    "precision": {"f32": [], "f64": ["--precision=f64"]},
    # of 97 rows: a rest of 9; of 33; one batch of 97, whose last leaf is short; 16 leaves, and a rest of one row
    "batch": {"44": ["-b", "44", "--leaves=4"], "64": ["-b", "64"], "128": ["-b", "128"], "96": ["-b", "96", "--leaves=8"]},
    "shuffle": {"shuffle": [], "windows": ["--shuffle=20"], "in order": ["--shuffle=no"]},
    "threads": {"1 thread": ["-t", "1"], "2 threads": ["-t", "2"]},
    "micro": {"whole": [], "micro-batch": ["--micro-batch=7"]},
    # more than 2 MiB are read in common memory, less is copied
    "parameters": {"few": "", "many": ", dense 700, relu, dense 760, tanh"},
    "messages": MESSAGES,
}
ORDER = list(FACTORS)
HOW = ("threads", "micro", "messages")            # what only says who computes


def possible(case):
    """False for what nn-train refuses."""
    if case["loss"] != "cross-entropy" and case["classes"] != "classes":
        return False
    return not (case["net"] == "embedding-sparse" and case["optimizer"] in ("lars", "lamb"))


# ---- runs ----

def pairs(case):
    names = ["net", "ranks", "transport", "strategy", *ORDER]
    return {((a, case[a]), (b, case[b])) for a, b in itertools.combinations(names, 2)}


def draw(fixed, missing, rng):
    """Of some drawn cases the one with most pairs that no run has yet."""
    best, most = None, -1
    for _ in range(150):
        case = dict(fixed)
        for name in ORDER:
            values = list(FACTORS[name])
            case[name] = values[0] if name == "parameters" and rng.random() < 0.6 else rng.choice(values)
        if not possible(case):
            case["classes"] = "classes"
        if possible(case) and len(pairs(case) & missing) > most:
            best, most = case, len(pairs(case) & missing)
    return best


def wanted():
    """All pairs of values of the drawn factors, with each other and with nets, ranks, transports and strategies."""
    kinds = {name: list(FACTORS[name]) for name in ORDER}
    kinds.update({"net": list(NETS), "ranks": list(RANKS), "transport": list(TRANSPORTS), "strategy": ["sync", *STRATEGIES]})
    fixed = {"net": "dense", "loss": "cross-entropy", "classes": "classes", "optimizer": "adam"}
    names = ["net", "ranks", "transport", "strategy", *ORDER]
    for a, b in itertools.combinations(names, 2):
        for x, y in itertools.product(kinds[a], kinds[b]):
            if b in ORDER and possible({**fixed, a: x, b: y}):
                yield ((a, x), (b, y))


def plan():
    rng = random.Random(SEED)
    missing, cases = set(wanted()), []
    fixed = [{"net": net, "ranks": ranks, "transport": transport, "strategy": "sync"}
             for i, net in enumerate(NETS) for j, ranks in enumerate(RANKS) for k, transport in enumerate(TRANSPORTS) if (i + j + k) % 3]
    for i, (net, strategy) in enumerate(itertools.islice(itertools.product(NETS, STRATEGIES), 0, None, 2)):
        ranks = f"{STRATEGIES[strategy][0]} ranks"
        fixed.append({"net": net, "ranks": ranks, "transport": list(TRANSPORTS)[i % len(TRANSPORTS)], "strategy": strategy})
    rng.shuffle(fixed)
    for one in fixed:
        cases.append(draw(one, missing, rng))
        missing -= pairs(cases[-1])
    return cases, missing


def write_data():
    """DIR/TARGET.csv of 72 numbers, DIR/towns-TARGET.csv with two words beside them."""
    rng, rows = random.Random(7), {"kind": [], "price": [], "share": []}
    for _ in range(97):
        x = [rng.uniform(-1.5, 1.5) for _ in range(72)]
        s = sum(x[::3]) - sum(x[1::3])
        rows["kind"].append((x, "high" if s > 3 else "low" if s < -3 else "middle"))
        rows["price"].append((x, f"{10 + s / 4:.4f}"))
        rows["share"].append((x, f"{0.5 + 0.4 * (x[0] > x[1]) - 0.2 * (x[2] > 0):.2f}"))
    for target, of in rows.items():
        for place, words in ("", False), ("towns-", True):
            with open(f"{DIR}/{place}{target}.csv", "w", encoding="ascii") as f:
                f.write(",".join(f"x{i}" for i in range(72)) + ",town,way" * words + f",{target}\n")
                for i, (x, y) in enumerate(of):
                    f.write(",".join(f"{v:.4f}" for v in x) + f",t{i * i % 31},w{i % 5}" * words + f",{y}\n")


def options(case):
    """What all processes of a case have in common."""
    target = "kind" if case["loss"] == "cross-entropy" else "share" if case["loss"] == "bce" else "price"
    net = NETS[case["net"]] + FACTORS["parameters"][case["parameters"]] + (", dense ?" if target == "kind" else ", dense 1")
    args = ["-q", "-m", net, "--epochs=2", f"--target={target}"]
    for name in ORDER:
        if name not in HOW + ("parameters",):
            args += FACTORS[name][case[name]]
    return args + [("towns-" if "town" in net else "") + target + ".csv"]


def train(start, args, how):
    """What came of it: sums of model and state, or what went wrong."""
    with tempfile.TemporaryDirectory(dir=DIR, ignore_cleanup_errors=True) as place:  # mpiruns would race for one folder of sessions
        command = ["timeout", "-k", "5", "120", *start, "nn-train", *args, *how, "--checkpoint-every=1h", "-o", f"{place}/m"]
        run = subprocess.run(command, cwd=DIR, env={**os.environ, "TMPDIR": place}, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if run.returncode or run.stderr:
            return f"status {run.returncode}: {run.stderr.decode(errors='replace')[:300]}"
        with open(f"{place}/m", "rb") as f:
            model = f.read()
        return f"model {sum_of(model)}, state {sum_of(tensors(place + '/m.state.safetensors'))}"


def sum_of(data):
    return hashlib.sha256(data).hexdigest()[:12]


def tensors(path):
    """A state without its metadata, which hold the options: threads and strategy differ here."""
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        header.pop("__metadata__")
        return json.dumps(header).encode() + f.read()


def mpirun(case):
    return ["mpirun", "--stdin", "none", "--oversubscribe", "--bind-to", "none", "--mca", "oob_tcp_if_include", "lo",
            "--mca", "btl_tcp_if_include", "lo", "--mca", "btl", TRANSPORTS[case["transport"]], "-n", case["ranks"].split()[0]]


def wrong(case):
    """How a case fails, or nothing."""
    args, strategy = options(case), STRATEGIES.get(case["strategy"], (0, []))[1]
    one = train([], args, ["-t", "1", "--device=cpu"])
    if one.startswith("status"):
        return f"one process: {one}"
    for start, how in ([], ["-t", "2"]), (mpirun(case), FACTORS["threads"][case["threads"]] + strategy):
        found = train(start, args, how + FACTORS["micro"][case["micro"]] + MESSAGES[case["messages"]])
        if found != one:
            return f"{' '.join(start)} nn-train {' '.join(how)}: {found}, one process of one thread: {one}"
    return None


# ---- claims ----

def not_here():
    if not os.path.exists(os.environ["NN_BUILD"] + "/lib/nn-mpi.so"):
        return "built without MPI"
    return None if shutil.which("mpirun") else "no mpirun"


def not_tried():
    """Layers, optimizers, losses and schedules that nn-train has, but no factor here."""
    layers = []
    for path in "/lib/model/layers.def", "/lib/op/activations.def":
        with open(SRC + path, encoding="ascii") as f:
            names = re.findall(r"^NN_(?:LAYER\(|ACTIVATION\([A-Z_]*, )(\w+)[,)]", f.read(), re.M)
        layers += [name.replace("_", "-") for name in names]
    help_ = " ".join(subprocess.run(["nn-train", "--help=all"], capture_output=True, check=True, text=True).stdout.split())
    lists = {name: re.search(before + r" ([^(]*) \(default", help_).group(1).split(", ") for name, before in (
        ("optimizer", "--optimizer=NAME"), ("loss", "loss to minimize: auto,"), ("schedule", "learning rate over time:"))}
    missing = [f"layer {name}" for name in layers if not re.search(rf"(^|[ ,:]){name}( |,|$)", NETS.get(name, ""))]
    for kind, names in lists.items():
        text = " ".join(word for words in FACTORS[kind].values() for word in words) + " --schedule=constant --schedule=step[:N:F]"
        missing += [f"{kind} {name}" for name in names if f"--{kind}={name} " not in text + " "]
    return missing


def main():
    why = not_here()
    if why:
        print(f"1..0 # skip {why}")
        return 0
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", HWLOC_PLUGINS_PATH="/nowhere",
                      PMIX_MCA_gds="hash", PMIX_MCA_psec="native", XDG_CACHE_HOME=DIR,
                      ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0:handle_segv=0:detect_odr_violation=0")
    write_data()
    cases, missing = plan()
    cases = [case for case in cases if not sys.argv[2:] or case["net"] in sys.argv[2:]]
    failures = {net: [] for net in NETS}
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        found = list(pool.map(wrong, cases))
    for case, says in zip(cases, found):
        if says:
            failures[case["net"]].append(", ".join(case.values()) + ": " + says)
    claims = [(f"every layer, optimizer, loss and schedule is tried{''.join(', but ' + name for name in not_tried())}", not_tried()),
              (f"every pair of values meets in {len(cases)} runs", sorted(map(str, missing))[:20])]
    claims += [(f"{net} with ranks, threads, transports and strategies", found) for net, found in failures.items()]
    for number, (claim, found) in enumerate(claims, 1):
        print(f"{'not ok' if found else 'ok'} {number} - same bytes: {claim}")
        for text in found:
            print("#", text.replace("\n", " "))
    print(f"1..{len(claims)}")
    shutil.rmtree(DIR)
    return any(found for _, found in claims)


if __name__ == "__main__":
    sys.exit(main())
