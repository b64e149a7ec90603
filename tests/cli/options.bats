#!/usr/bin/env bats
# What all tools do with their options: one table gives help, man page and completions; status, streams and signals.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  tools=()
  for tool in nn-train nn-predict nn-allreduce nn-bench nn-serve; do
    [ ! -x "$NN_BUILD/cmd/$tool" ] || tools+=("$tool")
  done
}

# Long options of --help=all, sorted.
help_options() {
  "$1" --help=all | grep -oE '^( {6}|  -[a-zA-Z], )--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | sort
}

@test "options: the man page's OPTIONS lists what --help lists" {
  for tool in "${tools[@]}"; do
    page=$NN_BUILD/man/$tool.1
    [ -e "$page" ] || page=$NN_SRC/man/$tool.1
    help_options "$tool" >help
    sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$page" | grep -A1 '^\.TP' | grep -oE '\\fB\\-\\-[a-z0-9\\-]+\\fR' |
      sed 's/\\fB//; s/\\fR//; s/\\//g' | sort | diff help -
  done
}

@test "options: bash, zsh and fish complete what --help lists" {
  for tool in "${tools[@]}"; do
    help_options "$tool" >help
    grep -oE -- '--[a-z0-9-]+=?' "$NN_BUILD/share/completions/$tool" | tr -d = | sort -u | diff help -
    grep -oE -- "(\{-[a-zA-Z]\+?,|^.')--[a-z0-9-]+" "$NN_BUILD/share/completions/_$tool" | grep -oE -- '--[a-z0-9-]+' | sort | diff help -
    grep -oE -- ' -l [a-z0-9-]+' "$NN_BUILD/share/completions/$tool.fish" | sed 's/ -l /--/' | sort | diff help -
  done
}

@test "options: --help is a screen with an example, --help=TOPIC has every option once" {
  for tool in "${tools[@]}"; do
    "$tool" --help >screen
    [ "$(wc -l <screen)" -le 40 ]
    [ "$(grep -A1 '^Example:' screen | tail -1 | cut -d' ' -f3)" = "$tool" ]
    [ -z "$(grep -E '.{81}' screen)" ]
    topics=$(sed -n '/^More:/,$p' screen | tr '\n' ' ' | sed -E 's/.*a TOPIC being (.*) or all;.*/\1/' | tr -d ,)
    for topic in $topics; do
      "$tool" --help="$topic" | grep -oE '^( {6}|  -[a-zA-Z], )--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'
    done | sort >of-topics
    help_options "$tool" | diff of-topics -
    run -2 --separate-stderr "$tool" --help=frobnicate
    [[ $stderr == "$tool: --help=frobnicate: expected "*" or all" ]]
  done
}

@test "options: names of other tools get a hint" {
  while read -r tool name want; do
    run -2 --separate-stderr "$tool" "$name"
    [ "$stderr" = "$tool: ${name%%=*}: unknown option; did you mean $want?" ]
  done <<'T'
nn-train --learning-rate=0.1 --lr
nn-train --batch-size --batch
nn-train --validation-split=0.2 --valid
nn-train --max-epochs=3 --epochs
nn-train --hidden=16 --model
nn-predict --proba --emit
nn-bench --batch-size=3 --batch
T
}

@test "options: no tool has two options of one name or letter" {
  for tool in "${tools[@]}"; do
    [ -z "$(help_options "$tool" | uniq -d)" ]
    [ -z "$("$tool" --help=all | grep -oE '^  -[a-zA-Z],' | sort | uniq -d)" ]
  done
}

@test "options: every option of --help is known to the parser" {
  for tool in "${tools[@]}"; do
    for option in $(help_options "$tool"); do
      output=$("$tool" "$option" --frobnicate 2>&1) || true
      [[ $output != *"$option: unknown option"* ]]
    done
  done
}

# refused LINE COMMAND...: status 2 and that line; hundreds of these, and `run` takes longer than the tool
refused() {
  status=0
  "${@:2}" >out 2>err || status=$?
  [ "$status" = 2 ] && [ "$(<err)" = "$1" ]
}

@test "options: what --help shows without a value takes none, the others want one" {
  for tool in "${tools[@]}"; do
    verb=()
    [ "$tool" != nn-bench ] || verb=(run)
    while read -r option; do
      case $option in
      *\[=*) continue ;;
      *=*)
        refused "$tool: ${option%%=*}: expected a value, $option" "$tool" "${verb[@]}" "${option%%=*}"
        ;;
      *)
        refused "$tool: $option: takes no value" "$tool" "${verb[@]}" "$option=x"
        ;;
      esac || { echo "$tool $option: status $status: $(cat err)"; false; }
    done < <("$tool" "${verb[@]}" --help=all | grep -oE '^( {6}|  -., )--[a-z-]+[^ ]*' | sed -E 's/^[^-]*(-., )?//')
  done
}

@test "options: bash completes names, values and files" {
  echo >some-file
  # complete WORD...: what the last word becomes
  cat >try.sh <<'S'
source "$NN_BUILD/share/completions/nn-predict"
compopt() { :; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_nn_predict
echo "${COMPREPLY[*]}"
S
  [ "$(bash try.sh nn-predict --on)" = "--on-error=" ]
  [ "$(bash try.sh nn-predict --on-error = sk)" = skip ]
  [ "$(bash try.sh nn-predict --on-error =)" = "fail skip mark" ]
  [ "$(bash try.sh nn-predict --output = some)" = some-file ]
  [ "$(bash try.sh nn-predict so)" = some-file ]
  [ "$(bash try.sh nn-predict --emit = lo)" = logits ]
  sed -i 's/nn-predict/nn-bench/; s/_nn_predict/_nn_bench/' try.sh
  [ "$(bash try.sh nn-bench cro)" = crossover ]
  [ "$(bash try.sh nn-bench run some)" = some-file ]
  [ "$(bash try.sh nn-bench --help = m)" = measuring ]
}

@test "options: zsh and fish accept their completions" {
  command -v zsh || skip "zsh is not installed"
  command -v fish || skip "fish is not installed"
  for tool in "${tools[@]}"; do
    zsh -n "$NN_BUILD/share/completions/_$tool"
    fish --no-config --no-execute "$NN_BUILD/share/completions/$tool.fish"
  done
}

@test "options: zsh offers values of a choice" {
  command -v zsh || skip "zsh is not installed"
  cat >try.zsh <<'S'
_arguments() { print -rl -- "$@" }
source $NN_BUILD/share/completions/_nn-predict
S
  run -0 zsh -f try.zsh
  [[ $output == *"--on-error=[at a row that cannot be read\\: fail, skip or mark]:WHAT:(fail skip mark)"* ]]
  [[ $output == *"--output=[write the result there"*"]:FILE:_files"* ]]
}

@test "options: fish offers values of a choice" {
  command -v fish || skip "fish is not installed"
  run -0 env HOME="$PWD" fish --no-config -c "source $NN_BUILD/share/completions/nn-predict.fish; complete -C'nn-predict --on-error='"
  [[ $output == *"--on-error=skip"* ]]
}

@test "options: installed examples are found by their names, files of the same name win" {
  mkdir -p moved/bin moved/lib moved/share/nntools/{examples,data}
  cp "$NN_BUILD/cmd/nn-train" moved/bin
  cp -L "$NN_BUILD/lib/libnn.so.0" moved/lib
  cp -L "$NN_BUILD"/lib/nn-archive.so moved/lib
  cp "$NN_SRC/share/examples/digits.nn" moved/share/nntools/examples
  cp "$NN_SRC/share/data/digits.csv.gz" moved/share/nntools/data
  train=(moved/bin/nn-train -q -m digits.nn digits.csv.gz --target=digit --loss=cross-entropy --steps=1)
  "${train[@]}" -o a.st
  [ -s a.st ]
  cp "$NN_BUILD/cmd/nn-predict" moved/bin
  moved/bin/nn-predict --score=digits.csv.gz a.st digits.csv.gz | grep '^samples [1-9]'
  moved/bin/nn-train -q -m 'dense ?' --valid=digits.csv.gz digits.csv.gz --target=digit --loss=cross-entropy --steps=1 -o b.st
  moved/bin/nn-train -q -m 'dense ?' --try='model=digits.nn,dense ?' --valid=0.5 digits.csv.gz --target=digit --loss=cross-entropy \
    --steps=1 -o b.st >tried
  [ "$(cut -f1 tried | sort | paste -sd'|')" = 'dense ?|digits.nn|model' ]
  printf 'valid = digits.csv.gz\n' >options
  moved/bin/nn-train -q --config=options -m 'dense ?' digits.csv.gz --target=digit --loss=cross-entropy --steps=1 -o b.st
  echo nonsense >digits.nn
  run -1 --separate-stderr "${train[@]}" -o b.st
  [[ $stderr == *"digits.nn:1: unknown layer 'nonsense'"* ]]
  run -2 --separate-stderr moved/bin/nn-train -m ./lenet.nn digits.csv.gz --target=digit -o b.st
  [ "$stderr" = "nn-train: ./lenet.nn: no such file, and not the name of a layer" ]
}

@test "options: -m with a layer as other tools call it, or nearly, is told its name" {
  printf 'x,y\n1,2.5\n2,3.5\n' >d.csv
  while read -r word name; do
    run -2 --separate-stderr nn-train -m "$word" --target=y d.csv -o out
    [ "$stderr" = "nn-train: $word: no such file, and not the name of a layer; did you mean $name?" ]
  done <<'T'
ReLU relu
Linear dense
reluu relu
T
  run -2 --separate-stderr nn-bench run Flatten
  [ "$stderr" = "nn-bench: Flatten: no such file, and not the name of a layer; did you mean flatten?" ]
}

@test "options: an unknown one is status 2, one line, with the nearest known" {
  for tool in "${tools[@]}"; do
    run -2 --separate-stderr "$tool" --thraeds=2
    [ -z "$output" ]
    [ "$stderr" = "$tool: --thraeds: unknown option; did you mean --threads?" ]
  done
}

@test "options: --device=cuda is status 3, auto is taken" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "the device of the tests is there"
  local net='input 2, dense 1' tool
  printf '%s\n' 1,2,3 2,3,4 4,5,1 >x.csv
  nn-train -q --target=3 --loss=mse --epochs=1 -m "$net" -o m.st x.csv
  declare -A rest=([nn-allreduce]=m.st [nn-bench]="run m.st" [nn-predict]="m.st x.csv" [nn-serve]=m.st
    [nn-train]="--target=3 --loss=mse -m m.st x.csv")
  for tool in "${tools[@]}"; do
    # shellcheck disable=SC2206 # words
    local words=(--dry-run ${rest[$tool]})
    run -3 --separate-stderr "$tool" --device=cuda "${words[@]}"
    [ "$stderr" = "$tool: --device=cuda: module nn-cuda.so is not installed" ] || { echo "$stderr"; return 1; }
    run -3 --separate-stderr env NN_DEVICE=cuda:0 "$tool" "${words[@]}"
    [ "$stderr" = "$tool: NN_DEVICE=cuda:0: module nn-cuda.so is not installed" ] || { echo "$stderr"; return 1; }
    for device in auto 'cuda --device=cpu'; do
      # shellcheck disable=SC2086 # words
      run -0 --separate-stderr "$tool" --device=$device "${words[@]}"
    done
    NN_DEVICE=cuda "$tool" --device=cpu "${words[@]}"
    for wrong in --nope --threads=x --device=cpu,tpu; do # of the line itself: before what is absent
      run -2 --separate-stderr "$tool" --device=cuda "${words[@]}" "$wrong"
      [[ $stderr == "$tool: $wrong: "* ]] || { echo "$stderr"; return 1; }
    done
    run -2 --separate-stderr "$tool" --device=cuda
    [[ $stderr != *cuda* ]]
    "$tool" --device=cuda --help >help
    [ "$("$tool" --device=cuda --version)" = "$("$tool" --version)" ]
    if [ "$tool" = nn-serve ]; then continue; fi
    run -2 --separate-stderr "$tool" --device=cpu,cuda "${words[@]}"
    [ "$stderr" = "$tool: --device=cpu,cuda: expected one device; nn-serve alone takes several" ] || { echo "$stderr"; return 1; }
  done
  [[ " ${tools[*]} " == *' nn-serve '* ]] || return 0
  for devices in auto,cuda 'cpu,cuda --ranks=2' cuda,cuda:1,cuda:2,cuda:3,cpu; do
    # shellcheck disable=SC2086 # words
    run -2 --separate-stderr nn-serve --device=$devices m.st
    [[ $stderr == "nn-serve: --device=${devices% *}: "* ]] || { echo "$stderr"; return 1; }
  done
  run -3 --separate-stderr nn-serve --device=cpu,cuda:1 m.st
  [ "$stderr" = "nn-serve: --device=cpu,cuda:1: module nn-cuda.so is not installed" ]
}

@test "options: a bad value in the environment is status 2" {
  for tool in "${tools[@]}"; do
    run -2 --separate-stderr env NN_THREADS=many "$tool" x
    [ "$stderr" = "$tool: NN_THREADS=many: expected a whole number from 1 to 1024" ]
  done
}

# kept FILE COMMAND...: status 2, one line that names the loss or the place of two, and the file is as it was
kept() {
  local file=$1 before
  before=$(sha256sum "$file" 2>&1 || true)
  run -2 --separate-stderr "${@:2}"
  [[ ${#stderr_lines[@]} = 1 && $stderr =~ (", which would be lost"|": this is where --"[a-z]*" goes")$ ]] || { echo "$stderr"; false; }
  [ "$(sha256sum "$file" 2>&1 || true)" = "$before" ]
}

@test "outputs: no tool writes over a file that it reads, or two files to one place" {
  net='input 2, dense 2'
  printf '%s\n' a,b,c 1,2,x 3,4,y >d.csv
  nn-train -q -m "$net" --target=c --steps=0 d.csv -o m.st
  echo "$net" >m.nn
  echo 'localhost slots=2' >h
  ln -s m.st link.st
  mkdir weights
  cp "$NN_SRC/share/data/digits.csv.gz" weights/a.npy
  for verb in run memory pick crossover explain advise; do
    kept m.st nn-bench $verb m.st -o m.st
    kept m.st nn-bench $verb link.st -o ./m.st
    kept m.st nn-bench $verb m.st --log=m.st
  done
  kept m.st nn-bench run m.st --plot=m.st
  kept m.nn nn-bench run m.nn -o ./m.nn
  kept b nn-bench run m.st --plot=b -o b
  kept b nn-bench run m.st --plot=b -o ./b
  kept m.nn nn-predict -m m.nn m.st d.csv -o m.nn
  kept m.st nn-predict m.st d.csv --log=m.st
  kept d.csv nn-predict m.st d.csv -o d.csv
  kept d.csv nn-predict m.st --score=d.csv -o d.csv
  kept d.csv bash -c 'nn-predict m.st -o d.csv <d.csv'
  kept weights/a.npy nn-predict -m "$net" weights d.csv -o weights/a.npy
  kept weights/a.npy nn-predict -m "$net" 0.weight=weights/a.npy d.csv --log=weights/../weights/a.npy
  kept h nn-train --hostfile=h --ranks=2 -m "$net" --target=b d.csv -o h
  kept h nn-train --hostfile=h --ranks=2 -m "$net" --target=b d.csv --log=h -o m
  kept m.st.state.safetensors nn-train -m "$net" --target=b --loss=mse d.csv -o m.st --log=m.st.state.safetensors
  kept d.csv nn-train -m "$net" --target=b --loss=mse m.st --valid=d.csv,m.nn -o d.csv
  kept m.nn nn-train -m "$net" --target=b --loss=mse m.st --valid=d.csv,m.nn --plot=m.nn -o m
  kept h nn-allreduce --hostfile=h --ranks=2 'a.%r.npy' -o h
  kept weights/a.npy nn-allreduce weights/a.npy d.csv --log=weights/a.npy -o sum.npy
  kept m.nn nn-allreduce --ranks=2 --bench --model=m.nn --step-ms=1 --log=m.nn
}

@test "outputs: nor over what an option lists, or over the files of a folder" {
  printf '%s\n' a,b,c 1,2,x 3,4,y >d.csv
  printf '%s\n' x y >labels
  ln labels same
  nn-train -q -m 'dense ?' --target=c --steps=0 d.csv -o m.st
  mkdir -p weights pics/a masks/a
  echo W >weights/0.weight.npy
  echo picture >pics/a/1.png
  echo mask >masks/a/1.png
  for bad in '--classes=labels -o same' '--classes=labels --plot=labels -o m' '--classes=labels --checkpoint=./labels -o m' \
    '--classes=labels --log=same -o m' '--classes=s=labels -o labels' '--classes=r=3,s=labels --log=labels -o m'; do
    # shellcheck disable=SC2086
    kept labels nn-train -m 'dense ?' --target=c d.csv $bad
  done
  kept labels nn-bench input d.csv --target=c --classes=labels -o labels
  for bad in --output --log --plot --checkpoint; do
    kept weights/0.weight.npy nn-train -m 'dense ?' --target=c d.csv --init=0.bias=b.npy,0.weight=weights/0.weight.npy -o m $bad=weights/0.weight.npy
    kept weights/0.weight.npy nn-train -m 'dense ?' --target=c d.csv --init=weights -o m $bad=weights/0.weight.npy
    kept pics/a/1.png nn-train -m 'flatten, dense ?' pics -o m $bad=pics/a/1.png
    kept masks/a/1.png nn-train -m 'conv2d ? 1x1' pics masks -o m $bad=masks/a/1.png
    kept masks/a/1.png nn-train -m 'conv2d ? 1x1' d.csv --valid=pics,masks -o m $bad=masks/a/1.png
    kept pics/a/1.png nn-train -m 'flatten, dense ?' d.csv --valid=pics -o m $bad=./pics/a/1.png
  done
  kept pics/a/1.png nn-predict m.st pics -o pics/a/1.png
  kept pics/a/1.png nn-predict m.st pics --log=pics/a/1.png
  kept masks/a/1.png nn-predict m.st pics --score=masks --log=masks/a/1.png
  kept pics/a/1.png nn-bench input pics -o pics/a/1.png
  # what is no sample may lie there
  echo notes >pics/notes
  run -1 --separate-stderr nn-predict m.st pics -o pics/notes
  [[ $stderr != *"would be lost"* ]]
}

@test "options: what an empty or missing name leads to is named, in one line" {
  printf '%s\n' a,b,c 1,2,x 3,4,y >d.csv
  nn-train -q -m 'dense ?' --target=c --steps=1 d.csv -o m.st
  named() {
    run --separate-stderr "${@:2}"
    [[ $status = [12] && $stderr = "$1" ]] || { echo "${*:2}: $stderr"; false; }
  }
  empty='"": cannot open: No such file or directory'
  named "nn-train: $empty" nn-train -m 'dense ?' --target=b ''
  named "nn-train: $empty" nn-train -m 'dense ?' --target=c d.csv ''
  named "nn-predict: $empty" nn-predict '' d.csv
  named "nn-predict: $empty" nn-predict m.st ''
  named "nn-predict: $empty" nn-predict m.st --score= d.csv
  named "nn-allreduce: $empty" nn-allreduce ''
  named 'nn-train: "": no such file, and not the name of a layer' nn-train -m '' d.csv
  for verb in run pick crossover explain advise memory; do
    named 'nn-bench: "": no such file, and not the name of a layer' nn-bench $verb ''
    named 'nn-bench: ghost.st: no such file, and not the name of a layer' nn-bench $verb ghost.st
  done
  named 'nn-bench: "": unknown op; see nn-bench(1)' nn-bench ops ''
  named 'nn-bench: --plot=: expected FILE.svg' nn-bench run m.st --plot=
  named 'nn-allreduce: ghost: no such file, and not the name of a layer' nn-allreduce --bench --model=ghost --step-ms=1
  named 'nn-train: d.csv: no such column as in columns=ghost; its columns: a, b, c' nn-train -m 'input columns=ghost, dense ?' --target=c d.csv
  named "nn-allreduce: -: expected an .npy array, found other bytes" bash -c 'echo hello | nn-allreduce --stream'
  long=$(printf 'n%.0s' {1..300})
  named "nn-train: $long: cannot write there: File name too long" nn-train -q -m 'dense ?' --target=c d.csv -o "$long"
}

@test "options: --log of every tool begins and ends, with the options and how it ended" {
  printf '%s\n' a,b,c 1,2,x 3,4,y >d.csv
  nn-train -q -m 'dense ?' --target=c --steps=1 d.csv -o m.st --log=train.log
  nn-predict -q m.st d.csv -o p.csv --log=predict.log
  nn-bench memory m.st -q -o b.tsv --log=bench.log
  nn-allreduce -q m.st m.st -o mean.st --log=allreduce.log
  for tool in train predict bench allreduce; do
    [ "$(jq -r .event $tool.log | sed -n '1p;$p' | xargs)" = 'start end' ]
    jq -e -s --arg log $tool.log '.[0].options.log == $log and .[-1].seconds >= 0' $tool.log
  done
  run -1 nn-allreduce -q m.st none.st -o mean.st --log=allreduce.log
  jq -e -s '.[-1].reason == "error" and (.[-1].text | startswith("none.st: "))' allreduce.log
  run -2 nn-bench run m.st --log=-
}

@test "options: an output that is the --config file is refused, status 2, and the file stays" {
  echo 'header = no' >my.conf
  ln my.conf other
  for tool in nn-train nn-predict; do
    for bad in '-o my.conf' -oother --output=./my.conf --log=my.conf; do
      run -2 --separate-stderr "$tool" --config=my.conf -m 'dense ?' $bad x
      [[ $stderr == "$tool: --"*": is the file of --config, which would be lost" ]]
      [ "$(cat my.conf)" = 'header = no' ]
    done
  done
  for bad in --checkpoint=my.conf --record=other; do
    run -2 --separate-stderr nn-train --config=my.conf $bad -m 'dense ?' x
    [[ $stderr == *"is the file of --config"* ]]
  done
}

@test "options: --config=- reads stdin, which is then no data" {
  for tool in nn-train nn-predict; do
    run -2 --separate-stderr "$tool" --config=- x < <(echo 'sede = 3')
    [ "$stderr" = "$tool: -:1: --sede: unknown option; did you mean --seed?" ]
    run -2 --separate-stderr "$tool" --config=- x - <<<''
    [ "$stderr" = "$tool: -: stdin is read as --config already" ]
  done
}

@test "options: a mistake in --config names FILE:LINE" {
  printf '# ours\nthreads = 2\nsede = 3\n' >my.conf
  for tool in "${tools[@]}"; do
    run -2 --separate-stderr "$tool" --config=my.conf x
    [ "$stderr" = "$tool: my.conf:3: --sede: unknown option; did you mean --seed?" ]
    run -2 --separate-stderr "$tool" --config=none.conf x
    [ "$stderr" = "$tool: --config=none.conf: No such file or directory" ]
  done
}

@test "options: --version -v adds BLAS, MPI, CUDA and CPU" {
  for tool in "${tools[@]}"; do
    run -0 --separate-stderr "$tool" --version -v
    [[ ${lines[0]} == "$tool (nntools) "* ]]
    for name in BLAS MPI CUDA CPU; do
      [[ $output == *$'\n'"$name: "* ]]
    done
    [ -z "$stderr" ]
  done
}

@test "options: help to a full disk is status 1, to a reader that left silently 141" {
  for tool in "${tools[@]}"; do
    run -1 bash -c "$tool --help 2>&1 >/dev/full"
    [ "$output" = "$tool: stdout: cannot write: No space left on device" ]
    run -141 bash -c "trap '' PIPE; (sleep 0.1; exec $tool --help 2>err) | true; exit \${PIPESTATUS[0]}"
    [ ! -s err ]
  done
}

@test "options: a reader of --log=- that has left ends the tool silently with 141" {
  printf 'x,y\n1,2.5\n2,3.5\n' >d.csv
  nn-train -q -m 'dense 1' --target=y --steps=1 -o m.st d.csv
  local ranks=('nn-train -q -m "dense 1" --target=y --steps=3 --ranks=2 -o new.st d.csv')
  [ -z "$(lacking_ranks)" ] && allow_ranks || ranks=()
  for log in --log=- --log=/dev/stdout; do
    for command in 'nn-train -q -m "dense 1" --target=y --steps=3 -o new.st d.csv' 'nn-predict -o out m.st d.csv' \
      'nn-allreduce m.st m.st -o out' 'nn-bench memory m.st -o out' "${ranks[@]}"; do
      run bash -c "trap '' PIPE; (sleep 0.1; $command $log 2>err) | true; exit \${PIPESTATUS[0]}"
      [ "$status" = 141 ] && [ ! -s err ] || { echo "$command $log: $status"; cat err; false; }
    done
  done
  [ ! -e new.st ]
}

@test "options: no two outputs go to stdout, by whatever name" {
  printf 'x,y\n1,2.5\n2,3.5\n' >d.csv
  train=(nn-train -q -m 'dense 1' --target=y --steps=1 d.csv)
  nn-train -q -m 'dense 1' --target=y --steps=1 -o m.st d.csv
  for name in - /dev/stdout /dev/fd/1; do
    refused() { run -2 "$@"; [[ $output == *"=$name: "*stdout* ]] || { echo "$*: $output"; false; }; }
    refused "${train[@]}" --log=$name
    refused "${train[@]}" --plot=$name
    refused "${train[@]}" --folds=2 --log=$name
    refused "${train[@]}" --try=lr=0.1,0.2 --folds=2 --output=$name
    refused nn-predict m.st d.csv --log=$name
    refused nn-allreduce m.st m.st --log=$name
    refused nn-bench run m.st --log=$name
    run -2 "${train[@]}" -o new.st --checkpoint=$name
    [[ $output == *"--checkpoint=$name: a state needs a file" ]]
  done
  [ ! -e new.st ]
}

@test "options: a signal that ends a tool leaves no temporary and no lock behind" {
  local name
  mkdir work
  printf 'x,y\n1,2.5\n2,3.5\n' >d.csv
  nn-train -q -m 'dense 1' --target=y --steps=1 -o m.st d.csv
  for name in INT QUIT ALRM USR1 XCPU HUP TERM; do
    mkfifo pipe
    env --default-signal=$name nn-predict -o work/out m.st pipe 3>&- &
    exec 4>pipe
    for _ in $(seq 200); do [ -z "$(ls -A work)" ] || break; sleep 0.02; done
    [ -n "$(ls -A work)" ]
    kill -$name $!
    status=0; wait $! 2>/dev/null || status=$?
    exec 4>&-
    [ "$status" = $((128 + $(kill -l $name))) ] && [ -z "$(ls -A work)" ] || { echo "$name: $status $(ls -A work)"; false; }
    rm pipe
  done
  for name in QUIT ALRM XCPU; do
    env --default-signal=$name nn-train -q -m 'dense 1' --target=y --steps=1000000000 -o work/out d.csv 3>&- &
    for _ in $(seq 200); do [ ! -e work/.out.state.safetensors.lock ] || break; sleep 0.02; done
    [ -e work/.out.state.safetensors.lock ]
    kill -$name $!
    status=0; wait $! 2>/dev/null || status=$?
    [ "$status" = $((128 + $(kill -l $name))) ] && [ -z "$(find work -name '.out*')" ] || { echo "nn-train $name: $status $(ls -A work)"; false; }
    rm -f work/out.state.safetensors
  done
}

@test "options: descriptors closed by the caller do no harm" {
  for tool in "${tools[@]}"; do
    run -0 bash -c "$tool --help <&- 2>&-"
    [[ $output == Usage:* ]]
    run -2 bash -c "$tool --frobnicate <&- >&- 2>&-"
    [ -z "$output" ]
    run -0 bash -c "$tool --help >&-"
  done
}

@test "options: a name with control bytes stays one line of text" {
  name=$'a\nb\x1b[31m\xff'
  for tool in "${tools[@]}"; do
    run --separate-stderr "$tool" --config="$name" x
    [ "$status" = 2 ]
    [ "$stderr" = "$tool: --config=a\\nb\\x1B[31m\\xFF: No such file or directory" ]
  done
}

@test "options: the locale changes nothing" {
  for tool in "${tools[@]}"; do
    run -2 --separate-stderr env LC_ALL=de_DE.UTF-8 LANGUAGE=de "$tool" --seed=1,5 x
    [ "$stderr" = "$tool: --seed=1,5: expected a whole number of at least 0" ]
  done
}

@test "options: an output that cannot be written ends the run before any input is waited for" {
  nn-train -m 'dense 1' --target=y --loss=mse --epochs=1 -q - -o m.safetensors <<<$'x,y\n1.5,2.5\n2.5,3.5'
  mkfifo rows
  sleep 60 >rows 3>&- &
  run -1 --separate-stderr timeout 30 nn-predict m.safetensors -o none/out.csv <rows
  [ "$stderr" = "nn-predict: none/out.csv: cannot write there: No such file or directory" ]
  kill $!
}
