#!/usr/bin/env bats
# Columns of categories and the tables they index: listed, hashed, crossed, numbers; the same bytes however a step is computed.
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  # what is bought depends on the pair of user and item; no single column tells anything
  awk 'BEGIN {
    srand(4)
    print "user,item,hour,age,price,bought"
    for (i = 0; i < 1500; i++) {
      u = int(60 * rand()); t = int(40 * rand())
      printf "u%d,%d,%d,%.1f,%.2f,%s\n", u, 1000 + t, int(24 * rand()), 18 + 50 * rand(), 100 * rand(), (u + t) % 2 ? "yes" : "no"
    }
  }' >clicks.csv
  printf '%s\n' 'pair: input columns=user cross=user+item hash=5000' 'place: input columns=user,item' 'number: input columns=age' \
    'wide: embedding 2 mode=sum init=zeros sparse=yes from=pair' 'deep: embedding 5 padding=7 from=place' 'row: flatten' \
    'both: concat from=row+number' 'dense 9' 'tanh' 'top: dense 2' 'add from=wide+top' >net.nn
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

# The network on the clicks.
net() {
  nn-train -q -m "$data/net.nn" --target=bought --loss=cross-entropy --epochs=2 -b 96 "$@" "$data/clicks.csv"
}

# A tensor's shape, of a model file.
shape_of() {
  tail -c +9 "$1" | head -c "$(od -An -tu8 -N8 "$1")" | jq -c --arg name "$2" '.[$name].shape'
}

accuracy() {
  nn-predict --score "$1" "$2" | awk '$1 == "accuracy" { print $2 }'
}

@test "embedding: the shipped wide and deep network learns what no linear network without crosses can" {
  nn-train -q -m "$NN_SRC/share/examples/wide-and-deep.nn" --target=bought --loss=cross-entropy --epochs=25 --lr=0.01 --valid=0.2 \
    "$data/clicks.csv" -o wide.safetensors
  nn-train -q -m 'all: input columns=user,item,hour, embedding 2 mode=sum' --target=bought --loss=cross-entropy --epochs=25 \
    --lr=0.01 --valid=0.2 "$data/clicks.csv" -o linear.safetensors
  wide=$(accuracy wide.safetensors "$data/clicks.csv") linear=$(accuracy linear.safetensors "$data/clicks.csv")
  echo "$wide $linear"
  awk -v w="$wide" -v l="$linear" 'BEGIN { exit !(w > 0.9 && l < 0.75) }'
}

@test "embedding: tensors are named and shaped as those of nn.Embedding" {
  net -o m.safetensors
  [ "$(shape_of m.safetensors deep.weight)" = '[100,5]' ]
  [ "$(shape_of m.safetensors wide.weight)" = '[5000,2]' ]
}

@test "embedding: same bytes for threads, micro-batches and instruction sets, with every optimizer" {
  for optimizer in adam sgd 'sgd --momentum=0.9' adamw rmsprop rprop; do
    net --optimizer=$optimizer -t 1 >one 2>/dev/null
    net --optimizer=$optimizer -t 3 >other 2>/dev/null
    same one other
    net --optimizer=$optimizer -t 2 --micro-batch=7 >other 2>/dev/null
    same one other
    NN_CPU=generic net --optimizer=$optimizer --micro-batch=1 >other 2>/dev/null
    same one other
  done
}

@test "embedding: same bytes with clipping, lars and lamb" {
  sed -i 's/ sparse=yes//' "$data/net.nn"
  for options in '--clip-norm=0.1' '--optimizer=lars' '--optimizer=lamb'; do
    net $options -t 1 >one
    net $options -t 2 --micro-batch=5 >other
    same one other
  done
}

@test "embedding: a training that was stopped goes on to the same bytes" {
  net -o whole.safetensors
  net --epochs=1 --checkpoint-every=1h -o m.safetensors
  net --resume -o m.safetensors
  same whole.safetensors m.safetensors
}

@test "embedding: with plain sgd sparse=yes and sparse=no are the same bytes; with adam rows that no batch has stay" {
  for sparse in yes no; do
    for optimizer in sgd adam; do
      nn-train -q -m "input columns=user, embedding 4 rows=80 sparse=$sparse, flatten, dense ?" --target=bought --loss=cross-entropy \
        --epochs=2 --optimizer=$optimizer "$data/clicks.csv" -o $sparse.$optimizer
    done
    cut_text $sparse.sgd >$sparse
  done
  cmp yes no
  ! cmp -s yes.adam no.adam
}

# The bytes of the tensors alone.
cut_text() {
  tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1"
}

@test "embedding: a row predicts the same alone and in a batch, a value never seen is zeros" {
  net -o m.safetensors
  head -n 60 "$data/clicks.csv" >rows.csv
  nn-predict m.safetensors rows.csv >whole
  for line in 2 17 60; do
    { head -n 1 rows.csv; sed -n ${line}p rows.csv; } | nn-predict m.safetensors | tail -n 1 | cmp - <(sed -n ${line}p whole)
  done
  nn-predict --batch=7 m.safetensors rows.csv | cmp - whole
  printf 'user,item,hour,age,price\nnobody,1001,3,30,5\nsomebody,1001,3,30,5\n' >new.csv
  run -0 --separate-stderr nn-predict m.safetensors new.csv
  [[ $stderr == *'2 values of column "user" were not in the training data'* ]]
}

@test "embedding: hashed columns are numbered as nn-data(5) says" {
  python=${PYTHON:-python3}
  $python - "$data/clicks.csv" >expected <<'END' || skip "no python"
import csv, sys

def mix(x):
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2**64
    x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
    return x ^ x >> 31

def number(fields, n):
    h = 0
    for name, field in fields:
        f = 0xcbf29ce484222325
        for byte in name.encode() + b"\xff" + field.encode():
            f = (f ^ byte) * 0x100000001b3 % 2**64
        h = mix((h + f) % 2**64)
    return h * n >> 64

for row in list(csv.DictReader(open(sys.argv[1])))[:200]:
    item, both = ("item", row["item"]), [("user", row["user"]), ("item", row["item"])]
    print(f"{number([item], 1000)},{number(both, 1000)}")
END
  # a table whose row k is k itself gives the numbers back
  $python - <<'END'
import json, struct
head = {"__metadata__": {"format": "pt", "nn.version": "1",
        "nn.model": "input 2 columns=item cross=user+item hash=1000\nembedding 1 rows=1000\nflatten\n",
        "nn.input": json.dumps({"columns": [{"kind": "hash", "of": ["item"]}, {"kind": "hash", "of": ["user", "item"]}],
                                "rows": 1000, "shape": [2]})},
        "0.weight": {"dtype": "F32", "shape": [1000, 1], "data_offsets": [0, 4000]}}
text = json.dumps(head).encode()
open("count.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<1000f", *range(1000)))
END
  head -n 201 "$data/clicks.csv" | nn-predict --to-header=no count.safetensors | cmp - expected
}

@test "embedding: index=yes and arrays hold the numbers themselves" {
  printf 'a,b,y\n0,3,1.5\n2,1,2.5\n1,4,0.5\n' >t.csv
  nn-train -q -m 'input columns=a,b index=yes, embedding 3, flatten, dense ?' --target=y --epochs=1 t.csv -o m.safetensors
  [ "$(shape_of m.safetensors 0.weight)" = '[5,3]' ]
  says 1 'nn-predict: -:2:2: found "5" in column "b", expected the number of a category, from 0 to 4' \
    nn-predict m.safetensors - <<<$'a,b\n1,5'
  says 1 'nn-train: t.csv:2:2: found "3" in column "b", expected the number of a category, from 0 to 2' \
    nn-train -m 'input columns=a,b index=yes, embedding 3 rows=3, flatten, dense ?' --target=y t.csv -o n.safetensors
}

@test "embedding: bad input is one clear line" {
  printf 'city,price,y\nOslo,1.5,a\nRome,2.5,b\n' >t.csv
  train() { nn-train -m "$1" --target=y --loss=cross-entropy t.csv -o m.safetensors; }
  says 1 'nn-train: t.csv:2:2: found "1.5" in column "price", expected a category (text or a whole number): columns of numbers need an input line of their own' \
    train 'input columns=city,price, embedding 4, flatten, dense ?'
  says 1 'nn-train: -m:2: embedding: rows=1, but its input has 2 categories' train 'input columns=city, embedding 4 rows=1, flatten, dense ?'
  says 2 'nn-train: -m:1: input: hash= must be a whole number from 1 to 16777216, not '"'0'" \
    train 'input columns=city hash=0, embedding 4, flatten, dense ?'
  says 1 'nn-train: t.csv: no such column as in cross=town; its columns: city, price, y' \
    train 'input cross=city+town hash=9, embedding 4, flatten, dense ?'
  says 2 'nn-train: -m:1: input: cross= needs hash=N' train 'input cross=city+y, embedding 4, flatten, dense ?'
  says 2 'nn-train: -m:1: input: hash= is for inputs that an embedding takes' train 'input hash=9, dense ?'
  says 2 'nn-train: -m:2: embedding: takes numbers of categories: its input must be an input line, not the output of dense' \
    train 'dense 4, embedding 4, flatten, dense ?'
  says 2 'nn-train: -m:3: dense: its input are numbers of categories, which an embedding takes too; numbers need an input line of their own' \
    train 'x: input columns=city, e: embedding 4, d: dense 2 from=x, f: flatten from=e, concat from=d+f, dense ?'
  says 1 'nn-train: -m:2: embedding: padding=5 is not a row of the table, which has 0 to 1' \
    train 'input columns=city, embedding 4 padding=5, flatten, dense ?'
  says 2 'nn-train: --optimizer=lamb: its steps are those of whole tables, but embedding 0 has sparse=yes' \
    nn-train -m 'input columns=city, embedding 4 sparse=yes, flatten, dense ?' --target=y --optimizer=lamb t.csv -o m.safetensors
  [ ! -e m.safetensors ]
}

@test "embedding: 33 words lead to an embedding that works" {
  awk 'BEGIN { print "city,y"; for (i = 0; i < 80; i++) print "c" i % 40 "," (i % 2 ? "a" : "b") }' >t.csv
  run -1 nn-train -m 'dense ?' --target=y t.csv -o m.safetensors
  [[ $output == *'t.csv:34:1: column "city" has more than 32 different values of text ("c0" in line 2 is no number); an embedding takes such a column: in the model NAME: input columns=COLUMN, and embedding 16 from=NAME; input columns=OTHERS leaves it out' ]]
  nn-train -q -m 'city: input columns=city, embedding 16 from=city, flatten, dense ?' --target=y t.csv -o m.safetensors
}
