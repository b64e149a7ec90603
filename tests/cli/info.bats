#!/usr/bin/env bats
# nn-predict --info: what a file of a model or of weights holds.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  printf 'a,b,kind\n1,x,up\n3,y,down\n1,x,up\n,y,down\n' >t.csv
  nn-train -q -m 'dense 3, leaky-relu 0.0123456789012345678901, dense ?' --target=kind --missing=mean --steps=1 --shuffle=no \
    --checkpoint=m.state t.csv -o m.st
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

@test "info: text, inputs with columns, scales and categories, labels, metrics and tensors of a model" {
  nn-predict --info m.st >info
  sed '/^metrics/,/^tensors/{/^  /d}' info >fixed
  diff - fixed <<'END'
m.st: model
text
  input 3
  dense 3
  leaky-relu 0.012345678901234568
  dense 2
input: shape 3
  a: number, mean 1.6666666666666667, sd 0.9428090415820634, missing counts as 1.6666666666666667
  b: 2 categories: x, y
target: kind, 2 classes
  labels: down, up
metrics
tensors: 4, 20 values, 80 bytes
  0.bias 3 f32
  0.weight 3x3 f32
  2.bias 2 f32
  2.weight 2x3 f32
END
  grep -qE '^  loss [0-9.]+$' info
  nn-predict --info m.st -o out
  cmp out info
  [ "$(nn-predict --info - <m.st | tail -n +2)" = "$(tail -n +2 info)" ]
}

@test "info: of weights and states their tensors; of other files what they are" {
  [ "$(nn-predict --info m.state | head -n 1)" = "m.state: state of a training" ]
  printf '\x93NUMPY\1\0v\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" >w.npy
  printf '\0\0\0\0\0\0\0\0' >>w.npy
  [ "$(nn-predict --info 0.weight=w.npy)" = "0.weight=w.npy: weights without a net: -m TEXT says what they mean
tensors: 1, 2 values, 8 bytes
  0.weight 1x2 f32" ]
  run -1 --separate-stderr nn-predict --info t.csv
  [ "$stderr" = "nn-predict: t.csv: looks like a text file, not a model" ]
  sed 's/"nn.train":"{/"nn.train":"[/' m.st >bad.st
  run -1 --separate-stderr nn-predict --info bad.st
  [[ $stderr == 'nn-predict: bad.st: nn.train: '* ]]
  run -2 --separate-stderr nn-predict --info m.st t.csv
  [[ $stderr == *"--info reads a model alone, got a second operand: t.csv" ]]
}

@test "info: --log says how it was called and how it ended, and is opened before any work" {
  nn-predict --info --log=l.log m.st >logged
  diff logged <(nn-predict --info m.st)
  [ "$(jq -r .event l.log | paste -sd' ')" = 'start end' ]
  jq -se '.[0] | .tool == "nn-predict" and .options.info == "yes"' l.log
  jq -se '.[1] | .reason == "done" and .seconds >= 0' l.log
  run -1 nn-predict --info --log=l.log t.csv
  jq -se 'last | .event == "end" and .reason == "error" and (.text | startswith("t.csv"))' l.log
  run -1 --separate-stderr nn-predict --info --log=no/l.log t.csv
  [[ $stderr == 'nn-predict: no/l.log: cannot write'* ]]
  run -2 nn-predict --info --log=- m.st
  nn-predict --info --log=- -o info.txt m.st | jq -e .event
}

@test "info: options of rows are refused, standard ones are taken" {
  for option in --score --emit=class --batch=3 -b3 --keep=a --to=csv --on-error=skip '-mdense 3'; do
    run -2 --separate-stderr nn-predict --info "$option" m.st
    [[ -z $output && $stderr == 'nn-predict: --'*': --info says what MODEL holds, and reads no rows' ]]
  done
  printf 'score = yes\n' >options
  run -2 nn-predict --info --config=options m.st
  nn-predict --info --threads=2 --seed=3 -q m.st | diff - <(nn-predict --info m.st)
}
