"""Products by cuBLASLt, as the library of the tests computes them (tests/device/cublaslt.c: chains in ascending order): a net around
each layer (NETS of long/same-ranks.py), trained with --reproducible=no in one leaf, has the values that the CPU gives it in one
leaf, and those of the CPU but for rounding with --precision=tf32, bf16 and f16. Convolutions, whose sums go by taps, have them but for
the last places, with columns of all rows in memory at a time, of some rows, and of some lines of one. usage: products.py [NET]..."""
import json
import os
import struct
import subprocess
import sys

from layers import BUILD, each_net, same

# A residual that lies where the product goes is added before the bias, not behind it: other values in the last places; so are those
# of taps that are added on their own.
ROUNDED = {"attention-block"} | {net for net, text in same.NETS.items() if "conv" in text}
COLUMNS = (9000, 2000, 1)  # bytes of columns in memory at a time: a row of 6x6 has 36 x 80
ENVIRONMENT = {**os.environ, "NN_MODULE_PATH": BUILD + "/tests/device/runtime/.libs", "XDG_CACHE_HOME": same.DIR,
               "LD_LIBRARY_PATH": BUILD + "/tests/device/cublas/.libs", "NN_CUBLAS_CALLS": same.DIR + "/calls"}


def values(name):
    """Of all tensors of a model file, in f64."""
    with open(f"{same.DIR}/{name}", "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    found = []
    for tensor, what in sorted(json.loads(data[8:8 + n]).items()):
        if tensor != "__metadata__":
            begin, end = (8 + n + at for at in what["data_offsets"])
            if what["dtype"] == "BF16":
                found += [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(begin, end, 2)]
                continue
            form, size = {"F16": ("e", 2), "F32": ("f", 4), "F64": ("d", 8)}[what["dtype"]]
            found += struct.unpack(f"<{(end - begin) // size}{form}", data[begin:end])
    return found


def train(args, name, how, columns=1 << 26):
    """The values of a model, or what went wrong; products of the library."""
    with open(same.DIR + "/calls", "w", encoding="ascii") as f:
        f.write("0 0\n")
    run = subprocess.run(["nn-train", *args, *how, "-o", name], cwd=same.DIR, env={**ENVIRONMENT, "NN_CUDA_COLUMNS": str(columns)},
                         capture_output=True, check=False)
    if run.returncode or run.stderr:
        return f"status {run.returncode}: {run.stderr.decode(errors='replace')[:300]}", 0
    with open(same.DIR + "/calls", encoding="ascii") as f:
        return values(name), int(f.read().split()[1])


def predict(name, how):
    run = subprocess.run(["nn-predict", "-q", *how, name, "kind.csv" if name.startswith("kind") else "towns-kind.csv"], cwd=same.DIR,
                         env=ENVIRONMENT, capture_output=True, check=False)
    return run.stdout if run.returncode == 0 and run.stdout else f"nn-predict: status {run.returncode}: {run.stderr.decode()[:300]}"


def far(a, b):
    """The largest difference, in parts of the largest value."""
    return max(abs(x - y) for x, y in zip(a, b)) / max(abs(x) for x in b)


def wrong(number, net):
    """How a net fails, or nothing: every third is of f64."""
    kind = "towns" if "town" in same.NETS[net] else "kind"
    precision = ["--precision=f64"] if number % 3 == 0 else []
    args = ["-q", "-m", same.NETS[net] + ", dense ?", "--target=kind", "-b", "64", "-t", "1", "--leaves=1", "--epochs=2", "--optimizer=sgd",
            "towns-kind.csv" if kind == "towns" else "kind.csv"]
    cpu, _ = train(args + precision, kind + "-cpu", ["--device=cpu"])
    any_order, products = train(args + precision, kind + "-any", ["--device=cuda", "--reproducible=no"])
    if isinstance(cpu, str) or isinstance(any_order, str):
        return f"{cpu if isinstance(cpu, str) else any_order}"
    if products == 0:
        return "no product went to the library"
    near = 1e-13 if precision else 1e-5
    if any_order != cpu and (net not in ROUNDED or far(any_order, cpu) > near):
        return f"any order: other values, by {far(any_order, cpu):.2g}"
    for columns in COLUMNS if "conv" in same.NETS[net] else ():
        found, pieces = train(args + precision, kind + "-pieces", ["--device=cuda", "--reproducible=no"], columns)
        if isinstance(found, str) or far(found, cpu) > near or pieces < products:
            return f"columns of {columns} bytes, {pieces} products: {found if isinstance(found, str) else far(found, cpu)}"
    if net not in ROUNDED and predict(kind + "-cpu", ["--device=cuda", "--reproducible=no"]) != predict(kind + "-cpu", ["--device=cpu"]):
        return f"predictions differ: {predict(kind + '-cpu', ['--device=cuda', '--reproducible=no'])!r:.300}"
    if precision:
        return None
    # factors are off by 2^-11 at most, of bf16 by 2^-9, and few steps of --lr=0.01 carry that into the weights; files of bf16
    # and f16 are rounded once more
    for how, most in (("tf32", 2e-3), ("bf16", 1.2e-2), ("f16", 3e-3)):
        found, products = train(args, kind + "-" + how, ["--device=cuda", "--precision=" + how])
        if isinstance(found, str):
            return found
        if products == 0 or not 0 < far(found, cpu) < most:
            return f"{how}: {products} products, values off by {far(found, cpu):.2g}"
    return None


if __name__ == "__main__":
    sys.exit(each_net(wrong, "has the CPU's values with products of cuBLASLt"))
