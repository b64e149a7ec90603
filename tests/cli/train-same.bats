#!/usr/bin/env bats
# The promise of same bytes: threads, micro-batches, instruction sets, files and pipes never change a model.
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 90 >words.csv
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 161 >digits.csv
  printf '%s\n' 'input 1x8x8' 'conv2d 6 3x3 pad=1' 'batchnorm group=16' 'skip: relu' 'conv2d 6 3x3 pad=1' 'add from=skip+4' \
    'relu' 'maxpool2d 2' 'flatten' 'dropout 0.2' 'dense ?' >conv.nn
  sed -i 's/^conv2d 6 3x3 pad=1$/&/; s/^add from=skip+4$/two: add from=skip+inner/' conv.nn
  awk '/^conv2d/ && ++n == 2 { print "inner: " $0; next } { print }' conv.nn >net && mv net conv.nn
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

dense() {
  nn-train -q -m 'dense 24, relu, dense 10, tanh, dense ?' --target=kind --epochs=3 -b 64 "$@" "$data/words.csv"
}

conv() {
  nn-train -q -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=2 -b 96 "$@" "$data/digits.csv"
}

@test "same bytes: threads 1 to 4" {
  dense -t 1 >d1
  conv -t 1 >c1
  for t in 2 3 4; do
    dense -t $t >d
    same d1 d
    conv -t $t >c
    same c1 c
  done
}

# Two threads have a copy each of what a batch takes of bytes.
@test "same bytes: pictures of bytes, whatever threads and micro-batch" {
  { printf '\0\0\010\003\0\0\0\310\0\0\0\010\0\0\0\014' && head -c 19200 "$NN_SRC/share/data/digits.csv.gz"; } >x
  { printf '\0\0\010\001\0\0\0\310' && for i in {1..200}; do printf "\\0$((i * i % 7 % 4))"; done; } >y
  bytes() { nn-train -q -m 'flatten, dense 128, relu, dense 4' --loss=cross-entropy --epochs=3 -b 64 "$@" x y; }
  bytes -t 1 >b1
  for t in 2 3 4; do
    bytes -t $t >b
    same b1 b
  done
  for rows in 17 32 63; do
    bytes -t 2 --micro-batch=$rows >b
    same b1 b
  done
}

@test "same bytes: every micro-batch" {
  dense >d1
  for rows in 1 2 3 5 8 16 17 31 32 33 63 64; do
    dense --micro-batch=$rows >d
    same d1 d
  done
  conv >c1
  for rows in 1 17 32 48 95; do
    conv --micro-batch=$rows -t 2 >c
    same c1 c
  done
}

@test "same bytes: every instruction set that this machine has" {
  NN_CPU=generic dense >d1
  NN_CPU=generic conv >c1
  for cpu in neon avx2 avx512; do
    if ! there $cpu; then
      NN_CPU=$cpu run -3 --separate-stderr dense
      [ "$stderr" = "nn-train: NN_CPU=$cpu: this CPU has no $cpu" ]
      continue
    fi
    NN_CPU=$cpu dense >d
    same d1 d
    NN_CPU=$cpu conv >c
    same c1 c
  done
  there generic
}

@test "same bytes: a file, a compressed file and a pipe" {
  dense >d1
  gzip -k "$data/words.csv" -c >words.csv.gz
  nn-train -q -m 'dense 24, relu, dense 10, tanh, dense ?' --target=kind --epochs=3 -b 64 words.csv.gz >d2
  nn-train -q -m 'dense 24, relu, dense 10, tanh, dense ?' --target=kind --epochs=3 -b 64 - <"$data/words.csv" >d3
  # shellcheck disable=SC2002
  cat "$data/words.csv" | nn-train -q -m 'dense 24, relu, dense 10, tanh, dense ?' --target=kind --epochs=3 -b 64 - >d4
  same d1 d2
  same d1 d3
  same d1 d4
}

@test "same bytes: every optimizer, whatever threads and micro-batch" {
  for args in --optimizer=sgd '--optimizer=sgd --momentum=0.9 --nesterov' --optimizer=adam --optimizer=adamw --optimizer=rmsprop \
    --optimizer=rprop '--optimizer=lars --momentum=0.9 --weight-decay=0.1' '--optimizer=lamb --weight-decay=0.1' --clip-norm=0.1 \
    --precision=f64; do
    dense $args -t 1 >d1
    dense $args -t 3 --micro-batch=7 >d2
    same d1 d2
  done
}

# Large layers change behind their gradients where a batch goes through at once; micro-batches have to be added up first.
@test "same bytes: weights updated behind their gradients or after all of them, by every optimizer" {
  wide() { nn-train -q -m 'dense 601, relu, dense 520, relu, dense ?' --target=kind --epochs=2 -b 64 "$@" "$data/words.csv"; }
  for args in --optimizer=sgd '--optimizer=sgd --momentum=0.9 --nesterov --weight-decay=0.1' '--optimizer=adam --weight-decay=0.1' \
    --optimizer=adamw --optimizer=rmsprop '--optimizer=rmsprop --momentum=0.9' --optimizer=rprop --precision=f64; do
    wide $args --micro-batch=13 >d1
    wide $args >d2
    same d1 d2
    wide $args -t 2 >d2
    same d1 d2
  done
  wide --micro-batch=13 >d1
  for cpu in generic avx2; do
    [ $cpu = generic ] || grep -q $cpu /proc/cpuinfo || continue
    NN_CPU=$cpu wide >d2
    same d1 d2
  done
}

# a bias so wide that its update would be worth more threads
@test "same bytes: a wide layer is updated by a thread that is at work already" {
  wide() { timeout -k 5 60 nn-train -q -m 'dense 8192, relu, dense ?' --target=kind --epochs=2 -b 64 "$@" "$data/words.csv"; }
  wide -t 1 >d1
  wide -t 2 >d2
  same d1 d2
}

@test "same bytes: --leaves is the only one of them that changes a model" {
  dense --leaves=1 >d1
  dense --leaves=8 >d8
  run ! cmp -s d1 d8
  for rows in 1 20 64; do
    dense --leaves=8 -t 2 --micro-batch=$rows >d
    same d8 d
  done
}

@test "same bytes: 12 drawn combinations of threads, micro-batch, instruction set and pipe" {
  cpus=(generic)
  for cpu in neon avx2 avx512; do there $cpu && cpus+=("$cpu"); done
  conv >c1
  RANDOM=4711
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
    cpu=${cpus[RANDOM % ${#cpus[@]}]} threads=$((RANDOM % 4 + 1)) micro=$((RANDOM % 96 + 1))
    if ((RANDOM % 2)); then
      NN_CPU=$cpu conv -t $threads --micro-batch=$micro >c
    else
      NN_CPU=$cpu nn-train -q -m "$data/conv.nn" --target=digit --loss=cross-entropy --epochs=2 -b 96 -t $threads \
        --micro-batch=$micro - <"$data/digits.csv" >c
    fi
    same c1 c || { echo "NN_CPU=$cpu -t $threads --micro-batch=$micro"; false; }
  done
}
