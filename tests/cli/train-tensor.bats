#!/usr/bin/env bats
# nn-train --tensor: ranks that share the columns of products give the bytes of one process, alone and beside ranks that share the samples.
# shellcheck disable=SC2154,SC2034
bats_require_minimum_version 1.5.0
load ranks.bash
load parts.bash

setup_file() {
  begin_ranks || return 0
  make_digits
  printf '%s\n' 'input 1x8x8' 'conv2d 6 3x3 pad=1' 'batchnorm group=8' 'skip: relu' 'inner: conv2d 6 3x3 pad=1' 'add from=skip+inner' \
    'relu' 'maxpool2d 2' 'conv2d 8 3x3 pad=1' 'relu' 'maxpool2d 2' 'conv2d 5 3x3 stride=2 pad=1' 'flatten' 'dense 20' 'layernorm' \
    'gelu' 'dropout 0.2' 'dense ?' >conv.nn
  make_both
}

# judged EVENT LOG: the figures of held-out rows
judged() {
  jq -c "select(.event == \"$1\") | [.step, .valid_loss, .r2, .rmse, .accuracy, .[\"f1.macro\"], .best]" "$2"
}

@test "tensor: 2, 3 and 4 parts have the bytes of one, of dense layers and convolutions, with clipping and a smaller last batch" {
  as_one "2:2 3:3 4:4" -m conv.nn "${digit[@]}" -b 64 --epochs=2 --clip-norm=0.5
}

# all_shared OPTION...: two ranks say that they share every parameter
all_shared() {
  rm -f two.*
  run -0 --separate-stderr timeout 60 nn-train -t 1 --steps=1 --ranks=2 --tensor=2 "$@" -o two.safetensors
  [[ $stderr =~ of\ ([0-9]+)\ parameters\ ([0-9]+)\ are\ shared ]]
  [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
}

@test "tensor: convolutions with strides and wide paddings, whose gradients are added to others" {
  printf '%s\n' 'input 1x8x8' 'conv2d 6 2x2 stride=1x2 pad=3x1' 'h: tanh' 'left: conv2d 7 3x3 stride=2 pad=4 from=h' \
    'right: conv2d 7 1x3 stride=2 pad=3x4 bias=no from=h' 'add from=left+right' 'relu' 'conv2d 5 3x1 stride=3x2 dilation=2x1 pad=1' 'flatten' \
    'dense ?' >strides.nn
  as_one "3:3 4:2" -m strides.nn "${digit[@]}" -b 64 --epochs=1 --clip-norm=0.5
  as_one "2:2" -m strides.nn "${digit[@]}" -b 64 --steps=3 --precision=f64
  all_shared -m strides.nn "${digit[@]}"
}

@test "tensor: convolutions with poolings whose windows overlap, or are large" {
  printf '%s\n' 'input 1x8x8' 'conv2d 5 3x3 pad=1' 'tanh' 'maxpool2d 3 stride=1 pad=1' 'conv2d 6 3x3 stride=2 pad=3' 'leaky-relu 0.3' \
    'maxpool2d 2x3 stride=1x2' 'conv2d 6 2x2 groups=3 pad=2' 'elu' 'maxpool2d 2 stride=1 pad=1' 'conv2d 4 1x1' 'sigmoid' \
    'maxpool2d 17 stride=5 pad=8' 'flatten' 'dense ?' >pools.nn
  as_one "3:3 4:2:2" -m pools.nn "${digit[@]}" -b 64 --epochs=1 --clip-norm=0.5
  as_one "2:2" -m pools.nn "${digit[@]}" -b 64 --steps=3 --precision=f64 --micro-batch=7
  all_shared -m pools.nn "${digit[@]}"
}

@test "tensor: whole groups of convolutions, and depthwise ones that every rank computes" {
  printf '%s\n' 'input 1x8x8' 'conv2d 12 3x3' 'h: tanh' 'left: conv2d 6 3x3 stride=2 groups=3 pad=1 from=h' 'right: conv2d 6 1x1 stride=2 from=h' \
    'add from=left+right' 'relu' 'conv2d 10 2x2 groups=2' 'tanh' >groups.nn
  (cat groups.nn && printf '%s\n' 'flatten' 'dense ?') >shared.nn
  all_shared -m shared.nn "${digit[@]}"
  printf '%s\n' 'conv2d 20 3x3 groups=10 pad=1' 'conv2d 20 2x1 groups=4 pad=1 bias=no' 'flatten' 'dense ?' >>groups.nn
  as_one "3:3 4:2:2" -m groups.nn "${digit[@]}" -b 64 --epochs=1 --clip-norm=0.5
  as_one "2:2" -m groups.nn "${digit[@]}" -b 64 --steps=3 --precision=f64 --optimizer=lamb
  run -0 --separate-stderr timeout 60 nn-train -t 1 --steps=1 --ranks=2 --tensor=2 -m groups.nn "${digit[@]}" -o two.safetensors
  [[ $stderr =~ of\ ([0-9]+)\ parameters\ ([0-9]+)\ are\ shared ]]
  [ $((BASH_REMATCH[1] - BASH_REMATCH[2])) = 200 ]         # 20 kernels of 3x3 and their biases
  run -2 --separate-stderr train -m 'input 1x8x8, conv2d 4 3x3, conv2d 16 1x1 groups=4, flatten, dense ?' "${digit[@]}" --ranks=11 --tensor=11
  [ "$stderr" = "nn-train: --tensor=11: the widest layer that ranks could share has 10 columns; use at most --tensor=10" ]
}

@test "tensor: weights of convolutions that go to others in several pieces" {
  printf '%s\n' 'input 1x8x8' 'conv2d 150 2x2' 'relu' 'conv2d 400 3x3 stride=2' 'relu' 'flatten' 'dense ?' >pieces.nn
  as_one "2:2" -m pieces.nn "${digit[@]}" -b 32 --steps=2
}

@test "tensor: beside ranks that share the samples, in memory and by messages" {
  as_one "4:2 6:3" -m conv.nn "${digit[@]}" -b 96 --epochs=2
  OMPI_MCA_btl=self,tcp as_one "2:2 4:2" -m conv.nn "${digit[@]}" -b 96 --steps=3 --clip-norm=0.5
}

@test "tensor: beside stages of a pipeline" {
  as_one "4:2:2 6:2:3:gpipe 8:2:2" -m conv.nn "${digit[@]}" -b 96 --epochs=2 --clip-norm=0.5
  as_one "4:2:2" -m conv.nn "${digit[@]}" -b 96 --steps=3 --optimizer=lamb --shard-optimizer
  as_one "4:2:2" -m both.nn --loss=mse -b 64 --epochs=1 digits.csv
}

@test "tensor: every optimizer, with norms of parameters that are longer than a block" {
  for optimizer in 'sgd --momentum=0.9' adamw rmsprop rprop 'lars --momentum=0.9' 'lamb --weight-decay=0.1'; do
    # shellcheck disable=SC2086 # a name and its options
    as_one "3:3" -m 'dense 150, relu, dense 131, tanh, dense ?' "${digit[@]}" -b 100 --steps=2 --clip-norm=0.1 --optimizer=$optimizer
  done
}

@test "tensor: weights that go to others in several pieces" {
  as_one "3:3" -m 'dense 1100, relu, dense 1030, relu, dense ?' "${digit[@]}" -b 64 --steps=3
}

@test "tensor: threads, pieces of leaves, weights of classes, f64" {
  as_one "3:3" -m conv.nn "${digit[@]}" -b 64 --steps=4 --micro-batch=5 --precision=f64 --class-weight=balanced --ignore=3
  train -m conv.nn "${digit[@]}" -b 64 --steps=4 -o one.safetensors
  train -m conv.nn "${digit[@]}" -b 64 --steps=4 -t 2 --ranks=2 --tensor=2 -o two.safetensors
  same one.safetensors two.safetensors
}

@test "tensor: several outputs, and layers that are narrower than the group" {
  as_one "4:4 4:2" -m both.nn --loss=mse -b 64 --epochs=1 digits.csv
}

@test "tensor: held-out rows, patience, states with any number of parts" {
  net=(-m conv.nn "${digit[@]}" -b 64 --valid=0.2 --patience=2 --epochs=4 --optimizer=adam)
  train "${net[@]}" -o one.safetensors
  train "${net[@]}" --steps=5 --ranks=2 --tensor=2 --checkpoint-every=1h -o two.safetensors
  train "${net[@]}" --steps=9 --ranks=6 --tensor=3 --resume -o two.safetensors
  train "${net[@]}" --steps=11 --resume -o two.safetensors
  train "${net[@]}" --steps=13 --ranks=2 --pipeline=2 --resume -o two.safetensors
  train "${net[@]}" --steps=14 --ranks=8 --tensor=2 --pipeline=2 --resume -o two.safetensors
  train "${net[@]}" --ranks=4 --tensor=4 --resume -o two.safetensors
  same one.safetensors two.safetensors
}

@test "tensor: groups and pipelines share the held-out rows: figures and the best model of one process" {
  make_prices 700 >prices.csv
  make_words 700 >words.csv
  for options in "-m 'dense 9, relu, dense ?' --target=price --metric=r2 prices.csv" "-m 'dense 9, relu, dense ?' --target=kind --metric=f1.macro words.csv"; do
    eval "net=($options)"
    net+=(--valid=0.37 --valid-every=3 -b 96 --epochs=4 --patience=2)
    train "${net[@]}" --log=one.log -o one.safetensors
    for grid in '4 2 1' '6 1 2' '8 2 2'; do
      read -r ranks columns stages <<<"$grid"
      train "${net[@]}" --ranks="$ranks" --tensor="$columns" --pipeline="$stages" --log=two.log -o two.safetensors
      same one.safetensors two.safetensors
      for event in valid epoch; do
        [ -n "$(judged $event one.log)" ]
        diff <(judged $event one.log) <(judged $event two.log)
      done
      rm two.*
    done
  done
}

@test "tensor: tables of embeddings, beside shards of the optimizer too" {
  make_tables
  as_one "2:2 4:2" -m tables.nn --target=bought --loss=cross-entropy -b 96 --epochs=2 --clip-norm=0.3 clicks.csv
  train -m tables.nn --target=bought --loss=cross-entropy -b 96 --epochs=2 --clip-norm=0.3 clicks.csv --ranks=4 --tensor=2 \
    --shard-optimizer -o shards.safetensors
  same one.safetensors shards.safetensors
}

@test "tensor: a start model" {
  train -m conv.nn "${digit[@]}" --steps=2 -o start.safetensors
  as_one "2:2" -m start.safetensors "${digit[@]}" --steps=3
}

@test "tensor: groups and what they exchange are told, and stand in the log" {
  run -0 --separate-stderr timeout 60 nn-train -t 1 -m 'dense 16, relu, dense ?' "${digit[@]}" -b 64 --steps=3 --ranks=4 --tensor=2 \
    --log=log -o two.safetensors
  [[ $stderr == *"note: 4 ranks = 2 groups of 2 that share columns (rank g x 2 + t has the t-th part), by memory; of 1210 parameters 1210 are shared"* ]]
  [[ $stderr == *"note: in a step rank 0 exchanged "*" MB of columns with its group, which took "*" % of its time"* ]]
  # a step: 32 rows of 16 and 10 columns forward, of 16 back, half of which go and half come; and 5 x 8 weights there and back
  grep -q "\"event\":\"end\".*\"tensor\":{\"ranks\":2,\"bytes\":$((3 * (32 * (16 + 10 + 16) * 4 + 2 * 5 * 8 * 4))),\"seconds\":[0-9.e-]*}" log
}

@test "tensor: a rank needs memory for its columns alone" {
  wide=(-m 'input 64, dense 800, relu, dense 800, relu, dense 10' -b 64 --clip-norm=1) # one process has all gradients at once, too
  nn-train "${wide[@]}" --explain=json >one.json
  nn-train "${wide[@]}" --explain=json --tensor=4 >four.json
  [ "$(jq -r .strategy.name four.json)" = tensor ]
  for item in parameters gradients optimizer; do
    [ "$(jq ".memory.$item * 0.3 | floor" one.json)" -gt "$(jq ".memory.$item" four.json)" ]
  done
}

@test "tensor: a loss that is not finite is status 6 and names the layer" {
  for grid in 1:1 2:2 4:2 '4:2 --pipeline=2'; do
    # shellcheck disable=SC2086 # a grid and its options
    run -6 --separate-stderr train -m 'dense 8, relu, dense 9, relu, dense ?' --target=digit --loss=mse --optimizer=sgd --lr=1e30 \
      digits.csv --ranks=${grid%%:*} --tensor=${grid#*:} -o none.safetensors
    [ "$stderr" = "nn-train: step 2: the loss is not finite: layer 2 (dense) was the first to go wrong; a lower --lr than 1e+30 or --clip-norm may help" ]
  done
  [ ! -e none.safetensors ]
}

@test "tensor: a rank that is killed ends the training with status 5 and its name" {
  nn-train -q -t 1 -m conv.nn "${digit[@]}" -b 64 --epochs=100000 --ranks=4 --tensor=2 -o two.safetensors 2>err 3>&- &
  parent=$!
  started 4
  until_ [ -e two.state.safetensors ]
  kill -9 "${ranks[3]}"
  ended 5
  gone "$processes" 100
  # the file may be there before it is told
  grep -E "^nn-train: rank 3 \\(pid ${ranks[3]}\\) was killed by signal 9 at step [0-9]+(; last checkpoint two.state.safetensors \\(step [0-9]+\\))?$" err
}

@test "tensor: --max-restarts goes on with whole groups, to the same bytes" {
  long=(-q -t 1 -m 'dense 48, relu, dense ?' "${digit[@]}" -b 64 --steps=3000)
  nn-train "${long[@]}" -o one.safetensors
  nn-train "${long[@]:1}" --ranks=4 --tensor=2 --max-restarts=1 --checkpoint-every=20 -o two.safetensors 2>err 3>&- &
  parent=$!
  started 4
  until_ [ -e two.state.safetensors ]
  kill -9 "${ranks[3]}"
  ended 0
  grep -qE '^nn-train: note: (going on from step [0-9]+|beginning again) with 2 ranks; restarts left: 0$' err
  same one.safetensors two.safetensors
}

@test "tensor: what cannot be is status 2 and says what can" {
  net=(-m 'dense 8, relu, dense ?' "${digit[@]}")
  run -2 --separate-stderr train "${net[@]}" --ranks=3 --tensor=2
  [ "$stderr" = "nn-train: --tensor=2: 3 ranks are no whole number of groups; use --ranks=2" ]
  run -2 --separate-stderr train "${net[@]}" --tensor=2
  [ "$stderr" = "nn-train: --tensor=2: 1 rank is no whole number of groups; use --ranks=2" ]
  run -2 --separate-stderr train "${net[@]}" --ranks=12 --tensor=12
  [ "$stderr" = "nn-train: --tensor=12: the widest layer that ranks could share has 10 columns; use at most --tensor=10" ]
  run -2 --separate-stderr train "${net[@]}" --ranks=16 --tensor=2
  [ "$stderr" = "nn-train: --ranks=16: a batch of 64 has 4 leaves for 8 groups; use --batch=128 or --leaves=8" ]
  run -2 --separate-stderr train "${net[@]}" --ranks=6 --tensor=2 --pipeline=2
  [ "$stderr" = "nn-train: --pipeline=2 --tensor=2: 6 ranks are no whole number of pipelines; use --ranks=4" ]
  run -2 --separate-stderr train "${net[@]}" --ranks=2 --tensor=2 --folds=3
  [ "$stderr" = "nn-train: --tensor=2: not with --folds" ]
  for strategy in async local:4 master; do
    run -2 --separate-stderr train "${net[@]}" --ranks=2 --tensor=2 --strategy=$strategy
    [ "$stderr" = "nn-train: --tensor: needs --strategy=sync" ]
  done
}
