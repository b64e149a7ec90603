#!/usr/bin/env bats
# nn-train -m MODEL --steps=0 --fold-batchnorm: the same predictions without batchnorm.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  gzip -dc "$NN_SRC/share/data/digits.csv.gz" | head -n 601 >digits.csv
  cat >net.nn <<'END'
input 1x8x8
conv2d 6 3x3 pad=1 bias=no
batchnorm
relu
c2: conv2d 8 3x3 pad=1 groups=2
b2: batchnorm
r2: relu
c3: conv2d 8 3x3 pad=1 bias=no
out: batchnorm
add from=out+r2
relu
batchnorm
flatten
dense 20
batchnorm eps=0.01
twice: dense 20
also: batchnorm
add from=also+twice
dense ?
END
  nn-train -q -m net.nn --target=digit --loss=cross-entropy --epochs=3 digits.csv -o bn.st
  nn-train -m bn.st --steps=0 --fold-batchnorm -o folded.st
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

# near TOLERANCE A B: the same table of numbers, within that
near() {
  paste -d, "$2" "$3" | awk -F, -v most="$1" 'NR > 1 { for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d > most || d < -most) exit bad = 1 } }
    END { exit bad || NR < 100 }'
}

# text MODEL: its lines
text() {
  nn-predict --info "$1" | sed -n 's/^  //p' | sed -n '/^input/,/^dense 10/p'
}

@test "fold: a batchnorm that alone takes the layer before it goes into it, with its name" {
  [ "$(text folded.st)" = "input 1x8x8
conv2d 6 3x3 pad=1
relu
b2: conv2d 8 3x3 pad=1 groups=2
r2: relu
out: conv2d 8 3x3 pad=1
add from=out+r2
relu
batchnorm group=32
flatten
dense 20
twice: dense 20
also: batchnorm group=32
add from=also+twice
dense 10" ] || { text folded.st; false; }
}

@test "fold: the predictions are the same up to rounding" {
  nn-predict --emit=logits bn.st digits.csv >with
  nn-predict --emit=logits folded.st digits.csv >without
  run ! cmp -s with without
  near 1e-4 with without
  [ "$(nn-predict --emit=class bn.st digits.csv)" = "$(nn-predict --emit=class folded.st digits.csv)" ]
  nn-train -m bn.st --steps=0 --precision=f64 -o bn64.st
  nn-train -m bn64.st --steps=0 --fold-batchnorm -o folded64.st
  nn-predict --emit=logits bn64.st digits.csv >with
  nn-predict --emit=logits folded64.st digits.csv >without
  near 1e-12 with without
}

@test "fold: the same bytes on any instruction set, and nothing is left to fold" {
  for cpu in generic neon avx2 avx512; do
    NN_CPU=$cpu nn-train -m bn.st --steps=0 --fold-batchnorm -t 2 -o again.st 2>err || { [ $? -eq 3 ]; continue; }
    cmp again.st folded.st
  done
  run -1 --separate-stderr nn-train -m folded.st --steps=0 --fold-batchnorm -o none.st
  [ "$stderr" = "nn-train: --fold-batchnorm: folded.st: no batchnorm stands behind a dense layer or convolution whose output it alone takes" ]
  [ ! -e none.st ]
}

@test "fold: with --precision=int8 the folded weights are made smaller" {
  nn-train -m bn.st --steps=0 --fold-batchnorm --precision=int8 -o small.st
  nn-train -m folded.st --steps=0 --precision=int8 -o two.st
  cmp small.st two.st
  nn-predict --info small.st | grep -q '^  b2.weight 8x3x3x3 i8$'
  nn-predict --score --against=bn.st small.st digits.csv |
    awk '$1 == "accuracy.difference" { found = 1; bad = $2 > 0.01 || $2 < -0.01 } END { exit bad || !found }'
}

@test "fold: of a training, of text, and of outputs that are numbered it is told" {
  run -2 --separate-stderr nn-train -m bn.st --target=digit --loss=cross-entropy --fold-batchnorm digits.csv -o none.st
  [ "$stderr" = "nn-train: --fold-batchnorm: rewrites a finished model: -m MODEL --steps=0 without DATA" ]
  cat >heads.nn <<'END'
dense 4
batchnorm
t: relu
dense ? output target=p02
kind: dense ? output target=digit from=t
END
  nn-train -q -m heads.nn --loss=cross-entropy --steps=3 digits.csv -o heads.st
  run -1 --separate-stderr nn-train -m heads.st --steps=0 --fold-batchnorm -o none.st
  [ "$stderr" = "nn-train: --fold-batchnorm: heads.st: output 3 has no name of its own, and its number changes" ]
  [ ! -e none.st ]
}
