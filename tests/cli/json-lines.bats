#!/usr/bin/env bats
# JSON lines: an object a row, members by the names of columns; in for training and prediction, out by default.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

# The same rows as CSV and as JSON lines: null, a member that is not there, another order, one that nobody asks for.
setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  "${PYTHON:-python3}" - <<'PYTHON'
import json
with open("t.csv", "w") as c, open("t.jsonl", "w") as j:
    c.write("age,port,n,up\n")
    for i in range(1300):
        age, port, n = None if i % 9 == 4 else i % 60 + 0.5, None if i % 7 == 3 else "S\u00e9\"" if i % 2 else "C", i % 5
        up = "yes" if i % 60 > 30 else "no"
        text = "" if port is None else '"%s"' % port.replace('"', '""')
        c.write(f"{'' if age is None else age},{text},{n},{up}\n")
        row = {"up": up, "n": n, "age": age, "port": port, "more": [{"x": 1}]}
        if i % 9 == 4 and i > 100:
            del row["age"]
        j.write(json.dumps(row, ensure_ascii=i % 4 == 0) + ("\r\n" if i % 3 else "\n") + ("\n" if i == 700 else ""))
PYTHON
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

train() {
  nn-train -m 'input columns=age,port,n, dense 6, relu, dense ?' --target=up --missing=mean --epochs=2 "$@"
}

refused() {
  run -1 --separate-stderr "${@:2}"
  [ "${#stderr_lines[@]}" -eq 1 ]
  [[ $stderr == *"$1"* ]] || { echo "$stderr"; return 1; }
}

@test "json lines: train and predict as the CSV of the same rows, byte for byte; JSON lines come out" {
  train -q -o want "$data/t.csv"
  run -0 --separate-stderr train -o m "$data/t.jsonl"
  [ "${stderr_lines[0]}" = '3 columns: 2 numbers, 1 text (port 3); target up: 2 classes' ]
  same m want
  train -q --valid="$data/t.jsonl" -o held "$data/t.csv"
  train -q --valid="$data/t.csv" - <"$data/t.jsonl" | cmp - held
  nn-predict m --to=csv "$data/t.jsonl" | cmp - <(nn-predict m "$data/t.csv")
  nn-predict m <"$data/t.jsonl" | cmp - <(nn-predict m --to=jsonl "$data/t.csv")
  cmp <(nn-predict m --score "$data/t.jsonl") <(nn-predict m --score "$data/t.csv")
  gzip -c "$data/t.jsonl" | nn-predict m --emit=class | head -n 1 | grep -qx '{"class":"\(no\|yes\)"}'
}

@test "json lines: through a pipe a row in gives a row out, and a bad one its error" {
  train -q -o m "$data/t.csv"
  mkfifo in out
  nn-predict m --on-error=mark <in >out 2>err 3>&- &
  exec 7>in 8<out
  for row in '{"age":1.5,"port":"C","n":2}' '{"age":tru}' '{"age":"2","n":1e0,"port":null}'; do
    printf '%s\n\n' "$row" >&7
    read -t 20 -r answer <&8
    echo "$answer" >>answers
  done
  exec 7>&- 8<&-
  wait
  [[ $(sed 1q answers) == '{"probs":{'* && $(sed '2q;d' answers) == '{"error":"-:3: JSON, byte '* && $(tail -n 1 answers) == '{"probs":{'* ]]
}

@test "json lines: names twice, other types, depth and missing members are one line that says where" {
  nn-train -q -m 'dense ?' --target=y --loss=mse --epochs=1 -o m - <<<$'a,b,y\n1,2,3.5\n4,5,6'
  says() { refused "$1" nn-predict m <<<"$2"; }
  says '-:1: JSON, byte 19: found the duplicate key a' '{"a":1,"a":2,"b":3}'
  says '-:2: found true or false in column "b", expected a number, a string or null' $'{"a":1,"b":3}\n{"a":1,"b":true}'
  says '-:1: found an array in column "a"' '{"a":[1],"b":3}'
  says '-:1: found an object in column "a"' '{"a":{},"b":3}'
  says '-:1: found "x" in column "a", expected a number' '{"a":"x","b":3}'
  says '-:1: no value in column "a", expected a number' '{"a":null,"b":3}'
  says '-: has no column "a"; its columns: b' '{"b":3}'
  says '-:1: JSON, byte 13: found the end of the text, expected a comma or }' '{"a":1,"b":3'
  says '-:1: JSON, byte 6: found NaN, expected a value' '{"a":NaN,"b":3}'
  says '-:2: JSON is nested more than 100 deep (--limit=depth=200)' "{\"a\":1,\"b\":3}
{\"a\":$(head -c 100000 /dev/zero | tr '\0' '[')"
  says '-: looks like a json file, expected CSV or TSV, JSON lines' '[{"a":1,"b":3}]'
  refused '-:1: found an array in column "more", expected a number, a string or null; columns= of the input line chooses others' \
    nn-train -m 'dense ?' --target=y --epochs=1 -o m - <<<'{"more":[1],"y":1.5}'
  # members have no order, so a model that knows places cannot use them
  nn-train -q --header=no -m 'dense ?' --target=3 --loss=mse --epochs=1 -o n - <<<$'1,2,3.5\n4,5,6'
  refused 'members of JSON lines have names, but the model knows its columns by their places' nn-predict n <<<'{"a":1,"b":2}'
}

@test "json lines: strings are text, numbers with a point are no classes, members of later lines are columns too" {
  printf '%s\n' '{"zip":"01","y":1.0}' '{"zip":"02","y":2.0,"late":5}' '{"zip":"01","y":3.0,"late":7}' >z.jsonl
  run -0 --separate-stderr nn-train -m 'dense ?' --target=y --epochs=1 --missing=mean -o m z.jsonl
  [ "${stderr_lines[0]}" = '2 columns: 1 number, 1 text (zip 2); target y: a number' ]
  [[ $(metadata m nn.input) == *'"values":["01","02"]'* ]]
}

@test "json lines: blanks may stand before an object, of the first line too; what is none is named by its kind" {
  printf 'a,b,y\n1,2,0.5\n2,1,1.5\n' | nn-train -q -m 'dense 1' --target=y -o m.st -
  printf '{"a":1,"b":3}\n' | nn-predict m.st >wanted
  printf ' \t {"a":1,"b":3}\n' | nn-predict m.st | cmp - wanted
  printf '\xef\xbb\xbf {"a":1,"b":3}\n' | nn-predict m.st | cmp - wanted
  { printf '          '; sleep 0.2; printf '  {"a":1,"b":3}\n'; } | nn-predict m.st | cmp - wanted
  while read -r value kind; do
    refused "nn-predict: -:2: found $kind, expected an object" \
      bash -c "printf '%s\n' '{\"a\":1,\"b\":3}' '$value' | nn-predict m.st"
  done <<'END'
5 a number
"x" a string
true true or false
null null
[1] an array
END
}
