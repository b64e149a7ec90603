#!/usr/bin/env bats
# nn-serve as the clients of others see it, and the files of nn-predict as bodies.
# shellcheck disable=SC2154,SC2016
bats_require_minimum_version 1.5.0
load serve.bash

setup_file() {
  begin_serve || return 0
  . "$NN_SRC/tests/cli/train-data.sh"
  # a column of text, with a quote in it
  make_words 200 | sed -E 's/^([^,]*,[^,]*),-[^,]*/\1,"mi""nus"/; s/^([^,]*,[^,]*),[0-9][^,]*/\1,plus/' >words.csv
  nn-train -q --target=kind --epochs=3 -m 'dense 8, tanh, dense ?' -o words.st words.csv
  cut -d, -f1-3 words.csv | head -n 20 >rows.csv
  cat >make.py <<'P'
import struct
def npy(path, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * ((64 - (10 + len(head) + 1) % 64) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values))
n = 40
npy("x.npy", (n, 4), [((i * 37) % 101) / 50 - 1 for i in range(n * 4)])
npy("y.npy", (n, 2), [((i * 53) % 97) / 40 for i in range(n * 2)])
npy("none.npy", (0, 4), [])
npy("image.npy", (n, 1, 3, 3), [((i * 37) % 101) / 50 - 1 for i in range(n * 9)])
npy("maps.npy", (n, 2, 3, 3), [((i * 53) % 97) / 40 for i in range(n * 18)])
P
  python3 make.py
  nn-train -q --epochs=2 -m 'input 4, dense 8, relu, dense 2' -o plain.st x.npy y.npy
  nn-train -q --epochs=1 -m 'input 1x3x3, conv2d 2 3x3 pad=1' -o image.st image.npy maps.npy
  nn-train -q -m plain.st --steps=0 --precision=int8 -o small.st
}

@test "serve: /predict/NAME answers with the bytes of nn-predict's standard output" {
  head -n 1 rows.csv | tr , '\n' >names
  tail -n +2 rows.csv | python3 -c 'import csv, json, sys
names = open("names").read().split()
for row in csv.reader(sys.stdin):
    print(json.dumps(dict(zip(names, row))))' >rows.jsonl

  printf '0.5,1,2,3\n-1,0,0.25,7\n' >plain.csv
  serve words.st plain.st image.st small.st
  local model file
  for pair in words:rows.csv words:rows.jsonl small:x.npy plain:x.npy plain:none.npy plain:plain.csv image:image.npy; do
    model=${pair%:*} file=${pair#*:}
    nn-predict "$model.st" "$file" >wanted
    ask 200 "/predict/$model" --data-binary "@$file"
    cmp answer wanted || { echo "$pair"; return 1; }
  done
  nn-predict --to=csv plain.st x.npy >wanted
  ask 200 /predict/plain --data-binary @x.npy -H 'Accept: text/csv'
  cmp answer wanted
  nn-predict --to=npy words.st rows.csv >wanted
  ask 200 /predict/words --data-binary @rows.csv -H 'accept: application/x-npy'
  cmp answer wanted
  nn-predict --to=jsonl image.st image.npy >wanted
  ask 200 /predict/image --data-binary @image.npy -H 'Accept: application/x-ndjson'
  cmp answer wanted
  stop
}

@test "serve: several arrays in a body of /predict/NAME are answered by as many, and none by none" {
  cat x.npy none.npy x.npy >arrays.npy
  serve plain.st
  nn-predict plain.st <arrays.npy >wanted
  ask 200 /predict/plain --data-binary @arrays.npy
  cmp answer wanted
  nn-predict --to=csv plain.st <arrays.npy >wanted
  ask 200 /predict/plain --data-binary @arrays.npy -H 'Accept: text/csv'
  cmp answer wanted
  cat x.npy words.st >arrays.npy
  ask 400 /predict/plain --data-binary @arrays.npy
  local type
  for type in application/x-npy application/x-ndjson text/csv; do
    [ "$(curl -sS -m 60 -w '%{http_code} %{content_type}' -H "Content-Type: $type" -d '' "$url/predict/plain")" = "200 $type" ]
  done
  nn-predict --to=npy plain.st </dev/null >wanted
  ask 200 /predict/plain -d '' -H 'Accept: application/x-npy'
  cmp answer wanted
  stop
}

@test "serve: a bad row of /predict/NAME is 400 with its place, and no other answer" {
  serve words.st plain.st
  printf '0.5,1,2,3\n-1,0,x,7\n' >bad.csv
  ask 400 /predict/plain --data-binary @bad.csv
  [[ $answer == '{"error":"body:2:3: found \"x\"'* ]]
  head -c 200 x.npy >short.npy
  ask 400 /predict/plain --data-binary @short.npy
  [[ $answer == *error* ]]
  python3 -c 'import zipfile
for name, method in ("stored.npz", 0), ("deflated.npz", 8):
    zipfile.ZipFile(name, "w", method).write("x.npy")'
  nn-predict plain.st stored.npz >wanted
  ask 200 /predict/plain --data-binary @stored.npz
  cmp answer wanted
  ask 400 /predict/plain --data-binary @deflated.npz
  [ "$answer" = '{"error":"body: x.npy: is deflated, expected an array as it is (numpy.savez)"}' ]
  ask 404 /predict/nobody --data-binary @bad.csv
  ask 405 /predict/plain
  ask 200 /predict/plain --data-binary ''
  [ ! -s answer ]
  stop
}

@test "serve: tritonclient talks to it, in JSON and in binary" {
  $PYTHON -c 'import numpy, tritonclient.http' 2>/dev/null || skip "no tritonclient.http"
  serve words.st plain.st
  nn-predict --to=npy plain.st x.npy >wanted.npy
  nn-predict --to=npy words.st rows.csv >words.npy
  $PYTHON - "${url#http://}" <<'P'
import csv, sys
import numpy as np
import tritonclient.http as http
c = http.InferenceServerClient(sys.argv[1])
assert c.is_server_live() and c.is_server_ready() and c.is_model_ready("plain") and not c.is_model_ready("nobody")
assert "binary_tensor_data" in c.get_server_metadata()["extensions"]
assert c.get_model_metadata("plain")["inputs"] == [{"name": "input", "datatype": "FP32", "shape": [-1, 4]}]
assert c.get_model_config("plain")["max_batch_size"] == 64
x, wanted = np.load("x.npy"), np.load("wanted.npy")
for there in (False, True):
    for back in (False, True):
        i = http.InferInput("input", list(x.shape), "FP32")
        i.set_data_from_numpy(x, binary_data=there)
        r = c.infer("plain", [i], outputs=[http.InferRequestedOutput("output", binary_data=back)], request_id="7", timeout=10000000)
        assert r.as_numpy("output").tobytes() == wanted.tobytes(), (there, back)
        assert r.get_response()["id"] == "7"
i = http.InferInput("input", list(x.shape), "FP64")
i.set_data_from_numpy(x.astype("f8"))
assert c.infer("plain", [i]).as_numpy("output").tobytes() == wanted.tobytes()
r = c.infer("plain", [i], outputs=[http.InferRequestedOutput("output", class_count=1)])
best = [int(s.decode().split(":")[1]) for s in r.as_numpy("output").reshape(-1)]
assert best == wanted.argmax(1).tolist()
rows = list(csv.DictReader(open("rows.csv")))
types = {i["name"]: i["datatype"] for i in c.get_model_metadata("words")["inputs"]}
for binary in (False, True):
    inputs = []
    for name, kind in types.items():
        column = [row[name] for row in rows]
        a = np.array(column, dtype=object if kind == "BYTES" else "f4")
        inputs.append(http.InferInput(name, [len(rows)], kind))
        inputs[-1].set_data_from_numpy(a, binary_data=binary)
    r = c.infer("words", inputs, outputs=[http.InferRequestedOutput(n, binary_data=binary) for n in ("probs", "class")])
    assert r.as_numpy("probs").tobytes() == np.load("words.npy").tobytes()
    assert len(r.as_numpy("class")) == len(rows)
stats = c.get_inference_statistics("plain")["model_stats"][0]
assert stats["inference_count"] == 6 * 40 and stats["inference_stats"]["success"]["count"] == 6
try:
    c.load_model("plain")
    sys.exit("load over TCP")
except http.InferenceServerException as e:
    assert "key" in e.message()
try:
    i = http.InferInput("input", [1, 5], "FP32")
    i.set_data_from_numpy(np.zeros((1, 5), "f4"))
    c.infer("plain", [i])
    sys.exit("a wrong shape")
except http.InferenceServerException as e:
    assert "[-1,4]" in e.message()
P
  stop
}

@test "serve: requests talks to TensorFlow Serving's paths on one connection" {
  $PYTHON -c 'import numpy, requests' 2>/dev/null || skip "no requests"
  serve plain.st words.st
  nn-predict --to=npy plain.st x.npy >wanted.npy
  $PYTHON - "$url" <<'P'
import sys
import numpy as np
import requests
s, url = requests.Session(), sys.argv[1]
x, wanted = np.load("x.npy"), np.load("wanted.npy")
for _ in range(3):
    r = s.post(url + "/v1/models/plain:predict", json={"instances": x.tolist()})
    assert r.status_code == 200, r.text
    assert np.array(r.json()["predictions"], "f4").tobytes() == wanted.tobytes()
    assert {p.split(";")[0].strip() for p in r.headers["server-timing"].split(",")} == {"read", "parse", "queue", "compute", "format"}
r = s.post(url + "/predict/plain", data=open("x.npy", "rb").read(), headers={"Content-Type": "application/x-npy"})
assert r.content == open("wanted.npy", "rb").read() and r.headers["content-type"] == "application/x-npy"
r = s.post(url + "/v1/models/plain:predict", json={"instances": [[1, 2]]})
assert r.status_code == 400 and "[-1,4]" in r.json()["error"]
m = s.get(url + "/v1/models/words/metadata").json()["metadata"]["signature_def"]["signature_def"]["serving_default"]
assert m["outputs"]["class"]["dtype"] == "DT_STRING"
families = [l.split()[2] for l in s.get(url + "/metrics").text.splitlines() if l.startswith("# TYPE")]
assert len(families) == len(set(families)) and "nn_requests_total" in families
assert s.get(url + "/", headers={"Accept": "text/html"}).text.startswith("<!DOCTYPE html>")
P
  stop
}

@test "serve: bodies that are cut, repeated or spoilt are refused, and the next one is answered" {
  serve plain.st words.st
  python3 - "${url#http://}" <<'P'
import http.client, random, sys
random.seed(5)
v1 = b'{"signature_name":"serving_default","instances":[[0.5,1,2,3],[-1,0,0.25,7e-3]]}'
v2 = b'{"id":"a","parameters":{"timeout":10000000},"inputs":[{"name":"input","shape":[2,4],"datatype":"FP32","data":[0.5,1,2,3,-1,0,0.25,7]}],"outputs":[{"name":"output","parameters":{"classification":2}}]}'
rows = open("rows.csv", "rb").read()
npy = open("x.npy", "rb").read()
bodies = [("/v1/models/plain:predict", v1), ("/v2/models/plain/infer", v2), ("/predict/words", rows), ("/predict/plain", npy)]
c = http.client.HTTPConnection(sys.argv[1], timeout=60)
seen = set()
for n in range(1500):
    path, body = random.choice(bodies)
    body = bytearray(body)
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(body))
        what = random.randrange(4)
        if what == 0:
            del body[at:at + random.randrange(1, 20)]
        elif what == 1:
            body[at:at] = body[max(0, at - 12):at] * random.randrange(1, 4)
        elif what == 2:
            body[at] = random.choice(b'\0"{}[],:-9eNn\\\xff ')
        else:
            del body[at:]
        if not body:
            body = bytearray(b" ")
    headers = {"Inference-Header-Content-Length": str(random.choice([0, 5, len(body), len(body) + 1]))} if "v2" in path and n % 3 == 0 else {}
    c.request("POST", path, bytes(body), headers)
    r = c.getresponse()
    r.read()
    seen.add(r.status)
    assert r.status in (200, 400), (r.status, path, body)
assert seen == {200, 400}, seen
P
  ask 200 /v1/models/plain:predict -d '{"instances": [[0.5, 1, 2, 3]]}'
  stop
}

@test "serve: --key-file says who may predict and who may administer, --access-log what was answered" {
  printf 'reader predict\nboss admin\n' >keys
  chmod 644 keys
  run -1 --separate-stderr nn-serve --listen=127.0.0.1:0 --key-file=keys plain.st
  [[ $stderr == *chmod* ]]
  chmod 600 keys
  rm -f log log.1
  serve --key-file=keys --access-log=log plain.st
  local body='{"instances": [[0.5, 1, 2, 3], [1, 1, 1, 1]]}'
  ask 200 /v2/health/ready
  ask 401 /v1/models/plain:predict -d "$body"
  ask 401 /v1/models/plain:predict -d "$body" -H 'Authorization: Bearer boss2'
  ask 403 /v1/models/plain:predict -d "$body" -H 'Authorization: Bearer boss'
  ask 200 /v1/models/plain:predict -d "$body" -H 'Authorization: Bearer reader'
  ask 403 /v2/repository/models/plain/load -d '' -H 'Authorization: Bearer reader'
  mv log log.1
  kill -USR1 "$server"
  for ((i = 0; i < 500; i++)); do [ ! -e log ] || break; sleep 0.02; done
  ask 200 /v2/repository/models/plain/load -d '' -H 'authorization: bearer boss'
  stop
  python3 - <<'P'
import json
a, b = ([json.loads(l) for l in open(f)] for f in ("log.1", "log"))
assert [e["status"] for e in a] == [200, 401, 401, 403, 200, 403], a
assert (a[4]["model"], a[4]["rows"], a[4]["method"], a[4]["path"]) == ("plain", 2, "POST", "/v1/models/plain:predict"), a[4]
assert [e["path"] for e in b] == ["/v2/repository/models/plain/load"], b
assert not any("reader" in l or "boss" in l for f in ("log.1", "log") for l in open(f))
P
}
