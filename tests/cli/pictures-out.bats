#!/usr/bin/env bats
# Pictures that nn-predict writes: masks, grey levels and colours, into folders, tars and files; .npz.
# shellcheck disable=SC2154,SC2164
bats_require_minimum_version 1.5.0

setup_file() {
  command -v python3 >/dev/null || return 0
  mkdir "$BATS_FILE_TMPDIR/p"
  cd "$BATS_FILE_TMPDIR/p"
  python3 "$NN_SRC/tests/cli/pictures.py"
  python3 "$NN_SRC/tests/cli/pictures-out.py" make
  nn-train -q -m 'conv2d 8 3x3 pad=1, relu, conv2d ? 1x1' --epochs=60 --lr=0.03 -o masks.st images masks 2>error || true
}

setup() {
  command -v python3 >/dev/null || skip "python3 is not installed"
  cd "$BATS_FILE_TMPDIR/p"
  # shellcheck disable=SC2314
  [[ $BATS_TEST_DESCRIPTION != *folder* ]] || ! grep -q 'nn-png.so is not installed' error || skip "built without libpng"
}

check() { python3 "$NN_SRC/tests/cli/pictures-out.py" "$@"; }

# says STATUS TEXT COMMAND...: the one line on stderr
says() {
  local status=$1 text=$2
  shift 2
  run "-$status" --separate-stderr "$@"
  [ "$stderr" = "$text" ] || { printf 'found:  %s\nwanted: %s\n' "$stderr" "$text"; return 1; }
}

@test "pictures out: what a net leaves as it is has the pixels of its input, in 1 to 4 channels" {
  for c in 1 2 3 4; do
    nn-train -q -m "conv2d $c 1x1 bias=no" --init="w$c.npz" --loss=mse --steps=0 -o "same$c" "noise$c.npy" "noise$c.npy"
    for kind in noise smooth; do
      nn-predict --to=png -o "$kind$c" "same$c" "$kind$c.npy"
      check same "$kind$c.npy" "$kind$c"
    done
  done
  [ "$(cat smooth3/* | wc -c)" -lt 6000 ] # of 11,766 bytes
  run -0 ls noise1
  [ "$output" = $'000001.png\n000002.png' ]
}

@test "pictures out: masks in a folder are called as their pictures and can be targets" {
  nn-predict --to=png -o out masks.st images
  nn-predict --to=jsonl --emit=class masks.st images >answers
  check masks answers out
  nn-predict --score=out masks.st images | grep -qx 'accuracy 1'
  [ "$(ls -A out)" = "$(ls images)" ]
  nn-predict --to=png --threads=3 --batch=3 -o again/ masks.st images
  diff -r out again
  nn-predict --to=png masks.st images/1.png | cmp - out/1.png
  nn-predict --to=png -o one.png masks.st - <images/1.png
  cmp one.png out/1.png
}

@test "pictures out: several go to standard output and FILE.tar as a tar, which is read as data again; a folder" {
  nn-predict --to=png -o all.tar masks.st images
  nn-predict --to=png masks.st images | cmp - all.tar
  nn-predict --to=png -o plain masks.st images
  mkdir unpacked
  tar xf all.tar -C unpacked
  diff -r plain unpacked
  long=$(printf 'x%.0s' {1..90})
  mkdir -p "deep/$long"
  cp images/1.png "deep/$long/$long.png"
  nn-predict --to=png -o deep.tar masks.st deep
  tar tf deep.tar | grep -qx "$long/$long.png"
  nn-predict --to=png -o deeper masks.st deep
  cmp "deeper/$long/$long.png" <(tar xOf deep.tar)
}

@test "pictures out: a folder: what would be lost, twice there or outside is refused" {
  says 2 'nn-predict: --output=images: lies in images, whose pictures are read' nn-predict --to=png -o images masks.st images
  mkdir -p twice tree
  cp images/1.png twice/a.png
  cp images/1.png twice/a.PNG
  says 1 'nn-predict: no/a.png: two samples would be this picture' nn-predict --to=png -o no masks.st twice
  for to in no.tar ''; do
    says 1 "nn-predict: ${to:-stdout}: a.png: two samples would be this picture" nn-predict --to=png ${to:+-o "$to"} masks.st twice
    [ ! -e no.tar ]
  done
  says 2 'nn-predict: --output=images/new: lies in images, whose pictures are read' nn-predict --to=png -o images/new masks.st images
  [ ! -e images/new ]
  says 1 'nn-predict: no.png: is one picture, but there are more samples; -o FOLDER writes one for each, -o FILE.tar a tar of them' \
    nn-predict --to=png -o no.png masks.st images
  [ ! -e no.png ]
  cp images/1.png tree/1.png
  says 1 'nn-predict: tree/1.png: is an input, which would be lost' nn-predict --to=png -o tree masks.st tree/1.png
  cmp images/1.png tree/1.png
  says 1 'nn-predict: --emit=probs: a picture holds the class of each pixel; use --emit=class or --to=npy' \
    nn-predict --to=png --emit=probs -o no masks.st images
}

@test "pictures out: what is no picture is refused with what would be one" {
  nn-train -q -m 'flatten, dense ?' --loss=mse --steps=1 -o flat noise1.npy noise1.npy
  says 1 'nn-predict: --to=png: the output is 1961, no picture (CxHxW); a reshape line at the end of the model makes one of it' \
    nn-predict --to=png -o no flat noise1.npy
  says 2 'nn-predict: --to=png: --score prints names and values, as csv, tsv, json or jsonl' nn-predict --to=png --score flat noise1.npy
  says 2 'nn-predict: --keep: --to=png has no room for text; --to=csv, tsv and jsonl have' nn-predict --to=png --keep=a flat noise1.npy
  touch file
  says 1 'nn-predict: file/sub: cannot make this folder: Not a directory' nn-predict --to=png -o file/sub same3 noise3.npy
}

@test "pictures out: a target of colours lies as the output does: arrays, tables, bytes as 0 to 1" {
  nn-train -q -m 'conv2d 3 1x1' --loss=mse --lr=0.05 --epochs=300 -o copy smooth3.npy smooth3.npy
  nn-predict --score=smooth3.npy copy smooth3.npy | awk '/^rmse / { exit !($2 < 0.1) }'
  awk 'BEGIN { srand(1); print "a,b,c,d,e,f"
    for (i = 0; i < 200; i++) { x = rand(); y = rand(); z = rand(); print x "," y "," z "," x "," y "," z } }' >table.csv
  printf 'input columns=a,b,c\nreshape 3x1x1\nconv2d 3 1x1\n' >table.nn
  nn-train -q -m table.nn --target=d,e,f --normalize=none --lr=0.05 --epochs=100 -o table table.csv
  nn-predict --score table table.csv | awk '/^rmse / { exit !($2 < 0.1) }'
}

@test "pictures out: .npz holds every output under its name" {
  printf 'input columns=a,b\nt: dense 4\nrelu\nx: dense 2 output target=c\ny: dense 1 from=t output target=d\n' >two.nn
  awk 'BEGIN { print "a,b,c,d"; for (i = 0; i < 30; i++) print i / 30 "," i % 7 "," (i % 2 ? "u" : "v") "," i / 10 + 0.5 }' >two.csv
  nn-train -q -m two.nn --steps=3 -o two two.csv
  nn-predict --to=npz -o two.npz two two.csv
  for name in x y; do
    nn-predict --to=npy --output-name=$name two two.csv >$name.npy
    python3 -c "import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(\"two.npz\").read(\"$name.npy\"))" | cmp - $name.npy
  done
  nn-predict --to=npz --output-name=y two two.csv | cmp - <(nn-predict --to=npz --output-name=y --batch=7 two - <two.csv)
}
