#!/usr/bin/env bats
# Tables as they are found: missing words, separators, blanks, kinds of columns, labels, no header.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

# plain.csv as one would wish; found.csv the same as R or the web give it: NA and ?, semicolons, blanks
setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  awk 'BEGIN {
    print "age,fare,port,kind" >"plain.csv"; print "age;fare ; port;kind" >"found.csv"
    split("NA N/A NaN nan null NULL ?", words, " ")
    for (i = 0; i < 210; i++) {
      age = i * 7 % 60 + 0.5; fare = i % 11; port = i % 3 ? "S" : "C"; kind = age + 3 * fare > 40 ? "up" : "down"
      hole = i % 6 == 0; none = i % 10 == 4; word = words[i % 7 + 1]
      print (hole ? "" : age) "," fare "," (none ? "" : port) "," kind >"plain.csv"
      print " " (hole ? word : age) ";" fare " ;" (none ? word : i % 4 ? " " port : port) "; " kind >"found.csv"
    }
  }'
  tail -n +2 plain.csv | awk -F, -v OFS=, '{ print $3, $1, $2, $4 }' >bare.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

train() {
  nn-train -m 'dense 6, relu, dense ?' --epochs=2 "$@"
}

refused() {
  run -"$1" --separate-stderr "${@:3}"
  [ "${#stderr_lines[@]}" -eq 1 ]
  [[ $stderr == *"$2"* ]] || { echo "$stderr"; return 1; }
}

@test "tables: missing words, semicolons and blanks give the model of the table without them, byte for byte" {
  train -q --target=kind --missing=mean -o plain "$data/plain.csv"
  run -0 --separate-stderr train --target=kind --missing=mean -o found "$data/found.csv"
  [ "${stderr_lines[0]}" = '3 columns: 2 numbers, 1 text (port 3); target kind: 2 classes' ]
  same plain found
  # in prediction and in --score as in training; the separator is told from its own input
  nn-predict plain "$data/plain.csv" >want
  nn-predict plain "$data/found.csv" | cmp - want
  tr ';' '|' <"$data/found.csv" | nn-predict found | cmp - want
  tr ';' '\t' <"$data/found.csv" | nn-predict --to=csv found | cmp - want
  tr ';' : <"$data/found.csv" | nn-predict --separator=: found | cmp - want
  nn-predict --score plain "$data/plain.csv" >want
  nn-predict --score plain "$data/found.csv" | cmp - want
  # dropped rows likewise, whatever the threads
  train -q --target=kind --missing=drop -o plain "$data/plain.csv"
  train -q --target=kind --missing=drop --threads=3 -o found "$data/found.csv"
  same plain found
}

@test "tables: means and predictions are those of pandas, which reads the same file" {
  python=${NN_PYTHON:-${PYTHON:-python3}}
  "$python" -c 'import pandas' 2>/dev/null || skip "no pandas"
  train -q --target=fare --loss=mse --missing=mean -o m "$data/found.csv"
  NN_INPUT=$(metadata m nn.input) "$python" - "$data/found.csv" <<'PYTHON' >filled.csv
import json, os, sys, pandas
table = pandas.read_csv(sys.argv[1], sep=";", na_values="?", skipinitialspace=True)
table["port"] = table["port"].fillna("")
columns = {c["name"]: c for c in json.loads(os.environ["NN_INPUT"])["columns"]}
assert columns["age"]["missing"] == table["age"].mean(), (columns["age"], table["age"].mean())
assert columns["port"]["values"] == sorted(table["port"].unique())
table["age"] = table["age"].fillna(table["age"].mean())
table.to_csv(sys.stdout, index=False)
PYTHON
  nn-predict m "$data/found.csv" >a
  nn-predict m filled.csv | cmp - a
}

@test "tables: --separator wins, is kept where the first line does not tell it, and is checked" {
  tr ';' : <"$data/found.csv" >colon.csv
  train -q --target=kind --missing=mean --separator=: -o m colon.csv
  train -q --target=kind --missing=mean -o n "$data/found.csv"
  [[ $(metadata m nn.input) == *'"separator":":"'* ]]
  [[ $(metadata n nn.input) != *separator* ]]
  nn-predict m colon.csv | cmp - <(nn-predict n "$data/found.csv")
  nn-predict m --separator=semicolon "$data/found.csv" | cmp - <(nn-predict n "$data/found.csv")
  refused 1 'has no such column; its columns: age:fare : port:kind' train --target=kind -o x colon.csv
  refused 2 'separator=ab: expected one character' train --target=kind --separator=ab -o x colon.csv
  refused 2 'separator=5: expected one character' nn-predict m --separator=5 colon.csv
}

@test "tables: most of a column's first 1,000 values say what it is; an odd one is named with its line" {
  sed '2s/.*/old;1;S;up/' "$data/found.csv" >first.csv
  refused 1 'first.csv:2:1: found "old" in column "age", expected a number' train --target=kind --missing=mean -o m first.csv
  { cat "$data/found.csv"; for i in 1 2 3 4 5 6; do sed 1d "$data/found.csv"; done; echo 'young;1;S;up'; } >last.csv
  refused 1 'last.csv:1472:1: found "young" in column "age", expected a number' \
    train --target=kind --missing=mean --threads=2 -o m last.csv
  # beyond the sample words are odd, and numbers are not
  { echo x,y; seq 1000 | sed 's/$/,1.5/'; seq 1001 3000 | sed 's/.*/w&,1.5/'; } >turn.csv
  refused 1 'turn.csv:1002:1: found "w1001" in column "x", expected a number' train --target=y -o m turn.csv
  [ ! -e m ]
}

@test "tables: labels like 7 and 3+ in one column are text; a missing label is no class" {
  sed 's/up/7/; s/down/5/; $s/7$/3+/; $s/5$/3+/' "$data/plain.csv" >c.csv
  run -0 --separate-stderr train --target=kind --missing=mean --loss=cross-entropy -o m c.csv
  [[ ${stderr_lines[0]} == *'; target kind: 3 classes' ]]
  [[ $(metadata m nn.target) == *'"labels":["3+","5","7"]'* ]]
  sed '4s/up\|down//' "$data/plain.csv" >e.csv
  refused 1 'e.csv:4:4: empty field in column "kind", expected a label; --missing=drop leaves the row out' \
    train --target=kind --missing=mean -o x e.csv
  train -q --target=kind --missing=drop -o m e.csv
  [[ $(metadata m nn.target) == *'"labels":["down","up"]'* ]]
  train -q --target=kind --missing=mean -o m "$data/plain.csv"
  refused 1 'e.csv:4:4: empty field in column "kind", expected a label' nn-predict --score m --on-error=fail e.csv
}

@test "tables: a model of a table without a header reads tables without a header, one row too" {
  train -q --target=4 --header=no --missing=mean -o m "$data/bare.csv"
  nn-predict m --emit=class "$data/bare.csv" >all
  [ "$(wc -l <all)" -eq 210 ]
  for i in 1 2 3 4; do sed "${i}q;d" "$data/bare.csv" | nn-predict m --emit=class; done | cmp - <(head -n 4 all)
  nn-predict m --score "$data/bare.csv" | grep -q '^samples 210$'
  { echo port,age,fare,kind; cat "$data/bare.csv"; } >headed.csv
  refused 1 'headed.csv:1:2: found "age" in column 2, expected a number; the model was trained without a header, --header=yes skips a line' \
    nn-predict m headed.csv
  nn-predict m --header=yes --to-header=no --emit=class headed.csv | cmp - all
  # held-out rows and targets of their own, too
  train -q --target=4 --header=no --missing=mean --valid="$data/bare.csv" -o n "$data/bare.csv"
  cut -d, -f4 "$data/bare.csv" | nn-predict m --score=- "$data/bare.csv" | grep -q '^samples 210$'
}

@test "tables: where the first row was taken for a header in training, the message says what helps" {
  refused 1 "--target=4: $data/bare.csv has no such column; its columns: C, , 0, down; --header=no takes the first line as a row" \
    train --target=4 -o m "$data/bare.csv"
  refused 1 'its columns: C, , 0, down; --header=no takes the first line as a row' train --target=kind -o m "$data/bare.csv"
}

@test "tables: a label that a start model does not have is named, with how other classes are trained" {
  train -q --target=kind --missing=mean -o m "$data/plain.csv"
  sed 's/down/sideways/' "$data/plain.csv" >other.csv
  refused 1 '(unknown: "sideways"); other classes want -m TEXT --init=MODEL --init-partial' nn-train -m m --target=kind -o n other.csv
  train -q --target=kind --missing=mean --init=m --init-partial -o n other.csv 2>/dev/null
  [[ $(metadata n nn.target) == *sideways* ]]
}

@test "tables: categories of rows that cannot be read are not among those that are told of as unknown" {
  nn-train -q -m "dense ?" --target=kind --missing=mean --epochs=1 "$data/plain.csv" -o m.st
  printf 'age,fare,port\n1,2,S\n1,x,T\nU,2,U\n1,2\n1,2,V\nV,2,V\n' >odd.csv
  for threads in 1 2; do
    run -0 --separate-stderr nn-predict -t $threads --on-error=skip m.st odd.csv
    [ "${stderr_lines[0]}" = 'nn-predict: warning: odd.csv: 1 value of column "port" was not in the training data; it counts as all zeros' ]
  done
}

@test "tables: a column of odd numbers, too many texts, names the first of them with its line, for one thread as for several" {
  awk 'BEGIN { print "price,area,y"; for (i = 0; i < 3000; i++) printf "%s,%d,%d\n", (i < 2 || i > 2100 ? "" : "$" i / 10), i % 7, i % 3 }' >odd.csv
  for threads in 1 3; do
    run -1 --separate-stderr nn-train -m 'dense ?' --target=y --loss=mse -t $threads odd.csv -o m
    [[ $stderr == 'nn-train: odd.csv:35:1: column "price" has more than 32 different values of text ("$0.2" in line 4 is no number); an embedding takes such a column'* ]]
  done
}

@test "tables: a carriage return at the end of the file, without a newline, ends no line" {
  printf 'a,b,y\n1,2,0.5\n2,1,1.5\n' | nn-train -q -m 'dense 1' --target=y -o m.st -
  for text in '1,2\n3,4\r' '1,2\n3,"4"\r' '1,2\n\r'; do
    # shellcheck disable=SC2059
    printf "$text" >f.csv
    run -1 --separate-stderr nn-predict --header=no m.st f.csv
    [ "$stderr" = 'nn-predict: f.csv:2: carriage return without a newline' ]
    run -1 --separate-stderr bash -c 'nn-predict --header=no m.st - <f.csv'
    [ "$stderr" = 'nn-predict: -:2: carriage return without a newline' ]
  done
  printf 'a,b,y\r\n1,2,0.5\r\n2,1,1.5\r' >f.csv
  run -1 --separate-stderr nn-train -q -m 'dense 1' --target=y -o no f.csv
  [ "$stderr" = 'nn-train: f.csv:3: carriage return without a newline' ]
  printf '1,2\r\n3,4' | nn-predict --header=no m.st | wc -l | grep -qx 2
}
