#!/usr/bin/env bats
# Ranks on two hosts, played by network namespaces with a cable between them; mpirun reaches the other one through an agent of ours.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load hosts.bash

setup_file() {
  begin_ranks "$(lacking_hosts)" || return 0
  cable 10.99.7
  cat >agent <<A
#!/bin/sh
case \$1 in 10.99.7.1) side=A ;; *) side=B ;; esac
shift
exec ip netns exec nn\${side}$ID sh -c "\$*"
A
  chmod +x agent
  # hosts that share /dev/shm would take the same names there
  export OMPI_MCA_btl=self,tcp
  export OMPI_MCA_plm_rsh_agent=$PWD/agent OMPI_MCA_oob_tcp_if_include=10.99.7.0/24 OMPI_MCA_btl_tcp_if_include=10.99.7.0/24
  cp "$NN_SRC/share/data/digits.csv.gz" .
  train nn-train --epochs=2 -o one.safetensors
}

teardown_file() {
  [ -n "$LACKING" ] || uncable
}

setup() {
  enter_ranks
  rm -f long.* .long.*
}

hosts=10.99.7.1:1,10.99.7.2:1
words=(-q -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy "$BATS_FILE_TMPDIR/digits.csv.gz")
on() {
  ip netns exec "nn$1$ID" "${@:2}"
}
# train COMMAND... with the words of all trainings, at most two minutes
train() {
  timeout -k 5 120 "${@:1:1}" "${words[@]}" "${@:2}"
}

# long ...: a training of two hosts is at work; ${ranks[@]}
long() {
  local p
  ip netns exec "nnA$ID" nn-train "${words[@]}" --hosts=$hosts --epochs=1000000 --checkpoint-every=20 -o "$PWD/long.safetensors" "$@" 2>err 3>&- &
  parent=$!
  saved long.state.safetensors
  ranks=()
  for p in $(pgrep -x nn-train); do
    grep -qz "^NN_LAUNCH=nntools-$parent-" "/proc/$p/environ" 2>/dev/null || continue
    ranks["$(tr '\0' '\n' <"/proc/$p/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')"]=$p
  done
  processes="$(family $parent) ${ranks[*]}"
}

@test "train hosts: -v says what each pair of ranks can use" {
  run -0 --separate-stderr on A nn-train -v "${words[@]:1}" --steps=1 --hosts=10.99.7.1:2,10.99.7.2:1 -o "$PWD/pairs.safetensors"
  for row in '0: TCP with 1-2' '1: TCP with 0, 2' '2: TCP with 0-1'; do
    [ -z "${NN_TEST_DEVICE-}" ] || row=${row/TCP/through the host by TCP}
    [[ $stderr == *"nn-train: note: rank $row"$'\n'* ]]
  done
}

@test "train hosts: plain mpirun over TCP, and --hosts, give the bytes of one process" {
  on A mpirun --stdin none --bind-to none --host $hosts -n 2 nn-train "${words[@]}" --epochs=2 -o "$PWD/plain.safetensors"
  cmp one.safetensors plain.safetensors
  on A nn-train "${words[@]}" --hosts=$hosts --epochs=2 -o "$PWD/hosts.safetensors"
  cmp one.safetensors hosts.safetensors
  printf '%s\n' '10.99.7.1 slots=2' '10.99.7.2 slots=1' >hostfile
  zcat digits.csv.gz | on A nn-train "${words[@]:0:5}" --hostfile=hostfile --ranks=3 --epochs=2 -o "$PWD/hosts.safetensors" -
  cmp one.safetensors hosts.safetensors
}

@test "train hosts: a slow link changes no byte" {
  command -v tc >/dev/null || skip "no tc"
  on A tc qdisc add dev "vA$ID" root tbf rate 20mbit burst 16kb latency 50ms || skip "no tbf"
  on A nn-train "${words[@]}" --hosts=$hosts --epochs=2 -o "$PWD/slow.safetensors"
  on A tc qdisc del dev "vA$ID" root
  cmp one.safetensors slow.safetensors
}

@test "train hosts: a rank lost while parameters are on their way; --resume goes on from the state to the same bytes" {
  command -v tc >/dev/null || skip "no tc"
  on A tc qdisc add dev "vA$ID" root tbf rate 100mbit burst 16kb latency 50ms || skip "no tbf"
  words=(-q -t 1 -m 'dense 300, relu, dense 200, relu, dense ?' --target=digit --loss=cross-entropy -b 128 --bucket=8K "$BATS_FILE_TMPDIR/digits.csv.gz")
  long
  kill -9 "${ranks[1]}"
  ended 5
  gone "$processes" 100
  steps=$(sed -n 's/.*(step \([0-9]*\))$/\1/p' err)
  [ "$steps" -ge 20 ]
  more=(--epochs=1000000 --checkpoint-every=20 --steps=$((steps + 3)))
  on A timeout -k 5 120 nn-train "${words[@]}" --hosts=$hosts "${more[@]}" --resume -o "$PWD/long.safetensors"
  on A tc qdisc del dev "vA$ID" root
  nn-train "${words[@]}" "${more[@]}" -o whole.safetensors
  cmp whole.safetensors long.safetensors
}

@test "train hosts: a rank of the other host that is killed is named with its host" {
  long
  kill -9 "${ranks[1]}"
  ended 5
  gone "$processes" 100
  # mpirun does not always hear of the signal from the other host
  [[ "$(cat err)" =~ ^nn-train:\ rank\ 1\ \(pid\ ${ranks[1]}\ on\ [^\ ]+\)\ (was\ killed\ by\ signal\ 9|exited\ unexpectedly)\ at\ step\ [0-9]+\;\ last\ checkpoint\ .*/long.state.safetensors\ \(step\ [0-9]+\)$ ]]
  [ -z "$(compgen -G '.long.*')" ]
}

@test "train hosts: SIGTERM stops all, the parent's death ends all" {
  long
  kill -TERM $parent
  ended 143
  gone "$processes" 30
  rm -f long.*
  long
  kill -9 $parent
  gone "$processes" 100
}

@test "train hosts: a cut cable ends the training after --timeout, and the other host's rank once it hears nothing" {
  long --timeout=3
  ip -n "nnB$ID" link set "vB$ID" down
  start=$SECONDS
  ended 5
  [ $((SECONDS - start)) -le 30 ]
  [[ "$(cat err)" =~ ^nn-train:\ rank\ [01]\ \(pid\ .*\)\ made\ no\ progress\ for\ 3\ s\ \(--timeout\)\ at\ step ]]
  ip -n "nnB$ID" link set "vB$ID" up
  gone "$processes" 300
}

@test "allreduce hosts: the bytes of one process, over TCP, to a file, to each host's and to standard output" {
  nn-train -q "${words[@]:1}" --steps=3 -o other.safetensors
  nn-predict --to=npy one.safetensors digits.csv.gz -o g.0.npy
  nn-predict --to=npy other.safetensors digits.csv.gz -o g.1.npy
  nn-allreduce g.0.npy g.1.npy -o mean.npy
  on A nn-allreduce --hosts=$hosts g.%r.npy -o hosts.npy
  cmp mean.npy hosts.npy
  printf '%s\n' '10.99.7.2 slots=1' '10.99.7.1 slots=1' >hostfile
  on A nn-allreduce --hostfile=hostfile -n 2 g.%r.npy -o each.%r.npy
  cmp mean.npy each.0.npy
  cmp mean.npy each.1.npy
  on A nn-allreduce --hosts=$hosts g.%r.npy | cmp - mean.npy
  run -0 --separate-stderr on A nn-allreduce -q --hosts=$hosts --bench --sizes=1K --to=csv
  [[ ${lines[1]} == 1024,256,f32,mean,*,2,*,*,*,0,* ]] || { echo "$output"; false; }
  [ -z "$stderr" ]
}

@test "allreduce hosts: rank 0 elsewhere has no standard output; what cannot be is told" {
  nn-predict --to=npy one.safetensors digits.csv.gz -o g.0.npy
  cp g.0.npy g.1.npy
  for words in 'g.%r.npy' --bench '--stream g.%r.npy'; do
    # shellcheck disable=SC2086 # words
    run -2 --separate-stderr on A nn-allreduce -q --hosts=10.99.7.2:2 $words
    [ "$stderr" = "nn-allreduce: stdout: rank 0 runs on another host; name this one first in --hosts, or a file with -o" ]
  done
  run -2 --separate-stderr on A nn-allreduce --hosts=10.99.7.2 -
  [ "$stderr" = "nn-allreduce: -: rank 0 runs on another host; name this one first in --hosts" ]
  run -2 --separate-stderr nn-allreduce --hosts=a:0 x
  [ "$stderr" = "nn-allreduce: --hosts=a:0: expected HOST:N,..., N ranks on each" ]
  run -2 --separate-stderr nn-allreduce --hosts=a,b x
  [ "$stderr" = "nn-allreduce: --ranks=2: expected %r, the rank, in the name of FILE, found x" ]
  run -2 --separate-stderr mpi -n 1 nn-allreduce --ranks=2 g.%r.npy -o none.npy
  [[ $stderr == *"nn-allreduce: --ranks=2: this is a rank of 1"* ]]
}

@test "train hosts: what cannot be is told" {
  run -2 --separate-stderr on A nn-train "${words[@]}" --hosts=$hosts --ranks=3 -o none.safetensors
  [[ $stderr == *"nn-train: --ranks=3: the hosts have fewer slots; --hosts=HOST:N,... and --hostfile say how many each has" ]]
  run -2 --separate-stderr nn-train "${words[@]}" --hosts=a:0
  [ "$stderr" = "nn-train: --hosts=a:0: expected HOST:N,..., N ranks on each" ]
  run -2 --separate-stderr nn-train "${words[@]}" --hosts=a:1,,b
  run -2 --separate-stderr nn-train "${words[@]}" --hostfile=hostfile
  [ "$stderr" = "nn-train: --hostfile=hostfile: needs --ranks=N" ]
  run -2 --separate-stderr nn-train "${words[@]}" --hosts=a --hostfile=hostfile
}
