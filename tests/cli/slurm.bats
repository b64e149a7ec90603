#!/usr/bin/env bats
# Ranks under Slurm: srun, sbatch, scancel. A cluster of two nodes in network namespaces, with daemons, key and sockets of its own.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash
load hosts.bash

lacking_slurm() {
  local command
  for command in slurmctld slurmd srun munged mungekey nsenter unshare; do
    command -v $command >/dev/null || echo "no $command"
  done
  lacking_hosts
}

# enter SIDE COMMAND...: in place of this shell, as the node does; ip netns exec would hide the control groups, which slurmd looks for
enter() {
  # shellcheck disable=SC2016 # the inner shell's
  exec nsenter --net="/run/netns/nn$1$ID" unshare --uts sh -c 'hostname "$0" && exec "$@"' "${1,}" "${@:2}"
}
on() {
  (enter "$@")
}
for command in srun sbatch scancel scontrol squeue sinfo; do
  eval "$command() { on A $command \"\$@\"; }"
done

configure() {
  printf 'CgroupPlugin=cgroup/v1\n' >cgroup.conf
  cat >slurm.conf <<C
ClusterName=nntools
SlurmctldHost=a(10.99.8.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$PWD/munge.socket,cred_expire=5
StateSaveLocation=$PWD/state
SlurmdSpoolDir=$PWD/spool.%n
TmpFS=$PWD/tmp.%n
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmdPidFile=$PWD/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1,sched_interval=1,bf_interval=1
ReturnToService=2
KillWait=5
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
NodeName=a NodeAddr=10.99.8.1 CPUs=4
NodeName=b NodeAddr=10.99.8.2 CPUs=4
PartitionName=all Nodes=a,b Default=YES MaxTime=INFINITE State=UP
C
}

# The daemons' process ids are in $daemons; they get no descriptor of bats.
start() {
  mkdir state spool.{a,b} tmp.{a,b}
  mungekey --create --keyfile="$PWD/munge.key"
  munged --foreground --force --key-file="$PWD/munge.key" --socket="$PWD/munge.socket" --pid-file="$PWD/munged.pid" \
    --seed-file="$PWD/munge.seed" --log-file="$PWD/munged.log" >munged.out 2>&1 3>&- &
  export daemons=$!
  enter A slurmctld -D >slurmctld.out 2>&1 3>&- &
  daemons+=" $!"
  enter A slurmd -D -N a >slurmd.a.out 2>&1 3>&- &
  daemons+=" $!"
  enter B slurmd -D -N b >slurmd.b.out 2>&1 3>&- &
  daemons+=" $!"
  for ((i = 0; i < 200; i++)); do
    [ "$(sinfo -h -o %t 2>/dev/null)" != idle ] || return 0
    sleep 0.05
  done
  # shellcheck disable=SC2155
  export LACKING="a cluster that starts: $(grep -h -m 1 -E 'fatal|error' slurmd.a.out slurmctld.out munged.out)"
}

setup_file() {
  begin_ranks "$(lacking_slurm)" || return 0
  cable 10.99.8
  export SLURM_CONF=$PWD/slurm.conf
  configure
  start
  cp "$NN_SRC/share/data/digits.csv.gz" .
  nn-train "${words[@]}" --epochs=2 -o one.safetensors
}

# Jobs first: what is left of one that failed would wait for the daemons.
teardown_file() {
  [ -n "${daemons-}" ] || return 0
  on A timeout 5 scancel --user=root || true
  for ((i = 0; i < 100; i++)); do
    [ -n "$(squeue -h 2>/dev/null)" ] || break
    sleep 0.1
  done
  # shellcheck disable=SC2086 # a list
  kill $daemons 2>/dev/null || true
  # shellcheck disable=SC2086
  gone "$daemons" 50 || kill -9 $daemons
  uncable
}

setup() {
  enter_ranks
  rm -f long.* .long.* out
}

words=(-q -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy "$BATS_FILE_TMPDIR/digits.csv.gz")
# task ARGUMENTS: two tasks on two nodes, as ranks
task() {
  srun --quiet --mpi=pmix --nodes=2 --ntasks=2 "$@"
}

# ours RANK: its process id; others may train here, too
ours() {
  local p
  for p in $(pgrep '^nn-[at]'); do
    grep -qzxF "SLURM_CONF=$SLURM_CONF" "/proc/$p/environ" 2>/dev/null || continue
    grep -qzxE "(PMIX|OMPI_COMM_WORLD)_RANK=$1" "/proc/$p/environ" || continue
    echo "$p"
    return
  done
  return 1
}

none_left() {
  [ -z "$(ours '[01]')" ]
}

# A batch job of the lines on standard input, and its end.
batch() {
  { echo '#!/bin/bash'; cat; } >job
  job=$(sbatch --parsable --nodes=2 --ntasks=2 --output=out job)
}
ended_job() {
  # shellcheck disable=SC2317
  over() { [ -z "$(squeue -h -j "$job" 2>/dev/null)" ]; }
  until_ over
}

@test "slurm: tasks of srun are ranks, with the bytes of one process, whatever the strategy" {
  task nn-train "${words[@]}" --epochs=2 -o srun.safetensors
  cmp one.safetensors srun.safetensors
  for options in --ranks=2 --strategy=master --strategy=async --shard-optimizer; do
    # shellcheck disable=SC2086 # words
    task nn-train "${words[@]}" --epochs=2 $options -o srun.safetensors
    cmp one.safetensors srun.safetensors
  done
  srun --quiet --mpi=pmix --nodes=2 --ntasks=4 nn-train "${words[@]}" --epochs=2 --pipeline=2 --tensor=2 -o srun.safetensors
  cmp one.safetensors srun.safetensors
  zcat digits.csv.gz | task nn-train "${words[@]:0:5}" --epochs=2 - >piped.safetensors
  cmp one.safetensors piped.safetensors
}

@test "slurm: what all tasks find is one line, with its status" {
  run -2 --separate-stderr task nn-train "${words[@]}" --ranks=3 -o none.safetensors
  [ "$(grep -c '^nn-train: --ranks=3: this is a rank of 2$' <<<"$stderr")" = 1 ]
  run -1 --separate-stderr task nn-train "${words[@]:0:5}" nowhere.csv -o none.safetensors
  [ "$(grep '^nn-train: ' <<<"$stderr")" = "nn-train: nowhere.csv: cannot open: No such file or directory" ]
}

@test "slurm: nn-allreduce, a file or a stream for each task" {
  nn-train "${words[@]}" --steps=3 -o other.safetensors
  nn-predict --to=npy one.safetensors digits.csv.gz -o g.0.npy
  nn-predict --to=npy other.safetensors digits.csv.gz -o g.1.npy
  nn-allreduce g.0.npy g.1.npy -o mean.npy
  task nn-allreduce g.%r.npy -o srun.npy
  cmp mean.npy srun.npy
  # shellcheck disable=SC2016 # each task's
  task sh -c 'cat "g.$SLURM_PROCID.npy" "g.$SLURM_PROCID.npy" | nn-allreduce --stream >"stream.$SLURM_PROCID"'
  cat mean.npy mean.npy | tee >(cmp - stream.0 >&2) | cmp - stream.1
}

@test "slurm: tasks that srun did not make ranks are told so; --ranks=1 lets each work alone, a shell of srun --pty does what it is told" {
  line='srun started 2 processes that are not ranks, for it was not told --mpi=pmix; say --ranks=1 if each is to work alone'
  run -2 --separate-stderr srun --quiet --ntasks=2 nn-train "${words[@]}" -o none.safetensors
  [ "$(grep -c "^nn-train: $line\$" <<<"$stderr")" = 2 ]
  run -2 --separate-stderr srun --quiet --ntasks=2 nn-allreduce --stream </dev/null
  [ "$(grep -c "^nn-allreduce: $line\$" <<<"$stderr")" = 2 ]
  [ ! -e none.safetensors ]
  # shellcheck disable=SC2016 # each task's
  srun --quiet --ntasks=2 sh -c 'nn-train "$@" --ranks=1 --epochs=2 -o "alone.$SLURM_PROCID.safetensors"' sh "${words[@]}"
  cmp one.safetensors alone.0.safetensors
  cmp one.safetensors alone.1.safetensors
  SLURM_STEP_NUM_TASKS=2 SLURM_PTY_PORT=1 nn-train "${words[@]}" --epochs=2 -o pty.safetensors
  cmp one.safetensors pty.safetensors
}

@test "slurm: in a batch script nn-train --ranks and mpirun have the allocation's nodes" {
  batch <<J
nn-train ${words[@]@Q} --epochs=2 --ranks=2 --log=log -o self.safetensors; echo status \$?
mpirun -n 2 nn-train ${words[@]@Q} --epochs=2 -o mpirun.safetensors; echo status \$?
nn-train ${words[@]@Q} --ranks=3 -o none.safetensors; echo status \$?
J
  ended_job
  cmp one.safetensors self.safetensors
  cmp one.safetensors mpirun.safetensors
  [ "$(jq -r 'select(.event=="end").ranks[].host' log | paste -sd' ')" = "a b" ]
  [ "$(cat out)" = "status 0
status 0
nn-train: --ranks=3: the batch system has given this job fewer tasks; ask it for as many (Slurm: --ntasks=3)
status 3" ]
}

@test "slurm: scancel lets tasks of srun and ranks of a batch script write their state" {
  long=("${words[@]}" --epochs=1000000 --checkpoint-every=1000000 -o long.safetensors --log=long.log)
  for how in "srun --mpi=pmix nn-train" "nn-train --ranks=2"; do
    rm -f long.*
    batch <<<"exec $how ${long[*]@Q}"
    until_ grep -q '"event":"checkpoint"' long.log
    scancel "$job"
    ended_job
    until_ none_left
    until_ grep -q '"event":"end"' long.log
    [ "$(jq -r 'select(.event=="end").reason' long.log)" = signal ]
    step=$(jq 'select(.event=="end").step' long.log)
    [ "$(jq -s 'map(select(.event=="checkpoint").step)|max' long.log)" = "$step" ]
  done
}

@test "slurm: a killed rank ends tasks of srun and nn-train --ranks with its name and status 5; --resume goes on to the same bytes" {
  for how in "srun --quiet --mpi=pmix nn-train" "nn-train --ranks=2"; do
    rm -f long.*
    batch <<<"$how ${words[*]@Q} --steps=1000000 --checkpoint-every=20 -o long.safetensors; echo status \$?"
    saved long.state.safetensors
    kill -9 "$(ours 1)"
    ended_job
    cat out
    grep -qxE 'status (5|137)' out
    grep -qE '^nn-train: rank 1 \(pid [0-9]+ on b\) (was killed by signal 9|exited unexpectedly|was lost) at step [0-9]+; last checkpoint long\.state\.safetensors \(step [0-9]+\)$' out
  done
  steps=$(($(sed -n 's/.*(step \([0-9]*\))$/\1/p' out) + 50))
  nn-train "${words[@]}" --steps=$steps -o all.safetensors
  task nn-train "${words[@]}" --steps=$steps --checkpoint-every=20 --resume -o long.safetensors
  cmp all.safetensors long.safetensors
  until_ none_left
}

@test "slurm: rank 0 is missed, too, and so is a rank of nn-allreduce" {
  batch <<<"srun --quiet --mpi=pmix nn-train ${words[*]@Q} --steps=1000000 -o long.safetensors --checkpoint-every=20; echo status \$?"
  until_ [ -e long.state.safetensors ]
  kill -9 "$(ours 0)"
  ended_job
  cat out
  [ "$(grep -cE '^nn-train: rank 0 \(pid [0-9]+ on a\) was lost at step [0-9]+$' out)" = 1 ]
  until_ none_left
  mkfifo held.0 held.1
  batch <<<'srun --quiet --mpi=pmix sh -c "nn-allreduce --stream <>held.\$SLURM_PROCID >met.\$SLURM_PROCID"; echo status $?'
  nn-predict --to=npy one.safetensors digits.csv.gz | tee held.0 >held.1
  until_ [ -s met.1 ]
  kill -9 "$(ours 1)"
  ended_job
  cat out
  grep -qE '^nn-allreduce: rank 1 \(pid [0-9]+ on b\) was lost$' out
  until_ none_left
}

@test "slurm: share/examples/train.sbatch goes back into the queue before its time is up, and ends with the bytes of one process" {
  job=$(sbatch --parsable --nodes=2 --output=out "$NN_SRC/share/examples/train.sbatch" "${words[@]}" --steps=20000 --checkpoint-every=1000000 -o long.safetensors --log=long.log)
  until_ grep -q '"event":"checkpoint"' long.log
  scancel --batch --signal=USR1 "$job"
  until_ grep -q '"reason":"signal"' long.log
  pending() { [[ $(squeue -h -j "$job" -o %t) == PD ]]; }
  until_ pending
  # five seconds later (cred_expire) the job may start again
  ended_job
  cat out
  nn-train "${words[@]}" --steps=20000 -o all.safetensors
  cmp all.safetensors long.safetensors
  [ "$(grep -c '"event":"start"' long.log)" = 2 ]
}
