#!/usr/bin/env bats
# nn-predict: rows in, records out.
# shellcheck disable=SC2016,SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  cp "$NN_SRC/share/data/digits.csv.gz" .
  zcat digits.csv.gz >digits.csv
  head -n 21 digits.csv >some.csv
  nn-train -q -m 'dense 32, relu, dense ?' --target=digit --loss=cross-entropy --epochs=3 digits.csv.gz -o digits.safetensors
  printf 'a,b,colour,price\n1,2,red,3.5\n2,1,blue,4.5\n3,5,red,9.25\n4,4,"dark, red",8.5\n5,0,blue,5.125\n' >house.csv
  nn-train -q -m 'dense 4, tanh, dense ?' --target=price --epochs=20 house.csv -o house.safetensors
  nn-train -q -m 'dense 3, tanh, dense ?' --target=colour --epochs=2 house.csv -o colour.safetensors
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

@test "predict: CSV in, CSV out: a header and a record for each row" {
  run -0 --separate-stderr nn-predict digits.safetensors some.csv
  [ "${#lines[@]}" -eq 21 ]
  [ "${lines[0]}" = p.0,p.1,p.2,p.3,p.4,p.5,p.6,p.7,p.8,p.9 ]
  [ -z "$stderr" ]
  awk -F, 'NR > 1 { s = 0; for (i = 1; i <= NF; i++) s += $i; if (NF != 10 || s < 0.9999 || s > 1.0001) exit 1 }' <<<"$output"
}

@test "predict: --emit=class prints the labels of the training data" {
  run -0 nn-predict --emit=class colour.safetensors house.csv
  [ "${lines[0]}" = class ]
  [ "${#lines[@]}" -eq 6 ]
  for line in "${lines[@]:1}"; do
    [[ $line == red || $line == blue || $line == '"dark, red"' ]]
  done
}

@test "predict: --emit=top:2 prints classes and probabilities, best first" {
  run -0 nn-predict --emit=top:2 digits.safetensors some.csv
  [ "${lines[0]}" = class1,p1,class2,p2 ]
  awk -F, 'NR > 1 && !($2 >= $4 && $1 != $3) { exit 1 }' <<<"$output"
}

@test "predict: the best of top:1 is the class" {
  nn-predict --emit=top:1 --to-header=no digits.safetensors some.csv | cut -d, -f1 >top
  nn-predict --emit=class --to-header=no digits.safetensors some.csv >class
  cmp top class
}

@test "predict: probabilities are the softmax of the logits" {
  paste -d, <(nn-predict --emit=logits --to-header=no digits.safetensors some.csv) \
    <(nn-predict --emit=probs --to-header=no digits.safetensors some.csv) |
    awk -F, '{ s = 0; for (i = 1; i <= 10; i++) s += exp($i)
      for (i = 1; i <= 10; i++) { d = exp($i) / s - $(i + 10); if (d > 1e-6 || d < -1e-6) exit 1 } }'
}

@test "predict: numbers come in the units of the training data, under the name of the column" {
  run -0 nn-predict house.safetensors house.csv
  [ "${lines[0]}" = price ]
  awk 'NR > 1 && !($1 > -20 && $1 < 40) { exit 1 }' <<<"$output"
}

@test "predict: columns are found by name, in any order, further ones are ignored" {
  printf 'extra,colour,b,a\nx,red,2,1\ny,blue,1,2\n' >other.csv
  nn-predict house.safetensors other.csv >other.out
  nn-predict house.safetensors house.csv | head -n 3 >same.out
  cmp other.out same.out
}

@test "predict: a missing column is named" {
  printf 'a,colour\n1,red\n' >lacking.csv
  run -1 --separate-stderr nn-predict house.safetensors lacking.csv
  [[ $stderr == "nn-predict: lacking.csv:"*b* ]]
  [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "predict: an empty input gives an empty output and status 0" {
  : >empty
  run -0 --separate-stderr nn-predict digits.safetensors empty
  [ -z "$output" ]
  run -0 --separate-stderr bash -c 'nn-predict digits.safetensors </dev/null'
  [ -z "$output" ]
  [ -z "$stderr" ]
}

@test "predict: a header without rows gives a header" {
  run -0 bash -c 'head -n 1 digits.csv | nn-predict --emit=class digits.safetensors'
  [ "$output" = class ]
}

@test "predict: a row has the same bytes alone, in any batch and at any place" {
  nn-predict digits.safetensors digits.csv >whole
  for batch in 1 2 3 7 64 1000; do
    nn-predict --batch="$batch" digits.safetensors digits.csv | cmp - whole
  done
  { head -n 1 digits.csv; sed -n '1000,1010p' digits.csv; } | nn-predict digits.safetensors | tail -n +2 >part
  sed -n '1000,1010p' whole | cmp - part
}

# 5391 rows are more than a block that is read ahead holds, with a bad one in the third
@test "predict: a file is read ahead to the same bytes, bad rows, scores and errors" {
  { cat digits.csv; tail -n +2 digits.csv; tail -n +2 digits.csv; } >long.csv
  sed '4700s/^[^,]*/x/' long.csv >bad.csv
  for options in "" "--batch=1" "--batch=300" "--emit=class --to=jsonl"; do
    nn-predict $options --threads=1 digits.safetensors long.csv >one
    for threads in 2 3; do nn-predict $options --threads=$threads digits.safetensors long.csv | cmp - one; done
    nn-predict $options --threads=3 digits.safetensors <long.csv | cmp - one
    cat long.csv | nn-predict $options --threads=3 digits.safetensors | cmp - one
    gzip -c long.csv >long.csv.gz
    nn-predict $options --threads=3 digits.safetensors long.csv.gz | cmp - one
  done
  nn-predict --score --threads=1 digits.safetensors long.csv >one
  nn-predict --score --threads=3 digits.safetensors long.csv | cmp - one
  for error in skip mark; do
    nn-predict --on-error=$error --threads=1 digits.safetensors bad.csv >one 2>one.err
    nn-predict --on-error=$error --threads=3 digits.safetensors bad.csv >two 2>two.err
    cmp one two
    cmp one.err two.err
    nn-predict --score --on-error=$error --threads=1 digits.safetensors bad.csv >one 2>one.err
    nn-predict --score --on-error=$error --threads=3 digits.safetensors bad.csv 2>two.err | cmp - one
    cmp one.err two.err
  done
  run -1 nn-predict --threads=1 digits.safetensors bad.csv
  one=$output
  run -1 nn-predict --threads=3 digits.safetensors bad.csv
  [ "$output" = "$one" ]
}

@test "predict: the same bytes for any number of threads and any instruction set" {
  nn-predict --threads=1 digits.safetensors digits.csv >whole
  for threads in 2 3 4; do
    nn-predict --threads="$threads" digits.safetensors digits.csv | cmp - whole
  done
  for cpu in generic neon avx2 avx512; do
    NN_CPU=$cpu nn-predict digits.safetensors some.csv >"$cpu" 2>err || { [ $? -eq 3 ]; continue; }
    head -n 21 whole | cmp - "$cpu"
  done
}

@test "predict: a row into a pipe gives a row out before the next goes in" {
  coproc P { exec nn-predict --emit=class digits.safetensors; }
  exec {in}>&"${P[1]}" {out}<&"${P[0]}"
  head -n 2 digits.csv >&"$in"
  read -r -t 10 -u "$out" header
  read -r -t 10 -u "$out" first
  [ "$header" = class ]
  [[ $first == [0-9] ]]
  sed -n 3p digits.csv >&"$in"
  read -r -t 10 -u "$out" second
  [[ $second == [0-9] ]]
  pid=$P_PID
  eval "exec ${P[1]}>&- $in>&-"
  wait "$pid"
}

@test "predict: the reader of stdout leaves: status 141 and not a word" {
  run -0 --separate-stderr bash -c 'set +o pipefail; nn-predict --batch=1 digits.safetensors digits.csv | head -n 1 >/dev/null; echo ${PIPESTATUS[0]}'
  [ "$output" = 141 ] || [ "$output" = 0 ]
  [ -z "$stderr" ]
  run -0 --separate-stderr bash -c 'for i in 1 2 3 4 5 6 7 8; do cat digits.csv; done | sed "1!{/^p00/d}" |
    nn-predict digits.safetensors | head -n 1 >/dev/null; echo ${PIPESTATUS[2]}'
  [ "$output" = 141 ]
  [ -z "$stderr" ]
}

@test "predict: JSON lines parse, and say the same as CSV" {
  command -v jq >/dev/null || skip "jq is not installed"
  nn-predict --to=jsonl --emit=class digits.safetensors some.csv | jq -r .class >json
  nn-predict --emit=class --to-header=no digits.safetensors some.csv | cmp - json
  nn-predict --to=jsonl digits.safetensors some.csv | jq -e '(.probs | length) == 10' >/dev/null
  nn-predict --to=jsonl --emit=top:3 digits.safetensors some.csv | jq -e '(.top | length) == 3 and (.top[0][1] >= .top[1][1])' >/dev/null
  nn-predict --to=jsonl house.safetensors house.csv | jq -e '.values.price | type == "number"' >/dev/null
  nn-predict --to=jsonl --emit=logits digits.safetensors some.csv | jq -e '(.logits | length) == 10' >/dev/null
}

@test "predict: TSV has tabs" {
  run -0 nn-predict --to=tsv digits.safetensors some.csv
  [ "$(awk -F '\t' 'END { print NF }' <<<"$output")" = 10 ]
}

@test "predict: --to=npy is what numpy reads, with the values of CSV" {
  "${NN_PYTHON:-${PYTHON:-python3}}" -c 'import numpy' 2>/dev/null || skip "numpy is not installed"
  nn-predict --to=npy digits.safetensors some.csv >probs.npy
  nn-predict --to=npy --emit=class digits.safetensors some.csv -o class.npy
  nn-predict --to-header=no digits.safetensors some.csv >probs.csv
  nn-predict --emit=class --to-header=no digits.safetensors some.csv >class.csv
  "${NN_PYTHON:-${PYTHON:-python3}}" - <<'END'
import numpy as np
p, c = np.load("probs.npy"), np.load("class.npy")
assert p.dtype == np.float32 and p.shape == (20, 10) and c.dtype == np.int64 and c.shape == (20,)
assert (p == np.loadtxt("probs.csv", delimiter=",", dtype=np.float32)).all()
assert (c == np.loadtxt("class.csv", dtype=np.int64)).all()
END
}

@test "predict: --emit=top into .npy is refused with what works" {
  run -2 --separate-stderr nn-predict --to=npy --emit=top:2 digits.safetensors some.csv
  [[ $stderr == *--to=csv* ]]
}

@test "predict: --score prints names and values" {
  run -0 nn-predict --score digits.safetensors digits.csv
  [ "${lines[0]}" = "samples 1797" ]
  [[ ${lines[1]} == "loss "* && ${lines[2]} == "accuracy 0."* ]]
  [[ $output == *"precision.0 "*"recall.0 "*"f1.0 "*"support.0 "*"f1.macro "*"confusion.0.0 "* ]]
  run -0 nn-predict --score house.safetensors house.csv
  [[ $output == *"rmse "*"mae "*"r2 "* ]]
}

@test "predict: --score keeps a line for each name, whatever a label holds" {
  printf 'a,b,kind\n1,2,"two\nlines"\n2,1,plain\n3,5,"two\nlines"\n4,4,plain\n' >breaks.csv
  nn-train -q -m 'dense 3, tanh, dense ?' --target=kind --epochs=2 breaks.csv -o breaks.safetensors
  run -0 nn-predict --score breaks.safetensors breaks.csv
  [[ $output == *$'\n"recall.two\\nlines" '* && $output == *$'\nsupport.plain 2\n'* ]]
  ! awk '!/^("([^"]|\\")*"|[^" ]+) [^ ]+$/' <<<"$output" | grep .
}

@test "predict: messages say one row, one column and one character" {
  printf 'y\n1.5\n2.5\n' | paste -d, - <(printf 'a\n1\n2\n') >one.csv
  nn-train -q -m 'dense ?' --target=y --epochs=1 -o one.safetensors one.csv
  printf 'a\n1\nx\n' >bad.csv
  run -0 --separate-stderr nn-predict --on-error=mark one.safetensors bad.csv
  [ "$stderr" = 'nn-predict: warning: 1 row could not be read and was marked' ]
  printf 'a\n1\n2,3\n' >wide.csv
  run -1 --separate-stderr nn-predict one.safetensors wide.csv
  [ "$stderr" = 'nn-predict: wide.csv:3: expected 1 column, got 2' ]
  printf 'abababababababab' >t.txt
  nn-train -q -m 'embedding 2, dense ?' --window=4 --epochs=1 -o text.safetensors t.txt
  printf 'abza' >z.txt
  run -0 --separate-stderr nn-predict --to=jsonl text.safetensors z.txt
  [ "$stderr" = 'nn-predict: warning: z.txt: 1 character was not in the training data; it counts as all zeros: "z"' ]
  nn-predict --info one.safetensors | grep -q 'tensors: 2, 2 values, 8 bytes'
}

@test "predict: --log writes a start, warnings and an end, a line each" {
  printf 'a,b,price\n1,2,3\n2,1,4\nx,1,5\n' >bad.csv
  nn-predict -q --on-error=skip --log=predict.log colour.safetensors bad.csv >out
  [ "$(wc -l <predict.log)" -eq 3 ]
  [[ $(sed -n 1p predict.log) == '{"event":"start","version":"'*'"options":{'*'"on-error":"skip"'*'"data":"bad.csv"'* ]]
  [ "$(sed -n 2p predict.log)" = '{"event":"warning","text":"1 row could not be read and was left out"}' ]
  [[ $(sed -n 3p predict.log) == '{"event":"end","reason":"done","rows":2,"bad_rows":1,"seconds":'* ]]
  nn-predict --score --log=predict.log colour.safetensors house.csv >score
  [[ $(sed -n 2p predict.log) == '{"event":"score","output":null,"metrics":{"samples":5,"loss":'* ]]
  run ! nn-predict --log=predict.log colour.safetensors bad.csv
  [[ $(tail -n 1 predict.log) == '{"event":"end","reason":"error","text":"bad.csv:4:1: '* ]]
  run -2 --separate-stderr nn-predict --log=- colour.safetensors house.csv
  [[ $stderr == *"--log=-"* ]]
}

@test "predict: accuracy of --score is the share of right classes" {
  right=$(paste -d, <(nn-predict --emit=class --to-header=no digits.safetensors digits.csv) <(tail -n +2 digits.csv | sed 's/.*,//') |
    awk -F, '$1 == $2 { n++ } END { printf "%.6f", n / NR }')
  score=$(nn-predict --score digits.safetensors digits.csv | awk '$1 == "accuracy" { printf "%.6f", $2 }')
  [ "$right" = "$score" ]
}

@test "predict: --on-error=fail names file, line and column; rows before it are answered" {
  sed '5s/^[^,]*/x/' some.csv >bad.csv
  run -1 --separate-stderr nn-predict --emit=class digits.safetensors bad.csv
  [[ $stderr == "nn-predict: bad.csv:5:1: "* ]]
  [ "${#lines[@]}" -eq 4 ]
}

@test "predict: a marked row is no blank line where there is one column" {
  printf 'x,y\n1,2.5\n2,3.5\n3,4.5\n' >d.csv
  nn-train -q -m 'dense 1' --target=y --steps=1 -o one.st d.csv
  printf 'x\n1\noops\n3\n' >bad.csv
  for to in csv tsv; do
    nn-predict -q --on-error=mark --to=$to one.st bad.csv >marked
    [ "$(sed -n 3p marked)" = '""' ] && [ "$(wc -l <marked)" = 4 ]
  done
  nn-predict -q --on-error=mark --keep=x one.st bad.csv | grep -qx 'oops,'
  printf 'x,y\n1,a\n2,b\n' >c.csv
  nn-train -q -m 'dense ?' --target=y --steps=1 -o class.st c.csv
  nn-predict -q --emit=class --on-error=mark class.st bad.csv >marked
  [ "$(sed -n 3p marked)" = '""' ]
  "${PYTHON:-python3}" -c 'import csv; assert len(list(csv.DictReader(open("marked")))) == 3'
}

@test "predict: --on-error=skip leaves rows out, mark keeps their place, both count them" {
  sed '5s/^[^,]*/x/' some.csv >bad.csv
  run -0 --separate-stderr nn-predict --on-error=skip --emit=class digits.safetensors bad.csv
  [ "${#lines[@]}" -eq 20 ]
  [[ $stderr == *"1 row"* ]]
  nn-predict --on-error=mark digits.safetensors bad.csv 2>/dev/null >marked
  [ "$(wc -l <marked)" -eq 21 ]
  [ "$(sed -n 5p marked)" = ",,,,,,,,," ]
  command -v jq >/dev/null || return 0
  nn-predict --on-error=mark --to=jsonl digits.safetensors bad.csv 2>/dev/null | sed -n 4p | jq -e '.error | type == "string"' >/dev/null
}

@test "predict: -o is written whole or not at all" {
  echo before >out.csv
  sed '5s/^[^,]*/x/' some.csv >bad.csv
  run -1 nn-predict digits.safetensors bad.csv -o out.csv
  [ "$(cat out.csv)" = before ]
  nn-predict digits.safetensors some.csv -o out.csv
  [ "$(wc -l <out.csv)" -eq 21 ]
  run -0 bash -c 'ls -A | grep -c tmp || true'
  [ "$output" = 0 ]
}

@test "predict: -o equal to an input is refused" {
  run -2 nn-predict digits.safetensors some.csv -o some.csv
  run -2 nn-predict digits.safetensors some.csv -o digits.safetensors
}

@test "predict: a full disk is an error with status 1" {
  [ -c /dev/full ] || skip "no /dev/full"
  run -1 --separate-stderr bash -c 'nn-predict digits.safetensors some.csv >/dev/full'
  [[ $stderr == "nn-predict: stdout: "*"No space left"* ]]
}

@test "predict: what is no model is named by kind" {
  run -1 --separate-stderr nn-predict digits.csv.gz some.csv
  [[ $stderr == "nn-predict: digits.csv.gz: "*gzip* ]]
  run -1 --separate-stderr nn-predict nothing.safetensors some.csv
  [[ $stderr == "nn-predict: nothing.safetensors: "* ]]
  run -1 --separate-stderr nn-predict . some.csv
  [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "predict: wrong command lines are status 2 with one line" {
  for arguments in "" "--emit=best digits.safetensors" "--emit=top:0 digits.safetensors" "--to=xml digits.safetensors" "--bacth=2 digits.safetensors" \
    "--batch=0 digits.safetensors" "digits.safetensors some.csv third"; do
    # shellcheck disable=SC2086
    run -2 --separate-stderr nn-predict $arguments
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "nn-predict: "* ]]
  done
  run -2 --separate-stderr nn-predict --bacth=2 digits.safetensors
  [[ $stderr == *"did you mean --batch"* ]]
}

@test "predict: --device=cuda is status 3" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "the device of the tests is there"
  run -3 --separate-stderr nn-predict --device=cuda digits.safetensors some.csv
  [[ $stderr == "nn-predict: --device=cuda: module nn-cuda.so is not installed" ]]
}

@test "predict: numbers are read in the C locale whatever the environment says" {
  nn-predict house.safetensors house.csv >c.out
  LC_ALL=de_DE.UTF-8 nn-predict house.safetensors house.csv | cmp - c.out
}

@test "predict: closed standard descriptors do no harm" {
  nn-predict digits.safetensors some.csv >closed.out 2>&- <&-
  nn-predict digits.safetensors some.csv | cmp - closed.out
  run -0 bash -c 'nn-predict digits.safetensors some.csv >&-; echo done'
}

examples() {
  sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$NN_SRC/man/nn-predict.1.in" | sed -n '/^\.RS$/,/^\.RE$/p' | grep -v '^\.'
}

@test "nn-predict(1): every example runs" {
  cd "$BATS_TEST_TMPDIR"
  cp "$NN_SRC/share/data/digits.csv.gz" .
  [ "$(examples | wc -l)" -ge 5 ]
  while read -r line; do
    bash -ec "$line" </dev/null >out 2>err || { echo "$line"; cat err; false; }
    [ -s out ] || [[ $line == nn-train* ]]
  done < <(examples)
}

@test "predict: --reproducible=no says the same, to a tolerance" {
  export XDG_CACHE_HOME=$BATS_TEST_TMPDIR
  nn-predict --reproducible=no --to-header=no digits.safetensors digits.csv >free 2>err || { [ $? -eq 3 ] && skip "no nn-openblas.so"; }
  nn-predict --to-header=no digits.safetensors digits.csv >ours
  paste -d, free ours | awk -F, '{ for (i = 1; i <= 10; i++) { d = $i - $(i + 10); if (d > 1e-5 || d < -1e-5) exit 1 } }'
  nn-train -q --reproducible=no -m 'dense 32, relu, dense ?' --target=digit --loss=cross-entropy --epochs=3 digits.csv -o free.safetensors
  awk '$1 == "accuracy" { exit $2 < 0.8 }' <(nn-predict --score free.safetensors digits.csv)
}

@test "predict: a class for each position: .npy and JSON keep the shape, CSV names what works" {
  "${NN_PYTHON:-${PYTHON:-python3}}" -c 'import numpy' 2>/dev/null || skip "numpy is not installed"
  cd "$BATS_TEST_TMPDIR"
  "${NN_PYTHON:-${PYTHON:-python3}}" - <<'END'
import numpy as np
r = np.random.default_rng(1)
x = r.random((30, 2, 5, 4), dtype=np.float32)
np.save("x.npy", x)
np.save("y.npy", (x.sum(1) * 1.5).astype(np.int64))
END
  nn-train -q -m 'conv2d 8 3x3 pad=1, relu, conv2d ? 1x1' --epochs=3 x.npy y.npy -o m.safetensors
  nn-predict m.safetensors x.npy >probs.npy
  nn-predict --emit=class m.safetensors x.npy >class.npy
  nn-predict --to=jsonl --emit=class m.safetensors x.npy >class.jsonl
  nn-predict --to=jsonl --emit=logits m.safetensors x.npy >logits.jsonl
  nn-predict --score=y.npy m.safetensors x.npy >score
  "${NN_PYTHON:-${PYTHON:-python3}}" - <<'END'
import json
import numpy as np
p, c, y = np.load("probs.npy"), np.load("class.npy"), np.load("y.npy")
assert p.shape == (30, 3, 5, 4) and abs(p.sum(1) - 1).max() < 1e-5
assert c.shape == (30, 5, 4) and (c == p.argmax(1)).all()
assert (np.array([json.loads(l)["class"] for l in open("class.jsonl")]).astype(int) == c).all()
z = np.array([json.loads(l)["logits"] for l in open("logits.jsonl")])
assert z.shape == (30, 5, 4, 3) and (z.argmax(-1) == c).all()
score = dict(l.split() for l in open("score"))
assert abs(float(score["accuracy"]) - (c == y).mean()) < 1e-12
iou = [((c == k) & (y == k)).sum() / max(1, ((c == k) | (y == k)).sum()) for k in range(3)]
assert abs(float(score["iou.mean"]) - np.mean(iou)) < 1e-12
END
  run -1 --separate-stderr nn-predict --to=csv m.safetensors x.npy
  [[ $stderr == *--to=npy* ]]
}

@test "predict: what a killed run left beside -o goes at the next one" {
  cd "$BATS_TEST_TMPDIR"
  printf 'a,b\n1,2\n' >x.csv
  nn-train -q -m 'input 2, dense 2' --steps=0 --target=y --loss=cross-entropy -o m <(printf 'a,b,y\n1,2,0\n2,1,1\n') 
  mkfifo pipe
  nn-predict m -o out pipe &
  pid=$!
  exec 5>pipe
  printf 'a,b\n1,2\n' >&5
  for _ in $(seq 100); do
    compgen -G '.out.*.tmp' >/dev/null && break
    sleep 0.02
  done
  # while it lives it keeps its temporary
  nn-predict m -o out x.csv
  [ "$(compgen -G '.out.*.tmp' | wc -l)" -eq 1 ]
  kill -KILL $pid
  wait $pid || true
  exec 5>&-
  nn-predict m -o out x.csv
  [ -z "$(compgen -G '.out.*.tmp')" ]
}

@test "stdin can be one thing alone, by whatever name, status 2" {
  cd "$BATS_TEST_TMPDIR"
  printf 'a,b,y\n1,2,0\n2,1,1\n' >t.csv
  nn-train -q -m 'input 2, dense 2' --steps=0 --target=y --loss=cross-entropy -o m t.csv
  for name in - /dev/stdin /dev/fd/0 /proc/self/fd/0; do
    for other in - /dev/stdin; do
      run -2 --separate-stderr bash -c "cat m | nn-predict $name $other"
      [ "$stderr" = "nn-predict: -: stdin can be MODEL or DATA, not both" ]
    done
  done
  run -2 --separate-stderr bash -c "cat m | nn-predict /dev/stdin"
  run -2 --separate-stderr bash -c "cat t.csv | nn-train -m /dev/stdin --target=y -"
  [ "$stderr" = "nn-train: -m /dev/stdin: stdin is read as DATA already" ]
  run -2 --separate-stderr bash -c "cat t.csv | nn-train -m 'dense ?' --target=y /dev/stdin -"
  [ "$stderr" = "nn-train: -: stdin can be DATA or TARGETS, not both" ]
  for valid in - -,t.csv t.csv,-; do
    run -2 --separate-stderr bash -c "cat t.csv | nn-train -m 'dense ?' --target=y --valid=$valid -"
    [ "$stderr" = "nn-train: --valid=$valid: stdin is read as DATA already" ]
  done
  # a file on stdin that is named once more is read twice, which a file can be
  nn-predict m /dev/stdin <t.csv >/dev/null
  cat m | nn-predict /dev/stdin t.csv >/dev/null
}

@test "train: a model's text and a start model may come through a pipe, once" {
  cd "$BATS_TEST_TMPDIR"
  printf 'a,b,y\n1,2,0\n2,1,1\n' >t.csv
  printf 'dense 3\nrelu\ndense ?\n' >net.nn
  train=(nn-train -q --loss=cross-entropy --target=y --epochs=2)
  "${train[@]}" -m net.nn t.csv -o m.st
  "${train[@]}" -m <(cat net.nn) t.csv -o n.st
  cmp m.st n.st
  "${train[@]}" -m m.st t.csv -o o.st
  "${train[@]}" -m <(cat m.st) t.csv -o n.st
  cmp o.st n.st
  mkfifo pipe
  for option in --try=lr=1,2 --race=sync --selfcheck; do
    run -2 --separate-stderr "${train[@]}" -m pipe --valid=0.5 --time-limit=1 $option t.csv
    [ "$stderr" = "nn-train: -m pipe: can be read once; ${option%%=*} needs the model in a file" ]
  done
}

@test "predict: a label or category that occurs twice is named with file and key" {
  cd "$BATS_TEST_TMPDIR"
  printf 'a,b,y\n1,up,0\n2,down,1\n' >t.csv
  nn-train -q -m 'dense 2' --steps=0 --target=y --loss=cross-entropy -o m t.csv
  python3 - <<'PYTHON'
data = open("m", "rb").read()
open("labels", "wb").write(data.replace(b'\\"labels\\":[0,1]', b'\\"labels\\":[1,1]'))
PYTHON
  run -1 --separate-stderr nn-predict labels t.csv
  [ "$stderr" = 'nn-predict: labels: nn.target: labels: "1" occurs twice' ]
}

@test "predict: a safetensors header with 4.0 for a whole number is refused" {
  cd "$BATS_TEST_TMPDIR"
  python3 - <<'PYTHON'
import struct
for name, shape in ("good", "[1,2]"), ("point", "[1.0,2]"), ("exponent", "[1,2e0]"):
    head = ('{"0.weight":{"dtype":"F32","shape":%s,"data_offsets":[0,8]},"0.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}' % shape).encode()
    open(name, "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<3f", 1, 2, 3))
PYTHON
  echo 1,2 >x.csv
  nn-predict -m 'dense 1' good x.csv
  for bad in point exponent; do
    run -1 --separate-stderr nn-predict -m 'dense 1' $bad x.csv
    [[ $stderr == "nn-predict: $bad: tensor \"0.weight\": "* ]]
  done
}

@test "predict: weights that are read where they are packed give the bytes of those from a pipe" {
  printf 'input 8x16x16\nconv2d 64 3x3\nbatchnorm\nrelu\nmaxpool2d 2\nconv2d 136 3x3\nrelu\nflatten\ndense 700\nrelu\ndense 3\n' >large.nn
  python3 -c 'import struct
h = "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (3, 8, 16, 16)}".ljust(117) + "\n"
v = [((i * 7919) % 1000) / 500 - 1 for i in range(3 * 2048)]
open("x.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(h)) + h.encode() + struct.pack("<%df" % len(v), *v))
h = "{\"descr\": \"<i8\", \"fortran_order\": False, \"shape\": (3,)}".ljust(117) + "\n"
open("t.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(h)) + h.encode() + struct.pack("<3q", 0, 1, 2))'
  for p in f32 bf16 f64; do
    NN_DEVICE=cpu nn-train -q -m large.nn --epochs=1 --precision=$p -o large-$p.st x.npy t.npy
    export NN_DEVICE=cpu
    cat large-$p.st | nn-predict - x.npy >piped
    for threads in 1 3; do
      nn-predict --threads=$threads large-$p.st x.npy >there
      cmp piped there
    done
  done
}

# A wide input, a layer without a bias, one whose input is a picture, and one of few outputs.
@test "predict: an input of few rows, whose large weights are used as they come, gets the bytes that it gets among many" {
  export NN_DEVICE=cpu
  python3 -c 'import random, struct
h = "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (%d, 600)}"
r = random.Random(1)
v = [r.uniform(-1, 1) for i in range(9 * 600)]
for n in 1, 3, 4, 5, 9:
    open("few-%d.npy" % n, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + ((h % n).ljust(117) + "\n").encode() + struct.pack("<%df" % (n * 600), *v[:n * 600]))
h = "{\"descr\": \"<i8\", \"fortran_order\": False, \"shape\": (9,)}".ljust(117) + "\n"
open("few-t.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(h)) + h.encode() + struct.pack("<9q", *range(9)))'
  net='dense 331, leaky-relu, dense 400 bias=no, gelu, reshape 4x10x10, conv2d 4 3x3 pad=1, flatten, dense 300, relu, dense ?'
  nn-train -q -m "$net" --steps=2 -o few.st few-9.npy few-t.npy
  for p in bf16 int8; do nn-train -q -m few.st --steps=0 --precision=$p -o few-$p.st; done
  [ ! -e "$NN_BUILD/lib/nn-onnx.so" ] || nn-train -q -m few.st --steps=0 -o few.onnx few-9.npy few-t.npy
  for m in few*.st few*.onnx; do
    [ -e "$m" ] || continue
    for precision in '' --precision=f64; do
      [[ $m != few-int8.st || -z $precision ]] || continue
      nn-predict $precision --batch=9 --to=csv --to-header=no $m few-9.npy >many
      for n in 1 3 4 5; do
        for options in -t1 -t3 --batch=1; do
          nn-predict $precision $options --to=csv --to-header=no $m few-$n.npy >few
          cmp few <(head -n $n many)
        done
      done
    done
  done
}

# Weights of 32 MB, of which the process has a piece at a time.
@test "predict: an input of few rows needs no memory for large weights" {
  export NN_DEVICE=cpu
  echo 1 >one
  seq 9 >nine
  nn-train -q -m 'dense 2000, relu, dense 4000, relu, dense ?' --header=no --target=1 --loss=mse --steps=0 -o large.st <(seq 9 | sed 's/.*/&,&/') 2>/dev/null
  kib() { python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"; }
  few=$(kib nn-predict large.st one)
  many=$(kib nn-predict large.st nine)
  [ $((many - few)) -gt 15000 ]
}

@test "predict: a model that memory does not hold is status 4 and named" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the sanitizer takes more than there is"
  export NN_DEVICE=cpu
  echo 1 >one
  nn-train -q -m 'dense 2000, relu, dense 4000, relu, dense ?' --header=no --target=1 --loss=mse --steps=0 -o large.st <(seq 9 | sed 's/.*/&,&/') 2>/dev/null
  run -4 bash -c 'ulimit -v 30000; nn-predict -t 1 large.st one'
  [[ $output == "nn-predict: large.st: cannot allocate "*" bytes" ]]
}

# What is faster is measured, layer by layer; a large weight is packed in pieces.
@test "predict: --reproducible=no packs a large weight as its layer multiplies it, whatever is faster for a piece" {
  export NN_DEVICE=cpu XDG_CACHE_HOME=$PWD/faster
  [ -e "$NN_BUILD/lib/nn-openblas.so" ] || skip "built without OpenBLAS"
  nn-train -q -m 'dense 2048, relu, dense ?' --target=digit --loss=cross-entropy --steps=1 -o wide.st digits.csv
  nn-predict wide.st some.csv >own
  nn-predict --reproducible=no wide.st some.csv >any
  whole=$(grep $'dense 64 2048 f32 predict\t' faster/nntools/products)
  whole=${whole%$'\t'*}
  for answers in 'openblas ours' 'ours openblas'; do
    read -r of_whole of_piece <<<"$answers"
    printf '%s\t%s\n' "$whole" "$of_whole" "${whole/ 2048 / 1024 }" "$of_piece" >faster/nntools/products
    nn-predict --reproducible=no wide.st some.csv >any
    paste -d, own any | awk -F, 'NR > 1 { for (i = 1; i <= 10; i++) { d = $i - $(i + 10); if (d < -1e-5 || d > 1e-5) exit 1 } n++ } END { exit n != 20 }'
  done
}
