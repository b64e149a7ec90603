#!/usr/bin/env bats
# nn-bench input: stages of tables, arrays, text and pictures; bad input.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load bench.bash

columns="stage,phase,workers,most,samples,busy_share,queue,sample_s,samples_per_s,predicted_samples_per_s,memory_bytes,$last"

# stages OPERAND...: the names of all stages, in rows.csv all figures, in notes the sentence
stages() {
  nn-bench input "$@" --time=0.05 --to=csv >rows.csv 2>notes || { cat notes; return 1; }
  [ "$(head -n 1 rows.csv)" = "$columns" ] || return 1
  grep -qE '^nn-bench: note: input-bound: [a-z ]+, [0-9]+ of [0-9]+ workers? busy [0-9]+ %; predicted .* samples/s, achieved ' notes || return 1
  awk -F, '$1 == "all" { exit !($5 > 0 && $9 > 0 && $10 > 0) }' rows.csv || return 1
  tail -n +2 rows.csv | cut -d, -f1,2 | sed 's/,epoch//; s/,start/*/' | xargs
}

# Pictures: without libpng there are none.
pictures() {
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 "$NN_SRC/tests/cli/pictures.py"
  nn-bench input train --time=0.01 >/dev/null 2>notes || ! grep -q 'module nn-png.so is not installed' notes || skip "built without libpng"
}

@test "bench: input: a table, compressed or not, has its stages, and every row is a figure" {
  cp "$NN_SRC/share/data/digits.csv.gz" .
  gunzip -k digits.csv.gz
  [ "$(stages digits.csv.gz --target=digit)" = "read* decompress* load* order batch all" ]
  [ "$(stages digits.csv --target=digit)" = "read* load* order batch all" ]
  [ "$(stages - --target=digit <digits.csv)" = "load* order batch all" ]
  # each but the last has a rate, and rows of the start are those of the file
  [ -z "$(awk -F, 'NR > 1 && !($9 > 0)' rows.csv)" ]
  [ "$(grep '^load,' rows.csv | cut -d, -f5)" = 1797 ]
  # what stages of an epoch take adds up to no more than the time
  awk -F, '$2 == "epoch" { s += $6 } END { exit !(s > 0 && s < 1.0001) }' rows.csv
}

@test "bench: input: targets in a file of their own, text, whole numbers and rows left out are read as nn-train reads them" {
  printf 'a,b\n1,2\n3,4\n,6\n' >d.csv
  printf 'y\n1\n2\n3\n' >t.csv
  [ "$(stages d.csv t.csv --missing=drop)" = "read* load* order batch all" ]
  [ "$(grep '^load,' rows.csv | cut -d, -f5)" = 2 ]
  stages d.csv --target=b --missing=mean
  [ "$(grep '^load,' rows.csv | cut -d, -f5)" = 3 ]
  stages "$NN_SRC/COPYING" --window=16
  printf '1 1:2 3:4\n2 2:1\n' >d.svm
  stages d.svm
}

@test "bench: input: pictures are read and decoded for each batch, or once with the memory for all" {
  pictures
  [ "$(stages train)" = "load* read png decode order batch all" ]
  awk -F, '$1 ~ /decode/ { exit !($3 >= 1 && $4 >= $3 && $7 != "" && $5 > 0) }' rows.csv
  [ -n "$(awk -F, '$1 == "all" && $11 > 0' rows.csv)" ]
  [ "$(stages folders.tar --augment=flip,crop=1,mixup=0.2)" = "read* load* read png decode order batch augment all" ]
  [ "$(stages train --input-memory=1M)" = "load* order batch all" ]
  [ "$(stages images masks --augment=flip,rotate=5)" = "load* read png decode order batch augment all" ]
  [ "$(stages c10.bin --augment=crop=2)" = "read* load* order batch augment all" ]
}

@test "bench: input: JSON, a file and a picture are written as by the other verbs, and a table fits 80 columns" {
  cp "$NN_SRC/share/data/digits.csv.gz" .
  nn-bench input -q digits.csv.gz --target=digit --time=0.05 --to=json -o rows.json --plot=input.svg
  grep -q '^{"stage":"batch","phase":"epoch","workers":[0-9]*,"most":[0-9]*,"samples":[0-9]*,"busy_share":[0-9.e-]*,"queue":null,' rows.json
  grep -q '^<svg' input.svg
  grep -q 'decompress' input.svg
  if command -v script >/dev/null; then
    COLUMNS=80 script -qec "nn-bench -q input digits.csv.gz --target=digit --time=0.05" /dev/null </dev/null | tr -d '\r' >table
    [ "$(wc -L <table)" -le 80 ]
    grep -q '^batch .* %' table
  fi
}

@test "bench: input: one batch, threads and more rows than there are" {
  printf 'a,y\n1,2.5\n3,4.5\n' >d.csv
  stages d.csv --target=y --batch=1000000000 --threads=3
  [ "$(grep '^batch,' rows.csv | cut -d, -f3,4)" = 3,3 ]
  run -2 --separate-stderr nn-bench input d.csv --target=y --batch=1,2
  [ "$stderr" = "nn-bench: --batch=1,2: input answers for one batch" ]
}

@test "bench: input: bad data, options of other verbs and augmentation of what is no picture are one line" {
  printf 'a,y\n1,2.5\n3,x\n' >d.csv
  run -1 --separate-stderr nn-bench input nothing --target=y
  [ "$stderr" = "nn-bench: nothing: cannot open: No such file or directory" ]
  [ -z "$output" ]
  run -2 --separate-stderr nn-bench input d.csv
  [[ $stderr == "nn-bench: --target=COLUMN is needed for d.csv; its columns: a, y" ]]
  run -1 --separate-stderr nn-bench input d.csv --target=z
  [[ $stderr == "nn-bench: --target=z: d.csv has no such column; its columns: a, y"* ]]
  printf 'a,y\n1,2.5\nx,3\n2,3\n4,3\n' >e.csv
  run -1 --separate-stderr nn-bench input e.csv --target=y --plot=p.svg
  [[ $stderr == 'nn-bench: e.csv:3:1: '* ]]
  [ "${#stderr_lines[@]}" -eq 1 ]
  [ ! -e p.svg ]
  printf 'a,y\n1,2.5\n' >d.csv
  run -2 --separate-stderr nn-bench input d.csv --target=y --augment=flip
  [[ $stderr == "nn-bench: --augment: changes pictures (CxHxW), but samples are "* ]]
  run -2 --separate-stderr nn-bench input d.csv --target=y --augment=spin
  [[ $stderr == "nn-bench: --augment=spin"* ]]
  run -2 --separate-stderr nn-bench run 'input 3, dense 2' --target=y
  [ "$stderr" = "nn-bench: --target: does not apply to run" ]
  run -2 --separate-stderr nn-bench input d.csv --mode=train
  [ "$stderr" = "nn-bench: --mode: does not apply to input" ]
  run -2 --separate-stderr nn-bench input d.csv --target=y -o d.csv
  [[ $stderr == "nn-bench: "*d.csv* ]]
}

@test "bench: input: a signal ends it, and its rows are whole" {
  printf 'a,y\n1,2.5\n3,4.5\n' >d.csv
  nn-bench input d.csv --target=y --time=60 --to=csv >rows.csv 2>notes 3>&- &
  sleep 0.3
  kill -TERM $!
  wait $! || [ $? -eq 143 ]
  [ ! -s rows.csv ] || [ "$(tail -n 1 rows.csv | cut -d, -f1)" = all ]
}
