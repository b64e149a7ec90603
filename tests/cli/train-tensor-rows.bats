#!/usr/bin/env bats
# nn-train --tensor: ranks that share the rows of tables give the bytes of one process, keep their rows alone and send those of a batch.
# shellcheck disable=SC2154,SC2034
bats_require_minimum_version 1.5.0
load ranks.bash
load parts.bash

setup_file() {
  begin_ranks || return 0
  awk 'BEGIN {
    print "user,item,hour,day,age,bought"
    for (i = 0; i < 300; i++)
      printf "u%d,%d,%d,%d,%d,%s\n", i * 7 % 40, i * 11 % 30, i * 5 % 24, i * i % 7, i % 50, (i * 7 + i * 11) % 3 ? "yes" : "no"
  }' >clicks.csv
  # a hashed cross, added up; two columns in one table, with padding; numbers added up, with padding; a table shorter than four ranks
  printf '%s\n' 'pair: input columns=user cross=user+item hash=500' 'place: input columns=user,item' 'when: input columns=hour,day index=yes' \
    'few: input columns=item hash=3' 'number: input columns=age' 'wide: embedding 2 mode=sum init=zeros sparse=yes from=pair' \
    'deep: embedding 131 padding=7 from=place' 'row: flatten' 'hour: embedding 5 mode=sum padding=3 rows=60 from=when' \
    'short: embedding 2 mode=sum from=few' 'concat from=row+hour+short+number' 'dense 9' 'tanh' 'top: dense 2' 'add from=wide+top' >lazy.nn
  sed 's/ sparse=yes//' lazy.nn >tables.nn
  # a table alone: no dense layer is as wide as two ranks
  printf '%s\n' 'pair: input columns=user,item hash=64' 'embedding 1 mode=sum from=pair' >alone.nn
}

train() {
  timeout -k 5 120 nn-train -q -t 1 --checkpoint-every=1h "$@"
}

# States, too.
same_trained() {
  [ -s one.state.safetensors ] && same one.safetensors two.safetensors && cmp <(values one.state.safetensors) <(values two.state.safetensors)
}

# The bytes of a file's tensors alone: states keep the options.
values() {
  tail -c +$((9 + $(od -An -tu8 -N8 "$1"))) "$1"
}

clicks=(--target=bought --loss=cross-entropy -b 96 clicks.csv)

@test "tensor: tables in 2, 3 and 4 parts have the bytes of one, alone and beside ranks that share the samples" {
  as_one "2:2 3:3 4:4 4:2 6:3" -m lazy.nn "${clicks[@]}" --epochs=2 --clip-norm=0.3
  as_one "2:2 4:2" -m alone.nn --target=age --loss=mse -b 96 --epochs=2 clicks.csv
}

@test "tensor: tables by messages" {
  OMPI_MCA_btl=self,tcp as_one "2:2 4:2" -m lazy.nn "${clicks[@]}" --epochs=2 --clip-norm=0.3 --check-every=1
}

@test "tensor: tables whose ranks see parameters once, more than are copied" {
  for options in --optimizer=adam '--optimizer=lars --momentum=0.9' '--optimizer=lamb --weight-decay=0.1'; do
    # shellcheck disable=SC2086 # options
    as_one "4:2 8:2:2" -m 'input columns=user,item hash=400000, embedding 3 mode=sum, tanh, dense 1' --target=age --loss=mse -b 96 --steps=5 \
      --clip-norm=0.1 $options clicks.csv
  done
}

@test "tensor: tables beside stages of a pipeline" {
  as_one "4:2:2 6:3:2 8:2:2" -m lazy.nn "${clicks[@]}" --epochs=2 --clip-norm=0.3
  as_one "4:2:2" -m tables.nn "${clicks[@]}" --epochs=2 --optimizer=lamb
}

@test "tensor: tables with every optimizer, whose norms are longer than a block" {
  for optimizer in sgd 'sgd --momentum=0.9' adam adamw rmsprop rprop 'lars --momentum=0.9 --weight-decay=0.1' 'lamb --weight-decay=0.1'; do
    # shellcheck disable=SC2086 # a name and its options
    as_one "2:2 3:3" -m tables.nn "${clicks[@]}" --epochs=1 --clip-norm=0.1 --optimizer=$optimizer
  done
  as_one "4:2" -m tables.nn "${clicks[@]}" --epochs=1 --optimizer=lamb
  as_one "2:2" -m lazy.nn "${clicks[@]}" --epochs=2 --optimizer=adam
}

@test "tensor: tables with threads, pieces of leaves, f64, weights of classes" {
  as_one "2:2 3:3" -m lazy.nn "${clicks[@]}" --epochs=1 --micro-batch=5 --precision=f64 --class-weight=balanced --clip-norm=0.2
  train -m lazy.nn "${clicks[@]}" --epochs=1 -o one.safetensors
  train -m lazy.nn "${clicks[@]}" --epochs=1 -t 2 --ranks=2 --tensor=2 -o two.safetensors
  same one.safetensors two.safetensors
}

@test "tensor: tables beside shards of the optimizer" {
  for net in '-m lazy.nn' '-m tables.nn --optimizer=lars --momentum=0.9'; do
    # shellcheck disable=SC2086 # options
    train $net "${clicks[@]}" --epochs=2 --clip-norm=0.3 -o one.safetensors
    # shellcheck disable=SC2086
    OMPI_MCA_btl=self,tcp train $net "${clicks[@]}" --epochs=2 --clip-norm=0.3 --ranks=4 --tensor=2 --shard-optimizer -o two.safetensors
    same_trained
  done
}

@test "tensor: states of tables with any number of parts, held-out rows, a start model" {
  net=(-m lazy.nn "${clicks[@]}" --valid=0.2 --patience=3 --epochs=6)
  train "${net[@]}" -o one.safetensors
  train "${net[@]}" --steps=2 --ranks=2 --tensor=2 --checkpoint-every=1h -o two.safetensors
  train "${net[@]}" --steps=5 --ranks=6 --tensor=3 --resume -o two.safetensors
  train "${net[@]}" --steps=7 --resume -o two.safetensors
  train "${net[@]}" --steps=9 --ranks=8 --tensor=2 --pipeline=2 --resume -o two.safetensors
  train "${net[@]}" --ranks=4 --tensor=4 --resume -o two.safetensors
  same one.safetensors two.safetensors
  cp one.safetensors start.safetensors
  as_one "2:2" -m start.safetensors "${clicks[@]}" --epochs=1
}

@test "tensor: what ranks send of tables are the rows of a batch, each once" {
  printf 'a,b,y\n' >same.csv
  for ((i = 0; i < 64; i++)); do
    echo "$((i % 4)),9,$i"
  done >>same.csv
  train -m 'input columns=a,b index=yes, embedding 3 rows=10 mode=sum, dense 1' --target=y --loss=mse -b 64 --steps=3 same.csv --ranks=2 --tensor=2 \
    --log=log -o two.safetensors
  # of rows 0 to 3 and 9 rank 0 sends four and gets one, 3 numbers of 4 bytes each
  grep -q "\"event\":\"end\".*\"tensor\":{\"ranks\":2,\"bytes\":$((3 * 5 * 3 * 4)),\"seconds\":[0-9.e-]*}" log
  run -0 --separate-stderr timeout 60 nn-train -t 1 -m tables.nn "${clicks[@]}" --steps=1 --ranks=2 --tensor=2 -o two.safetensors
  all=$((500 * 2 + 70 * 131 + 60 * 5 + 3 * 2 + (262 + 5 + 2 + 1) * 9 + 9 + 9 * 2 + 2))
  [[ $stderr == *"of $all parameters $all are shared"* ]]
}

@test "tensor: a rank needs memory for its rows alone" {
  table='input columns=a,b hash=1000000, embedding 16, flatten, dense 1'
  printf 'a,b,y\n1,2,3\n4,5,6\n' >ab.csv
  nn-train -m "$table" --target=y --loss=mse -b 64 --explain=json ab.csv >one.json
  nn-train -m "$table" --target=y --loss=mse -b 64 --explain=json --tensor=4 ab.csv >four.json
  for item in parameters optimizer; do
    [ "$(jq ".memory.$item * 0.26 | floor" one.json)" -gt "$(jq ".memory.$item" four.json)" ]
    [ "$(jq ".memory.$item * 0.24 | floor" one.json)" -lt "$(jq ".memory.$item" four.json)" ]
  done
}

@test "tensor: more parts than any table has rows are refused" {
  run -2 --separate-stderr train -m 'input columns=user,item hash=5, embedding 1 mode=sum' --target=age --loss=mse -b 96 clicks.csv --ranks=6 \
    --tensor=6
  [ "$stderr" = "nn-train: --tensor=6: the longest table that ranks could share has 5 rows; use at most --tensor=5" ]
}
