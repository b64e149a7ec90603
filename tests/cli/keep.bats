#!/usr/bin/env bats
# nn-predict --keep: columns of the input that travel to the output.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 60 >words.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=2 -o m.st words.csv
  printf '%s\n' 'id,a,b,"the name",c' '007,1.5,0.2,"Doe, ""J.""",0.1' '1.50,x,1,é,2' ' 3 ,-1,0.5,,1' >rows.csv
}

# predict ARGUMENT...: nn-predict with whatever class it found written as KIND
predict() {
  nn-predict -q "$@" | sed -E 's/\<(up|down|side)\>/KIND/'
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

@test "keep: columns stand in front of each record, text as it stands, quoted where it has to be" {
  predict --emit=class --on-error=mark '--keep=the name,id' m.st rows.csv >out
  diff out - <<'OUT'
the name,id,class
"Doe, ""J.""",007,KIND
é,1.50,
, 3 ,KIND
OUT
  predict --emit=class --on-error=skip --keep=id m.st rows.csv | diff - <(printf 'id,class\n007,KIND\n 3 ,KIND\n')
  predict --emit=class --on-error=mark --to=tsv --keep=id m.st rows.csv | diff - <(printf 'id\tclass\n007\tKIND\n1.50\t\n 3 \tKIND\n')
  # all else is as it is without
  cmp <(nn-predict m.st words.csv) <(nn-predict --keep=kind,a m.st words.csv | cut -d, -f3-)
  cmp <(nn-predict --keep=kind,a m.st words.csv | cut -d, -f1,2) <(cut -d, -f4,1 words.csv | awk -F, -v OFS=, '{ print $2, $1 }')
}

@test "keep: members beside the answer in JSON lines, strings and numbers as they were" {
  predict --emit=class --on-error=mark --to=jsonl '--keep=id,the name' m.st rows.csv >out
  [ "$(sed -n 1p out)" = '{"id":"007","the name":"Doe, \"J.\"","class":"KIND"}' ]
  [[ $(sed -n 2p out) == '{"id":"1.50","the name":"é","error":"rows.csv:3:2: '*'"}' ]]
  printf '%s\n' '{"id":9007199254740993,"a":1.5,"b":0.2,"c":0.1,"s":"x","t":true,"n":0.25}' '{"a":-1,"b":0.5,"c":1,"s":null}' '{"id":18446744073709551615,"a":"z","b":1,"c":2}' >rows.jsonl
  predict --emit=class --on-error=mark --keep=id,s,t,n m.st rows.jsonl >out
  [ "$(sed -n 1p out)" = '{"id":9007199254740993,"s":"x","t":true,"n":0.25,"class":"KIND"}' ]
  [ "$(sed -n 2p out)" = '{"id":null,"s":null,"t":null,"n":null,"class":"KIND"}' ]
  [[ $(sed -n 3p out) == '{"id":18446744073709551615,"s":null,"t":null,"n":null,"error":"'* ]]
  [ "$(predict --emit=class --on-error=mark --keep=id,s --to=csv m.st rows.jsonl | sed -n 2,3p)" = $'9007199254740993,x,KIND\n,,KIND' ]
}

@test "keep: numbers, arrays and objects of JSON lines are copied as they were written" {
  printf '%s\n' '{"a":1.50,"b":0.1234567890123456789,"c":1E+2,"l": [1.50, "x,\u0079"] ,"o":{"k":[ ],"n":-0.0}}' >rows.jsonl
  predict --emit=class --keep=a,b,c,l,o m.st rows.jsonl | diff - /dev/fd/4 4<<'OUT'
{"a":1.50,"b":0.1234567890123456789,"c":1E+2,"l":[1.50, "x,\u0079"],"o":{"k":[ ],"n":-0.0},"class":"KIND"}
OUT
  predict --emit=class --to=csv --keep=a,l,o m.st rows.jsonl | diff - /dev/fd/4 4<<'OUT'
a,l,o,class
1.50,"[1.50, ""x,\u0079""]","{""k"":[ ],""n"":-0.0}",KIND
OUT
}

@test "keep: without a header by number, a line that is no record keeps nothing" {
  nn-train -q -m 'dense ?' --target=4 --epochs=2 --header=no -o plain.st <(sed 1d words.csv)
  cmp <(nn-predict --header=no --keep=4 plain.st <(sed 1d words.csv) | cut -d, -f1) <(sed 1d words.csv | cut -d, -f4)
  printf 'id,a,b,c\n1,1,1,1\n2,2\n3,1,1,1\n' >short.csv
  [ "$(nn-predict -q --emit=class --on-error=mark --keep=id m.st short.csv | cut -d, -f1 | tr '\n' ' ')" = 'id 1 2 3 ' ]
}

@test "keep: a row into a pipe gives a row out, and many rows are read ahead" {
  mkfifo to from
  nn-predict -q --keep=id --emit=class m.st <to >from &
  exec 5>to 6<from
  printf 'id,a,b,c\n1,1,1,1\n' >&5
  IFS= read -r -t 10 header <&6
  IFS= read -r -t 10 row <&6
  exec 5>&- 6<&-
  wait
  [ "$header" = id,class ] && [[ $row == 1,* ]]
  awk 'BEGIN { print "a,b,c,id"; for (i = 0; i < 30000; i++) print sin(i) "," cos(i) ",1," i }' >many.csv
  nn-predict --keep=id --emit=class m.st many.csv | cut -d, -f1 | cmp - <(cut -d, -f4 many.csv)
}

@test "keep: names that collide and places without columns are refused" {
  printf 'class,a,b,c,p.up,error\n1,1,1,1,2,3\n' >names.csv
  run -2 --separate-stderr nn-predict --emit=class --keep=class m.st names.csv
  [[ $stderr == 'nn-predict: --keep=class: "class" is the name of a column of the answer, too' && -z $output ]]
  nn-predict --keep=class m.st names.csv >out
  run -2 --separate-stderr nn-predict --keep=p.up m.st names.csv
  run -2 --separate-stderr nn-predict --keep=error --to=jsonl m.st names.csv
  run -2 --separate-stderr nn-predict --keep=a,b,a m.st names.csv
  [[ $stderr == *'"a" is kept twice'* ]]
  for option in --output-name= --target=; do
    run -2 --separate-stderr nn-predict $option m.st names.csv
    [[ $stderr == "nn-predict: $option: expected "* ]]
  done
  run -2 --separate-stderr nn-predict --keep= m.st names.csv
  [ "$stderr" = 'nn-predict: --keep=: expected COLUMN,...' ]
  run -1 --separate-stderr nn-predict --keep=ident m.st names.csv
  [[ $stderr == *'--keep=ident: names.csv has no such column'* ]]
  run -2 --separate-stderr nn-predict --keep=a --to=npy m.st names.csv
  run -2 --separate-stderr nn-predict --keep=a --score m.st words.csv
}
