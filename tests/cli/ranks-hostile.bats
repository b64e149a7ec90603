#!/usr/bin/env bats
# Careless use of nn-train's ranks: pipes in every place, hosts that are none, stops while nothing has begun; one line, nothing left.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

setup_file() {
  LACKING=$(lacking_ranks | head -n 1)
  export LACKING
  [ -z "$LACKING" ] || return 0
  allow_ranks
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 150 >words.csv
  make_words 70 >held.csv
  train --valid=held.csv -o one.safetensors words.csv
}

setup() {
  [ -z "$LACKING" ] || skip "$LACKING"
  cd "$BATS_FILE_TMPDIR" || return
  rm -f p q out.* .out.*
}

teardown() {
  # shellcheck disable=SC2086 # a list
  [ -z "${parent-}" ] || kill -9 $parent ${processes-} 2>/dev/null || true
}

train() {
  timeout -k 5 60 nn-train -q -m 'dense 9, relu, dense ?' --target=kind --epochs=2 "$@"
}

# tells STATUS LINE COMMAND...: this line alone, and neither model nor lock
tells() {
  run -"$1" --separate-stderr "${@:3}"
  [ "$stderr" = "nn-train: $2" ] || { echo "$stderr"; return 1; }
  [ -z "$(compgen -G 'out.*')$(compgen -G '.out.*')" ]
}

@test "ranks hostile: held-out data may be a FIFO, standard input or <(command), and the bytes are those of files" {
  mkfifo p q
  # one writer for both: the second pipe is opened when the first was read
  { cat words.csv >p; cat held.csv >q; } 3>&- &
  train --ranks=3 --valid=q -o out.safetensors p
  cmp one.safetensors out.safetensors
  train --ranks=2 --valid=- -o out.safetensors words.csv <held.csv
  cmp one.safetensors out.safetensors
  # shellcheck disable=SC2002 # a pipe is wanted
  cat held.csv | train --ranks=2 --valid=/dev/stdin -o out.safetensors words.csv
  cmp one.safetensors out.safetensors
  train --ranks=2 --valid=<(cat held.csv) -o out.safetensors words.csv
  cmp one.safetensors out.safetensors
  { cat words.csv >p; cat held.csv >q; } 3>&- &
  mpi -n 2 nn-train -q -m 'dense 9, relu, dense ?' --target=kind --epochs=2 --valid=q -o out.safetensors p
  cmp one.safetensors out.safetensors
}

@test "ranks hostile: a FIFO that brings nothing or half is named as the user did" {
  mkfifo p
  : >p 3>&- &
  tells 1 "p: is empty, expected CSV or TSV, JSON lines, LIBSVM, .npy, IDX, .npz, safetensors, CIFAR, PNG, JPEG, tar or a folder of pictures" train --ranks=2 -o out.safetensors p
  : >p 3>&- &
  tells 1 "p: is empty, expected CSV or TSV, JSON lines, LIBSVM, .npy, IDX, .npz, safetensors, CIFAR, PNG, JPEG, tar or a folder of pictures" train --ranks=2 --valid=p -o out.safetensors words.csv
  head -c 3000 "$NN_SRC/share/data/digits.csv.gz" >p 3>&- &
  tells 1 "p: the gzip data end early" train --ranks=2 --target=digit --loss=cross-entropy -o out.safetensors p
  { cat words.csv; echo x; } >p 3>&- &
  tells 1 'p:152:1: found "x" in column "a", expected a number' train --ranks=2 -o out.safetensors p
  tells 1 "/dev/null: is empty, expected CSV or TSV, JSON lines, LIBSVM, .npy, IDX, .npz, safetensors, CIFAR, PNG, JPEG, tar or a folder of pictures" train --ranks=2 -o out.safetensors /dev/null
}

@test "ranks hostile: a second <(command) is refused, with what helps" {
  run -2 --separate-stderr train --ranks=2 --valid=<(cat held.csv) -o out.safetensors <(cat words.csv)
  [[ $stderr =~ ^"nn-train: /dev/fd/"[0-9]+": ranks get one <(command) alone, which is /dev/fd/"[0-9]+"; give the other as a file or FIFO"$ ]]
}

@test "ranks hostile: hosts that cannot be reached are named with what mpirun says, a hostfile that is not there is not mpirun's matter" {
  printf '#!/bin/sh\necho "agent: $1 is nowhere" >&2\nexit 255\n' >agent
  chmod +x agent
  export OMPI_MCA_plm_rsh_agent=$PWD/agent
  run -3 --separate-stderr train --hosts=nohost:2 -o out.safetensors words.csv
  [[ $stderr == "nn-train: --hosts=nohost:2: mpirun ended with status "+([0-9])": agent: nohost is nowhere" ]]
  tells 1 "--hostfile=nowhere: cannot open: No such file or directory" train --hostfile=nowhere --ranks=2 -o out.safetensors words.csv
  : >none
  run -3 --separate-stderr train --hostfile=none --ranks=2 -o out.safetensors words.csv
  [[ $stderr == "nn-train: --hostfile=none: mpirun ended with status "+([0-9])": "* ]]
  [ "${#stderr_lines[@]}" = 1 ]
}

@test "ranks hostile: a signal while a host does not answer ends all at once" {
  printf '#!/bin/sh\nexec sleep 100\n' >agent
  chmod +x agent
  for signal in TERM INT; do
    OMPI_MCA_plm_rsh_agent=$PWD/agent env --default-signal=INT nn-train -q -m 'dense 9, dense ?' --target=kind --hosts=nohost:2 \
      -o out.safetensors words.csv 2>err 3>&- &
    parent=$!
    for ((i = 0; i < 100; i++)); do
      sleep 0.05
      processes=$(family $parent)
      pgrep -x sleep | grep -qxF "$processes" && break
    done
    [ "$i" -lt 100 ]
    kill -$signal $parent
    ended $((128 + $(kill -l $signal)))
    gone "$processes" 20
    [ ! -s err ]
  done
}

@test "ranks hostile: a stop while a pipe is waited for leaves no lock" {
  mkfifo p
  exec 8<>p
  for signal in TERM INT; do
    env --default-signal=INT nn-train -q -m 'dense 9, dense ?' --target=kind -n 2 -o out.safetensors p 2>err 3>&- 8>&- &
    parent=$!
    started 2
    kill -$signal $parent
    ended $((128 + $(kill -l $signal)))
    gone "$processes" 20
    [ -z "$(compgen -G '.out.*')" ]
  done
  exec 8>&-
}

@test "ranks hostile: the death of a race ends its training and all ranks" {
  export TMPDIR=$PWD/tmp
  mkdir -p tmp
  nn-train -q -m 'dense 9, relu, dense ?' --target=kind --ranks=2 --race=sync,master --time-limit=60 words.csv >table 2>err 3>&- &
  local race=$!
  for ((i = 0; i < 200; i++)); do
    sleep 0.05
    parent=$(pgrep -P $race) && started 2 && break
  done
  kill -9 $race
  gone "$processes" 50
  rm -r tmp/nn-race.*
}

@test "ranks hostile: a strategy of a race that ends badly is named, and no place that is gone" {
  export TMPDIR=$PWD/tmp
  mkdir -p tmp
  run -0 --separate-stderr timeout 60 nn-train -m 'dense 9, relu, dense ?' --target=kind --ranks=2 --race=sync,master --time-limit=1 \
    --optimizer=sgd --lr=1e30 words.csv
  [[ $stderr == *"nn-train: note: --race: sync ended with status 6; the race goes on"* ]]
  [[ $stderr == *"nn-train: note: --race: master ended with status 6; the race goes on"* ]]
  nn-train -q -m 'dense 9, relu, dense ?' --target=kind --ranks=2 --race=sync,master --time-limit=30 words.csv >table 2>err 3>&- &
  local first=$!
  for ((i = 0; i < 200; i++)); do
    sleep 0.05
    parent=$(pgrep -P $first) && started 2 && break
  done
  sleep 0.5
  processes="$first $processes"
  kill -9 "${ranks[1]}"
  parent=$first
  ended 5
  gone "$processes" 50
  [[ $(cat err) =~ ^"nn-train: rank 1 (pid ${ranks[1]}) was killed by signal 9"[^\;]*$ ]]
  [ -z "$(compgen -G 'tmp/nn-*')" ]
}

@test "ranks: an operand : is a file, not the beginning of another program" {
  printf '#!/bin/sh\ntouch ran\n' >evil
  chmod +x evil
  run -1 --separate-stderr nn-train -q --ranks=2 -m 'dense ?' --target=kind : ./evil
  [ "$stderr" = "nn-train: ./:: cannot open: No such file or directory" ]
  [ ! -e ran ]
  cp words.csv :
  nn-train -q --ranks=2 -m 'dense ?' --target=kind --epochs=1 -o out.safetensors :
  rm :
}

@test "ranks: a host that would be an option of ssh is refused" {
  for hosts in -x:2 a:1,-oProxyCommand=x:1; do
    run -2 --separate-stderr nn-train -q -m 'dense ?' --target=kind --hosts=$hosts words.csv
    [ "$stderr" = "nn-train: --hosts=$hosts: expected HOST:N,..., N ranks on each" ]
  done
}

@test "ranks: a line of a hostfile that would be an option of ssh is refused with its place" {
  refuses() {
    printf '%b' "$2" >dash
    tells 1 "dash:$(wc -l <dash): expected HOST slots=N, found $1" train --hostfile=dash --ranks=2 -o out.safetensors words.csv
  }
  refuses -x '-x\n'
  refuses -oProxyCommand '# hosts\na slots=1 username=-oProxyCommand=x\n'
  refuses -y 'b slots=1\r\n\t-y slots=2\n'
  mkfifo hosts
  tells 1 "--hostfile=hosts: expected a regular file" train --hostfile=hosts --ranks=2 -o out.safetensors words.csv
}
