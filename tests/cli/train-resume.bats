#!/usr/bin/env bats
# States: a run that was stopped goes on as if it never had been.
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 150 >words.csv
  make_words 151 >more.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

train() {
  nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 32 -o m.safetensors --checkpoint=m.state.safetensors "$@" "$data/words.csv"
}

@test "resume: stopped at any step, every optimizer goes on to the same bytes" {
  for args in '' '--optimizer=sgd --momentum=0.9' --optimizer=rmsprop --optimizer=rprop --optimizer=lamb \
    '--schedule=cosine --warmup=3' '--valid=0.2 --patience=2 --lr=0.1' '--schedule=plateau --valid=0.2'; do
    rm -f m.*
    train --epochs=4 $args
    mv m.safetensors whole
    for steps in 1 5 7 13; do
      rm -f m.*
      train --epochs=4 --steps=$steps $args
      case $args in *cosine*) rm m.*; continue ;; esac
      train --epochs=4 --resume -t 2 --micro-batch=5 $args
      same whole m.safetensors
    done
  done
}

@test "resume: the planned length may grow" {
  train --epochs=6
  mv m.safetensors whole
  rm m.state.safetensors
  train --epochs=2
  train --epochs=4 --resume
  train --epochs=6 --resume
  same whole m.safetensors
}

@test "resume: a schedule whose length changes is said on stderr and in the log; the same length is not" {
  linear() {
    run -0 --separate-stderr nn-train -m 'dense 12, relu, dense ?' --target=kind -b 32 --optimizer=sgd --lr=0.5 \
      --schedule=linear -o m.safetensors "$@" "$data/words.csv"
  }
  said="--schedule=linear was planned for 10 steps, now it is for 20: from step 11 on the rate is that of the new length"
  linear --epochs=2
  linear --epochs=2 --resume
  [[ $stderr != *planned* ]]
  linear --epochs=4 --log=log --resume
  [[ $stderr == *"nn-train: warning: $said"* ]]
  grep -qF "{\"event\":\"warning\",\"text\":\"$said\"}" log
  linear --epochs=8 --resume --steps=0
  [[ $stderr != *planned* ]]
}

@test "resume: --resume --steps=0 writes the model of a stopped run" {
  train --epochs=3 --steps=7
  mv m.safetensors first
  train --epochs=3 --resume --steps=0
  same first m.safetensors
}

@test "resume: a finished training is written as it is" {
  train --epochs=2
  mv m.safetensors first
  train --epochs=2 --resume
  same first m.safetensors
}

@test "resume: SIGTERM and SIGINT write the state, leave -o as it was and end with 128+n; the resumed run has the same bytes" {
  train --epochs=300
  mv m.safetensors whole
  for number in 15 2; do
    rm -f m.*
    echo before >m.safetensors
    # setsid: a background job of a shell without job control ignores SIGINT
    python3 -c 'import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[2:])
while not os.path.exists("m.state.safetensors"): time.sleep(0.001)
p.send_signal(int(sys.argv[1]))
sys.exit(p.wait())' $number nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 32 -o m.safetensors --epochs=300 \
      --log=log "$data/words.csv" && continue
    [ "$(cat m.safetensors)" = before ]
    log_check log 'of("signal")[0]["name"] in ("SIGTERM", "SIGINT") and of("end")[0]["reason"] == "signal"'
    step=$(metadata m.state.safetensors nn.state | python3 -c 'import json, sys; print(json.load(sys.stdin)["step"])')
    log_check log "of('end')[-1]['step'] == $step > 0 and of('checkpoint')[-1]['step'] == $step"
    train --epochs=300 --resume
    same whole m.safetensors
  done
}

@test "resume: a stop has the status 128+n" {
  run -143 python3 -c 'import os, signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:])
while not os.path.exists("m.state.safetensors"): time.sleep(0.001)
p.send_signal(signal.SIGTERM)
sys.exit(p.wait())' nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 8 -o m.safetensors --epochs=100000 "$data/words.csv"
  [ ! -e m.safetensors ]
  [ -e m.state.safetensors ]
}

@test "resume: SIGUSR1 and SIGHUP write the state and go on" {
  run -0 python3 -c 'import json, os, signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:])
log = lambda: open("log").read() if os.path.exists("log") else ""
for s, name in (signal.SIGUSR1, "SIGUSR1"), (signal.SIGHUP, "SIGHUP"):
    while log().count("\"step\"") < 3: time.sleep(0.001)
    p.send_signal(s)
    while name not in log() and p.poll() is None: time.sleep(0.001)
p.send_signal(signal.SIGTERM)
p.wait()
events = [json.loads(l) for l in log().splitlines()]
kinds = [e["event"] for e in events]
for name in "SIGUSR1", "SIGHUP":
    i = [k for k, e in enumerate(events) if e["event"] == "signal" and e["name"] == name][0]
    assert "checkpoint" in kinds[i:i + 3], kinds
' nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 150 -o m.safetensors --epochs=1000000 --log=log --log-every=1 "$data/words.csv"
}

@test "resume: a signal without a place for the state is a warning" {
  python3 -c 'import signal, subprocess, sys, time, os
p = subprocess.Popen(sys.argv[1:], stdout=open("out", "w"), stderr=open("err", "w"))
while not os.path.exists("log") or "\"epoch\"" not in open("log").read(): time.sleep(0.001)
p.send_signal(signal.SIGUSR1)
time.sleep(0.2)
p.send_signal(signal.SIGTERM)
sys.exit(p.wait() != 143)' nn-train -m 'dense ?' --target=kind --epochs=1000000 --log=log "$data/words.csv"
  grep -q '^nn-train: warning: no state is written without -o FILE or --checkpoint=FILE$' err
  [ ! -s out ]
}

@test "resume: without a state it starts from the beginning and says so" {
  run -0 --separate-stderr nn-train -m 'dense ?' --target=kind --epochs=1 --resume -o m.safetensors "$data/words.csv"
  [[ ${stderr_lines[0]} == "nn-train: note: m.state.safetensors: there is no state yet"* ]]
  # nor is a model that was trained to its end replaced by one that was not
  rm m.state.safetensors
  cp m.safetensors trained
  run -1 --separate-stderr nn-train -m 'dense ?' --target=kind --resume --steps=0 -o m.safetensors "$data/words.csv"
  [[ $stderr == *'nn-train: m.state.safetensors: there is no state yet to write the model of (--resume --steps=0)' ]]
  cmp m.safetensors trained
}

@test "resume: a finished training leaves no state that nobody asked for; --checkpoint=no writes none" {
  words=(-q -m 'dense ?' --target=kind --epochs=2 -o m "$data/words.csv")
  nn-train "${words[@]}" --log=log
  grep -q '"event":"checkpoint"' log
  [ "$(find . -type f | sort | tr '\n' ' ')" = './log ./m ' ]
  nn-train "${words[@]}" --log=log --checkpoint=no
  run ! grep '"event":"checkpoint"' log
  [ "$(find . -type f | sort | tr '\n' ' ')" = './log ./m ' ]
  for option in --resume --checkpoint-every=1h --checkpoint=m.state.safetensors; do
    rm m
    nn-train "${words[@]}" $option
    [ -s m ] && rm m.state.safetensors
  done
  run -2 --separate-stderr nn-train "${words[@]}" --checkpoint=no --resume
  [ "$stderr" = "nn-train: --resume: no state is kept with --checkpoint=no" ]
  run -2 --separate-stderr nn-train "${words[@]}" --checkpoint=no --max-restarts=1
  [ "$stderr" = "nn-train: --max-restarts=1: no state is kept with --checkpoint=no" ]
}

@test "resume: a run without --resume replaces an existing state, with a warning if that training had not ended" {
  words=(-m 'dense 12, relu, dense ?' --target=kind -b 32 -o m.safetensors --checkpoint-every=1h "$data/words.csv")
  nn-train -q "${words[@]}" --time-limit=0.02
  run -0 --separate-stderr nn-train "${words[@]}" --epochs=1
  [[ $stderr == *"nn-train: warning: m.state.safetensors: the state of an older run that had not ended is replaced; --resume would go on with it"*$'\n'"epoch 1/1"* ]]
  run -0 --separate-stderr nn-train "${words[@]}" --epochs=1
  [[ $stderr != *warning* ]]
  echo other >m.state.safetensors
  run -0 --separate-stderr nn-train "${words[@]}" --epochs=1
  [[ $stderr == *"nn-train: warning: m.state.safetensors: "*"; it is replaced"* ]]
}

@test "resume: a stop says where the state is and how to go on; a training at its end, that nothing is left to do" {
  run -130 python3 -c 'import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[1:], stderr=open("err", "w"))
while not os.path.exists("m.state.safetensors"): time.sleep(0.001)
p.send_signal(signal.SIGINT)
sys.exit(p.wait())' nn-train -m 'dense 12, relu, dense ?' --target=kind -b 32 --epochs=100000 -o m.safetensors "$data/words.csv"
  [[ $(tail -n 1 err) =~ ^"nn-train: note: stopped at step "([0-9]+)" (epoch "[0-9]+" of 100000); the state is in m.state.safetensors: --resume goes on, --resume --steps=0 writes the model"$ ]]
  [ "$(metadata m.state.safetensors nn.state | jq .step)" = "${BASH_REMATCH[1]}" ]
  rm m.*
  train --epochs=3
  run -0 --separate-stderr nn-train -m 'dense 12, relu, dense ?' --target=kind -b 32 --epochs=2 --resume -o m.safetensors "$data/words.csv"
  [[ $stderr == *"nn-train: note: nothing left to do: m.state.safetensors has the end of this training, step 15 (epoch 3); --epochs=6 goes on"$'\n'* ]]
}

@test "resume: another value of an option is status 2 and names both" {
  train --epochs=1 --lr=0.01
  run -2 --separate-stderr nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 32 --epochs=2 --resume -o m.safetensors "$data/words.csv"
  [ "$stderr" = "nn-train: --lr=0.001: m.state.safetensors was made with --lr=0.01" ]
  for args in --seed=2 --optimizer=sgd --shuffle=no -b64 --clip-norm=1 --normalize=none --leaves=1 --precision=f64; do
    run -2 train --lr=0.01 --epochs=2 --resume $args
  done
}

@test "resume: of options that differ one that was typed is named, else one that decides the others" {
  train --epochs=1
  run -2 --separate-stderr train --epochs=1 --optimizer=sgd --resume
  [ "$stderr" = "nn-train: --optimizer=sgd: m.state.safetensors was made with --optimizer=adam" ]
  rm m.*
  train --epochs=1 --optimizer=sgd
  run -2 --separate-stderr train --epochs=1 --resume
  [ "$stderr" = "nn-train: --optimizer=adam: m.state.safetensors was made with --optimizer=sgd" ]
}

@test "resume: another model is status 2 and shows the first line that differs" {
  train --epochs=1
  run -2 --separate-stderr nn-train -q -m 'dense 12, tanh, dense ?' --target=kind -b 32 --epochs=2 --resume -o m.safetensors "$data/words.csv"
  [ "$stderr" = 'nn-train: -m: line 3 of the model is "tanh", m.state.safetensors was made with "relu"' ]
}

@test "resume: other data are status 1" {
  train --epochs=1
  run -1 --separate-stderr nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 32 --epochs=2 --resume -o m.safetensors "$data/more.csv"
  [[ $stderr == "nn-train: m.state.safetensors: the data are not those it was trained on" ]]
}

@test "resume: what may change is changed: threads, micro-batch, epochs, steps, log, checkpoint, output, verbosity" {
  train --epochs=1
  mv m.state.safetensors other.st
  nn-train -m 'dense 12, relu, dense ?' --target=kind -b 32 -o n.safetensors --epochs=3 --steps=9 -t 3 --micro-batch=4 --log=log --log-every=2 \
    --checkpoint=other.st --checkpoint-every=2 --resume "$data/words.csv"
  rm -f m.*
  train --epochs=3 --steps=9
  same m.safetensors n.safetensors
}

@test "resume: a damaged state is refused" {
  train --epochs=1
  cp m.state.safetensors good
  size=$(stat -c %s good)
  for at in 9 $((size / 2)) $((size - 1)); do
    cp good m.state.safetensors
    printf 'X' | dd of=m.state.safetensors bs=1 seek=$at conv=notrunc status=none
    cmp -s good m.state.safetensors && continue
    run -1 --separate-stderr nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 32 --epochs=2 --resume -o m.safetensors "$data/words.csv"
    [[ $stderr == "nn-train: m.state.safetensors: "* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
  done
  head -c $((size - 7)) good >m.state.safetensors
  run -1 train --epochs=2 --resume
  echo hello >m.state.safetensors
  run -1 train --epochs=2 --resume
}

@test "resume: a model is refused as a state, and a state as a model" {
  train --epochs=1
  run -1 --separate-stderr nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 32 --checkpoint=m.safetensors --resume -o n "$data/words.csv"
  [[ $stderr == "nn-train: m.safetensors: "*"model"* ]]
  run -1 --separate-stderr nn-predict m.state.safetensors "$data/words.csv"
  [[ $stderr == "nn-predict: m.state.safetensors: "*"state"* ]]
  run -1 nn-train -q -m m.state.safetensors --target=kind "$data/words.csv" -o n
}

@test "resume: a second run on the same state is refused and names the first" {
  nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 8 -o m.safetensors --epochs=1000000 "$data/words.csv" 3>&- &
  first=$!
  while [ ! -e m.state.safetensors ]; do sleep 0.01; done
  run -1 --separate-stderr train --epochs=1 --resume
  [ "$stderr" = "nn-train: m.state.safetensors: in use by pid $first" ]
  kill -9 $first
  wait $first || true
  train --epochs=1 -b 8 --resume --steps=0
}

@test "resume: stdin cannot be resumed, nor a run that keeps no state" {
  run -2 --separate-stderr nn-train -q -m 'dense ?' --target=kind --resume -o m - <"$data/words.csv"
  [[ $stderr == "nn-train: --resume: stdin "* ]]
  run -2 --separate-stderr nn-train -q -m 'dense ?' --target=kind --resume "$data/words.csv"
  [[ $stderr == "nn-train: --resume: no state "* ]]
}

@test "resume: a name of -o too long for a state beside it: a warning and no state; --checkpoint names one" {
  long=$(printf 'n%.0s' $(seq 245))
  run -0 --separate-stderr nn-train -q -m 'dense ?' --target=kind --epochs=1 -o "$long" "$data/words.csv"
  [ -s "$long" ]
  run -0 --separate-stderr nn-train -m 'dense ?' --target=kind --epochs=1 -o "$long" "$data/words.csv"
  [ "${stderr_lines[0]}" = "nn-train: warning: the name of -o is too long for a state beside it; --checkpoint=FILE keeps one" ]
  run -2 --separate-stderr nn-train -m 'dense ?' --target=kind --epochs=1 --resume -o "$long" "$data/words.csv"
  [[ $stderr == "nn-train: --resume: the name of -o is too long"* ]]
  run ! compgen -G '*.state.safetensors'
  nn-train -q -m 'dense ?' --target=kind --epochs=1 -o "$long" --checkpoint=s "$data/words.csv"
  [ -s s ]
  nearly=$(printf 'n%.0s' $(seq 237))
  nn-train -q -m 'dense ?' --target=kind --epochs=1 --checkpoint-every=1h -o "$nearly" "$data/words.csv"
  [ -s "$nearly.state.safetensors" ]
  nn-train -q -m 'dense ?' --target=kind --epochs=2 --resume -o "$nearly" "$data/words.csv"
}

@test "resume: kill -9 leaves the previous or the new state, and the resumed run has the same bytes" {
  train --epochs=40 --checkpoint-every=1
  mv m.safetensors whole
  rm -f m.* .m*
  for delay in 0.01 0.02 0.03 0.05 0.08; do
    nn-train -q -m 'dense 12, relu, dense ?' --target=kind -b 32 -o m.safetensors --epochs=40 --checkpoint-every=1 --resume "$data/words.csv" &
    pid=$!
    sleep $delay
    kill -9 $pid 2>/dev/null || true
    wait $pid || true
  done
  train --epochs=40 --checkpoint-every=1 --resume
  same whole m.safetensors
  [ "$(ls -A | tr '\n' ' ')" = 'm.safetensors m.state.safetensors whole ' ]
}

@test "resume: a state that cannot be written is a warning with bytes needed and free, and the end is status 1" {
  mkdir small
  if ! mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then skip "no tmpfs may be mounted here"; fi
  run --separate-stderr nn-train -m 'dense 3000, relu, dense ?' --target=kind --epochs=2 -o m.safetensors \
    --checkpoint=small/m.st "$data/words.csv"
  umount small
  [ "$status" -eq 1 ]
  [[ $stderr == *"nn-train: warning: small/m.st: "*"No space left on device"*" needs "*" bytes, "*" are free; training goes on"* ]]
  [[ $stderr == *$'\n'"nn-train: small/m.st: "*"; the state was not written" ]]
  [ -s m.safetensors ]
}

@test "resume: the state beside a model that others may not read may not be read by them either" {
  train=(-q -m 'dense 9, relu, dense ?' --target=kind --checkpoint-every=1 "$data/words.csv")
  (umask 022 && nn-train "${train[@]}" --steps=1 --checkpoint=kept.st -o m.safetensors)
  [ "$(stat -c %a m.safetensors kept.st | xargs)" = '644 644' ]
  chmod 600 m.safetensors
  (umask 022 && nn-train "${train[@]}" --steps=2 --checkpoint=kept.st -o m.safetensors)
  [ "$(stat -c %a m.safetensors kept.st | xargs)" = '600 600' ]
}

@test "resume: what waits for rows from a pipe leaves nothing behind at SIGTERM" {
  mkfifo rows
  nn-train -q -m 'dense ?' --target=kind -o m.safetensors rows 3>&- &
  exec 9>rows
  i=0
  until [ -e .m.state.safetensors.lock ] || [ $((i += 1)) -gt 300 ]; do sleep 0.05; done
  kill -TERM $!
  wait $! || [ $? -eq 143 ]
  exec 9>&-
  [ $i -le 300 ]
  [ "$(ls -A)" = rows ]
}

@test "resume: a lock that is a link to another file is refused, and that file is not made" {
  ln -s "$PWD/victim" .m.state.safetensors.lock
  run -1 --separate-stderr nn-train -q -m 'dense ?' --target=kind --steps=1 "$data/words.csv" -o m.safetensors
  [[ $stderr == "nn-train: m.state.safetensors: "* ]]
  [ ! -e victim ]
}

@test "resume: what is no state is told to be none" {
  : >m.state.safetensors
  run -1 --separate-stderr train --resume
  [ "$stderr" = 'nn-train: m.state.safetensors: is empty, expected a state' ]
  gzip -c "$data/words.csv" >m.state.safetensors
  run -1 --separate-stderr train --resume
  [ "$stderr" = 'nn-train: m.state.safetensors: looks like a gzip file, not a state' ]
}
