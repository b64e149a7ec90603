#!/usr/bin/env bats
# --augment: the same bytes whoever trains, kept in the model, and refused where nothing can be changed.
# shellcheck disable=SC2154,SC2164
bats_require_minimum_version 1.5.0

list=flip,crop=2,rotate=20,scale=0.2,brightness=0.3,contrast=0.3,noise=0.05,cutout=3

setup_file() {
  cd "$BATS_FILE_TMPDIR"
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 161 >digits.csv
  printf '%s\n' 'input 1x8x8' 'conv2d 4 3x3 pad=1' relu 'maxpool2d 2' flatten 'dense ?' >net.nn
}

setup() {
  cd "$BATS_TEST_TMPDIR"
  data=$BATS_FILE_TMPDIR
}

train() { nn-train -q -m "$data/net.nn" --target=digit --loss=cross-entropy --epochs=3 -b 48 "$@" "$data/digits.csv"; }

# says STATUS TEXT COMMAND...: the one line on stderr
says() {
  local status=$1 text=$2
  shift 2
  run "-$status" --separate-stderr "$@"
  [ "$stderr" = "$text" ] || { printf 'found:  %s\nwanted: %s\n' "$stderr" "$text"; return 1; }
}

@test "augment: threads, micro-batches, kills and resumes give the same model, other seeds and lists another" {
  for how in "$list" "flip,mixup=0.4"; do
    train --augment="$how" -t 1 -o one
    train --augment="$how" -t 3 --micro-batch=7 -o other
    cmp one other
    rm -f state
    train --augment="$how" --checkpoint=state --steps=5 -o part
    train --augment="$how" --checkpoint=state --resume --micro-batch=5 -o other
    cmp one other
    run ! cmp -s one part
  done
  train -o plain
  train --augment=flip -o flipped
  train --augment=flip --seed=2 -o second
  [ "$(sha256sum one other plain flipped second | cut -c 1-64 | sort -u | wc -l)" = 4 ]
}

@test "augment: it stands in model, log and plan, and held-out rows stay as they are" {
  train --augment=flip,crop=1 --valid=0.2 --log=log -o model
  grep -a -q '\\"augment\\":\\"flip,crop=1\\"' model
  head -n 1 log | grep -q '"augment":"flip,crop=1"'
  train --augment=flip,crop=1 --explain | grep -qx 'augmentation: flip,crop=1'
  train --augment=flip,crop=1 --explain=json | grep -q '"augment":"flip,crop=1"'
  # noise that nothing could be seen through changes neither held-out figures nor predictions
  train --augment=noise=1000 --steps=1 --lr=1e-30 --valid=0.2 --log=noisy.log -o noisy
  train --steps=1 --lr=1e-30 --valid=0.2 --log=clean.log -o clean
  figure() { grep '"event":"epoch"' "$1" | sed 's/.*"valid_loss":\([^,]*\).*/\1/'; }
  [ -n "$(figure noisy.log)" ] && [ "$(figure noisy.log)" = "$(figure clean.log)" ]
  cmp <(nn-predict noisy "$data/digits.csv") <(nn-predict clean "$data/digits.csv")
}

@test "augment: masks move with their pictures and learn through it" {
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 "$NN_SRC/tests/cli/pictures.py"
  segment() { nn-train -q -m 'conv2d 8 3x3 pad=1, relu, conv2d ? 1x1' --augment="$list" --epochs=60 --lr=0.03 "$@" images masks; }
  segment -o masks.st 2>error || { grep -q 'nn-png.so is not installed' error && skip "built without libpng"; cat error; false; }
  nn-predict --score=masks masks.st images | awk '/^accuracy / { exit !($2 > 0.95) }'
  segment -t 3 --micro-batch=3 -o other
  cmp masks.st other
}

@test "augment: selfcheck holds with it" {
  run -0 train --augment="$list" --selfcheck
  run -0 train --augment=mixup=1 --selfcheck
}

@test "augment: what it cannot do is said in one line, with status 2" {
  says 2 'nn-train: --augment=flp: unknown augmentation flp; did you mean flip?' train --augment=flp
  says 2 'nn-train: --augment=crop: crop needs a value, as in crop=4' train --augment=crop
  says 2 'nn-train: --augment=crop=1.5: crop=: expected a whole number above 0, at most 4096' train --augment=crop=1.5
  says 2 'nn-train: --augment=flip=2: flip takes no value' train --augment=flip=2
  says 2 'nn-train: --augment=flip,flip: flip stands there twice' train --augment=flip,flip
  says 2 'nn-train: --augment=crop=8: pictures are 8x8' train --augment=crop=8
  says 2 'nn-train: --augment=mixup: makes probabilities of classes; not with --class-weight' train --augment=mixup=1 --class-weight=balanced
  says 2 'nn-train: --augment: changes pictures (CxHxW), but samples are 64' \
    nn-train -q -m 'dense ?' --target=digit --loss=cross-entropy --augment=flip "$data/digits.csv"
}
