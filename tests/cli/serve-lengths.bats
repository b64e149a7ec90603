#!/usr/bin/env bats
# nn-serve: rows of different length (input ?xN), with nn-predict's bytes whoever shares the batch.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load serve.bash

setup_file() {
  begin_serve || return 0
  command -v python3 >/dev/null || { export LACKING="no python3"; return 0; }
  python3 - <<'P'
import json, random, struct, zipfile
random.seed(3)
rows = [[[round(random.uniform(-1, 1), 3) for _ in range(2)] for _ in range(1 + i * 7 % 9)] for i in range(40)]
with open("rows.jsonl", "w") as a, open("steps.jsonl", "w") as b:
    for row in rows:
        print(json.dumps({"x": row, "y": "abc"[len(row) % 3]}), file=a)
        print(json.dumps({"x": row, "y": ["ab"[v[0] > 0] for v in row]}), file=b)
# beside them three numbers a row
side = [[round(random.uniform(-1, 1), 3) for _ in range(3)] for _ in rows]
def npy(code, shape, values):
    head = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (code, shape)
    head += " " * ((64 - (10 + len(head) + 1) % 64) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%d%s" % (len(values), "f" if code == "f4" else "q"), *values)
with zipfile.ZipFile("two.npz", "w") as z:
    z.writestr("a.npy", npy("f4", (40, 9, 2), [v for row in rows for step in row + [[0, 0]] * (9 - len(row)) for v in step]))
    z.writestr("b.npy", npy("f4", (40, 3), [v for row in side for v in row]))
    z.writestr("lengths.npy", npy("i8", (40,), [len(row) for row in rows]))
    z.writestr("y.npy", npy("i8", (40,), [len(row) % 3 for row in rows]))
with open("two.rows", "w") as a, open("two.columns", "w") as b:
    json.dump({"instances": [{"b": s, "a": r} if len(r) % 2 else {"a": r, "b": s} for r, s in zip(rows, side)]}, a)
    json.dump({"inputs": {"b": side, "a": rows}}, b)
P
  local attention='dense 6, attention 2 causal=no, layernorm'
  nn-train -q -m "input ?x2, $attention, lstm 5 bidirectional=yes, last, dense ?" rows.jsonl --loss=cross-entropy --epochs=3 -o rows.st
  nn-train -q -m "input ?x2, $attention, gru 5, dense ?" steps.jsonl --loss=cross-entropy --epochs=3 -o steps.st
  nn-predict rows.st rows.jsonl >rows.want
  nn-predict steps.st steps.jsonl >steps.want
  cat >ask.py <<'P'
# ask.py PORT CLIENTS REQUESTS: one to six rows a request, every other model and protocol; each answer beside nn-predict's, bit by bit
import http.client, json, random, struct, sys, threading
port, clients, requests = map(int, sys.argv[1:])

def bits(values):
    flat = []
    def walk(v):
        for x in v.values() if isinstance(v, dict) else v:
            flat.append(x) if isinstance(x, (int, float)) else walk(x)
    walk(values)
    return struct.pack("<%df" % len(flat), *flat)

rows = [json.loads(line)["x"] for line in open("rows.jsonl")]
want = {m: [bits(json.loads(line)["probs"]) for line in open(m + ".want")] for m in ("rows", "steps")}
wrong = []

def post(c, path, body, **headers):
    c.request("POST", path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    answer = c.getresponse()
    body = answer.read()
    assert answer.status == 200, body
    return body, answer.getheader("Inference-Header-Content-Length")

def ask(c, r, n):
    m, kind = r.choice(("rows", "steps")), r.choice(("list", "object", "column", "json", "binary", "raw"))
    picked = [r.randrange(40) for _ in range(n)]
    if kind in ("list", "object", "column"):
        body = {"inputs" if kind == "column" else "instances": [{"input": rows[i]} if kind == "object" else rows[i] for i in picked]}
        got = json.loads(post(c, f"/v1/models/{m}:predict", json.dumps(body))[0])
        got = [bits(row) for row in got["outputs" if kind == "column" else "predictions"]]
    else: # one shape a request
        picked = picked[:1] if kind == "raw" else [i for i in picked if len(rows[i]) == len(rows[picked[0]])]
        raw = b"".join(bits(rows[i]) for i in picked)
        tensor = {"name": "input", "datatype": "FP32", "shape": [len(picked), len(rows[picked[0]]), 2]}
        if kind == "json":
            tensor["data"] = [rows[i] for i in picked]
        else:
            tensor["parameters"] = {"binary_data_size": len(raw)}
        head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": kind == "binary"}}).encode()
        if kind == "raw":
            answer, size = post(c, f"/v2/models/{m}/infer", raw, Inference_Header_Content_Length="0")
        elif kind == "binary":
            answer, size = post(c, f"/v2/models/{m}/infer", head + raw, Inference_Header_Content_Length=str(len(head)))
        else:
            answer, size = post(c, f"/v2/models/{m}/infer", head)
        output = json.loads(answer[:int(size)] if size else answer)["outputs"][0]
        assert output["shape"] == [len(picked)] + [len(rows[picked[0]]), 2][:m == "steps"] + [2 if m == "steps" else 3], output["shape"]
        flat = answer[int(size):] if size else bits(output["data"])
        each = len(flat) // len(picked)
        got = [flat[i * each:(i + 1) * each] for i in range(len(picked))]
    if got != [want[m][i] for i in picked]:
        wrong.append((m, kind, picked))

def client(seed):
    try:
        r, c = random.Random(seed), http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for _ in range(requests):
            ask(c, r, r.randint(1, 6))
    except Exception as e:
        wrong.append(repr(e))

threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
[t.start() for t in threads]
[t.join() for t in threads]
sys.exit(f"{len(wrong)} wrong: {wrong[:3]}" if wrong else 0)
P
}

# of the server's metrics: batches of more than one row
shared() {
  curl -sS "$url/metrics" | awk '/^nn_batch_rows_bucket.*model="(rows|steps)".*le="1"/ { n -= $NF } /^nn_batch_rows_count.*model="(rows|steps)"/ { n += $NF } END { print n }'
}

@test "serve: rows of different length share batches under load, with nn-predict's bytes in every protocol" {
  local options
  for options in --max-delay=3000 --max-delay=0 --ranks=2; do
    serve rows.st steps.st "$options"
    python3 ask.py "${url##*:}" 8 60
    [ "$(shared)" -gt 0 ]
    stop
  done
}

@test "serve: a model from elsewhere, without nn.input, knows from its text that rows have lengths" {
  python3 - <<'P'
import json, struct
raw = open("rows.st", "rb").read()
n = int.from_bytes(raw[:8], "little")
head = json.loads(raw[8:8 + n])
head["__metadata__"] = {k: head["__metadata__"][k] for k in ("nn.model", "nn.version")}
head = json.dumps(head).encode()
open("bare.st", "wb").write(struct.pack("<Q", len(head)) + head + raw[8 + n:])
P
  python3 -c 'import zipfile; open("all.npy", "wb").write(zipfile.ZipFile("two.npz").read("a.npy"))' # all of 9 steps
  serve bare.st
  ask 200 /predict/bare --data-binary @rows.jsonl
  nn-predict --emit=logits rows.st rows.jsonl | cmp answer -
  ask 200 /predict/bare --data-binary @all.npy
  nn-predict --emit=logits rows.st all.npy | cmp answer -
  stop
}

@test "serve: metadata says -1 for the steps of a row" {
  serve rows.st steps.st
  ask 200 /v2/models/steps
  [[ $answer == *'"inputs":[{"name":"input","datatype":"FP32","shape":[-1,-1,2]}],"outputs":[{"name":"output","datatype":"FP32","shape":[-1,-1,2]}]'* ]]
  ask 200 /v2/models/rows
  [[ $answer == *'"inputs":[{"name":"input","datatype":"FP32","shape":[-1,-1,2]}],"outputs":[{"name":"output","datatype":"FP32","shape":[-1,3]}]'* ]]
  ask 200 /v2/models/rows/config
  [[ $answer == *'"dims":[-1,2]'*'"dims":[3]'* ]]
  ask 200 /v1/models/rows/metadata
  [[ $answer == *'"inputs":{"input":{"dtype":"DT_FLOAT","tensor_shape":{"dim":[{"size":"-1","name":""},{"size":"-1","name":""},{"size":"2","name":""}]'* ]]
  nn-bench -q load "$url" --model=rows --time=0.1 --to=jsonl | grep -q '"errors":0'
  stop
}

@test "serve: JSON lines of any length have nn-predict's bytes, an output of steps is as long as its row" {
  serve rows.st steps.st
  local model
  for model in rows steps; do
    ask 200 "/predict/$model" --data-binary "@$model.jsonl"
    cmp answer $model.want
    ask 200 "/predict/$model?emit=class" --data-binary "@$model.jsonl"
    nn-predict --emit=class $model.st $model.jsonl | cmp answer -
  done
  ask 400 /predict/rows --data-binary '{"x":[[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2]]}'
  [[ $answer == *'row 1 has 10 steps, the model takes at most 9'* ]]
  stop
}

@test "serve: an input of any length beside one of one length, as rows, as columns and as arrays" {
  nn-train -q -m 'b: input 3, dense 4, d: tanh, a: input ?x2, gru 5, p: last, concat from=p+d, dense ?' two.npz --loss=cross-entropy --epochs=1 -o two.st
  nn-predict two.st two.npz --to=jsonl >two.want
  serve two.st
  ask 200 /predict/two --data-binary @two.npz -H 'Accept: application/x-ndjson'
  cmp answer two.want
  local form
  for form in rows columns; do
    ask 200 /v1/models/two:predict -d @two.$form
    python3 - <<'P'
import json, struct
answer = json.load(open("answer"))
got = answer.get("predictions") or answer["outputs"]
want = [list(json.loads(line)["probs"].values()) for line in open("two.want")]
assert [struct.pack("<3f", *row) for row in got] == [struct.pack("<3f", *row) for row in want]
P
  done
  stop
}

@test "serve: what does not fit is refused by its row, its length and the longest; no rows are none" {
  serve steps.st
  local one='[1,2]' ten
  ten="[$one,$one,$one,$one,$one,$one,$one,$one,$one,$one]"
  # refused BODY MESSAGE
  refused() {
    ask 400 /v1/models/steps:predict -d "$1"
    [[ $answer == "{\"error\":\""*"$2"* ]] || { echo "$1: $answer"; return 1; }
  }
  refused "{\"instances\":[[$one],$ten]}" 'input \"input\": row 2 has 10 steps, the model takes 1 to 9'
  refused "{\"instances\":[{\"input\":[$one]},{\"input\":$ten}]}" 'input \"input\": row 2 has 10 steps, the model takes 1 to 9'
  refused "{\"inputs\":[[$one],[]]}" 'input \"input\": row 2 has 0 steps, the model takes 1 to 9'
  refused "{\"instances\":[{\"input\":[]}]}" 'input \"input\": row 1 has 0 steps, the model takes 1 to 9'
  refused "{\"instances\":[[$one],[[1,2,3]]]}" 'row 2: input \"input\": found shape [1,3], expected [-1,2]'
  refused "{\"instances\":[[$one],$one]}" 'row 2: input \"input\": found shape [2], expected [-1,2]'
  refused "{\"instances\":[[$one],[$one,[1]]]}" 'found an array of 1, expected 2 as before'
  refused "{\"instances\":[[$one],7]}" 'row 2: input \"input\": found shape [], expected [-1,2]'
  refused "{\"instances\":[[$one]" 'JSON, byte '
  # tensor SHAPE DATA MESSAGE
  tensor() {
    ask 400 /v2/models/steps/infer -d "{\"inputs\":[{\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":$1,\"data\":$2}]}"
    [[ $answer == *"$3"* ]] || { echo "$1: $answer"; return 1; }
  }
  tensor '[1,10,2]' "$ten" 'row 1 has 10 steps, the model takes 1 to 9'
  tensor '[1,0,2]' '[]' 'row 1 has 0 steps, the model takes 1 to 9'
  tensor '[1,2]' '[1,2]' 'found shape [1,2], expected [-1,-1,2]'
  tensor '[9000000000000000,1,2]' '[1,2]' 'do not have its shape'
  head -c 80 /dev/zero >zeros
  ask 400 /v2/models/steps/infer -H 'Inference-Header-Content-Length: 0' --data-binary @zeros
  [[ $answer == *'row 1 has 10 steps, the model takes 1 to 9'* ]]
  head -c 12 /dev/zero >zeros
  ask 400 /v2/models/steps/infer -H 'Inference-Header-Content-Length: 0' --data-binary @zeros
  [[ $answer == *'found 12 bytes, expected steps of FP32, 8 bytes each'* ]]
  ask 200 /v1/models/steps:predict -d '{"instances":[]}'
  [ "$answer" = '{"predictions":[]}' ]
  ask 200 /v2/models/steps/infer -d '{"inputs":[{"name":"input","datatype":"FP32","shape":[0,1,2],"data":[]}]}'
  ask 200 /v1/models/steps:null:predict -d "{\"instances\":[[$one],[$one,$one]]}"
  [ "$answer" = '{"predictions":[[[0.5,0.5]],[[0.5,0.5],[0.5,0.5]]]}' ]
  stop
}
