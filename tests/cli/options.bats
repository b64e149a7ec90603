#!/usr/bin/env bats
# What all tools do with their options: one table gives help, man page and completions; status, streams and signals.
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  tools=()
  for tool in nn-train nn-predict nn-allreduce nn-bench; do
    [ ! -x "$NN_BUILD/cmd/$tool" ] || tools+=("$tool")
  done
}

# Long options of --help, sorted.
help_options() {
  "$1" --help | grep -oE '^ *(-[a-zA-Z], )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | sort
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

@test "options: no tool has two options of one name or letter" {
  for tool in "${tools[@]}"; do
    [ -z "$(help_options "$tool" | uniq -d)" ]
    [ -z "$("$tool" --help | grep -oE '^  -[a-zA-Z],' | sort | uniq -d)" ]
  done
}

@test "options: every option of --help is known to the parser" {
  for tool in "${tools[@]}"; do
    for option in $(help_options "$tool"); do
      run "$tool" "$option" --frobnicate
      [[ $output != *"$option: unknown option"* ]]
    done
  done
}

@test "options: what --help shows without a value takes none, the others want one" {
  for tool in "${tools[@]}"; do
    verb=()
    [ "$tool" != nn-bench ] || verb=(run)
    while read -r option; do
      case $option in
      *\[=*) continue ;;
      *=*)
        run -2 --separate-stderr "$tool" "${verb[@]}" "${option%%=*}"
        [ "$stderr" = "$tool: ${option%%=*}: expected a value, $option" ]
        ;;
      *)
        run -2 --separate-stderr "$tool" "${verb[@]}" "$option=x"
        [ "$stderr" = "$tool: $option: takes no value" ]
        ;;
      esac || { echo "$tool $option: $stderr"; false; }
    done < <("$tool" "${verb[@]}" --help | grep -oE '^ +(-., )?--[a-z-]+[^ ]*' | sed -E 's/^[^-]*(-., )?//')
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
autoload -Uz compinit && compinit -u -d dump
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

@test "options: an unknown one is status 2, one line, with the nearest known" {
  for tool in "${tools[@]}"; do
    run -2 --separate-stderr "$tool" --thraeds=2
    [ -z "$output" ]
    [ "$stderr" = "$tool: --thraeds: unknown option; did you mean --threads?" ]
  done
}

@test "options: --device=cuda is status 3, auto is taken" {
  for tool in "${tools[@]}"; do
    run -3 --separate-stderr "$tool" --device=cuda x
    [ "$stderr" = "$tool: --device=cuda: module nn-cuda.so is not installed" ]
    run -3 --separate-stderr env NN_DEVICE=cuda:0 "$tool" x
    [ "$stderr" = "$tool: NN_DEVICE=cuda:0: module nn-cuda.so is not installed" ]
    run -2 --separate-stderr "$tool" --device=auto
    [[ $stderr != *device* ]]
  done
}

@test "options: a bad value in the environment is status 2" {
  for tool in "${tools[@]}"; do
    run -2 --separate-stderr env NN_THREADS=many "$tool" x
    [ "$stderr" = "$tool: NN_THREADS=many: expected a whole number from 1 to 1024" ]
  done
}

@test "options: an output that is the --config file is refused, status 2, and the file stays" {
  echo 'header = no' >my.conf
  ln my.conf other
  for tool in nn-train nn-predict; do
    for bad in '-o my.conf' -oother --output=./my.conf --log=my.conf; do
      run -2 --separate-stderr "$tool" --config=my.conf $bad x
      [[ $stderr == "$tool: --"*": is the file of --config, which would be lost" ]]
      [ "$(cat my.conf)" = 'header = no' ]
    done
  done
  for bad in --checkpoint=my.conf --record=other; do
    run -2 --separate-stderr nn-train --config=my.conf $bad -m 'dense ?' x
    [[ $stderr == *"is the file of --config"* ]]
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
