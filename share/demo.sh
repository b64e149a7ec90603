#!/bin/sh
# Train on the shipped digits, look at the result, predict: what `./bootstrap demo` runs in build/.
set -eu
PATH=$PWD/cmd:$PATH
data=$(dirname "$0")/data/digits.csv.gz
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cp "$data" "$out"
cd "$out"

show() {
  printf '\n$ %s\n' "$1"
  sh -c "$1" 2>&1
}

show "nn-train -m 'dense 64, relu, dense ?' --target=digit --loss=cross-entropy --valid=0.2 -b 32 --epochs=15 -o digits.safetensors digits.csv.gz"
show "nn-predict --score digits.safetensors digits.csv.gz | head -n 3"
show "zcat digits.csv.gz | head -n 5 | nn-predict --emit=top:2 digits.safetensors"
show "for t in 1 2 3 4; do nn-train -q --threads=\$t -m 'dense 64, relu, dense ?' --target=digit --loss=cross-entropy --epochs=10 digits.csv.gz | sha256sum; done"
