#!/usr/bin/env bats
# The promise of same bytes over ranks: a job of n ranks under plain mpirun gives the model, state and figures of one.
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  begin_ranks || return 0
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 150 >words.csv
  make_prices 150 >prices.csv
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 161 >digits.csv
  printf '%s\n' 'input 1x8x8' 'conv2d 6 3x3 pad=1' 'batchnorm group=8' 'skip: relu' 'inner: conv2d 6 3x3 pad=1' 'add from=skip+inner' \
    'batchnorm group=8' 'relu' 'maxpool2d 2' 'flatten' 'dropout 0.2' 'dense ?' >conv.nn
}

setup() {
  enter_ranks
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

# ranks N [OPTION]...: nn-train as N ranks, each in a directory r.RANK of its own: rank 0 writes, into r.0; mpi: more options of mpirun
mpi=(--mca pml ob1 --mca btl "self,vader")
ranks() {
  rm -rf r.*
  timeout -k 5 120 mpirun --stdin none --oversubscribe --bind-to none --mca oob_tcp_if_include lo "${mpi[@]}" -n "$1" \
    sh -c 'mkdir r.$OMPI_COMM_WORLD_RANK; cd r.$OMPI_COMM_WORLD_RANK; exec nn-train -q --checkpoint-every=1h -o m.safetensors "$@"' - "${@:2}"
}

# as_one "N ..." [OPTION]...: model and state of N ranks are those of one process, and the other ranks write none
as_one() {
  local n
  rm -rf one && mkdir one
  (cd one && nn-train -q -t 1 --checkpoint-every=1h -o m.safetensors "${@:2}") || return
  [ -z "${NN_TEST_DEVICE-}" ] || # of which a state keeps the name
    (cd one && nn-train -q -t 1 --device=cpu -o cpu.safetensors "${@:2}" && same cpu.safetensors m.safetensors) || return
  for n in $1; do
    ranks $n -t 1 "${@:2}" || return
    [ -d r.$((n - 1)) ] || return
    same one/m.safetensors r.0/m.safetensors && same one/m.state.safetensors r.0/m.state.safetensors || {
      echo "$n ranks: ${*:2}"
      return 1
    }
    [ $n = 1 ] || [ -z "$(ls -A r.1)" ] || return
  done
}

# a figure of the last event of a kind in a log
figures() {
  all_figures "$1" "$2" | tail -n 1
}
all_figures() {
  grep "\"event\":\"$2\"" "$1" | sed -E 's/,"(seconds|samples_per_s|input_wait_s|compute_s|comm_s|wait_s|elapsed_s|bytes|noise_scale)":[^,}]*//g'
}

@test "same bytes: 1 to 4 ranks, dense layers" {
  as_one "1 2 3 4" -m 'dense 24, relu, dense 10, tanh, dense ?' --target=kind --epochs=3 -b 64 "$data/words.csv"
}

@test "same bytes: 2 to 4 ranks, convolutions, batch norm and dropout" {
  as_one "2 3 4" -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=2 -b 96 "$data/digits.csv"
}

@test "same bytes: ranks without a leaf of the last batch wait" {
  as_one "4" -m 'dense 9, relu, dense ?' --target=kind --epochs=2 -b 128 "$data/words.csv"
  as_one "3" -m 'dense 9, relu, dense ?' --target=kind --epochs=2 -b 149 "$data/words.csv"
}

@test "same bytes: ranks, with class weights and an ignored class" {
  as_one "3" -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=2 -b 80 --class-weight=balanced --ignore=3 "$data/digits.csv"
}

@test "same bytes: ranks of one host with more parameters than are copied, every way of an update" {
  for args in --optimizer=adam '--optimizer=lamb --weight-decay=0.1' '--optimizer=lars --clip-norm=0.1'; do
    as_one "2 3" -m 'dense 700, relu, dense 800, relu, dense ?' --target=digit --loss=cross-entropy --steps=3 -b 64 $args "$data/digits.csv"
  done
}

@test "same bytes: every optimizer, in common memory and by messages" {
  for args in '--optimizer=sgd --momentum=0.9 --nesterov' --optimizer=adamw --optimizer=rmsprop '--optimizer=rprop --precision=f64' \
    '--optimizer=lars --momentum=0.9 --weight-decay=0.1' '--optimizer=lamb --weight-decay=0.1' '--clip-norm=0.1'; do
    for btl in vader tcp; do
      mpi=(--mca btl "self,$btl" --mca btl_tcp_if_include lo)
      as_one "3" -m 'dense 24, relu, dense ?' --target=kind --epochs=2 -b 64 --micro-batch=7 $args "$data/words.csv"
    done
  done
}

@test "same bytes: ranks over TCP" {
  mpi=(--mca btl "self,tcp" --mca btl_tcp_if_include lo)
  as_one "2 3" -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=1 -b 96 "$data/digits.csv"
}

# as_one for buckets of 1 KiB, of $middle where that is given, and as nn-train has them
in_buckets() {
  local size
  mpi=(--mca btl "self,tcp" --mca btl_tcp_if_include lo)
  for size in 1K $middle ""; do
    as_one "$1" ${size:+--bucket=$size} "${@:2}" || return
  done
}

@test "same bytes: buckets of every size, ranks and micro-batches, a smaller last batch" {
  middle=64K
  in_buckets "2 3 4" -m 'dense 300, relu, dense 90, tanh, dense ?' --target=kind --epochs=2 -b 64 "$data/words.csv"
  in_buckets "3" -m 'dense 200, relu, dense 90, dense ?' --target=kind --epochs=2 -b 64 --micro-batch=5 -t 2 "$data/words.csv"
  in_buckets "2 3" -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=1 -b 96 --micro-batch=16 "$data/digits.csv"
}

@test "same bytes: buckets, with every kind of update" {
  net=(-m 'dense 200, relu, dense 90, relu, dense ?' --target=digit --loss=cross-entropy --steps=3 -b 70 "$data/digits.csv")
  in_buckets "3" "${net[@]}" --optimizer=lamb --weight-decay=0.1
  in_buckets "2" "${net[@]}" --optimizer=sgd --momentum=0.9 --clip-norm=0.1
  in_buckets "3" "${net[@]}" --optimizer=lars --precision=f64
  in_buckets "2" "${net[@]}" --strategy=master
  in_buckets "3" "${net[@]}" --shard-optimizer
  as_one "2" "${net[@]}"
  for parts in --pipeline=2 --tensor=2; do
    ranks 4 -t 1 "${net[@]}" $parts --bucket=1K
    same one/m.safetensors r.0/m.safetensors
  done
}

@test "same bytes: whoever reads parameters that are on their way waits for them" {
  for args in "-b 64 --check-every=1" "-b 64 --valid=0.3 --valid-every=2 --checkpoint-every=3" "-b 149 --optimizer=lars --check-every=2"; do
    in_buckets "3" -m 'dense 300, relu, dense 200, relu, dense ?' --target=kind --epochs=3 $args "$data/words.csv"
  done
}

@test "buckets: a size that is none is status 2, a loss that is not finite is 6 as without" {
  mpi=(--mca btl "self,tcp" --mca btl_tcp_if_include lo)
  for size in 12q 100; do
    run -2 --separate-stderr nn-train -m 'dense ?' --target=kind --bucket=$size "$data/words.csv"
    [[ $stderr == "nn-train: --bucket=$size: expected a number of bytes (K, M, G and T are taken) from 1024 to "* ]]
  done
  awk 'NR % 64 == 60 { sub(/,[^,]*$/, ",1e30") } { print }' "$data/prices.csv" >wild.csv
  run -6 --separate-stderr ranks 3 --bucket=1K -m 'dense 80, relu, dense ?' --target=price --normalize=none --shuffle=no --optimizer=sgd \
    -b 64 --epochs=5 "$PWD/wild.csv"
  [[ $stderr == *"step 1: the loss is not finite"* ]]
}

@test "same figures: the log and epoch lines of ranks have the digits of one process" {
  printf '%s\n' 'dense 9' relu 'dense ?' >kind.nn
  printf '%s\n' 'dense 9' relu 'dense 1' >price.nn
  for target in kind price; do
    args=(-t 1 -m "$PWD/$target.nn" --target="$target" -b 64 --epochs=2 --log=m.log --log-every=1 "$data/${target/kind/word}s.csv")
    nn-train -q "${args[@]}" >one
    ranks 3 "${args[@]}"
    [ -n "$(figures m.log step)" ]
    [ "$(figures m.log step)" = "$(figures r.0/m.log step)" ]
    [ "$(figures m.log epoch)" = "$(figures r.0/m.log epoch)" ]
    same one r.0/m.safetensors
    # two ranks measure the noise of the gradient on the halves that one process takes
    ranks 2 "${args[@]}"
    jq -e 'select(.event == "end") | .noise_steps == 1' r.0/m.log
    [ "$(jq -c 'select(.event == "step") | .noise_scale' m.log)" = "$(jq -c 'select(.event == "step") | .noise_scale' r.0/m.log)" ]
  done
}

# judged N [OPTION]...: held-out rows are judged alike by one process and by N ranks, and the same model is best
judged() {
  as_one "$1" --log=m.log --valid=0.37 --valid-every=3 -b 64 --epochs=6 "${@:2}" || return
  [ -n "$(all_figures one/m.log valid)" ] || return
  [ "$(all_figures one/m.log valid)" = "$(all_figures r.0/m.log valid)" ] || return
  [ "$(all_figures one/m.log epoch)" = "$(all_figures r.0/m.log epoch)" ] || return
  [ "$(jq -c 'select(.event == "end") | .best_epoch, .reason' one/m.log)" = "$(jq -c 'select(.event == "end") | .best_epoch, .reason' r.0/m.log)" ]
}

@test "same figures: held-out rows that ranks share, every metric, the best model and when it ends" {
  make_words 700 >words.csv
  make_prices 700 >prices.csv
  kinds=(-m 'dense 9, relu, dense ?' --target=kind "$PWD/words.csv")
  prices=(-m 'dense 9, relu, dense 1' --target=price "$PWD/prices.csv")
  judged 2 "${kinds[@]}" --metric=f1.macro --patience=2
  judged 3 "${kinds[@]}" --metric=loss --class-weight=balanced --schedule=plateau
  judged 4 "${kinds[@]}" --strategy=master --metric=accuracy --patience=1
  for n in 2 3 4; do
    judged $n "${prices[@]}" --metric=r2 --patience=1
  done
  judged 3 "${prices[@]}" --loss=huber --metric=mae --precision=f64
  mpi=(--mca btl "self,tcp" --mca btl_tcp_if_include lo)
  judged 3 "${prices[@]}" --patience=2
  # fewer blocks of rows than ranks
  judged 4 -m 'dense 9, relu, dense ?' --target=kind "$data/words.csv"
}

@test "same figures: what ranks found out about held-out rows nn-predict --score finds out about them" {
  make_prices 700 >prices.csv
  head -n 401 prices.csv >train.csv
  sed '2,401d' prices.csv >held.csv
  ranks 3 -t 1 -m 'dense 9, relu, dense 1' --target=price -b 64 --epochs=1 --valid="$PWD/held.csv" --metric=r2 --log=m.log "$PWD/train.csv"
  r2=$(jq -c 'select(.event == "epoch") | .r2' r.0/m.log)
  [ "$(nn-predict --score r.0/m.safetensors held.csv | awk '$1 == "r2" { print $2 }')" = "$r2" ]
}

@test "ranks: augmented pictures are the same whoever fills them" {
  as_one "2 3" --augment=flip,crop=1,rotate=10,noise=0.1,mixup=0.3 -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=1 -b 96 "$data/digits.csv"
}

@test "ranks: a loss that is not finite ends all with status 6, whoever met it" {
  awk 'NR % 64 == 60 { sub(/,[^,]*$/, ",1e30") } { print }' "$data/prices.csv" >wild.csv
  run -6 --separate-stderr ranks 2 -m 'dense 8, relu, dense ?' --target=price --normalize=none --shuffle=no --optimizer=sgd -b 64 \
    --epochs=5 "$PWD/wild.csv"
  [[ $stderr == *"step 1: the loss is not finite"* ]]
  [[ $stderr != *"step 2: the loss is not finite"* ]]
}

@test "ranks: more than leaves are status 2 and say what helps" {
  run -2 --separate-stderr ranks 8 -m 'dense 8, relu, dense ?' --target=kind -b 64 "$data/words.csv"
  [[ $stderr == *"nn-train: --ranks=8: a batch of 64 has 4 leaves; use --batch=128 or --leaves=8"* ]]
}

@test "same bytes: 2 to 4 ranks, tables of categories, every kind of step" {
  awk 'BEGIN { srand(3); print "a,b,c,kind"; for (i = 0; i < 300; i++) { a = int(50 * rand()); b = int(9 * rand())
    printf "a%d,b%d,%.2f,%s\n", a, b, rand(), (a + b) % 2 ? "x" : "y" } }' >"$data/tables.csv"
  printf '%s\n' 'pair: input cross=a+b hash=300' 'one: input columns=a,b' 'number: input columns=c' \
    'wide: embedding 2 mode=sum sparse=yes from=pair' 'deep: embedding 5 from=one' 'row: flatten' 'both: concat from=row+number' \
    'dense 6' 'tanh' 'top: dense 2' 'add from=wide+top' >tables.nn
  sed 's/ sparse=yes//' tables.nn >dense.nn
  as_one "2 3 4" -m "$PWD/tables.nn" --target=kind --loss=cross-entropy --epochs=2 -b 96 "$data/tables.csv"
  as_one "3" -m "$PWD/tables.nn" --target=kind --loss=cross-entropy --epochs=2 -b 70 --optimizer=sgd --clip-norm=0.1 "$data/tables.csv"
  as_one "3" -m "$PWD/dense.nn" --target=kind --loss=cross-entropy --epochs=2 -b 96 --optimizer=lamb "$data/tables.csv"
  in_buckets "3" -m "$PWD/tables.nn" --target=kind --loss=cross-entropy --epochs=1 -b 96 "$data/tables.csv"
}

@test "ranks: one that computes much longer than the other is named" {
  run -0 --separate-stderr timeout -k 5 120 mpirun --stdin none --oversubscribe --bind-to none --mca oob_tcp_if_include lo -n 2 sh -c \
    'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then export NN_CPU=generic; fi
    exec nn-train -t 1 -m "dense 600, relu, dense 600, relu, dense ?" --target=digit --loss=cross-entropy -b 128 --epochs=8 -o slow.st "$@"' \
    - "$data/digits.csv"
  [[ $stderr =~ "note: rank 1 on "[^\ ]+" computes "[0-9]+\.[0-9]" x as long as the other" ]]
}
