#!/usr/bin/env python3
"""TAP: the conformance cases of ONNX that touch our ops pass, or say what is not supported; none crashes.

usage: tests/cli/onnx-cases.py [-a] [-v] [CASE...]      (-a: those of all ops, -v: what became of each)

The cases are Debian's libonnx-testdata. A case gives tensors to a graph; here the first input holds rows and the others
are made constants, or all inputs hold rows. What nn-predict answers is compared with the tensors that the case expects.
"""
import glob, os, subprocess, sys, tempfile, warnings
from concurrent.futures import ThreadPoolExecutor

DATA = "/usr/share/libonnx-testdata/data"
PREDICT = os.path.join(os.environ.get("NN_BUILD", "build"), "cmd", "nn-predict")
OPS = {"Add", "AveragePool", "BatchNormalization", "Cast", "Clip", "Concat", "Constant", "ConstantOfShape", "Conv", "ConvTranspose", "Div", "Dropout", "Elu", "Expand",
       "Flatten", "GRU", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "Identity", "LSTM", "LayerNormalization", "LeakyRelu", "LogSoftmax",
       "MatMul", "MaxPool", "Mul", "Pad", "RNN", "ReduceMean", "Relu", "Reshape", "Resize", "Sigmoid", "Slice", "Softmax", "Softplus", "Squeeze", "Sub",
       "Sum", "Tanh", "Transpose", "Unsqueeze", "Upsample"}
LEAST = 193  # of these cases pass
EVERY = "-a" in sys.argv[1:]

try:
    warnings.simplefilter("ignore")
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError:
    for other in glob.glob("/opt/*/bin/python3"):  # where a machine keeps its referees
        tried = os.environ.get("NN_TRIED", "").split(":")
        if other not in tried and os.access(other, os.X_OK):
            os.execve(other, [other] + sys.argv, os.environ | {"NN_TRIED": ":".join(tried + [other])})
    print("1..0 # SKIP Python has no onnx and numpy")
    sys.exit(0)
if not os.path.exists(os.path.join(os.environ.get("NN_BUILD", "build"), "lib", "nn-onnx.so")):
    print("1..0 # SKIP built without ONNX")
    sys.exit(0)
if not os.path.isdir(DATA):
    print("1..0 # SKIP libonnx-testdata is not installed")
    sys.exit(0)


# what ops had before opset 7 and have no more: a case without is given as one of 7
OLD = {"broadcast", "is_test", "consumed_inputs"}


def load(path):
    """The graph of a case with its first output alone, of opset 7 at least where nothing but the number is older."""
    model = onnx.load(f"{path}/model.onnx")
    del model.graph.output[1:]
    for opset in model.opset_import:
        if opset.domain == "" and opset.version < 7 and not any(a.name in OLD for n in model.graph.node for a in n.attribute):
            opset.version = 7
    return model


def tensors(folder, kind):
    """The tensors input_0.pb, input_1.pb, ... of a case; None where one is no tensor."""
    found = []
    for i in range(len(glob.glob(f"{folder}/test_data_set_0/{kind}_*.pb"))):
        tensor = onnx.TensorProto()
        try:
            with open(f"{folder}/test_data_set_0/{kind}_{i}.pb", "rb") as file:
                tensor.ParseFromString(file.read())
            found.append(numpy_helper.to_array(tensor))
        except Exception:  # a sequence, an optional
            return None
    return found


def variants(model, arrays):
    """The graph with its first input as rows, and with all; (model, arrays of rows)."""
    names = [i.name for i in model.graph.input if i.name not in {t.name for t in model.graph.initializer}]
    if len(names) > 1 and len(arrays) >= len(names):
        one = onnx.ModelProto()
        one.CopyFrom(model)
        one.graph.initializer.extend(numpy_helper.from_array(a, n) for a, n in list(zip(arrays, names))[1:])
        yield one, arrays[:1]
    yield model, arrays[:len(names)]


def predict(folder, model, arrays):
    onnx.save(model, f"{folder}/m.onnx")
    if len(arrays) == 1:
        data = f"{folder}/x.npy"
        np.save(data, arrays[0])
    else:
        data = f"{folder}/x.npz"
        np.savez(data, **{i.name: a for i, a in zip(model.graph.input, arrays)})
    run = subprocess.run([PREDICT, "-o", f"{folder}/y.npy", f"{folder}/m.onnx", data], capture_output=True, timeout=60, check=False)
    return run.returncode, run.stderr.decode("utf-8", "replace")


def compare(found, wanted):
    if found.size != wanted.size:
        return f"{found.shape} values for {wanted.shape}"
    error = np.max(np.abs(found.ravel().astype(float) - wanted.ravel().astype(float)) / (1 + np.abs(wanted.ravel().astype(float))), initial=0)
    return None if error <= 1e-5 else f"differs by {error:.2g}"


def run_case(path):
    """Is it of our ops, and ("pass" | "unsupported" | "wrong" | "left out", why)."""
    model = load(path)
    ours = {n.op_type for n in model.graph.node} <= OPS
    if not ours and not EVERY:
        return ours, ("left out", "")
    arrays, wanted = tensors(path, "input"), tensors(path, "output")
    last = ("unsupported", "its inputs are no tensors")
    if not arrays or not wanted:
        return ours, last
    for made, rows in variants(model, arrays):
        with tempfile.TemporaryDirectory() as folder:
            status, said = predict(folder, made, rows)
            if status not in (0, 1) or (status == 1 and (said.count("\n") != 1 or not said.startswith("nn-predict: "))):
                return ours, ("wrong", f"status {status}: {said[:200]}")
            if status == 0:
                why = compare(np.load(f"{folder}/y.npy"), wanted[0])
                return ours, ("wrong", why) if why else ("pass", "")
            last = ("unsupported", said.strip())
    return ours, last


def main():
    verbose = "-v" in sys.argv[1:]
    names = [a for a in sys.argv[1:] if a not in ("-a", "-v")]
    paths = sorted(p for p in glob.glob(f"{DATA}/*/test_*") if os.path.exists(f"{p}/model.onnx") and "/real/" not in p
                   and (not names or os.path.basename(p) in names))
    with ThreadPoolExecutor(2) as pool:
        results = dict(zip(paths, pool.map(run_case, paths)))
    touched = {p: r for p, (ours, r) in results.items() if ours}
    passed = [p for p, r in touched.items() if r[0] == "pass"]
    wrong = [f"{os.path.basename(p)}: {why}" for p, (_, (kind, why)) in results.items() if kind == "wrong"]
    if verbose:
        for path, (ours, (kind, why)) in results.items():
            print(f"# {kind:12} {'ours' if ours else '':5}{os.path.basename(path)} {why}")
    print("1..2")
    print(f"{'not ok' if wrong else 'ok'} 1 - onnx: all {len(paths) if EVERY else len(touched)} conformance cases give the answer or one line")
    for line in wrong[:20]:
        print("#  " + line)
    print(f"{'not ok' if len(passed) < LEAST and not names else 'ok'} 2 - onnx: of {len(touched)} cases of our ops "
          f"{len(passed)} pass, the others are named unsupported")


main()
