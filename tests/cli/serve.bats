#!/usr/bin/env bats
# nn-serve: models behind a socket, as curl sees them.
# shellcheck disable=SC2154,SC2016
bats_require_minimum_version 1.5.0
load serve.bash

setup_file() {
  begin_serve || return 0
  . "$NN_SRC/tests/cli/train-data.sh"
  cp "$NN_SRC/share/data/digits.csv.gz" .
  nn-train -q --target=digit --loss=cross-entropy --epochs=1 -m 'dense 16, relu, dense ?' -o digits.st digits.csv.gz
  make_words 200 >words.csv
  nn-train -q --target=kind --epochs=3 -m 'dense 8, tanh, dense ?' -o words.st words.csv
  make_prices 200 >prices.csv
  nn-train -q --target=price --epochs=3 -m 'dense 8, tanh, dense ?' -o prices.st prices.csv
  printf '0.5,1,2\n-1,0.25,3e-3\n' >rows.csv
  # a plain net of arrays: four numbers, two of them out
  python3 - <<'P' || true
import struct
def npy(path, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * ((64 - (10 + len(head) + 1) % 64) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values))
n = 60
npy("x.npy", (n, 4), [((i * 37) % 101) / 50 - 1 for i in range(n * 4)])
npy("y.npy", (n, 2), [((i * 53) % 97) / 40 for i in range(n * 2)])
npy("two.npy", (2, 4), [0.5, 1, 2, 3, -1, 0, 0.25, 7])
P
  nn-train -q --epochs=2 -m 'input 4, dense 8, relu, dense 2' -o plain.st x.npy y.npy
}

# of a JSON body, the numbers in it, a line each
numbers() {
  tr -s '[]{},:" \n' '\n' | grep -E '^-?[0-9]' || true
}

# the same single-precision numbers, however they are written
same_numbers() {
  python3 -c 'import struct, sys
a, b = ([struct.pack("<f", float(w)) for w in open(f).read().split()] for f in sys.argv[1:])
sys.exit(a != b)' "$1" "$2" || { paste "$1" "$2"; return 1; }
}

# traced: strace counts the system calls of all threads of the server from now on, into calls
traced() {
  strace -f -qq -c -o calls -p "$server" 3>&- &
  tracer=$!
  local i
  for ((i = 0; i < 1000; i++)); do
    grep -qs '^TracerPid:.0$' /proc/"$server"/task/*/status || return 0
    kill -0 "$tracer" 2>/dev/null || return 1
    sleep 0.02
  done
  return 1
}

@test "serve: a lone client's request takes three system calls: wait, receive, send" {
  command -v strace >/dev/null || skip "strace is not installed"
  strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
  serve plain.st
  traced || skip "strace may not attach here"
  echo '{"instances":[[0.5,1,2,3]]}' >body
  [ "$(curl -sS -m 60 -d @body -o answer -w '%{http_code}\n' "$url/v1/models/plain:null:predict?n=[1-200]" | uniq -c)" = "    200 200" ]
  kill -INT "$tracer"
  wait "$tracer" || true
  awk '$NF ~ /^(epoll_p?wait|recvfrom|recv|sendmsg|sendto|send|write)$/ { n += $4 } END { print n; exit !(n >= 600 && n < 700) }' calls || { cat calls; return 1; }
  stop
}

@test "serve: the address stands alone on stdout, health and models answer there" {
  serve digits.st words.st
  [ "$(cat out)" = "$url" ]
  ask 200 /v2/health/live
  [[ $answer == *'"live":true'* ]]
  ask 200 /v2/health/ready
  [[ $answer == *'"ready":true'* ]]
  ask 200 /v2/models
  [[ $answer == *digits* && $answer == *words* && $answer != *null* ]]
  ask 200 /v2/models/words
  [[ $answer == *'"name":"words"'* && $answer == *'"a"'* && $answer == *'"class"'* && $answer == *BYTES* ]]
  ask 200 /v1/models/digits
  [[ $answer == *AVAILABLE* && $answer == *'"version":"1"'* ]]
  stop
  [ "$(wc -l <out)" -eq 1 ]
}

@test "serve: --precision=f64 computes in it, and answers with nn-predict's numbers as FP32" {
  nn-predict --precision=f64 --to=csv --to-header=no plain.st two.npy | tr ',' '\n' >wanted
  nn-predict --to=csv --to-header=no plain.st two.npy | tr ',' '\n' >in-f32
  run ! same_numbers in-f32 wanted # else this says nothing
  serve --precision=f64 plain.st
  ask 200 /v1/models/plain:predict -d '{"instances": [[0.5, 1, 2, 3], [-1, 0, 0.25, 7]]}'
  numbers <answer >found
  same_numbers found wanted
  stop
}

@test "serve: answers of /predict/NAME of an f64 model, too, have the bytes of nn-predict's stdout" {
  nn-train -q --precision=f64 --epochs=2 -m 'input 4, dense 8, relu, dense 2' -o wide.st x.npy y.npy
  nn-train -q --precision=f64 --target=kind --epochs=3 -m 'dense 8, tanh, dense ?' -o kinds.st words.csv
  head -30 words.csv >some.csv
  printf '0.1,0.7,2,3\n-1,0.3,0.25,7\n' >four.csv
  serve wide.st kinds.st
  nn-predict wide.st four.csv >wanted
  ask 200 /predict/wide --data-binary @four.csv
  cmp wanted answer
  nn-predict wide.st two.npy >wanted
  ask 200 /predict/wide --data-binary @two.npy
  cmp wanted answer
  nn-predict --emit=top:2 kinds.st some.csv >wanted
  ask 200 '/predict/kinds?emit=top:2' --data-binary @some.csv
  cmp wanted answer
  ask 200 /v1/models/wide:null:predict -d '{"instances": [[0.5, 1, 2, 3]]}'
  ask 200 /predict/wide:null --data-binary @four.csv
  [ "$answer" = $'y1,y2\n0,0\n0,0' ] || [ "$answer" = $'0,0\n0,0' ]
  stop
  serve --precision=f64 plain.st
  nn-predict --precision=f64 plain.st four.csv >wanted
  ask 200 /predict/plain --data-binary @four.csv
  cmp wanted answer
  stop
}

@test "serve: TensorFlow Serving's rows and columns are answered with nn-predict's numbers" {
  nn-predict --to=csv --to-header=no plain.st two.npy | tr ',' '\n' >wanted
  serve plain.st
  ask 200 /v1/models/plain:predict -d '{"instances": [[0.5, 1, 2, 3], [-1, 0, 0.25, 7]]}'
  [[ $answer == '{"predictions"'* ]]
  numbers <answer >found
  same_numbers found wanted
  ask 200 /v1/models/plain/versions/1:predict -d '{"signature_name": "serving_default", "inputs": {"input": [[0.5, 1, 2, 3], [-1, 0, 0.25, 7]]}}'
  [[ $answer == '{"outputs"'* ]]
  numbers <answer >found
  same_numbers found wanted
  ask 200 /v1/models/plain:predict -d '{"instances": []}'
  stop
}

@test "serve: the Open Inference Protocol is answered with nn-predict's numbers" {
  nn-predict --to=csv --to-header=no plain.st two.npy | tr ',' '\n' >wanted
  serve plain.st
  ask 200 /v2/models/plain/infer -d '{"id": "seven", "inputs": [{"name": "input", "shape": [2, 4], "datatype": "FP32", "data": [0.5, 1, 2, 3, -1, 0, 0.25, 7]}]}'
  [[ $answer == *'"id":"seven"'* && $answer == *'"model_name":"plain"'* && $answer == *'"shape":[2,2]'* ]]
  sed 's/.*"data"//' answer | numbers >found
  same_numbers found wanted
  stop
}

@test "serve: pictures sent as UINT8 are scaled as nn-predict scales bytes; floats are taken as they are" {
  python3 - <<'P' || skip "no python3"
import struct
def npy(path, kind, shape, bytes):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    head += " " * ((64 - (10 + len(head) + 1) % 64) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes)
pixels = [(i * 37) % 256 for i in range(40 * 16)]
npy("pixels.npy", "|u1", (40, 4, 4), bytes(pixels))
npy("kinds.npy", "|u1", (40,), bytes(i % 3 for i in range(40)))
one = pixels[16:32]
npy("one.npy", "|u1", (1, 4, 4), bytes(one))
npy("floats.npy", "<f4", (1, 4, 4), struct.pack("<16f", *one))
body = '{"inputs": [{"name": "input", "shape": [1, 4, 4], "datatype": "%s", '
for kind in "UINT8", "FP32":
    open("pixels." + kind, "w").write((body + '"data": %s}]}') % (kind, one))
head = (body + '"parameters": {"binary_data_size": 16}}]}') % "UINT8"
open("pixels.binary", "wb").write(head.encode() + bytes(one))
open("pixels.length", "w").write(str(len(head)))
P
  nn-train -q --loss=cross-entropy --epochs=3 -m 'flatten, dense 8, relu, dense ?' -o pixels.st pixels.npy kinds.npy
  serve pixels.st
  nn-predict --to=csv --to-header=no pixels.st one.npy | tr ',' '\n' >bytes
  nn-predict --to=csv --to-header=no pixels.st floats.npy | tr ',' '\n' >floats
  run ! same_numbers bytes floats
  ask 200 /v2/models/pixels/infer -d @pixels.UINT8
  numbers <<<"${answer##*\"data\"}" >found
  same_numbers found bytes
  ask 200 /v2/models/pixels/infer -H "Inference-Header-Content-Length: $(cat pixels.length)" --data-binary @pixels.binary
  numbers <<<"${answer##*\"data\"}" >found
  same_numbers found bytes
  ask 200 /v2/models/pixels/infer -d @pixels.FP32
  numbers <<<"${answer##*\"data\"}" >found
  same_numbers found floats
  stop
}

@test "serve: rows of a table go by column names, and a classifier says probabilities and class" {
  nn-predict --header=no --emit=class --to-header=no words.st rows.csv >classes
  serve words.st
  ask 200 /v1/models/words:predict -d '{"instances": [{"a": 0.5, "b": 1, "c": 2}, {"c": 3e-3, "a": -1, "b": 0.25}]}'
  [[ $answer == *'"class":"'"$(sed -n 1p classes)"'"'*'"class":"'"$(sed -n 2p classes)"'"'* ]]
  ask 200 /v1/models/words:classify -d '{"examples": [{"a": 0.5, "b": 1, "c": 2}]}'
  [[ $answer == '{"results"'*"$(sed -n 1p classes)"* ]]
  ask 400 /v1/models/words:predict -d '{"instances": [{"a": 0.5, "b": 1}]}'
  [[ $answer == *c* ]]
  stop
}

@test "serve: a text may come as TensorFlow Serving's base64, the only input of a model without its name" {
  awk 'BEGIN { print "colour,size"; for (i = 0; i < 60; i++) print (i % 2 ? "red" : "blue") "," (i % 2 ? "large" : "small") }' >shirts.csv
  nn-train -q --target=size --epochs=2 -m 'dense ?' -o shirts.st shirts.csv
  serve shirts.st
  ask 200 /v1/models/shirts:predict -d '{"instances": [{"colour": "red"}, {"colour": "blue"}]}'
  wanted=$answer
  for rows in '[{"b64": "cmVk"}, {"b64": "Ymx1ZQ=="}]' '["red", "blue"]' '[{"colour": {"b64": "cmVk"}}, {"b64": "Ymx1ZQ"}]'; do
    ask 200 /v1/models/shirts:predict -d "{\"instances\": $rows}"
    [ "$answer" = "$wanted" ]
  done
  ask 400 /v1/models/shirts:predict -d '{"instances": [{"b64": "cmVk", "colour": "red"}]}'
  ask 400 /v1/models/shirts:predict -d '{"instances": [{"b64": "cmVk", "b64": "cmVk"}]}'
  stop
}

@test "serve: the class goes by the threshold that training stored, as nn-predict's does" {
  awk 'BEGIN { srand(3); print "a,b,y"; for (i = 0; i < 200; i++) { a = rand(); b = rand(); print a "," b "," (a + b + rand() > 1.9 ? "yes" : "no") } }' >two.csv
  nn-train -q --target=y --epochs=30 --valid=0.2 --threshold=f1 -m 'dense 4, tanh, dense ?' -o two.st two.csv
  cut -d, -f1,2 two.csv >new.csv
  nn-predict --emit=class --to-header=no two.st new.csv >wanted
  nn-predict --emit=class --to-header=no --threshold=0.5 two.st new.csv >half
  run ! cmp -s half wanted
  rows=$(sed 1d new.csv | awk -F, '{ printf "%s{\"a\": %s, \"b\": %s}", (NR > 1 ? ", " : ""), $1, $2 }')
  serve two.st
  ask 200 /v1/models/two:predict -d "{\"instances\": [$rows]}"
  grep -o '"class":"[a-z]*"' answer | cut -d'"' -f4 | cmp - wanted
  ask 200 /v2/models/two/infer -d "{\"inputs\": [$(for c in 1 2; do
    [ $c = 1 ] && name=a || name=b
    [ $c = 1 ] || printf ', '
    printf '{"name": "%s", "shape": [200], "datatype": "FP32", "data": [%s]}' $name "$(sed 1d new.csv | cut -d, -f$c | paste -sd,)"
  done)], \"outputs\": [{\"name\": \"class\"}]}"
  sed 's/.*"data":\[//' answer | grep -o '"[a-z]*"' | tr -d '"' | cmp - wanted
  stop
}

@test "serve: each output of a table's model has its labels; :classify names several" {
  awk 'BEGIN { print "size,kind,price"; for (i = 0; i < 40; i++) print i + 0.5 "," (i % 2 ? "cat" : "dog") "," i * 2 + 0.25 }' >two.csv
  printf '%s\n' 'dense 8' 't: relu' 'kind: dense 2 from=t output target=kind' 'price: dense 1 from=t output target=price' >two.nn
  nn-train -q --target=kind,price --epochs=2 -m two.nn -o two.st two.csv
  serve two.st
  ask 200 /v1/models/two:predict -d '{"instances": [{"size": 31.5}]}'
  class=$(printf 'size\n31.5\n' | nn-predict two.st --to=jsonl | jq -r '.kind.probs | to_entries | max_by(.value).key')
  jq -e --arg class "$class" '.predictions[0] | keys_unsorted == ["kind", "kind.class", "price"] and .["kind.class"] == $class' answer
  ask 200 /v2/models/two
  jq -e '.outputs == [{"name": "kind", "datatype": "FP32", "shape": [-1, 2]}, {"name": "kind.class", "datatype": "BYTES", "shape": [-1]},
    {"name": "price", "datatype": "FP32", "shape": [-1]}]' answer
  ask 200 /v2/models/two/infer -d '{"inputs": [{"name": "size", "shape": [1], "datatype": "FP32", "data": [31.5]}],
    "outputs": [{"name": "kind", "parameters": {"classification": 1}}, {"name": "price"}]}'
  jq -e --arg class "$class" '.outputs[0].data[0] | endswith(":" + $class)' answer
  ask 400 /v1/models/two:classify -d '{"examples": [{"size": 31.5}]}'
  [ "$answer" = '{"error":":classify: the model has several outputs (kind, price); use :predict"}' ]
  stop
  serve words.st
  ask 400 /v1/models/words:classify -d '{"signature_name": "other", "examples": [{"a": 1, "b": 2, "c": 3}]}'
  [[ $answer == *'no signature \"other\"'* ]]
  ask 200 /v1/models/words:classify -d '{"signature_name": "serving_default", "examples": [{"a": 1, "b": 2, "c": 3}]}'
  stop
}

@test "serve: CSV in gives the bytes of nn-predict's stdout" {
  nn-predict words.st words.csv >wanted
  serve words.st
  ask 200 /predict/words --data-binary @words.csv
  cmp answer wanted
  stop
}

@test "serve: what is wrong with a request is said in JSON with its status, and the next one is answered" {
  serve plain.st
  ask 404 /v1/models/other:predict -d '{"instances": [[1, 2, 3, 4]]}'
  [[ $answer == '{"error":'* ]]
  ask 404 /v2/models/plain/versions/7
  ask 404 /nothing
  ask 405 /v2/models/plain/infer
  ask 400 /v1/models/plain:predict -d '{"instances": [[1, 2, 3]]}'
  ask 400 /v1/models/plain:predict -d '{"instances": [[1, 2, 3, 4]]'
  ask 400 /v1/models/plain:predict -d '{"instances": [[1, 2, 3, 4]], "inputs": [[1, 2, 3, 4]]}'
  ask 400 /v1/models/plain:predict -d '{}'
  ask 400 /v2/models/plain/infer -d '{"inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3]}]}'
  ask 400 /v2/models/plain/infer -d '{"inputs": [{"name": "input", "shape": [1099511627776, 1099511627776], "datatype": "FP32", "data": [1]}]}'
  ask 200 /v1/models/plain:predict -d '{"instances": [[1, 2, 3, 4]]}'
  stop
}

@test "serve: SIGHUP reads a model that has changed; a bad file leaves the old one serving" {
  cp plain.st changing.st
  serve changing.st
  body='{"instances": [[0.5, 1, 2, 3]]}'
  ask 200 /v1/models/changing:predict -d "$body"
  before=$answer
  nn-train -q --epochs=2 --seed=7 -m 'input 4, dense 8, relu, dense 2' -o changing.st x.npy y.npy
  kill -HUP "$server"
  for _ in {1..200}; do
    ask 200 /v1/models/changing:predict -d "$body"
    [ "$answer" = "$before" ] || break
    sleep 0.02
  done
  [ "$answer" != "$before" ]
  after=$answer
  head -c 300 plain.st >changing.st
  kill -HUP "$server"
  said 'warning: .*changing'
  ask 200 /v1/models/changing:predict -d "$body"
  [ "$answer" = "$after" ]
  stop
}

@test "serve: the folder of a version that becomes bad is told and counted, and the others go on" {
  rm -rf folders && mkdir -p folders/1 && cp plain.st folders/1/
  serve folders
  mkdir folders/9
  cp plain.st folders/9/a.st
  cp plain.st folders/9/b.st
  kill -HUP "$server"
  said 'warning: folders/9: found 2 model files, expected one'
  ask 200 /metrics
  grep 'nn_reload_total{model="folders",result="failed"} 1' answer
  ask 200 /v1/models/folders:predict -d '{"instances": [[0.5, 1, 2, 3]]}'
  rm folders/9/b.st
  kill -HUP "$server"
  for _ in {1..500}; do
    ! ask 200 /v2/models/folders/versions/9/ready >/dev/null || break
    sleep 0.02
  done
  ask 200 /v1/models/folders/versions/9:predict -d '{"instances": [[0.5, 1, 2, 3]]}'
  stop
}

@test "serve: SIGTERM under load answers everything that was accepted" {
  serve plain.st
  for i in 1 2 3 4; do
    (while curl -sS -m 30 -o /dev/null -w '%{http_code}\n' -d '{"instances": [[0.5, 1, 2, 3]]}' "$url/v1/models/plain:predict" 2>/dev/null; do :; done) >codes.$i 3>&- &
    clients+=("$!")
  done
  for _ in {1..500}; do
    [ "$(cat codes.* | wc -l)" -lt 100 ] || break
    sleep 0.02
  done
  stop
  wait "${clients[@]}" || true
  [ "$(cat codes.* | grep -vc 000)" -ge 100 ]
  ! grep -vE '^(200|000)$' codes.*
}

@test "serve: what cannot be served is one line with the tools' statuses" {
  refused() {
    run "-$1" --separate-stderr timeout 20 nn-serve "${@:3}" </dev/null
    [ -z "$output" ] && [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == "nn-serve: "*"$2"* ]] || { echo "$stderr"; return 1; }
  }
  refused 2 'model is missing'
  refused 1 'no-such.st' --listen=127.0.0.1:0 no-such.st
  refused 1 'words.csv' --listen=127.0.0.1:0 words.csv
  mkdir -p empty
  refused 1 'empty' --listen=127.0.0.1:0 empty
  refused 2 '--tls-cert=' --listen=127.0.0.1:0 --tls-cert= words.st
  refused 2 '--label=x' --label=x words.st
  refused 2 '--max-delay=-1' --max-delay=-1 words.st
  refused 1 '192.0.2.1' --listen=192.0.2.1:80 words.st
  serve words.st
  refused 1 "${url#http://}" --listen="${url#http://}" words.st
  stop
}

@test "serve: --keep-going serves the good models beside a bad one, which is named; else status 1" {
  head -c 200 plain.st >cut.st
  for models in 'cut.st plain.st' '--keep-going cut.st'; do
    # shellcheck disable=SC2086 # words
    run -1 --separate-stderr timeout 20 nn-serve --listen=127.0.0.1:0 $models </dev/null
    [ -z "$output" ] && [[ ${stderr_lines[0]} == "nn-serve: "*"cut.st: "* ]] || { echo "$stderr"; return 1; }
  done
  serve --keep-going cut.st plain.st
  [ "$(wc -l <err)" -eq 1 ] && grep -q '^nn-serve: .*cut.st: ' err
  ask 200 /v2/models/plain/infer -d '{"inputs":[{"name":"input","shape":[1,4],"datatype":"FP32","data":[0.5,1,2,3]}]}'
  ask 404 /v2/models/cut
  cp plain.st cut.st.new && mv cut.st.new cut.st
  kill -HUP "$server"
  for _ in {1..500}; do
    ! ask 200 /v2/models/cut >/dev/null || break
    sleep 0.02
  done
  ask 200 /v2/models/cut
  stop
}

@test "serve: a bad model that is new at a reload leaves the server ready, and says what is wrong with it" {
  rm -rf several && mkdir several && cp plain.st several/
  rm -f reload.socket out
  serve --listen=unix:"$PWD/reload.socket" --keep-going several
  url=http://localhost
  head -c 200 plain.st >several/junk.st
  kill -HUP "$server"
  said 'warning: several/junk.st: '
  ask 200 /v2/health/ready --unix-socket reload.socket
  ask 404 /v2/models/junk/ready --unix-socket reload.socket
  ask 200 /v1/models/junk --unix-socket reload.socket
  jq -e '.ready == false and .model_version_status[0].state == "END" and
    (.model_version_status[0].status | .error_code == "INVALID_ARGUMENT" and (.error_message | startswith("junk.st: ")))' answer
  ask 200 /v2/repository/index --unix-socket reload.socket -d '{}'
  jq -e '[.[] | .state + .reason[:9]] == ["READY", "UNAVAILABLEjunk.st: "]' answer
  stop
}

@test "serve: administration without keys is for Unix sockets alone, which are the user's own" {
  serve plain.st
  ask 403 /v2/repository/models/plain/unload -d '{}'
  stop
  rm -f socket out
  serve --listen=unix:"$PWD/socket" plain.st
  [ "$(stat -c %a socket)" = 600 ]
  url=http://localhost
  ask 200 /v2/repository/models/plain/unload --unix-socket socket -d '{}'
  ask 200 /v2/repository/models/plain/load --unix-socket socket -d '{}'
  ask 200 /v1/models/plain:predict --unix-socket socket -d '{"instances": [[1, 2, 3, 4]]}'
  stop
  [ ! -e socket ]
}

@test "serve: --access-log has a JSON object for each answer; SIGUSR1 goes on in a new file" {
  serve --access-log=access.log plain.st
  ask 200 /v1/models/plain:predict -d '{"instances": [[1, 2, 3, 4], [1, 2, 3, 4]]}'
  ask 404 /nothing
  mv access.log old.log
  kill -USR1 "$server"
  for _ in {1..500}; do
    [ ! -e access.log ] || break
    sleep 0.02
  done
  ask 200 /v2/health/live
  stop
  jq -es 'length == 2 and .[0].status == 200 and .[0].rows == 2 and .[0].model == "plain" and .[0].method == "POST" and .[1].status == 404' old.log
  jq -es 'length == 1 and .[0].path == "/v2/health/live"' access.log
}

@test "serve: who is refused before a request is known is in the access log and counted, with the bytes of the answer" {
  serve --max-connections=1 --access-log=refused.log plain.st
  exec {held}<>"/dev/tcp/127.0.0.1/${url##*:}"
  ask 503 /v2/health/live
  body=$(stat -c %s answer)
  printf 'GET / HTTP/1.1\nHost: x\n\n' >&$held
  timeout 20 cat <&$held | tr -d '\r' >whole
  exec {held}>&-
  [ "$(head -n 1 whole)" = 'HTTP/1.1 400 Bad Request' ]
  for _ in {1..500}; do
    ! ask 200 /metrics >/dev/null || break
    sleep 0.02
  done
  [ "$(grep '^nn_requests_total{model="",code="503"}' answer | cut -d' ' -f2)" -ge 1 ]
  stop
  jq -es --argjson body "$body" --argjson other "$(tail -n 1 whole | wc -c)" \
    '(map(select(.status == 503)) | length >= 1 and all(.bytes_out == $body and .path == "")) and
     (map(select(.status == 400)) | length == 1 and .[0].bytes_out == $other)' refused.log || { cat refused.log; return 1; }
}

@test "serve: --watch reads a model that another one replaced, without being told" {
  cp plain.st watched.st
  serve --watch watched.st
  body='{"instances": [[0.5, 1, 2, 3]]}'
  ask 200 /v1/models/watched:predict -d "$body"
  before=$answer
  nn-train -q --epochs=2 --seed=9 -m 'input 4, dense 8, relu, dense 2' -o watched.st x.npy y.npy
  for _ in {1..500}; do
    ask 200 /v1/models/watched:predict -d "$body"
    [ "$answer" = "$before" ] || break
    sleep 0.02
  done
  [ "$answer" != "$before" ]
  stop
}

@test "serve: versions of a directory, the highest by default, and a label for another" {
  mkdir -p net/3 net/12
  cp plain.st net/3/
  nn-train -q --epochs=2 --seed=5 -m 'input 4, dense 8, relu, dense 2' -o net/12/model.st x.npy y.npy
  serve --label=net:stable=3 net
  body='{"instances": [[0.5, 1, 2, 3]]}'
  ask 200 /v1/models/net:predict -d "$body"
  newest=$answer
  ask 200 /v1/models/net/versions/12:predict -d "$body"
  [ "$answer" = "$newest" ]
  ask 200 /v1/models/net/versions/3:predict -d "$body"
  [ "$answer" != "$newest" ]
  old=$answer
  ask 200 /v1/models/net/labels/stable:predict -d "$body"
  [ "$answer" = "$old" ]
  ask 400 /v1/models/net/labels/canary:predict -d "$body"
  ask 404 /v1/models/net/versions/4:predict -d "$body"
  ask 200 /v2/models/net/versions/3/infer -d '{"inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}'
  [[ $answer == *'"model_version":"3"'* ]]
  stop
}

@test "serve: a full queue answers 503 at once, with Retry-After, and serves those that wait" {
  serve --max-delay=30000000 --queue=2 plain.st
  body='{"instances": [[0.5, 1, 2, 3]]}'
  for i in 1 2; do
    curl -sS -m 30 -o "waiting.$i" -w '%{http_code}\n' -d "$body" "$url/v1/models/plain:predict" >"code.$i" 3>&- &
    clients+=("$!")
  done
  for _ in {1..500}; do
    ask 200 /metrics
    ! grep -q '^nn_queue_rows{.*} 2$' answer || break
    sleep 0.01
  done
  ask 503 /v1/models/plain:predict -D headers -d "$body"
  grep -qi '^retry-after: [0-9]' headers
  stop
  wait "${clients[@]}"
  [ "$(cat code.1 code.2 | sort -u)" = 200 ]
  cmp waiting.1 waiting.2
}

@test "serve: TLS with --tls-cert and --tls-key; a key that is none is one line" {
  command -v openssl >/dev/null || skip "no openssl"
  curl --version | grep -q https || skip "curl speaks no TLS"
  openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost -days 2 2>/dev/null
  run -1 --separate-stderr timeout 20 nn-serve --listen=127.0.0.1:0 --tls-cert=cert.pem --tls-key=words.csv words.st
  [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == "nn-serve: "*words.csv* ]]
  serve --tls-cert=cert.pem --tls-key=key.pem plain.st
  [[ $url == https://* ]]
  ask 200 /v2/health/ready --cacert cert.pem --resolve "localhost:${url##*:}:127.0.0.1" -k
  ask 200 /v1/models/plain:predict -k -d '{"instances": [[0.5, 1, 2, 3]]}'
  stop
}

@test "serve: --explain-batching says at SIGUSR2 and at the end why batches are what they are" {
  serve --explain-batching plain.st
  ask 200 /v1/models/plain:predict -d '{"instances": [[0.5, 1, 2, 3]]}'
  kill -USR2 "$server"
  said 'note: plain: mean batch 1'
  stop
  [ "$(grep -c 'note: plain: mean batch' err)" -eq 2 ]
}

@test "serve: in its sandbox it reads a model anew, from where models were alone" {
  grep -q '^Seccomp:' /proc/self/status || skip "no seccomp in this kernel"
  mkdir -p live
  cp plain.st live/net.st
  serve --watch live
  ask 200 /v2/models/net
  cp words.st live/.new && mv live/.new live/net.st
  for _ in {1..500}; do
    ask 200 /v2/models/net
    [[ $answer != *'"probs"'* ]] || break
    sleep 0.02
  done
  [[ $answer = *'"probs"'* ]]
  [ ! -s err ] || grep -q 'kernel has no\|AddressSanitizer' err || { cat err; false; }
  grep -q '^NoNewPrivs:[[:space:]]*1$' "/proc/$server/status"
  [ -s err ] || grep -q '^Seccomp:[[:space:]]*2$' "/proc/$server/status"
  stop
  serve --sandbox=off live
  [ "$(grep NoNewPrivs /proc/self/status)" = "$(grep NoNewPrivs "/proc/$server/status")" ]
  stop
}

# metric NAME{LABELS}: its value
metric() {
  curl -sS -m 30 "$url/metrics" | sed -n "s/^$1 //p"
}

@test "serve: counts go on when a model is read anew, and --log has the reload" {
  cp plain.st anew.st
  serve --log=log.json anew.st
  ask 200 /v1/models/anew:predict -d '{"instances": [[1, 2, 3, 4], [4, 3, 2, 1]]}'
  [ "$(metric 'nn_rows_total{model="anew"}')" = 2 ]
  cp plain.st fresh && mv fresh anew.st
  kill -HUP "$server"
  for ((i = 0; i < 500; i++)); do
    [ "$(metric 'nn_reload_total{model="anew",result="ok"}')" = 1 ] && break
    sleep 0.02
  done
  [ "$(metric 'nn_rows_total{model="anew"}')" = 2 ]
  ask 200 /v1/models/anew:predict -d '{"instances": [[1, 2, 3, 4]]}'
  [ "$(metric 'nn_rows_total{model="anew"}')" = 3 ]
  printf x >anew.st
  kill -HUP "$server"
  for ((i = 0; i < 500; i++)); do
    [ "$(metric 'nn_reload_total{model="anew",result="failed"}')" = 1 ] && break
    sleep 0.02
  done
  stop
  log_check log.json '[e["error"] is None for e in of("reload")] == [True, False] and of("reload")[1]["model"] == "anew"'
}

@test "serve: ?emit=WORD answers with the bytes of nn-predict --emit=WORD" {
  serve words.st
  head -n 20 words.csv | cut -d, -f1-3 >some.csv
  for word in class top:2 probs; do
    nn-predict --emit=$word words.st some.csv >want
    ask 200 "/predict/words?emit=$word" --data-binary @some.csv
    cmp answer want
  done
  ask 200 "/predict/words?a=b&emit=top%3A2" --data-binary @some.csv
  ask 400 "/predict/words?emit=values" --data-binary @some.csv
  [[ $answer == *'"error":"emit=values: the model predicts classes'* ]]
  ask 400 "/predict/words?emit=logits" --data-binary @some.csv
  [[ $answer == *'"error":"emit=logits: '* ]]
  ask 400 "/predict/words?emit=best" --data-binary @some.csv
  [[ $answer == *'"error":"emit=best: expected probs'* ]]
  stop
}

@test "serve: categories that the training data did not have are counted, and told once" {
  awk 'BEGIN { print "size,colour,shirt"; for (i = 0; i < 60; i++) print i % 20 "," (i % 2 ? "red" : "blue") "," (i % 2 ? "yes" : "no") }' >shirts.csv
  nn-train -q --target=shirt --epochs=1 -m 'dense 4, dense ?' -o shirts.st shirts.csv
  serve shirts.st
  ask 200 /v1/models/shirts:predict -d '{"instances": [{"size": 1, "colour": "red"}]}'
  [ "$(metric 'nn_unseen_total{model="shirts"}')" = 0 ]
  ask 200 /v1/models/shirts:predict -d '{"instances": [{"size": 1, "colour": "pink"}, {"size": 1, "colour": "grey"}]}'
  ask 400 /v1/models/shirts:predict -d '{"instances": [{"size": 1e39, "colour": "red"}]}'
  [[ $answer == *'found \"1e39\", expected a number that f32 can hold'* ]]
  ask 200 /v1/models/shirts:null:predict -d '{"instances": [{"size": 1, "colour": "pink"}]}' # is nobody's prediction
  printf 'size,colour\n1,pink\n2,red\n' >pink.csv
  ask 200 /predict/shirts --data-binary @pink.csv
  [ "$(metric 'nn_unseen_total{model="shirts"}')" = 3 ]
  stop
  grep -v 'AddressSanitizer' err >warnings
  [ "$(wc -l <warnings)" -eq 1 ]
  [[ $(cat warnings) == 'nn-serve: warning: model "shirts": 2 values of column "colour" were not in the training data'* ]]
}

@test "serve: members of an infer request that are null are as if they were not there" {
  serve plain.st
  ask 200 /v2/models/plain/infer -d '{"id": null, "parameters": null, "outputs": null, "inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP32", "parameters": null, "data": [1, 2, 3, 4]}]}'
  jq -e '(has("id") | not) and (.outputs | length) == 1' answer
  ask 200 /v2/models/plain/infer -d '{"parameters": {"timeout": null}, "outputs": [{"name": "output", "parameters": null}], "inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}'
  ask 400 /v2/models/plain/infer -d '{"inputs": [{"name": null, "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}'
  [ "$answer" = '{"error":"an input has no \"name\""}' ]
  ask 400 /v2/models/plain/infer -d '{"inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP32", "data": null}]}'
  ask 400 /v2/models/plain/infer -d '{"inputs": null}'
  ask 400 /v2/models/plain/infer -d '{"inputs": [{"name": "input", "shape": [1, 4], "datatype": "FP32", "data": [[1, 2], [3, 4]]}]}'
  [ "$answer" = '{"error":"input \"input\": the data do not have its shape: found lists of [2,2], expected [1,4] or one list of 4"}' ]
  stop
}

@test "serve: nn_expired_total counts the rows that were dropped late" {
  serve plain.st
  ask 504 /v2/models/plain/infer -d '{"parameters": {"timeout": 1}, "inputs": [{"name": "input", "shape": [3, 4], "datatype": "FP32", "data": [1,2,3,4,1,2,3,4,1,2,3,4]}]}'
  [ "$(metric 'nn_expired_total{model="plain"}')" = 3 ]
  stop
}

@test "serve: HEAD is answered as GET without a body" {
  serve plain.st
  curl -sS -m 30 "$url/v2/models/plain" | wc -c >length
  curl -sS -m 30 --head "$url/v2/models/plain" | tr -d '\r' >headers
  grep -qx "Content-Length: $(cat length)" headers
  grep -q '^HTTP/1.1 200' headers
  run -1 grep '^{' headers
  stop
}
