#!/usr/bin/env bats
# Pictures that take more memory than they may: read and decoded ahead of the steps, to the same bytes.
# shellcheck disable=SC2154,SC2164
bats_require_minimum_version 1.5.0

setup_file() {
  command -v python3 >/dev/null || return 0
  mkdir "$BATS_FILE_TMPDIR/p"
  cd "$BATS_FILE_TMPDIR/p"
  python3 "$NN_SRC/tests/cli/pictures.py"
  gzip -k folders.tar
  train all train 2>error || true
}

# train NAME DATA OPTION...
train() {
  nn-train -q -m 'conv2d 4 3x3, relu, flatten, dense ?' -b 4 --epochs=3 "${@:2}" -o "$1"
}

setup() {
  command -v python3 >/dev/null || skip "python3 is not installed"
  cd "$BATS_FILE_TMPDIR/p"
  ! grep -q 'module nn-png.so is not installed' error || skip "built without libpng"
}

@test "input: pictures that do not fit give the bytes of those that do, from folder, tar, gzip and pipe" {
  local memory data
  for memory in 5K 500; do # with batches ahead, and without
    for data in train folders.tar.gz; do
      train some "$data" --input-memory=$memory
      cmp all some
    done
  done
  train some - --input-memory=5K <folders.tar
  cmp all some
  train some - --input-memory=5K < <(cat folders.tar.gz)
  cmp all some
  train some train --input-memory=5K --threads=3
  cmp all some
}

@test "input: held-out pictures and measured scales do not depend on the memory" {
  train a train --valid=test --normalize=standard
  train b train --valid=test --normalize=standard --input-memory=5K
  cmp a b
  train a train --valid=0.25 --shuffle=no
  train b train --valid=0.25 --shuffle=no --input-memory=5K
  cmp a b
}

@test "input: a training that was stopped within an epoch goes on to the same bytes" {
  train some train --input-memory=5K --steps=13 --checkpoint=state
  train some train --input-memory=7K --resume --checkpoint=state --threads=2 2>error
  train whole train --checkpoint=other
  cmp whole some
}

@test "input: -v and the log have its stages, and say in a sentence what starves" {
  run -0 --separate-stderr nn-train -v -m 'flatten, dense ?' -b 4 --epochs=3 --input-memory=5K --log=log train -o some
  [[ $stderr == *"nn-train: note: input: read: "*" of 16 workers busy "* ]]
  [[ $stderr == *"nn-train: note: input: png decode: "*" samples/s"* ]]
  [[ $stderr == *"batches ahead in "*"predicted "*"achieved "* ]]
  [[ $stderr == *"note: input-bound: "* || $stderr == *"note: compute-bound: "* ]]
  grep -q '"event":"input","verdict":"[a-z]*-bound",.*"stages":\[{"stage":"read",' log
  run -0 --separate-stderr nn-train -v -m 'flatten, dense ?' -b 4 --epochs=3 train -o some
  [[ $stderr =~ of\ the\ time\ of\ steps,\ of\ samples\ that\ lie\ in\ memory:\ (input|compute)-bound ]]
}

@test "input: SIGUSR2 shows it while it trains" {
  nn-train -q -m 'flatten, dense ?' -b 4 --time-limit=60 --input-memory=5K --log=usr2.log train -o some 2>/dev/null 3>&- &
  local i=0
  until grep -qs '"event":"step"' usr2.log || [ $((i += 1)) -gt 300 ]; do sleep 0.05; done
  kill -USR2 $!
  until grep -qs '"event":"input"' usr2.log || [ $((i += 1)) -gt 600 ]; do sleep 0.05; done
  kill -TERM $! # what a shell starts in the background ignores SIGINT
  wait $! || [ $? -eq 143 ]
  grep -q '"event":"input"' usr2.log
}

@test "input: a picture that is broken, gone or changed ends the training once, with its name" {
  cp -r train gone
  nn-train -q -m 'flatten, dense ?' -b 4 --time-limit=60 --input-memory=5K --log=gone.log gone -o some 2>error 3>&- &
  local i=0
  until grep -qs '"event":"step"' gone.log || [ $((i += 1)) -gt 300 ]; do sleep 0.05; done
  echo >>gone/red/07.png
  local status=0
  wait $! || status=$?
  [ $status -eq 1 ]
  [ "$(cat error)" = 'nn-train: gone/red/07.png: changed while training' ]
  cp -r bad-broken damaged
  for i in 1 2 3 4 5 6 7 8; do cp train/blue/0$i.png damaged/red/; done
  run -1 --separate-stderr nn-train -q -m 'flatten, dense ?' -b 2 --epochs=3 --input-memory=1500 damaged -o some
  [[ $stderr == "nn-train: damaged/red/b.png: "* ]]
  [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "input: ranks make the rows they take, to the same bytes" {
  command -v mpirun >/dev/null || skip "mpirun is not installed"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  train some train --input-memory=5K --ranks=2 --threads=1 --leaves=4 || skip "no ranks here"
  train alone train --leaves=4
  cmp alone some
}
