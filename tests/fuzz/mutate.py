#!/usr/bin/env python3
"""Valid files of every format, damaged: whatever is in them, the tools end with a status of theirs and one line.

usage: tests/fuzz/mutate.py [-n MUTATIONS] [-s SEED] [-f FORMAT] [-i NUMBER]     (prints TAP; -f and -i repeat one case)

Each case is drawn from SEED, the format's name and its number alone. Claimed of each: it ends within a minute and a
gigabyte, with status 0, 1, 2, 3, 4 or 6; unless 0 with exactly one error line, of printable UTF-8; what lay at -o stays
as it was and no temporary file beside it; the tool changes none of its inputs.
"""
import argparse, gzip, io, json, os, random, re, resource, shutil, struct, subprocess, sys, tempfile, zipfile
import torchfile

BUILD = os.environ.get("NN_BUILD", "build")
TRAIN, PREDICT, ALLREDUCE = (os.path.join(BUILD, "cmd", t) for t in ("nn-train", "nn-predict", "nn-allreduce"))
GIB = 1 << 30


# ---- a little of everything ----

def csv_file(rows=40):
    lines = ["a,b,word,kind"]
    for i in range(rows):
        lines.append(f'{i % 7}.25,{-i}e-1,{["red", "blue", chr(34) + "dark, red" + chr(34)][i % 3]},{["up", "down"][i // 3 % 2]}')
    return "\n".join(lines).encode() + b"\n"


def jsonl_file(rows=40):
    return "".join(json.dumps({"a": i % 7 + 0.25, "b": None if i % 9 == 5 else -i, "word": ["red", "blue", "d\u00e9j\u00e0 \"vu\""][i % 3],
                               "kind": ["up", "down"][i // 3 % 2]}, ensure_ascii=i % 2 == 0) + "\n" for i in range(rows)).encode()


def svm_file(rows=40):
    return "".join(f"{'+1' if i % 3 else -1} {1 + i % 2}:{i % 7}.25 3:{-i}e-1" + (" # once" if i % 8 == 5 else "") + "\n" for i in range(rows)).encode()


def npy_file(kind, pack, shape, values):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%d%s" % (len(values), pack), *values)


def idx_file(shape, values):
    return bytes([0, 0, 8, len(shape)]) + struct.pack(">%dI" % len(shape), *shape) + bytes(values)


def tensors_file():
    x = struct.pack("<60f", *[i % 5 for i in range(60)])
    y = struct.pack("<20f", *[i % 3 / 2 for i in range(20)])
    head = json.dumps({"x": {"dtype": "F32", "shape": [20, 3], "data_offsets": [0, 240]},
                       "y": {"dtype": "F32", "shape": [20, 1], "data_offsets": [240, 320]}}).encode()
    return struct.pack("<Q", len(head)) + head + x + y


def npz_file(members, method):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as z:
        for name, data in members.items():
            z.writestr(zipfile.ZipInfo(name), data, method)
    return file.getvalue()


def torch_file():
    """Views of one storage, a parameter and a counter."""
    tensor = torchfile.Tensor
    state = {"module.0.weight": tensor("0", [3, 3], stride=[1, 3], offset=1, count=10), "module.0.bias": tensor("0", [3], count=10, parameter=True),
             "module.0.num_batches_tracked": tensor("1", [], kind="Long")}
    return torchfile.archive(torchfile.pickled(state), {"0": torchfile.floats(*range(10)), "1": bytes(8)})


def npz_members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        return {name: z.read(name) for name in z.namelist()}


# what ONNX files cannot say yet
STEPS = b"""reshape 4x9
position
attention 3 causal=yes
lstm 3 layers=2 bidirectional=yes
gru 2
last
"""

MODEL_TEXT = b"""# a branch and a repeat
input 4x6x6
c: conv2d 4 3x3 pad=1
batchnorm group=4
relu
repeat 2 {
  conv2d 4 3x3 pad=1 groups=2
  r: leaky-relu 0.1
}
s: add from=c+r
maxpool2d 2 stride=2
flatten
dropout 0.2
layernorm
""" + STEPS + b"dense 3\n"

CONFIG = b"""# options of a training
model = dense 5, relu, dense ?
target = kind
batch = 8
steps = 3
optimizer = sgd
momentum = 0.9
nesterov = yes
lr = 0.01
schedule = step:2:0.5
clip-norm = 1
valid = 0.2
valid-every = 2
patience = 3
class-weight = 1,2
normalize = minmax
missing = mean
shuffle = 10
seed = 3
leaves = 2
micro-batch = 4
threads = 2
log-every = 1
"""

OPTIONS = [line.decode() for line in CONFIG.splitlines() if line[:1] != b"#"]


def prepare(folder):
    """Files by name, and the model and state that the tools make of them."""
    def put(name, data):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)

    put("t.csv", csv_file())
    put("t.jsonl", jsonl_file())
    put("t.svm", svm_file())
    put("t.csv.gz", gzip.compress(csv_file(), mtime=0))
    put("x.npy", npy_file("<f4", "f", (12, 3), [i / 4 for i in range(36)]))
    put("y.npy", npy_file("<i8", "q", (12,), [i % 3 for i in range(12)]))
    arrays = {"x.npy": npy_file("<f4", "f", (12, 3), [i / 4 for i in range(36)]), "y.npy": npy_file("<i8", "q", (12,), [i % 3 for i in range(12)])}
    put("t.npz", npz_file(arrays, zipfile.ZIP_DEFLATED))
    put("u.npz", npz_file(arrays, zipfile.ZIP_STORED))
    put("x.idx", idx_file((10, 4, 4), [i * 7 % 256 for i in range(160)]))
    put("y.idx", idx_file((10,), [i % 3 for i in range(10)]))
    put("t.st", tensors_file())
    put("w.pt", torch_file())
    put("net.nn", MODEL_TEXT)
    put("t.conf", CONFIG)
    for args in (["-m", "dense 5, batchnorm, relu, dense ?", "--target=kind", "--missing=mean", "--steps=3", "--checkpoint=m.state.safetensors", "-o", "m", "t.csv"],
                 ["-m", "dense 3, tanh, dense ?", "--steps=2", "-o", "n", "x.npy", "y.npy"],
                 ["-m", "net.nn", "--steps=0", "-o", "w", "w.csv"]):
        if args[-1] == "w.csv":
            put("w.csv", b",".join(b"%d" % (i + 1) for i in range(145)) + b"\n" +
                b"".join(b",".join(b"%d.5" % (i * j % 7) for i in range(144)) + b",%d\n" % (j % 3) for j in range(12)))
            args[-1:] = ["--target=145", "--loss=cross-entropy", "--header=yes", "w.csv"]
        subprocess.run([TRAIN, "-q"] + args, cwd=folder, check=True)
    if os.path.exists(os.path.join(BUILD, "lib", "nn-onnx.so")):
        put("plain.nn", MODEL_TEXT.replace(STEPS, b""))
        subprocess.run([TRAIN, "-q", "-m", "plain.nn", "--target=145", "--loss=cross-entropy", "--steps=0", "--header=yes", "-o", "w.onnx", "w.csv"], cwd=folder, check=True)
    else:
        put("w.onnx", b"\x08\x07\x12\x01n")


FIT = ["-q", "-m", "dense 4, relu, dense ?", "--steps=2"]
BOUNDS = ["--time-limit=2", "--threads=2"]

# format: the file that is damaged, and the commands that read it in turn (out: where the result goes)
FORMATS = {
    "model": ("m", [[PREDICT, "m", "t.csv", "-o", "out"], [PREDICT, "m", "--score", "t.csv", "-o", "out"],
                    [TRAIN, "-q", "-m", "m", "--target=kind", "--steps=1", "-o", "out", "t.csv"]]),
    "onnx": ("w.onnx", [[PREDICT, "w.onnx", "--header=yes", "w.csv", "-o", "out"],
                        [TRAIN, "-q", "-m", "w.onnx", "--target=145", "--loss=cross-entropy", "--steps=0", "--header=yes", "-o", "out", "w.csv"]]),
    "weights": ("w", [[PREDICT, "-m", "net.nn", "w", "w.csv", "-o", "out"]]),
    "state": ("m.state.safetensors", [[TRAIN, "-q", "-m", "dense 5, batchnorm, relu, dense ?", "--target=kind", "--missing=mean",
                                       "--steps=5", "--checkpoint=m.state.safetensors", "--resume", "-o", "out", "t.csv"],
                                      [PREDICT, "m.state.safetensors", "t.csv", "-o", "out"]]),
    "npy": ("x.npy", [[PREDICT, "n", "x.npy", "-o", "out"], [TRAIN] + FIT + ["-o", "out", "x.npy", "y.npy"],
                      [PREDICT, "n", "--on-error=mark", "x.npy", "-o", "out"]]),
    "npy-targets": ("y.npy", [[TRAIN] + FIT + ["-o", "out", "x.npy", "y.npy"], [PREDICT, "n", "--score=y.npy", "x.npy", "-o", "out"]]),
    "idx": ("x.idx", [[TRAIN] + FIT + ["-o", "out", "x.idx", "y.idx"]]),
    "idx-targets": ("y.idx", [[TRAIN] + FIT + ["-o", "out", "x.idx", "y.idx"]]),
    "tensors": ("t.st", [[TRAIN] + FIT + ["--loss=mse", "-o", "out", "t.st"]]),
    "npz": ("t.npz", [[ALLREDUCE, "t.npz", "u.npz", "-o", "out"], [TRAIN] + FIT + ["-o", "out", "t.npz"],
                      [PREDICT, "n", "--score", "t.npz", "-o", "out"], [PREDICT, "-m", "net.nn", "t.npz", "w.csv", "-o", "out"]]),
    "torch": ("w.pt", [[PREDICT, "-m", "dense 3", "w.pt", "x.npy", "-o", "out"], [PREDICT, "--info", "w.pt", "-o", "out"]]),
    "gzip": ("t.csv.gz", [[TRAIN] + FIT + ["--target=kind", "-o", "out", "t.csv.gz"], [PREDICT, "m", "t.csv.gz", "-o", "out"]]),
    "csv": ("t.csv", [[TRAIN] + FIT + ["--target=kind", "-o", "out", "t.csv"], [PREDICT, "m", "t.csv", "-o", "out"],
                      [TRAIN] + FIT + ["--target=kind", "--missing=drop", "--valid=0.3", "-o", "out", "t.csv"],
                      [PREDICT, "m", "--on-error=skip", "t.csv", "-o", "out"]]),
    "jsonl": ("t.jsonl", [[PREDICT, "m", "t.jsonl", "-o", "out"],
                          [TRAIN] + FIT + ["--target=kind", "--missing=mean", "-o", "out", "t.jsonl"],
                          [PREDICT, "m", "--on-error=mark", "t.jsonl", "-o", "out"], [PREDICT, "m", "--score", "t.jsonl", "-o", "out"]]),
    "libsvm": ("t.svm", [[PREDICT, "n", "t.svm", "-o", "out"], [TRAIN] + FIT + ["--loss=cross-entropy", "-o", "out", "t.svm"],
                         [PREDICT, "n", "--on-error=mark", "t.svm", "-o", "out"], [TRAIN] + FIT + ["--loss=mse", "--zero-based", "-o", "out", "t.svm"],
                         [PREDICT, "n", "--score", "t.svm", "-o", "out"]]),
    "text": ("net.nn", [[TRAIN, "-q", "-m", "net.nn", "--target=145", "--loss=cross-entropy", "--steps=0", "-o", "out", "w.csv"],
                        [PREDICT, "-m", "net.nn", "w", "w.csv", "-o", "out"]]),
    "config": ("t.conf", [[TRAIN, "-q", "--config=t.conf", "-o", "out", "t.csv"] + BOUNDS]),
    "options": (None, []),
}


# ---- damage ----

NUMBERS = [0, 1, 2, 7, 8, 127, 128, 255, 256, 32767, 65535, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1]
TOKENS = [b"nan", b"-inf", b"1e999", b"1e-999", b"99999999999999999999", b"-1", b"0x10", b"\"", b"\"\"", b",,", b"\r", b"\r\n\r\n", b"\0", b"\xff\xfe",
          b"\xef\xbb\xbf", b"%s%n", b"../../x", b"\x1b[31m", b"\t", b"{", b"}", b"[", b"]", b"null", b"true", b"1.0", b"#", b"=", b"?", b"from=", b" ", b"\n"]


def damage(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(10)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[min(at, len(data) - 1)] = rng.choice([0, 1, 9, 10, 13, 32, 34, 44, 45, 46, 48, 57, 127, 128, 255])
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at:at + rng.choice([1, 2, 4, 8, 30])]
        elif kind == 4:
            data[at:at] = data[at:at + rng.choice([1, 4, 16, 200])] * rng.choice([1, 2, 50])
        elif kind == 5:
            data[at:at + rng.choice([0, 1, 3])] = rng.choice(TOKENS)
        elif kind == 6:
            code = rng.choice("<>") + rng.choice("HIQ")
            data[at:at + struct.calcsize(code)] = struct.pack(code, rng.choice(NUMBERS) & (256 ** struct.calcsize(code) - 1))
        elif kind == 7:
            spots = [m for m in re.finditer(rb"-?\d+(\.\d+)?", bytes(data[:4000]))]
            if spots:
                spot = rng.choice(spots)
                data[spot.start():spot.end()] = rng.choice([b"%d" % rng.choice(NUMBERS), b"-1", b"4.0", b"1e400", b"", b"1e2", b"007"])
        elif kind == 8:
            words = [m for m in re.finditer(rb"[A-Za-z_.-]{2,}", bytes(data[:4000]))]
            if len(words) > 1:
                one, other = rng.choice(words), rng.choice(words)
                data[one.start():one.end()] = other.group()
        else:
            data += bytes(rng.randrange(256) for _ in range(rng.choice([1, 7, 64])))
    return bytes(data)


def damage_header(rng, data):
    """The header of a safetensors file alone, with its length put right; sometimes the state's checksum cannot be."""
    n = struct.unpack("<Q", data[:8])[0]
    header = damage(rng, data[8:8 + n])
    return struct.pack("<Q", len(header)) + header + data[8 + n:]


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return value, at


def damage_message(rng, data, depth=0):
    """Of a protobuf message a part that has a length, its length put right; that of a model's graph and its nodes."""
    at, parts = 0, []
    while at < len(data):
        tag, content = read_varint(data, at)
        if tag & 7 == 2:
            n, content = read_varint(data, content)
            parts.append((tag, at, content, content + n))
            at = content + n
        else:
            at = {0: lambda: read_varint(data, content)[1], 1: lambda: content + 8, 5: lambda: content + 4}[tag & 7]()
    if not parts:
        return damage(rng, data)
    tag, start, content, end = max(parts, key=lambda p: p[3] - p[2]) if depth == 0 and rng.random() < 0.8 else rng.choice(parts)
    part = data[content:end]
    try:
        part = damage_message(rng, part, depth + 1) if rng.random() < 0.8 else damage(rng, part)
    except (IndexError, KeyError):  # bytes or text
        part = damage(rng, part)
    out, n = bytearray(data[start:read_varint(data, start)[1]]), len(part)
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return data[:start] + bytes(out + bytes([n])) + part + data[end:] * rng.choice([0, 1, 1, 1, 1])


def mutated(rng, name, data):
    if name == "onnx" and rng.random() < 0.8:
        return damage_message(rng, data)
    if name in ("model", "weights", "state", "tensors") and rng.random() < 0.6:
        return damage_header(rng, data)
    if name == "npz" and rng.random() < 0.6:
        members = {member.encode(): array for member, array in npz_members(data).items()}
        one = rng.choice(sorted(members))
        members[one] = damage(rng, members[one])
        if rng.random() < 0.2:
            members[damage(rng, one)] = members.pop(one)
        return npz_file({m.decode("utf-8", "replace"): array for m, array in members.items()}, rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    if name == "torch" and rng.random() < 0.8:
        members = npz_members(data)
        one = rng.choice(["archive/data.pkl"] * 6 + sorted(members))
        members[one] = damage(rng, members[one])
        return npz_file(members, zipfile.ZIP_STORED)
    if name == "gzip" and rng.random() < 0.5:
        return gzip.compress(damage(rng, gzip.decompress(data)), mtime=0)
    return damage(rng, data)


def damaged_options(rng):
    """A command line: known options with values that were damaged."""
    words = [TRAIN, "-q"]
    for line in rng.sample(OPTIONS, rng.randrange(3, len(OPTIONS))):
        name, value = (part.strip() for part in line.split("=", 1))
        if rng.random() < 0.3:
            value = damage(rng, value.encode()).replace(b"\0", b"").decode("utf-8", "surrogateescape")
        if rng.random() < 0.05:
            name = damage(rng, name.encode()).replace(b"\0", b"").decode("utf-8", "surrogateescape")
        words.append("--%s=%s" % (name, value) if name != "nesterov" else "--nesterov")
    return words + ["-o", "out", "t.csv"] + BOUNDS


# ---- one case ----

def limits(sanitized):
    def set_limits():
        if not sanitized:
            resource.setrlimit(resource.RLIMIT_AS, (GIB, GIB))
        resource.setrlimit(resource.RLIMIT_FSIZE, (GIB // 16, GIB // 16))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return set_limits


def judge(tool, status, stderr):
    if status < 0:
        return f"ended by signal {-status}"
    if status not in (0, 1, 2, 3, 4, 6):
        return f"status {status}"
    try:
        text = stderr.decode()
    except UnicodeDecodeError:
        return "stderr is not UTF-8"
    if any(ord(c) < 32 and c != "\n" for c in text):
        return "control bytes on stderr"
    lines = [line for line in text.splitlines() if not re.match(rf"{tool}: (warning|note): ", line)]
    if status == 0 and lines:
        return "status 0 with an error line"
    if status and (len(lines) != 1 or not lines[0].startswith(tool + ": ")):
        return f"{len(lines)} error lines"
    return None


class Runner:
    def __init__(self, folder, seed):
        self.folder, self.seed = folder, seed
        self.files = {n: open(os.path.join(folder, n), "rb").read() for n in os.listdir(folder)}
        self.limits = limits("sanitize" in os.environ.get("KIND_CFLAGS", ""))

    def put(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(data)

    def case(self, name, i):
        """None, or what is wrong; and the command and the damaged file."""
        rng = random.Random(f"{self.seed}/{name}/{i}")
        target, commands = FORMATS[name]
        bad = None
        if target is None:
            command = damaged_options(rng)
        else:
            command = commands[i % len(commands)]
            bad = mutated(rng, name, self.files[target])
            self.put(target, bad)
        self.put("out", b"before")
        tool = os.path.basename(command[0])
        try:
            p = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               timeout=120, preexec_fn=self.limits)
            wrong, told = judge(tool, p.returncode, p.stderr), p.stderr
            status = p.returncode
        except subprocess.TimeoutExpired:
            wrong, told, status = "no end within two minutes", b"", None
        wrong = wrong or self.left(target, bad, status)
        self.restore(target)
        return wrong, command, bad, told

    def left(self, target, bad, status):
        out = os.path.join(self.folder, "out")
        if status and (not os.path.exists(out) or open(out, "rb").read() != b"before"):
            return "the output was not left as it was"
        for n in os.listdir(self.folder):
            if n.endswith(".tmp"):
                return f"{n} was left behind"
        for n, data in self.files.items():
            if n == "m.state.safetensors" and status == 0:
                continue
            if open(os.path.join(self.folder, n), "rb").read() != (bad if n == target else data):
                return f"{n} was changed"
        return None

    def restore(self, target):
        for n in os.listdir(self.folder):
            path = os.path.join(self.folder, n)
            if n not in self.files:
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        for n, data in self.files.items():
            if n == target or os.path.getsize(os.path.join(self.folder, n)) != len(data):
                self.put(n, data)
        if "m.state.safetensors" in self.files:
            self.put("m.state.safetensors", self.files["m.state.safetensors"])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("-n", type=int, default=int(os.environ.get("NN_FUZZ", 150)), help="mutations of each format")
    arguments.add_argument("-s", type=int, default=1, help="seed")
    arguments.add_argument("-f", choices=FORMATS, help="one format alone")
    arguments.add_argument("-i", type=int, help="one case alone")
    a = arguments.parse_args()
    names = [a.f] if a.f else list(FORMATS)
    print(f"1..{len(names)}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        runner = Runner(folder, a.s)
        for number, name in enumerate(names, 1):
            wrong = []
            for i in [a.i] if a.i is not None else range(a.n):
                what, command, bad, told = runner.case(name, i)
                if what:
                    wrong.append((i, what, command, told))
                if a.i is not None:
                    print("#", command, told.decode(errors="replace"))
                    if bad is not None:
                        open(f"{name}.{i}.bad", "wb").write(bad)
            print(f"{'not ok' if wrong else 'ok'} {number} - fuzz: {name}: {a.n} damaged ones end with a status and a line, outputs intact")
            for i, what, command, told in wrong[:20]:
                print(f"#  -s {a.s} -f {name} -i {i}: {what}; {command[1:]}; {told[:300]!r}")
            failed += bool(wrong)
            sys.stdout.flush()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
