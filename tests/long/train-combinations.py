"""Same bytes: drawn networks, optimizers and data, each trained plainly on the processor and once more with drawn threads, micro-batch,
instruction set, pipe and stop-and-resume. usage: train-combinations.py [N] [SEED]"""
import hashlib
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

N = int(sys.argv[1]) if len(sys.argv) > 1 else 200
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
DIR = tempfile.mkdtemp()

with open("/proc/cpuinfo") as f:
    FLAGS = f.read()
CPUS = ["generic"] + ["avx2"] * (" avx2 " in FLAGS and " fma " in FLAGS) + ["avx512"] * (" avx512bw " in FLAGS) + ["neon"] * (" asimd " in FLAGS)
ACTIVATIONS = ["relu", "leaky-relu 0.1", "elu", "gelu", "silu", "sigmoid", "tanh", "softplus", "identity"]


def write_data(path, rng, rows, columns, classes):
    with open(path, "w") as f:
        f.write(",".join(f"x{i}" for i in range(columns)) + ",y\n")
        for _ in range(rows):
            x = [rng.uniform(-2, 2) for _ in range(columns)]
            y = f"c{int(abs(sum(x)) * 3) % classes}" if classes else f"{math.sin(sum(x)):.5f}"
            f.write(",".join(f"{v:.4f}" for v in x) + f",{y}\n")


def draw_vector_net(rng):
    lines = []
    for _ in range(rng.randint(0, 2)):
        lines.append(f"dense {rng.randint(1, 40)}" + rng.choice(["", " bias=no"]))
        if rng.random() < 0.4:
            lines.append(rng.choice(["batchnorm group=16", "layernorm"]))
        lines.append(rng.choice(ACTIVATIONS))
        if rng.random() < 0.3:
            lines.append("dropout 0.2")
    return lines + ["dense ?"]


def draw_image_net(rng, channels, size):
    group = rng.choice([8, 16, 32])
    lines = [f"input {channels}x{size}x{size}"]
    out = channels
    for i in range(rng.randint(1, 3)):
        depthwise = rng.random() < 0.2
        out = out if depthwise else rng.choice([1, 3, 4, 8, 17])
        kernel = rng.choice([1, 3, 3, 5])
        lines.append(f"conv2d {out} {kernel}x{kernel} pad={kernel // 2}" + (f" groups={out}" if depthwise else "") +
                     rng.choice(["", " bias=no"]))
        if rng.random() < 0.4:
            lines.append(f"batchnorm group={group}")
        if rng.random() < 0.3:
            lines += [f"skip{i}: {rng.choice(ACTIVATIONS)}", f"conv2d {out} 3x3 pad=1", f"back{i}: identity",
                      rng.choice(["add", "mul"]) + f" from=skip{i}+back{i}"]
        lines.append(rng.choice(ACTIVATIONS))
        if size >= 4 and rng.random() < 0.5:
            lines.append(rng.choice(["maxpool2d 2", "avgpool2d 2", "maxpool2d 3 stride=2 pad=1"]))
            size = (size + 1) // 2 if "pad=1" in lines[-1] else size // 2
    if rng.random() < 0.3:
        lines.append("dropout 0.1")
    return lines + rng.choice([["flatten"], ["global-avgpool"]]) + ["dense ?"]


def draw_case(rng):
    rows, classes = rng.randint(20, 130), rng.choice([0, 2, 5])
    if rng.random() < 0.5:
        columns, net = rng.randint(1, 20), draw_vector_net(rng)
    else:
        channels, size = rng.choice([(1, 6), (2, 5), (3, 4)])
        columns, net = channels * size * size, draw_image_net(rng, channels, size)
    batch = rng.choice([1, 7, 16, 32, 33, 48, 64, 100, 128])
    args = ["--target=y", f"--batch={batch}", f"--epochs={rng.randint(1, 3)}", f"--seed={rng.randint(0, 9)}"]
    args += rng.choice([["--optimizer=sgd", "--momentum=0.9"], ["--optimizer=sgd", "--momentum=0.5", "--nesterov"],
                        ["--optimizer=adam"], ["--optimizer=adamw"], ["--optimizer=rmsprop"], ["--optimizer=rprop"],
                        ["--optimizer=lars", "--weight-decay=0.01"], ["--optimizer=lamb", "--weight-decay=0.01"]])
    args += rng.choice([[], ["--clip-norm=0.1"], ["--precision=f64"], ["--schedule=cosine"], ["--warmup=3"], ["--shuffle=no"],
                        ["--shuffle=16"], ["--normalize=minmax"], ["--valid=0.2"], ["--valid=0.3", "--patience=2"]])
    if not classes:
        args += rng.choice([[], ["--loss=mae"], ["--loss=huber"]])
    return rows, columns, classes, net, args


def run(args, data, cpu=None, pipe=False):
    env = dict(os.environ)
    env.pop("NN_CPU", None)
    if cpu:
        env["NN_CPU"] = cpu
    if pipe:
        with open(data) as f:
            return subprocess.run(["nn-train", "-q", *args, "-"], env=env, stdin=f, capture_output=True, check=False)
    return subprocess.run(["nn-train", "-q", *args, data], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def try_case(rng):
    rows, columns, classes, net, args = draw_case(rng)
    data, text = f"{DIR}/data.csv", f"{DIR}/net.nn"
    write_data(data, rng, rows, columns, classes)
    with open(text, "w") as f:
        f.write("\n".join(net) + "\n")
    args = ["-m", text, *args]
    how = [f"--threads={rng.randint(1, 4)}", f"--micro-batch={rng.randint(1, 130)}"]
    cpu, way = rng.choice(CPUS), rng.choice(["file", "pipe", "resume"])
    if any(a.startswith("--schedule") for a in args) and way == "resume":
        way = "file"
    for name in "a", "b", "b.state.safetensors", "a.state.safetensors":
        if os.path.exists(f"{DIR}/{name}"):
            os.unlink(f"{DIR}/{name}")
    done = [run([*args, "--threads=1", "--device=cpu", "-o", f"{DIR}/a"], data)]
    if way == "resume":
        done.append(run([*args, *how, f"--steps={rng.randint(0, 6)}", "--checkpoint-every=1h", "-o", f"{DIR}/b"], data, cpu))
        done.append(run([*args, "--resume", "--threads=2", "-o", f"{DIR}/b"], data, rng.choice(CPUS)))
    else:
        done.append(run([*args, *how, "-o", f"{DIR}/b"], data, cpu, way == "pipe"))
    says = f"{', '.join(net)}; {' '.join(args[2:])}; {rows}x{columns}, {classes} classes; {way}, NN_CPU={cpu} {' '.join(how)}"
    codes = [d.returncode for d in done]
    if any(c not in (0, 6) for c in codes):
        return False, f"{says}; status {codes}: {b' '.join(d.stderr for d in done).decode()}"
    if 6 in codes:
        return codes[0] == 6 and codes[-1] == 6, f"{says}; status {codes}"
    return digest(f"{DIR}/a") == digest(f"{DIR}/b"), says


def main():
    failed = []
    for number in range(N):
        good, says = try_case(random.Random(SEED * 1000003 + number))
        if not good:
            failed.append(f"{number}: {says}")
    for text in failed:
        print("#", text.replace("\n", " "))
    print(f"{'not ok' if failed else 'ok'} 1 - same bytes: {N} drawn combinations, {len(failed)} of them differ")
    print("1..1")
    shutil.rmtree(DIR)
    return len(failed) > 0


if __name__ == "__main__":
    sys.exit(main())
