#!/usr/bin/env bats
# What a plot of nn-train shows of answers: which class was taken for which, pictures with their masks.
# shellcheck disable=SC2154,SC2164,SC2086
bats_require_minimum_version 1.5.0

setup_file() {
  command -v python3 >/dev/null || return 0
  cd "$BATS_FILE_TMPDIR"
  python3 "$NN_SRC/tests/cli/plot-masks.py" make
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 >words.csv
}

setup() {
  command -v python3 >/dev/null || skip "python3 is not installed"
  cd "$BATS_FILE_TMPDIR"
}

check() { python3 "$NN_SRC/tests/cli/plot-masks.py" check "$@"; }

# answers FILE: what a plot shows below its curves
answers() { sed -n '/<g id="confusion">/,$p' "$1"; }

masks='conv2d 4 3x3 pad=1, relu, conv2d ? 1x1'
segment() { nn-train -q -m "$masks" -b 2 --leaves=2 --epochs=2 --lr=0.01 "$@" x.npy y.npy; }
held=--valid=hx.npy,hy.npy

@test "train: --plot shows three held-out pictures, their masks and those that the model finds" {
  segment $held --plot=p.svg -o m
  nn-predict --emit=class --to=npy -o found.npy m hx.npy
  check p.svg found.npy
  [ "$(wc -c <p.svg)" -lt 200000 ]
  run grep -c 'href\|url(' p.svg
  [ "$output" = 0 ]
}

@test "train: --plot leaves out what --ignore does, of masks and of the table" {
  segment $held --ignore=2 --plot=p.svg -o m
  nn-predict --emit=class --to=npy -o found.npy m hx.npy
  check p.svg found.npy 2
  grep -q '>left out</text>' p.svg
  [ "$(answers p.svg | sed '/id="gallery"/,$d' | grep -c 'anchor="[a-z]*">2</text>')" = 0 ]
}

@test "train: --plot shows the same answers whatever threads, device and ranks, and when it is resumed" {
  segment $held --threads=1 --plot=p.svg -o m
  answers p.svg >one
  [ "$(grep -c '<path' one)" -gt 9 ]
  segment $held --threads=3 --micro-batch=1 --plot=p.svg -o m
  answers p.svg | cmp - one
  NN_MODULE_PATH=$NN_BUILD/tests/device/${NN_TEST_MODULE:-apart}/.libs segment $held --device=cuda --plot=p.svg -o m
  answers p.svg | cmp - one
  segment $held --steps=2 --checkpoint=s -o m
  segment $held --checkpoint=s --resume --plot=p.svg -o m
  answers p.svg | cmp - one
  . "$NN_SRC/tests/cli/ranks.bash"
  [ -z "$(lacking_ranks)" ] || return 0
  allow_ranks
  segment $held --ranks=2 --threads=1 --plot=p.svg -o m
  answers p.svg | cmp - one
  segment $held --ranks=2 --threads=1 --pipeline=2 --plot=p.svg -o m
  answers p.svg | cmp - one
}

@test "train: --plot shows streamed pictures as those in memory" {
  mkdir p && cd p && python3 "$NN_SRC/tests/cli/pictures.py"
  stream() { nn-train -q -m "$masks" -b 2 --epochs=3 --lr=0.01 --valid=0.5 "$@" images masks; }
  stream --plot=p.svg -o m 2>error || { grep -q 'nn-png.so is not installed' error && skip "built without libpng"; cat error; false; }
  stream --input-memory=500 --plot=s.svg -o m
  grep -q 'id="gallery"' p.svg
  answers p.svg | cmp - <(answers s.svg)
}

@test "train: --plot counts which class was taken for which, as --score does" {
  head -n 101 words.csv >train.csv
  { head -n 1 words.csv; tail -n 100 words.csv; } >valid.csv
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=60 --valid=valid.csv --plot=p.svg -o m train.csv
  nn-predict --score m valid.csv | sed -n 's/^confusion[^ ]* //p' | sort -n >wanted
  [ "$(wc -l <wanted)" -gt 3 ]
  answers p.svg | sed -n 's/.*font-size="11".*>\([0-9]*\)<.*/\1/p' | sort -n | cmp - wanted
  grep -q 'confusion, counts' p.svg
  ! grep -q 'id="gallery"' p.svg || false
}

@test "train: --plot has no answers without held-out rows, of numbers, and of more classes than a table can show" {
  segment --plot=p.svg -o m
  ! grep -q 'id="confusion"\|id="gallery"' p.svg || false
  awk 'BEGIN { print "a,b"; for (i = 0; i < 400; i++) print i "," i % 33 }' >many.csv
  nn-train -q -m 'dense ?' --target=b --loss=cross-entropy --epochs=1 --valid=0.5 --plot=p.svg -o m many.csv
  ! grep -q 'id="confusion"' p.svg || false
  nn-train -q -m 'dense 32' --target=b --ignore=32 --loss=cross-entropy --epochs=1 --valid=0.5 --plot=p.svg -o m many.csv
  grep -q 'id="confusion"' p.svg
  nn-train -q -m 'dense ?' --target=b --loss=mse --epochs=1 --valid=0.5 --plot=p.svg -o m many.csv
  ! grep -q 'id="confusion"' p.svg || false
}
