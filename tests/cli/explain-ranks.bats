#!/usr/bin/env bats
# The plan of several ranks: the memory of each and of their host, beside what real ones took.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  LACKING=$(lacking_ranks | head -n 1)
  [[ ${KIND_CFLAGS-} != *-fsanitize=address* ]] || LACKING="the address sanitizer takes memory of its own"
  export LACKING
  [ -z "$LACKING" ] || return 0
  allow_ranks
  cd "$BATS_FILE_TMPDIR" || return
  export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
  cp "$NN_SRC/share/data/digits.csv.gz" .
}

setup() {
  [ -z "$LACKING" ] || skip "$LACKING"
  cd "$BATS_FILE_TMPDIR" || return
  rm -f ./*.safetensors log plan.json
}

digits="--target=digit --loss=cross-entropy digits.csv.gz"
net='dense 1500, relu, dense 1500, relu, dense ?'

# near FILTER FILE: of {predicted, measured}, within 5 % or 4 MiB
near() {
  jq -e -s "$1|(.predicted/.measured-1|fabs)<0.05 or (.predicted-.measured|fabs)<4194304" "$2" || { jq -c -s "$1" "$2"; false; }
}

# foreseen ARGUMENT...: what ranks take is what they said, and what the plan said before
foreseen() {
  echo "$@"
  timeout -k 5 120 nn-train -q -t 1 -m "$net" --steps=4 "$@" $digits --log=log
  near 'map(select(.event=="end"))[0].predicted.peak_bytes' log
  near 'map(select(.event=="end"))[0].predicted.host_bytes' log
  nn-train --explain=json -t 1 -m "$net" --steps=4 "$@" $digits --log=log >plan.json
  near '{predicted:.[0].memory.host,measured:(.[1:]|map(select(.event=="end"))[0].predicted.host_bytes.measured)}' <(cat plan.json log)
}

@test "memory: of ranks that see the same memory" {
  foreseen --ranks=2 -o a.safetensors
  near '{predicted:.[0].memory.total,measured:(.[1:]|map(select(.event=="end"))[0].predicted.peak_bytes.measured)}' <(cat plan.json log)
  foreseen --ranks=3 -o /dev/null
  foreseen --ranks=2 --precision=f64 --clip-norm=1 --valid=0.2 -o a.safetensors
}

@test "memory: of ranks that send messages" {
  OMPI_MCA_btl=self,tcp foreseen --ranks=2 -o a.safetensors
  foreseen --ranks=2 --strategy=master -o a.safetensors
  foreseen --ranks=2 --strategy=local:2 -o a.safetensors
}

@test "memory: of stages, of columns, and of two pipelines" {
  foreseen --ranks=2 --pipeline=2 -o a.safetensors
  foreseen --ranks=2 --tensor=2 -o a.safetensors
  timeout -k 5 120 nn-train -q -t 1 -m "$net" --steps=4 --ranks=4 --pipeline=2 $digits -o a.safetensors --log=log
  near 'map(select(.event=="end"))[0].predicted.host_bytes' log
}

# parameters and the state of the optimizer are there once for ranks of a host, so that two take less than twice as much
@test "memory: a host's ranks are planned together, what they share once" {
  nn-train --explain=json -t 1 -m "$net" $digits >plan.json
  jq -e '.memory|has("host")|not' plan.json
  alone=$(jq .memory.total plan.json)
  nn-train --explain=json -t 1 -m "$net" --ranks=2 $digits >plan.json
  jq -e --argjson alone "$alone" '.memory|.host>.total and .host<2*$alone and .host<2*.total' plan.json
  nn-train --explain -t 1 -m "$net" --ranks=2 $digits >text
  grep -q '^memory of a rank in bytes, ' text
  grep -q '^  host  .* all 2 ranks of this host' text
}

@test "memory: command lines for ranks that would fit keep the ranks, and fit" {
  run -4 --separate-stderr nn-train -t 1 -m "$net" --steps=1 --ranks=2 --memory=80M --clip-norm=1 $digits -o a.safetensors
  [ "${#stderr_lines[@]}" -eq 4 ]
  for line in "${stderr_lines[@]:1}"; do
    [[ $line =~ ^nn-train:\ note:\ (nn-train\ .*--ranks=2.*)\ \ \ #\ ([0-9]+)$ ]]
    [ "${BASH_REMATCH[2]}" -le $((80 * 1024 * 1024)) ]
    timeout -k 5 120 bash -c "${BASH_REMATCH[1]} -q --log=log"
    jq -e -s 'map(select(.event=="end"))[0]|.peak_bytes<=80*1024*1024 and (.ranks|length)==2' log
  done
  run -4 nn-train --explain=json -t 1 -m "$net" --steps=1 --ranks=4 --memory=20M --leaves=4 $digits
  jq -e '[.suggestions[].command|test("--leaves=[12] ")|not]|all' <<<"$output"
}
