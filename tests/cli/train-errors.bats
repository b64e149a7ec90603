#!/usr/bin/env bats
# Wrong input and odd input of nn-train: status, one line, and what was there before.
# shellcheck disable=SC2154,SC2086,SC2016
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 60 >words.csv
  printf 'a,b,y\n1,2,3\n2,3,4\n5,1,3\n' >whole.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

# refused STATUS PATTERN ARGUMENT...: one line on stderr that begins with the tool's name and holds PATTERN; -o stays as it was
refused() {
  echo before >out
  train_refused "$1" "$2" -o out "${@:3}" && [ "$(cat out)" = before ]
}

@test "wrong command line: what is missing is named, status 2" {
  refused 2 'no DATA given' -m 'dense ?'
  refused 2 'no model given' "$data/words.csv"
  refused 2 'no such file' -m nowhere.nn "$data/words.csv"
  refused 2 'expected DATA [TARGETS]' -m 'dense ?' a b c
  refused 2 '--target' -m 'dense ?' "$data/words.csv"
}

@test "wrong command line: unknown options and values name what is known" {
  refused 2 --optimizer -m 'dense ?' --optimiser=sgd "$data/words.csv"
  refused 2 adamw -m 'dense ?' --optimizer=adamm "$data/words.csv"
  refused 2 'expected constant, cosine' -m 'dense ?' --schedule=cosin "$data/words.csv"
  refused 2 cross-entropy -m 'dense ?' --loss=entropy "$data/words.csv"
  refused 2 '--augment' -m 'dense ?' --augment=flop "$data/words.csv"
  refused 2 --tensor -m 'dense ?' --tensor=2 "$data/words.csv"
}

@test "wrong command line: numbers out of bounds, status 2" {
  for bad in --batch=0 --batch=-1 --batch=x --leaves=3 --leaves=128 --lr=-1 --lr=nan --lr=1e999 --momentum=2 --patience=0 --shuffle=0 \
    --shuffle=maybe --valid=0 --valid=1 --valid=1.5 --checkpoint-every=0 --checkpoint-every=5x --class-weight=1,,2 --class-weight=-1 --class-weight=0,0 \
    --schedule=step:0:0.1 --schedule=step:5:3 --threads=0 --seed=-1 --log-every=0 --epochs=1.5; do
    refused 2 "${bad%%=*}" -m 'dense ?' --target=kind $bad "$data/words.csv"
  done
}

@test "wrong command line: options that need or exclude each other, status 2" {
  refused 2 --nesterov -m 'dense ?' --nesterov "$data/words.csv"
  refused 2 --momentum -m 'dense ?' --momentum=0.9 "$data/words.csv"
  refused 2 --weight-decay -m 'dense ?' --optimizer=rprop --weight-decay=0.1 "$data/words.csv"
  refused 2 --patience -m 'dense ?' --patience=3 "$data/words.csv"
  refused 2 --valid-every -m 'dense ?' --valid-every=3 "$data/words.csv"
  refused 2 --schedule=cosine -m 'dense ?' --schedule=cosine "$data/words.csv"
  refused 2 --class-weight -m 'dense ?' --loss=mse --class-weight=1,2 "$data/words.csv"
  refused 2 --ignore -m 'dense ?' --loss=mae --ignore=a "$data/words.csv"
  refused 2 stdin -m 'dense ?' - -
}

@test "wrong model: the place of inline text is -m:LINE, status 2" {
  refused 2 '-m:2: ' -m 'dense 8, dens ?' --target=kind "$data/words.csv"
  refused 2 '-m:1: ' -m 'dense 8 bais=no, dense ?' --target=kind "$data/words.csv"
  printf 'dense 8\nrelu\ndens ?\n' >bad.nn
  refused 1 'bad.nn:3: ' -m bad.nn --target=kind "$data/words.csv"
}

@test "wrong data: what does not fit the model or the options" {
  refused 1 'nowhere.csv' -m 'dense ?' --target=kind nowhere.csv
  refused 1 'sort' -m 'dense ?' --target=sort "$data/words.csv"
  refused 2 'loss=cross-entropy' -m 'dense ?' --target=y "$data/whole.csv"
  refused 1 '3 classes' -m 'dense 2' --target=kind "$data/words.csv" || refused 1 '' -m 'dense 2' --target=kind "$data/words.csv"
  refused 1 '2 weights' -m 'dense ?' --target=kind --class-weight=1,2 "$data/words.csv"
  refused 1 'ignore=left' -m 'dense ?' --target=kind --ignore=left "$data/words.csv"
  refused 2 'metric=rmse' -m 'dense ?' --target=kind --valid=0.2 --metric=rmse "$data/words.csv"
  refused 2 'metric=f1.macro' -m 'dense ?' --target=kind --metric=f1.macro "$data/words.csv"
  refused 1 'none' -m 'dense ?' --target=kind --valid=0.001 "$data/words.csv"
  : >empty.csv
  refused 1 'empty.csv' -m 'dense ?' --target=kind empty.csv
  refused 1 '' -m 'dense ?' --target=kind .
}

@test "wrong data: with batch norm --leaves cannot exceed the groups" {
  refused 2 '--leaves=4' -m 'dense 8, batchnorm group=32, dense ?' --target=kind --leaves=4 -b 64 "$data/words.csv"
}

@test "outputs: an input is never written over" {
  cp "$data/words.csv" w.csv
  run -2 nn-train -q -m 'dense ?' --target=kind -o w.csv w.csv
  ln -s w.csv link.csv
  run -2 nn-train -q -m 'dense ?' --target=kind -o link.csv w.csv
  run -2 nn-train -q -m 'dense ?' --target=kind --valid=w.csv -o w.csv "$data/words.csv"
  run -2 nn-train -q -m 'dense ?' --target=kind --log=w.csv -o m w.csv
  run -2 nn-train -q -m 'dense ?' --target=kind --checkpoint=w.csv -o m w.csv
  same w.csv "$data/words.csv"
}

@test "outputs: no two go to one place, by whatever name" {
  local name later before first=()
  echo 'dense ?' >net.nn
  echo kept >one
  ln one other
  for later in --checkpoint --log --spool --plot --record; do
    for before in -o --checkpoint --log --spool --plot; do
      [ $before != $later ] || break
      [ $before = -o ] && first=(-o one) || first=(-o m "$before=one")
      for name in one other; do
        run -2 --separate-stderr nn-train -m net.nn --target=kind --strategy=async "${first[@]}" $later=$name "$data/words.csv"
        [[ $stderr =~ ^nn-train:\ (--[a-z]*)=(one|other):\ this\ is\ where\ (--[a-z]*)\ goes$ ]] || { echo "$stderr"; false; }
        [[ "${BASH_REMATCH[1]} ${BASH_REMATCH[3]}" =~ ^("$later ${before/-o/--output}"|"${before/-o/--output} $later")$ ]]
      done
    done
    run -2 --separate-stderr nn-train -m net.nn --target=kind --strategy=async -o m $later=net.nn "$data/words.csv"
    [ "$stderr" = "nn-train: $later=net.nn: is the file of --model, which would be lost" ]
  done
  run -2 --separate-stderr nn-train -m net.nn --target=kind --strategy=async --replay-run=one -o other "$data/words.csv"
  [ "$stderr" = "nn-train: --output=other: is the file of --replay-run, which would be lost" ]
  [ "$(cat one net.nn)" = "$(printf 'kept\ndense ?')" ]
}

@test "outputs: a place that cannot be written ends the run before any work" {
  refused 1 'nowhere/log' -m 'dense ?' --target=kind --log=nowhere/log "$data/words.csv"
  run -1 --separate-stderr nn-train -m 'dense ?' --target=kind -o nowhere/m "$data/words.csv"
  [ "${#stderr_lines[@]}" -eq 1 ]
  run -1 --separate-stderr nn-train -m 'dense ?' --target=kind -o . "$data/words.csv"
}

@test "log: a run that fails before it trains ends with reason error and why" {
  ended() {
    run --separate-stderr nn-train -q "$@" --log=log -o m
    [ "$status" -gt 0 ]
    jq -e -s --arg why "$stderr" 'length == 1 and (.[0] | .event == "end" and .reason == "error" and "nn-train: " + .text == $why
      and .step == 0 and .epoch == null and .seconds >= 0 and .output == "m" and .sha256 == null)' log || { echo "$stderr"; cat log; false; }
  }
  ended -m 'dense ?' --target=ghost "$data/words.csv"
  ended -m 'dense ?' --target=kind ghost.csv
  ended -m 'dense ?' --target=kind --valid=ghost.csv "$data/words.csv"
  ended -m 'dense ?' --target=kind --init=ghost.st "$data/words.csv"
  ended -m 'dense 1000000, dense 1000000, dense ?' --target=kind "$data/words.csv"
  echo 'dense 3, ghost' >wrong.nn
  ended -m wrong.nn --target=kind "$data/words.csv"
}

@test "outputs: a full disk is status 1" {
  run -1 --separate-stderr bash -c 'nn-train -q -m "dense ?" --target=kind --epochs=1 "$1" >/dev/full' - "$data/words.csv"
  [[ $stderr == "nn-train: stdout: "*"No space left on device" ]]
  run -1 --separate-stderr nn-train -q -m 'dense ?' --target=kind --epochs=1 -o /dev/full "$data/words.csv"
  [[ $stderr == "nn-train: /dev/full: "*"No space left on device" ]]
  run -1 --separate-stderr nn-train -q -m 'dense ?' --target=kind --epochs=1 -o m --log=/dev/full "$data/words.csv"
  [[ $stderr == "nn-train: /dev/full: cannot write: No space left on device" ]]
}

@test "outputs: a reader that leaves is 141 and silence" {
  run --separate-stderr bash -c 'nn-train -q -m "dense 600, relu, dense ?" --target=kind --epochs=1 "$1" | head -c 10 >/dev/null; exit ${PIPESTATUS[0]}' \
    - "$data/words.csv"
  [ "$status" -eq 141 ] || [ "$status" -eq 0 ]
  [ -z "$stderr" ]
}

@test "outputs: closed standard descriptors are no error" {
  nn-train -q -m 'dense ?' --target=kind --epochs=1 "$data/words.csv" -o a
  nn-train -m 'dense ?' --target=kind --epochs=1 "$data/words.csv" -o b <&- 2>&- >&-
  same a b
}

@test "outputs: a FIFO is written directly" {
  mkfifo pipe
  cat pipe >a &
  nn-train -q -m 'dense ?' --target=kind --epochs=1 "$data/words.csv" -o pipe
  wait
  nn-train -q -m 'dense ?' --target=kind --epochs=1 "$data/words.csv" -o b
  same a b
  [ -p pipe ]
  [ ! -e pipe.state.safetensors ]
}

@test "data that change while training end it" {
  cp "$data/words.csv" w.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=100000000 -b 60 -o m --log=log w.csv 2>err 3>&- &
  pid=$!
  while ! grep -q '"epoch"' log 2>/dev/null; do sleep 0.01; done
  sleep 0.01
  echo '1,2,3,up' >>w.csv
  wait $pid && false || [ $? -eq 1 ]
  [ "$(cat err)" = 'nn-train: w.csv: changed while training' ]
}

@test "memory: what cannot fit is status 4 and says what is needed and available" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || skip "the address sanitizer needs all addresses"
  ulimit -v 600000 || skip "no limit can be set"
  run -4 --separate-stderr nn-train -q -m 'dense 20000, relu, dense 20000, relu, dense ?' --target=kind -o m "$data/words.csv"
  [[ $stderr == "nn-train: training needs "*" bytes even with --micro-batch="*", "*" are available" ]]
}

@test "odd but valid: one row, one class, more batch than rows, names with blanks" {
  printf 'a b,"c,d",e\n1.5,2,x\n' >'one row.csv'
  nn-train -q -m 'dense ?' --target=e --epochs=2 -o 'a model' 'one row.csv'
  nn-predict --emit=class 'a model' 'one row.csv' >out
  [ "$(tail -n 1 out)" = x ]
  nn-train -q -m 'dense 3, relu, dense ?' --target=kind --epochs=1 -b 1000 -o m "$data/words.csv"
  printf '# a comment\r\ndense 4\r\n\r\nrelu  # another\r\ndense ?\r\n' >crlf.nn
  nn-train -q -m crlf.nn --target=kind --epochs=1 -o m2 "$data/words.csv"
}

@test "--dry-run reads the model's text and what --emit and --to say together" {
  printf 'x,y\n1,2.5\n2,3.5\n' >d.csv
  nn-train -q -m 'dense 1' --target=y --steps=1 -o m.st d.csv
  for text in 'dense' 'Dense 5' 'dense 5 5' nowhere.nn; do
    run -2 --separate-stderr nn-train -m "$text" --target=y d.csv -o out
    found=$stderr
    run -2 --separate-stderr nn-train --dry-run -m "$text" --target=y d.csv -o out
    [ "$stderr" = "$found" ] && [ "${#stderr_lines[@]}" = 1 ]
  done
  run -2 --separate-stderr nn-predict -m 'dense' m.st d.csv
  found=$stderr
  run -2 --separate-stderr nn-predict --dry-run -m 'dense' m.st d.csv
  [ "$stderr" = "$found" ]
  run -2 --separate-stderr nn-bench run 'dense 3'
  found=$stderr
  run -2 --separate-stderr nn-bench --dry-run run 'dense 3'
  [ "$stderr" = "$found" ]
  run -2 --separate-stderr nn-allreduce --dry-run --bench --model='dense 3' --step-ms=1
  [ "$stderr" = "${found/nn-bench/nn-allreduce}" ]
  run -2 --separate-stderr nn-predict --dry-run --emit=top:1 --to=npy m.st d.csv
  [ "$stderr" = "nn-predict: --emit=top: an .npy array has no labels; use --to=csv, --to=tsv or --to=jsonl" ]
  run -2 --separate-stderr nn-predict --dry-run --emit=top:1 --to=npz m.st d.csv
  nn-train --dry-run -m 'dense 1' --target=y d.csv -o out
  nn-bench --dry-run run m.st
  nn-bench --dry-run ops
}

@test "--dry-run checks the command line and writes nothing" {
  run -0 --separate-stderr nn-train --dry-run -m 'dense ?' --target=kind -o m "$data/words.csv"
  [ -z "$output$stderr" ]
  [ ! -e m ]
  run -2 nn-train --dry-run -m 'dense ?' --target=kind --leaves=3 -o m "$data/words.csv"
}

@test "--config holds options, the command line wins" {
  printf 'target = kind\nepochs = 2 \n# a comment\nbatch=20\nnesterov = no\n' >conf
  nn-train -q --config=conf -m 'dense ?' --epochs=1 "$data/words.csv" >a
  nn-train -q -m 'dense ?' --target=kind -b 20 --epochs=1 "$data/words.csv" >b
  same a b
  printf '  # a comment\ntarget = kind # the class\nbatch = 20\t# = 10\nepochs = 1#\n' >conf
  run -2 --separate-stderr nn-train -q --config=conf -m 'dense ?' "$data/words.csv"
  [[ $stderr == *'conf:4: epochs = 1#'* ]]
  sed -i 's/1#/1 #/' conf
  nn-train -q --config=conf -m 'dense ?' "$data/words.csv" >a
  same a b
  printf 'target = "kind # two" # the class\n' >conf
  sed '1 s/kind/kind # two/' "$data/words.csv" >hash.csv
  nn-train -q --config=conf -m 'dense ?' -b 20 --epochs=1 hash.csv >a
  [[ $(metadata a nn.target) == *'"kind # two"'* ]]
}

@test "--device: cpu and auto compute, cuda is not there" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "the device of the tests is there"
  nn-train -q -m 'dense ?' --target=kind --epochs=1 --device=auto "$data/words.csv" >a
  nn-train -q -m 'dense ?' --target=kind --epochs=1 --device=cpu "$data/words.csv" >b
  same a b
  refused 3 'module nn-cuda.so is not installed' -m 'dense ?' --target=kind --device=cuda "$data/words.csv"
}

@test "targets: with --loss=bce one outside of 0 to 1 is status 1 with file, row and value, held out too" {
  for value in 1.5 -0.25 255; do
    printf '%s\n' x,y 1,0 2,1 3,0.5 4,$value >bad.csv
    printf '%s\n' x,y 1,0 2,1 3,0.5 4,1 >good.csv
    run -1 --separate-stderr nn-train -q -m 'dense ?' --loss=bce --target=y bad.csv -o m
    [ "$stderr" = "nn-train: bad.csv: row 4, column 1 of the target: found $value, --loss=bce expects a number from 0 to 1" ]
    run -1 --separate-stderr nn-train -q -m 'dense ?' --loss=bce --target=y --valid=bad.csv good.csv -o m
    [ "$stderr" = "nn-train: bad.csv: row 4, column 1 of the target: found $value, --loss=bce expects a number from 0 to 1" ]
    [ ! -e m ]
  done
  nn-train -q -m 'dense ?' --loss=bce --target=y --valid=good.csv good.csv -o m
  # to score by them is no better, and a value next to 1 is told as what it is
  for value in -0.25 1.0000001; do
    awk -F, -v OFS=, -v y=$value 'NR == 5 { $NF = y } 1' good.csv >bad.csv
    run -1 --separate-stderr nn-predict --score --batch=2 m bad.csv
    [ "$stderr" = "nn-predict: bad.csv: row 4, column 1 of the target: found $value, --loss=bce expects a number from 0 to 1" ]
    run -1 --separate-stderr nn-predict --score=bad.csv m good.csv
    [ "$stderr" = "nn-predict: bad.csv: row 4, column 1 of the target: found $value, --loss=bce expects a number from 0 to 1" ]
  done
  run -1 --separate-stderr nn-train -q -m 'dense ?' --loss=bce --target=y bad.csv -o n
  [[ $stderr == *': found 1.0000001, '* ]]
  nn-train -q -m 'dense ?' --loss=mse --target=y bad.csv -o m
}

@test "model: a mistake that the text alone shows is status 2 inline and 1 in a file, whatever the data are" {
  printf '%s\n' x,y 1,0 2,1 >d.csv
  for text in 'a: dense 8, b: dense 9 from=a, add from=a+b, dense ?' 'dense 2000000000, dense 2000000000, dense ?' \
    'relu, dense 8, reshape 3x3, flatten, dense ?' 'flatten, repeat 3 { dense 6 }, conv2d 4 3x3, flatten, dense ?'; do
    run -2 --separate-stderr nn-train -q -m "$text" --loss=mse --target=y missing.csv -o m
    [[ ${#stderr_lines[@]} = 1 && $stderr == nn-train:\ -m:* ]] || { echo "$text: $stderr"; false; }
    echo "$text" | tr , '\n' >net.nn
    run -1 --separate-stderr nn-train -q -m net.nn --loss=mse --target=y d.csv -o m
  done
  # what depends on the data is theirs: these could be vectors of nine values, pictures or sequences
  for text in 'reshape 3x3, flatten, dense ?' 'conv2d 4 3x3, flatten, dense ?' 'relu, conv2d 4 5x5, a: flatten, dense 9, dense ?'; do
    run -1 --separate-stderr nn-train -q -m "$text" --loss=mse --target=y d.csv -o m
    run -1 --separate-stderr nn-train -q -m "$text" --loss=mse --target=y missing.csv -o m
    [[ $stderr == *missing.csv* ]]
  done
}

@test "train: TARGETS that are not there are named before anything in DATA, and a column's name leads to --target" {
  printf 'a,b\n1,\n2,x\n' >gap.csv
  says 1 'nn-train: kind: cannot open: No such file or directory; a column of DATA is named by --target=kind' nn-train -m 'dense ?' -o m gap.csv kind
  says 1 'nn-train: y.csv: cannot open: No such file or directory' nn-train -m 'dense ?' -o m gap.csv y.csv
}

@test "train: a softmax after the output is answered with whose work it is" {
  says 2 'nn-train: -m:1: dense: ? is allowed in an output line only; a classifier needs no softmax after it, the loss takes it' \
    nn-train -m 'dense ?, softmax' --target=kind -o m "$data/words.csv"
  says 2 'nn-train: -m:1: dense: ? is allowed in an output line only; a classifier needs no sigmoid after it, the loss takes it' \
    nn-train -m 'dense ?, sigmoid' --target=kind -o m "$data/words.csv"
  says 2 'nn-train: -m:1: dense: ? is allowed in an output line only' nn-train -m 'dense ?, relu' --target=kind -o m "$data/words.csv"
}
