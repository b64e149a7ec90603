#!/bin/sh
# Processes learn together to keep a pole upright on a cart: an actor-critic whose gradients meet in pipes.
#
# usage: actor-critic.sh [-a] [-n N] [-u UPDATES]     N workers: 1, 2 (unless told), 4 or 8
# Prints "update U return R" for each update, R the mean number of steps (at most 200) of the episodes behind it.
# Without -a nn-allreduce --stream adds the gradients of all workers for each of 100 updates: every N prints the same.
# With -a each gradient is an update as it comes (100 N of them) of one process that keeps the parameters; the last line
# counts the updates whose gradient was of parameters 0, 1, 2, ... updates old.
set -eu
n=2 async='' updates=''
while getopts an:u: option; do
  case $option in
  a) async=yes ;;
  n) n=$OPTARG ;;
  u) updates=$OPTARG ;;
  *) exit 2 ;;
  esac
done
case $n in
1 | 2 | 4 | 8) ;;
*)
  echo "actor-critic.sh: -n $n: expected 1, 2, 4 or 8" >&2
  exit 2
  ;;
esac
if [ -z "$updates" ]; then
  updates=100
  [ -z "$async" ] || updates=$((100 * n))
fi

folder=$(mktemp -d)
workers=''
# A worker may still be this shell, which waits for the other end of a FIFO and would keep a gentler signal for later.
trap 'kill -9 $workers 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
# shellcheck disable=SC2086
${CC:-cc} -O2 -o "$folder/actor-critic" "$(dirname "$0")/actor-critic.c" -lm
exec 3>&1

# Who opens two FIFOs begins with the one it writes; nn-allreduce begins with the one it reads.
rank=0 files=''
mkfifo "$folder/gradients"
while [ "$rank" -lt "$n" ]; do
  mkfifo "$folder/in.$rank" "$folder/out.$rank"
  if [ "$async" ]; then
    "$folder/actor-critic" async "$rank" "$n" >"$folder/gradients" <"$folder/out.$rank" 2>&3 &
  else
    "$folder/actor-critic" sync "$rank" "$n" "$updates" >"$folder/in.$rank" <"$folder/out.$rank" 2>&3 &
  fi
  workers="$workers $!"
  files="$files $folder/out.$rank"
  rank=$((rank + 1))
done
if [ "$async" ]; then
  # shellcheck disable=SC2086
  "$folder/actor-critic" parameters "$n" "$updates" $files <"$folder/gradients" 2>&3
else
  nn-allreduce -q --ranks="$n" --stream --op=sum "$folder/in.%r" -o "$folder/out.%r"
fi
for worker in $workers; do
  wait "$worker"
done
workers=''
