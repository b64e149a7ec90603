#!/bin/bash
# The promise of same bytes over every layer and optimizer: each factor alone, then seeded random combinations.
#
# usage: same-bytes.sh [COMBINATIONS [SEED]]     (40, with NN_OTHER 20; 1)
# Factors: threads, micro-batch, instruction set, file or stdin; for predictions the batch and the company of a row. What all are
# compared with is computed by one thread of the processor, also where NN_DEVICE says another device. Where NN_OTHER is the folder
# of another machine's tools, by them, and trainings that one began are resumed by the other; of each factor one value is tried
# then, because each machine tries the others by itself.
# The nets have at most 5000 parameters and hold every layer of nn-layers(7) (the first claim counts them).
set -u
combinations=${1:-40} seed=${2:-1}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
claims=0 failures=0

report() { # WHY CLAIM: WHY is empty where the claim holds
  claims=$((claims + 1))
  if [ -z "$1" ]; then
    echo "ok $claims - same bytes: $2"
  else
    failures=$((failures + 1))
    echo "not ok $claims - same bytes: $2"
    printf '# %s\n' "$1"
  fi
}

# 72 numbers, a word and a price in each row; one row in seven holds zeros of both signs
awk 'BEGIN {
  srand(7)
  for (j = 0; j < 72; j++) printf "x%d,", j
  print "kind,price,town"
  for (i = 0; i < 97; i++) {
    s = 0
    for (j = 0; j < 72; j++) {
      x = 3 * rand() - 1.5
      if (i % 7 == 3 && j % 5 == 0) { printf "%s", (j % 2 ? "-0.0," : "0.0,"); continue }
      printf "%.5f,", x
      s += j % 3 ? x : -x
    }
    printf "%s,%.4f,t%d\n", (s > 2 ? "high" : (s < -2 ? "low" : "middle")), 10 + s / 4, (i * i + i) % 31
  }
}' >priced.csv
cut -d, -f1-73 priced.csv >plain.csv

declare -A net
net[residual]='input 2x6x6, conv2d 6 3x3 pad=1 bias=no, batchnorm group=8, a: relu, conv2d 6 3x3 pad=2 dilation=2 groups=6
c: leaky-relu 0.1, m: mul from=a+c, add from=a+m, maxpool2d 2, conv2d 8 3x3 stride=2 pad=1 groups=2, elu 0.7, flatten
dropout 0.3, k: dense ?'
net[branches]='input 2x6x6, p: conv2d 5 1x1, silu, avgpool2d 3 stride=2 pad=1, conv2d 7 3x2 pad=1, h: softplus
l: conv2d 4 2x2 stride=2 from=p, batchnorm group=8, l2: tanh, w: avgpool2d 2 from=p, concat from=l2+w, conv2d 17 3x3 pad=1
g: global-avgpool, hf: flatten from=h, concat from=g+hf, dense 9, relu, k: dense ?'
net[columns]='input 72, dense 24, layernorm, gelu, dropout 0.2, reshape 4x6, dense 5, sigmoid, layernorm, flatten, identity
dense 19, batchnorm group=8, tanh, dense 16, softmax, dense 3, k: log-softmax'
net[inputs]='wide: input columns=x0,x3,x4,x9,x31, deep: input columns=x1,x2,x5,x6,x7,x8,x11,x12,x13,x14,x15
d1: dense 20 from=deep, batchnorm group=8, d2: relu, w1: dense 7 from=wide
town: input columns=town, t1: embedding 3 mode=sum, hashed: input columns=town hash=40, t2: embedding 5 padding=3, t3: flatten
both: concat from=d2+w1+t1+t3, drop: dropout 0.1
kind: dense ? output target=kind, price: dense 1 output target=price weight=0.5 from=drop'
net[steps]='input 12x6, dense 5, tanh, rnn 6, lstm 7 layers=2 bidirectional=yes, gru 5, last, dense 9, relu, k: dense ?'
net[sequence]='input 9x8, position, a: dense 10 bias=no, c: attention 5 causal=yes, add from=a+c, layernorm, attention 2, gelu
flatten, dense 12, relu, k: dense ?'
net[lines]='input 8x9, a: conv1d 6 3 pad=1, batchnorm group=8, b: relu, maxpool1d 2 stride=1, c: pad 1 after=0 value=0.3, d: avgpool1d 3 stride=1 pad=1 from=a
e: concat from=c+d, slice 1 11 step=2, transpose, dense 6, transpose 0 1, flatten, dropout 0.1, k: dense ?'
net[unet]='input 2x6x6, a: conv2d 5 3x3 pad=1, relu, maxpool2d 2, conv2d 8 3x3 pad=1, m: relu, u: conv-transpose2d 5 2x2 stride=2, v: relu
w: upsample 2 mode=bilinear from=m, x: crop 4x4, y: crop from=a+x, concat from=x+y, conv-transpose2d 6 3x3 pad=1 groups=1, z: upsample 2, t: maxpool2d 2
concat from=u+v+a, conv2d 4 3x3, s: tanh, concat from=s+t, global-avgpool, k: dense ?'
rows_of() { [ "$1" = inputs ] && echo priced.csv || echo plain.csv; }
names=(residual branches columns inputs steps sequence lines unet)
optimizers=('sgd --lr=0.05' 'sgd --momentum=0.9 --nesterov --weight-decay=0.01 --lr=0.05' 'adam' 'adam --weight-decay=0.01'
  'adamw --schedule=cosine' 'rmsprop --warmup=3' 'rprop' 'lars --momentum=0.9 --weight-decay=0.1 --lr=0.1'
  'lamb --weight-decay=0.1' 'adam --clip-norm=0.05')
cpus=(generic)
for cpu in neon avx2 avx512; do
  case $(NN_CPU=$cpu nn-train --version -v) in *" $cpu, NN_CPU=$cpu"*) cpus+=("$cpu") ;; esac
done

all_threads=(2 3 4) batches=(1 2 3 5 16 31 96) alone=(1 4 50 97)
[ -z "${NN_OTHER-}" ] || all_threads=(3) batches=(16) alone=(50) combinations=${1:-20}

# other COMMAND...: with the tools of the other machine, where there is one
other() {
  local PATH=${NN_OTHER:+$NN_OTHER:}$PATH
  "$@"
}

# train NET OPTIMIZER PRECISION BATCH [OPTION]... [-]: the sum of the model file after two epochs
train() {
  local target=--target=kind data
  [ "$1" = inputs ] && target=--target=kind,price
  data=$(rows_of "$1")
  # shellcheck disable=SC2086
  if [ "${!#}" = - ]; then
    nn-train -q -m "${net[$1]}" $target --optimizer=$2 --precision="$3" -b "$4" --epochs=2 "${@:5}" <"$data"
  else
    nn-train -q -m "${net[$1]}" $target --optimizer=$2 --precision="$3" -b "$4" --epochs=2 "${@:5}" "$data"
  fi 2>err | sha256sum
  [ -s err ] && head -n 1 err
}

# differs SUM NET OPTIMIZER PRECISION BATCH [OPTION]... [-]: says how the bytes differ from SUM, if they do
differs() {
  local sum
  sum=$(train "${@:2}")
  [ "$sum" = "$1" ] || echo "${*:2} ${NN_CPU+NN_CPU=$NN_CPU}: $sum, not $1; "
}

layers_are_covered() {
  local layer text="${net[*]}" why=
  while IFS= read -r layer; do
    grep -qE "(^|[ :,])$layer( |,|\$)" <<<"$text" || why+="$layer is in no net; "
  done < <(sed "/activations\.def/r $NN_SRC/lib/op/activations.def" "$NN_SRC/lib/model/layers.def" |
		sed -n 's/^NN_LAYER(\(.*\))$/\1/p; s/^NN_ACTIVATION([A-Z_]*, \([a-z_]*\),.*/\1/p' | tr _ -)
  while IFS= read -r layer; do
    printf '%s\n' "${optimizers[@]}" | grep -qE "^$layer( |\$)" || why+="$layer is not tried; "
  done < <(nn-train --help=training | sed -n '/--optimizer=NAME/,/(default/{s/.*=NAME//;s/(default.*//;p}' | tr -s ', ' '\n' | grep .)
  report "$why" "every layer and every optimizer is tried"
}

# Each factor alone, for a net, an optimizer and a precision: threads, micro-batches, instruction sets, stdin.
factors() { # CLAIM NET OPTIMIZER PRECISION BATCH
  local base why='' micro=(7)
  [ -n "${NN_OTHER-}" ] || micro+=(1 8 $(($5 / 2 + 1)) $(($5 - 1)) "$5")
  base=$(other train "$2" "$3" "$4" "$5" -t 1 --device=cpu)
  [ -s err ] && why="$base"
  for threads in "${all_threads[@]}"; do why+=$(differs "$base" "${@:2}" -t "$threads"); done
  for rows in "${micro[@]}"; do why+=$(differs "$base" "${@:2}" -t 1 --micro-batch="$rows"); done
  for cpu in "${cpus[@]}"; do why+=$(NN_CPU=$cpu differs "$base" "${@:2}" -t 1); done
  [ -n "${NN_OTHER-}" ] || why+=$(differs "$base" "${@:2}" -t 1 -)
  report "$why" "$1"
}

# A row alone, in every batch, at another place, on every instruction set and number of threads.
predictions() { # NET PRECISION
  local why='' target=--target=kind options=() out data
  data=$(rows_of "$1")
  [ "$1" = inputs ] && target=--target=kind,price
  nn-train -q -m "${net[$1]}" $target --precision="$2" -b 43 --epochs=2 -o model.safetensors "$data" || why+="no model; "
  for out in $([ "$1" = inputs ] && echo kind price || echo -); do
    options=()
    [ "$out" = - ] || options=(--output-name="$out")
    predict() { nn-predict "${options[@]}" --to-header=no "$@"; }
    other predict -t 1 --device=cpu model.safetensors "$data" >whole || why+="no prediction; "
    [ "$(wc -l <whole)" = 97 ] || why+="$(wc -l <whole) records of 97; "
    for rows in "${batches[@]}"; do
      predict --batch="$rows" model.safetensors "$data" | cmp -s - whole || why+="--batch=$rows; "
    done
    for threads in "${all_threads[@]}"; do
      predict -t "$threads" model.safetensors "$data" | cmp -s - whole || why+="-t $threads; "
    done
    for cpu in "${cpus[@]}"; do
      NN_CPU=$cpu predict model.safetensors "$data" | cmp -s - whole || why+="NN_CPU=$cpu; "
    done
    for row in "${alone[@]}"; do
      { head -n 1 "$data" && sed -n "$((row + 1))p" "$data"; } | predict model.safetensors | cmp -s - <(sed -n "${row}p" whole) ||
        why+="row $row alone; "
    done
    { head -n 1 "$data" && tail -n +2 "$data" | tac; } | predict model.safetensors | tac | cmp -s - whole || why+="backwards; "
  done
  report "$why" "a row of the $1 net at $2 is predicted alone, in batches and at other places"
}

# A configuration and a way to compute it, both drawn; says what is wrong.
combination() { # NUMBER
  local name=${names[RANDOM % ${#names[@]}]} optimizer=${optimizers[RANDOM % ${#optimizers[@]}]} precision=f$((32 << RANDOM % 2))
  local sizes=(43 44 64 97 128 5) more=('' '' --leaves=2 --leaves=4 --shuffle=no --shuffle=20
    --valid=0.2 '--valid=0.3 --valid-every=1 --patience=1')
  local batch options=() base extra more_options=()
  batch=${sizes[RANDOM % 6]} extra=${more[RANDOM % ${#more[@]}]}
  [ "$batch" = 5 ] && extra=${extra##--leaves*} # one group of rows, one leaf
  read -ra more_options <<<"$extra"
  local cpu=${cpus[RANDOM % ${#cpus[@]}]}
  base=$(other train "$name" "$optimizer" "$precision" "$batch" "${more_options[@]}" -t 1 --device=cpu)
  [ -s err ] && echo "$1: $name $optimizer $precision $batch $extra: $base"
  options=("${more_options[@]}" -t $((RANDOM % 4 + 1)) --micro-batch=$((RANDOM % batch + 1)))
  ((RANDOM % 2)) && options+=(-)
  NN_CPU=$cpu differs "$base" "$name" "$optimizer" "$precision" "$batch" "${options[@]}"
}

# A training of six steps that was stopped after two and goes on elsewhere.
moved() { # NET OPTIMIZER PRECISION
  local base why=
  base=$(other train "$@" 43 -t 1)
  rm -f state
  other train "$@" 43 --steps=2 --checkpoint=state >stopped
  why+=$(differs "$base" "$@" 43 --checkpoint=state --resume)
  rm -f state
  train "$@" 43 --steps=2 --checkpoint=state | cmp -s - stopped || why+="two steps; "
  [ "$(other train "$@" 43 --checkpoint=state --resume)" = "$base" ] || why+="back; "
  report "$why" "the $1 net with $2 at $3 is trained on where another machine stopped"
}

# The last model that was trained in the types that weights are stored in, and what that predicts.
stored() { # NET
  local type why='' options=()
  [ "$1" = inputs ] && options=(--output-name=kind)
  for type in bf16 f16 int8; do
    nn-train -q -m model.safetensors --steps=0 --precision=$type -o $type.st || why+="no $type; "
    other nn-train -q -m model.safetensors --steps=0 --precision=$type -o other.st
    cmp -s $type.st other.st || why+="$type; "
    cmp -s <(predict $type.st "$(rows_of "$1")") <(other predict $type.st "$(rows_of "$1")") || why+="rows of $type; "
  done
  report "$why" "the $1 net in bf16, f16 and int8"
}

layers_are_covered
for name in "${names[@]}"; do
  for precision in f32 f64; do
    factors "each factor alone, the $name net at $precision" "$name" adam $precision 43
  done
done
for optimizer in "${optimizers[@]}"; do
  factors "each factor alone, $optimizer" columns "$optimizer" f32 44
done
for name in "${names[@]}"; do
  for precision in f64 f32; do predictions "$name" $precision; done
  [ -z "${NN_OTHER-}" ] || stored "$name"
done
if [ -n "${NN_OTHER-}" ]; then
  for name in "${names[@]}"; do moved "$name" adam f64; done
  for optimizer in "${optimizers[@]}"; do moved columns "${optimizer% --schedule=*}" f32; done # a schedule ends with --steps
fi
RANDOM=$seed
for ((part = 0; part < combinations; part += 20)); do
  why=
  for ((i = part; i < part + 20 && i < combinations; i++)); do
    combination $i >said
    why+=$(<said)
  done
  report "$why" "drawn combinations $((part + 1)) to $i"
done
echo "1..$claims"
exit $((failures > 0))
