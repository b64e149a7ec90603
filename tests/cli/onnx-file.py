#!/usr/bin/env python3
"""TAP: ONNX files made by hand, good and bad: what comes out, and one line for what does not."""
import json, os, struct, subprocess, sys, tempfile

BUILD = os.path.abspath(os.environ.get("NN_BUILD", "build"))
TRAIN, PREDICT, BENCH = (os.path.join(BUILD, "cmd", t) for t in ("nn-train", "nn-predict", "nn-bench"))
n = 0


def claim(text, *wrong):
    global n
    n += 1
    wrong = [w for w in wrong if w]
    print(f"{'not ok' if wrong else 'ok'} {n} - onnx: {text}")
    for line in wrong:
        print("#  " + str(line)[:400])


# ---- the wire format, as far as it is needed ----

def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7f | 0x80)
        v >>= 7
    return bytes(out + bytes([v]))


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, values, kind=1, raw=None):
    data = raw if raw is not None else struct.pack(f"<{len(values)}{'f' if kind == 1 else 'q'}", *values)
    return b"".join(field(1, d) for d in dims) + field(2, kind) + field(8, name) + field(9, data)


def external(name, dims, **entries):
    props = b"".join(field(13, field(1, k) + field(2, v)) for k, v in entries.items())
    return b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name) + props + field(14, 1)


def attribute(name, value):
    if isinstance(value, list):
        return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    return field(1, name) + field(3, value) + field(20, 2)


def node(op, inputs, outputs, name="", **attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name) + field(4, op)
            + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))


def value(name, dims):
    sizes = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, sizes)))


def model(nodes, tensors=(), inputs=(("x", ("N", 3)),), outputs=("y",), opset=13, meta=()):
    graph = (b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, t) for t in tensors)
             + b"".join(field(11, value(*i)) for i in inputs) + b"".join(field(12, value(o, ("N", 2))) for o in outputs))
    return (field(1, 7) + field(2, "hand") + field(7, graph) + field(8, field(1, "") + field(2, opset))
            + b"".join(field(14, field(1, k) + field(2, v)) for k, v in meta))


GEMM = node("Gemm", ["x", "w", "b"], ["y"], transB=1)
W, B = tensor("w", [2, 3], [1, 0, 0, 0, 1, 1]), tensor("b", [2], [0, 10])


def run(*command, stdin=b""):
    r = subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode("utf-8", "replace")


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)
    return name


def predict(data, rows=b"1,2,3\n", path="m.onnx"):
    return run(PREDICT, "--header=no", "--to-header=no", write(path, data), stdin=rows)


def gives(data, wanted, rows=b"1,2,3\n"):
    status, out, err = predict(data, rows)
    return None if (status, out.split(), err) == (0, wanted.split(), "") else f"{status} {out}{err}"


def refused(data, wanted):
    status, out, err = predict(data)
    return None if status == 1 and not out and err.count("\n") == 1 and wanted in err else f"wanted {wanted}: {status} {err}"


def text_of(data, outputs):
    """The text of the model that nn-train makes of it."""
    write("m.onnx", data)
    targets = "tuvwx"[:outputs]
    table = ",".join("abc" + targets) + "\n" + ",".join("123" + "4" * outputs) + "\n"
    run(TRAIN, "-q", "-m", "m.onnx", "--steps=0", "--loss=mse", "-o", "m.st", "--target=" + ",".join(targets), write("x.csv", table.encode()))
    with open("m.st", "rb") as file:
        head = file.read(struct.unpack("<Q", file.read(8))[0])
    return json.loads(head)["__metadata__"]["nn.model"]


def says(data, outputs, wanted):
    text = text_of(data, outputs)
    return None if text == wanted else text


def layers():
    claim("Gemm with and without transB, alpha, beta and a bias of one value",
          gives(model([GEMM], [W, B]), "1,15"),
          gives(model([node("Gemm", ["x", "w", "b"], ["y"], alpha=2.0, beta=0.5)], [tensor("w", [3, 2], [1, 0, 0, 1, 0, 1]), tensor("b", [1], [10])]),
                "7,15"),
          gives(model([node("Gemm", ["x", "w"], ["y"], transB=1)], [W]), "1,5"))
    product = [node("MatMul", ["x", "w"], ["p"], "fc"), node("Add", ["p", "b"], ["y"])]
    weights = [tensor("w", [3, 2], [1, 0, 0, 1, 0, 1]), tensor("b", [2], [0, 10])]
    claim("MatMul and Add are one dense layer, named as its node", gives(model(product, weights), "1,15"),
          says(model(product, weights), 2, "input 3\nfc: dense 2\n"))
    flat = node("Flatten", ["c"], ["y"])
    image = (("x", ("N", 1, 3, 1)),)
    claim("pads that differ become a kernel with zeros; what the image pads with stays",
          gives(model([node("Conv", ["x", "k"], ["c"], pads=[2, 0, 0, 0], kernel_shape=[3, 1]), flat], [tensor("k", [1, 1, 3, 1], [1, 10, 100])], image),
                "100,210,321"),
          gives(model([node("Conv", ["x", "k"], ["c"], pads=[0, 0, 1, 0], strides=[2, 1]), flat], [tensor("k", [1, 1, 2, 1], [1, 10])], image), "21,3"))
    claim("constants before and between layers scale and shift, per feature",
          gives(model([node("Sub", ["x", "m"], ["a"]), node("Div", ["a", "s"], ["c"]), node("Gemm", ["c", "w", "b"], ["y"], transB=1)],
                      [W, B, tensor("m", [3], [1, 1, 1]), tensor("s", [1], [2])]), "0,11.5"))
    silu = [node("Sigmoid", ["x"], ["s"]), node("Mul", ["s", "x"], ["y"])]
    claim("x * sigmoid(x) is silu", says(model(silu), 3, "input 3\nsilu\n"))
    both = [node("Relu", ["x"], ["r"], "act"), node("Gemm", ["r", "w", "b"], ["p"], transB=1), node("Sigmoid", ["r"], ["q"]), node("Concat", ["p", "q"], ["y"], axis=1)]
    claim("branches are lines with names and from=",
          says(model(both, [W, B]), 5, "input 3\nact: relu\nline_1: dense 2\nline_2: sigmoid from=act\nconcat from=line_1+line_2\n"))
    shape = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["g"], axis=0), node("Unsqueeze", ["g"], ["u"], axes=[0]),
             node("Concat", ["u", "rest"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])]
    claim("the shape of a Reshape may be computed from the rows' own",
          gives(model(shape, [tensor("zero", [], [0], 7), tensor("rest", [1], [-1], 7)], (("x", ("N", 1, 3)),), opset=11), "1,2,3"))
    cell = [tensor("w", [1, 1, 1], [1]), tensor("r", [1, 1, 1], [0])]
    steps, flat = (("x", ("N", 3, 1)),), node("Flatten", ["t"], ["y"])

    def recurrent(outputs, *after, op="RNN", extra=(), weights=cell, **attributes):
        return model([node("Transpose", ["x"], ["s"], perm=[1, 0, 2]), node(op, ["s", "w", "r", *extra], outputs, hidden_size=1, **attributes), *after], weights, steps)

    states = [node("Squeeze", ["h"], ["q"], axes=[1]), node("Transpose", ["q"], ["t"], perm=[1, 0, 2]), flat]
    claim("a recurrent layer with steps before rows, as exporters write it: its steps, and its last state",
          says(recurrent(["h"], *states), 3, "input 3x1\nrnn 1 bias=no\nflatten\n"),
          gives(recurrent(["h"], *states), "0.7615942,0.9640276,0.9950548"),
          gives(recurrent(["h", "l"], node("Squeeze", ["l"], ["y"], axes=[0])), "0.9950548"),
          gives(recurrent(["h"], node("Squeeze", ["h"], ["q"], axes=[1]), node("Gather", ["q", "one"], ["y"], axis=0), weights=cell + [tensor("one", [], [1], 7)]), "0.9640276"))
    zeros = tensor("z", [1, 1, 1], [0])
    claim("recurrent layers that ours are not are named",
          refused(recurrent(["h"], *states, op="GRU"), "linear_before_reset=0 is not supported"),
          refused(recurrent(["h"], *states, extra=["", "", "z"], weights=cell + [tensor("z", [1, 1, 1], [1])]), "a state that does not begin as zeros"),
          gives(recurrent(["h"], *states, extra=["", "", "z"], weights=cell + [zeros]), "0.7615942,0.9640276,0.9950548"),
          refused(recurrent(["h"], *states, extra=["", "z"], weights=cell + [zeros]), "sequence_lens are not supported"),
          refused(recurrent(["h"], *states, clip=2.0), "clip and input_forget are not supported"),
          refused(recurrent(["h"], *states, op="LSTM"), "W is 1x1x1 (f32), expected 1x4x1 of numbers"),
          refused(recurrent(["h"], node("Relu", ["h"], ["y"])), "takes rows that are dimension 3, expected the first one"),
          refused(recurrent(["h"], node("Identity", ["h"], ["y"])), "output 'y': has its rows as dimension 3"),
          refused(recurrent(["h"], node("Reshape", ["h", "to"], ["y"]), weights=cell + [tensor("to", [2], [0, -1], 7)]), "mixes rows"),
          refused(model([node("RNN", ["x", "w", "r"], ["y"], hidden_size=1)], cell, steps), "rows of 3x1 as dimension 1 are not supported"))
    claim("nodes that nothing depends on are left out, whatever they are", gives(model([node("LSTM", ["x"], ["z"]), GEMM], [W, B]), "1,15"))


def refusals():
    claim("what is not supported is named with its node",
          refused(model([GEMM, node("Det", ["y"], ["z"], "square")], [W, B], outputs=("z",)), "m.onnx: node 2 (square): op Det is not supported"),
          refused(model([node("FusedGemm", ["x", "w"], ["y"]) + field(7, "com.microsoft")], [W]), "op FusedGemm is not supported"),
          refused(model([field(1, "x") + field(2, "y")]), "node 1: has no op_type"),
          refused(model([GEMM], [W, B], opset=6), "opset 6, supported are 7 to 22"),
          refused(model([GEMM], [W, B], (("x", ("N", "height")),)), "input 'x': dimension 2 (height) has no size"))
    claim("a graph with a loop, a name twice, without inputs or outputs",
          refused(model([node("Add", ["x", "z"], ["y"]), node("Relu", ["y"], ["z"])]), "node 1: nothing before it gives its input 'z'"),
          refused(model([GEMM, node("Relu", ["x"], ["y"])], [W, B]), "two things are named 'y'"),
          refused(model([GEMM], [W, B], outputs=("nowhere",)), "nothing gives the output 'nowhere'"),
          refused(model([GEMM], [W, B], outputs=()), "the graph has no output"))
    claim("dimensions that lie are refused before memory is taken",
          refused(model([GEMM], [tensor("w", [2, 3 << 40], [1]), B]), "initializer 'w'"),
          refused(model([GEMM], [tensor("w", [1 << 40, 1 << 40], [1]), B]), "overflows"),
          refused(model([GEMM], [tensor("w", [-2, 3], [1]), B]), "a dimension of -2"),
          refused(model([GEMM], [W, B], (("x", ("N", 1 << 40, 1 << 40)),)), "overflows"),
          refused(model([GEMM], [tensor("w", [1] * 20, [1]), B]), "20 dimensions"))
    claim("a million nodes and more are counted, not read", refused(model([node("Relu", ["x"], ["y"])] + [b""] * 1000000), "more than 1000000 nodes (--limit=nodes=2000000)"))
    deep = b""
    for _ in range(20000):
        deep = field(5, field(1, "then_branch") + field(6, field(1, deep)) + field(20, 5)) + field(4, "If") + field(2, "y")
    deep = field(1, "x") + deep
    claim("graphs in attributes are not opened, however deep", refused(model([deep]), "op If is not supported"))
    whole = model([GEMM], [W, B])
    wrong = []
    for cut in range(0, len(whole), 3):
        status, _, err = predict(whole[:cut])
        if status not in (0, 1) or (status == 1 and err.count("\n") != 1):
            wrong.append(f"cut at {cut}: {status} {err}")
    claim("a file that ends early anywhere gives one line", *wrong[:3])
    claim("our own scales must be those of the nodes", refused(model([GEMM], [W, B], meta=[("nn.version", "1"), (
        "nn.input", '{"columns":[{"kind":"number","mean":1,"name":"a","sd":2},{"kind":"number","name":"b"},{"kind":"number","name":"c"}],"shape":[3]}')]),
        "the scales of nn.input in its metadata are not those of its nodes"))


def outside():
    os.makedirs("in/sub", exist_ok=True)
    data = struct.pack("<8f", 0, 0, 1, 0, 0, 0, 1, 1)
    for name in ("in/w.bin", "in/sub/w.bin", "out.bin"):
        write(name, data)
    if not os.path.lexists("in/link.bin"):
        os.symlink("w.bin", "in/link.bin")
        os.symlink("sub", "in/folder")
        os.link("out.bin", "in/hard.bin")
        os.mkfifo("in/fifo.bin")

    def case(**entries):
        return predict(model([GEMM], [external("w", [2, 3], **entries), B]), path="in/m.onnx")

    def bad(wanted, **entries):
        status, _, err = case(**entries)
        return None if status == 1 and wanted in err and err.count("\n") == 1 else f"{entries}: {status} {err}"

    claim("external data beside the model and below are read", *[None if case(location=w, offset="8", length="24")[:2] == (0, "1,15\n") else case(location=w, offset="8")
                                                                 for w in ("w.bin", "sub/w.bin", "./w.bin")])
    claim("external data elsewhere, over links, with other names, or no file are refused",
          bad("without links", location="../out.bin"), bad("without links", location=os.path.abspath("out.bin")), bad("without links", location="link.bin"),
          bad("without links", location="folder/w.bin"), bad("hard links", location="hard.bin"), bad("not a regular file", location="fifo.bin"),
          bad("not a regular file", location="sub"), bad("No such file", location="none.bin"))
    claim("offset and length lie within the file and are those of the tensor",
          bad("exceed", location="w.bin", offset="16"), bad("exceed", location="w.bin", offset=str((1 << 64) - 8)), bad("length is 8", location="w.bin", length="8"),
          bad("whole number", location="w.bin", offset="-1"), bad("without a location", offset="0"))
    def kept(*command):
        status, out, err = run(*command)
        with open("in/sub/w.bin", "rb") as file:
            same = file.read() == before
        return None if status == 2 and not out and "would be lost" in err and err.count("\n") == 1 and same else f"{command}: {status} {err}"

    with open("in/sub/w.bin", "rb") as file:
        before = file.read()
    path, rows, loss = write("in/m.onnx", model([GEMM], [external("w", [2, 3], location="sub/w.bin"), B])), write("one.csv", b"1,2,3"), "in/sub/../sub/w.bin"
    claim("external data are inputs: no output is written over them",
          kept(PREDICT, path, rows, "-o", loss), kept(PREDICT, path, rows, "--log", loss), kept(PREDICT, "--info", path, "-o", loss),
          kept(TRAIN, "-m", path, "--steps=0", "-o", loss), kept(TRAIN, "-m", "dense 2", "--init", path, rows, "-o", loss), kept(BENCH, "run", path, "-o", loss))
    whole = model([GEMM], [external("w", [2, 3], location="w.bin"), B])
    piped = run("/bin/sh", "-c", f"cat | {PREDICT} --header=no /dev/stdin {write('one.csv', b'1,2,3')}", stdin=whole)
    claim("a model from a pipe has no folder", None if piped[0] == 1 and "from a pipe has no folder" in piped[2] else piped)


def elsewhere():
    write("m.onnx", model([GEMM], [W, B]))
    status, out, err = run(BENCH, "run", "--time=0.05", "m.onnx")
    claim("nn-bench run takes it", None if status == 0 and "m.onnx" in out else (status, out, err))


def main():
    if not os.path.exists(f"{BUILD}/lib/nn-onnx.so"):
        print("1..0 # SKIP nn-onnx is not built")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        layers()
        refusals()
        outside()
        elsewhere()
        os.chdir("/")
    print(f"1..{n}")


main()
