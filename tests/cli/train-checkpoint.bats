#!/usr/bin/env bats
# States are written while the training goes on: slow disks, full disks, signals in between.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 150 >words.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  args=(-m 'dense 12, relu, dense ?' --target=kind -b 32 "$BATS_FILE_TMPDIR/words.csv")
}

# slow_disk MICROSECONDS COMMAND...: each fsync begins that much later
slow_disk() {
  local delay=$1
  shift
  # a leak checker does not work under strace
  ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" strace -f -qq -o /dev/null -e trace=fsync -e inject=fsync:delay_enter="$delay" "$@"
}

needs_strace() {
  command -v strace >/dev/null || skip "strace is not installed"
  strace -o /dev/null true 2>/dev/null || skip "strace may not trace here"
}

state_step() {
  metadata "$1" nn.state | python3 -c 'import json, sys; print(json.load(sys.stdin)["step"])'
}

@test "checkpoint: training goes on while a state is being written; the next one takes the newest step, and the end waits for it" {
  needs_strace
  nn-train -q "${args[@]}" --epochs=200 --valid=0.2 --patience=1000 -o whole.safetensors
  slow_disk 100000 nn-train -q "${args[@]}" --epochs=200 --valid=0.2 --patience=1000 -o m.safetensors --checkpoint-every=1 --log=log --log-every=1
  same whole.safetensors m.safetensors
  # 800 steps and states are due: the first one is begun, then the newest; none takes less than two delays
  log_check log '[e["step"] for e in of("checkpoint")][0] == 1 and [e["step"] for e in of("checkpoint")][-1] == 800
    and len(of("checkpoint")) < 400 and len(of("step")) == 800'
  # steps were made and logged before the log could say that the first state is on disk
  log_check log '[e["event"] == "checkpoint" for e in events].index(True) > [e["event"] == "step" and e["step"] == 3 for e in events].index(True)'
  [ "$(state_step m.state.safetensors)" -eq 800 ]
  rm m.safetensors
  nn-train -q "${args[@]}" --epochs=200 --valid=0.2 --patience=1000 -o m.safetensors --resume --steps=0
  nn-predict m.safetensors "$BATS_FILE_TMPDIR/words.csv" >a
  nn-predict whole.safetensors "$BATS_FILE_TMPDIR/words.csv" >b
  same a b
}

@test "checkpoint: a state holds the step it was taken at, whatever is trained while it is being written" {
  needs_strace
  # stopped by kill -9 while the second state waits for the disk: the first one is there, of step 1
  nn-train -q "${args[@]}" --epochs=40 -o whole.safetensors
  strace -f -qq -o /dev/null -e trace=fsync -e inject=fsync:delay_enter=300000 -e inject=fsync:signal=SIGKILL:when=3 \
    nn-train -q "${args[@]}" --epochs=1000000 -o m.safetensors --checkpoint-every=1 || true
  [ "$(state_step m.state.safetensors)" -eq 1 ]
  [ ! -e m.safetensors ]
  nn-train -q "${args[@]}" --epochs=40 -o m.safetensors --resume
  same whole.safetensors m.safetensors
}

# stop SIGNALS SECONDS: send them once a state was written and another one is on its way to the slow disk
stop() {
  python3 -c 'import os, signal, subprocess, sys, time
p = subprocess.Popen(sys.argv[3:])
end = time.time() + 60
def wait_for(what):
    while not what():
        if time.time() > end or p.poll() is not None: sys.exit("no state was written")
        time.sleep(0.001)
temporary = lambda: [n for n in os.listdir(".") if n.startswith(".m.state") and n.endswith(".tmp")]
wait_for(lambda: os.path.exists("m.state.safetensors"))
wait_for(temporary)
child = int(open("/proc/%d/task/%d/children" % (p.pid, p.pid)).read().split()[0])
for i in range(int(sys.argv[1])):
    os.kill(child, signal.SIGTERM)
    time.sleep(float(sys.argv[2]))
p.wait()
print(p.returncode)' "$@"
}

@test "checkpoint: SIGTERM while a state is being written waits for the newest step" {
  needs_strace
  stop 1 0 strace -f -qq -o /dev/null -e trace=fsync -e inject=fsync:delay_enter=150000 \
    nn-train -q "${args[@]}" --epochs=1000000 -o m.safetensors --checkpoint-every=1 --log=log --log-every=1000
  [ ! -e m.safetensors ]
  step=$(state_step m.state.safetensors)
  log_check log "of('end')[0]['reason'] == 'signal' and of('end')[0]['step'] == $step == of('checkpoint')[-1]['step'] > 1"
  [ "$(ls -A | tr '\n' ' ')" = 'log m.state.safetensors ' ]
  nn-train -q "${args[@]}" --epochs=1000000 -o m.safetensors --resume --steps=0
  nn-train -q "${args[@]}" --epochs=1000000 -o whole.safetensors --steps="$step"
  same whole.safetensors m.safetensors
}

@test "checkpoint: a second SIGTERM ends at once, leaves the state before and no temporary" {
  needs_strace
  stop 2 0.1 strace -f -qq -o /dev/null -e trace=fsync -e inject=fsync:delay_enter=400000 \
    nn-train -q "${args[@]}" --epochs=1000000 -o m.safetensors --checkpoint-every=1 --log=log --log-every=1000
  [ ! -e m.safetensors ]
  nn-train -q "${args[@]}" --epochs=2 -o m.safetensors --resume --steps=0
  [ "$(ls -A | tr '\n' ' ')" = 'log m.safetensors m.state.safetensors ' ]
}

@test "checkpoint: on a full disk training goes on and tries again; status 0 once there is room" {
  mkdir small
  if ! mount -t tmpfs -o size=256k tmpfs small 2>/dev/null; then skip "no tmpfs may be mounted here"; fi
  cat /dev/zero >small/filler 2>/dev/null || true
  # the filler goes with the first warning
  run python3 -c 'import subprocess, sys, os
p = subprocess.Popen(sys.argv[1:], stderr=subprocess.PIPE, text=True)
lines = []
for line in p.stderr:
    lines.append(line)
    if "training goes on" in line and os.path.exists("small/filler"): os.unlink("small/filler")
print(p.wait())
print("".join(lines))' nn-train "${args[@]}" --checkpoint-every=1 --epochs=2000 -o m.safetensors --checkpoint=small/m.st --log=log
  cp small/m.st . || true
  umount small
  echo "$output"
  [ "${lines[0]}" -eq 0 ]
  [[ $output == *"nn-train: warning: small/m.st: "*"No space left on device"*" needs "*" bytes, "*" are free; training goes on"* ]]
  [ "$(state_step m.st)" -eq 10000 ]
  log_check log 'any("No space left" in e["text"] for e in of("warning")) and of("checkpoint")[-1]["step"] == 10000'
}

@test "checkpoint: a diverging run names the step of the state that is on disk" {
  run -6 --separate-stderr nn-train -q -m 'dense 8, relu, dense ?' --loss=mse --target=a --optimizer=sgd --lr=1e3 --epochs=50 --checkpoint-every=1 \
    -b 32 -o m.safetensors "$BATS_FILE_TMPDIR/words.csv"
  [[ $stderr == *"m.state.safetensors has the state of step $(state_step m.state.safetensors)" ]]
}

@test "checkpoint: the plan counts what a snapshot takes, and nothing where no state is kept" {
  data=$BATS_FILE_TMPDIR/words.csv
  other() { nn-train --explain=json -m 'dense 3000, relu, dense 1000, relu, dense ?' --target=kind "$@" "$data" | jq .memory.other; }
  without=$(other)
  with=$(other -o m.safetensors)
  best=$(other -o m.safetensors --valid=0.2 --patience=3)
  best_without=$(other --valid=0.2 --patience=3)
  python3 - "$without" "$with" "$best" "$best_without" <<'PYTHON'
import sys
without, kept, best, best_without = map(int, sys.argv[1:])
bytes = 4 * (3 * 3000 + 3000 + 3000 * 1000 + 1000 + 1000 * 3 + 3)
about = lambda x, n: abs(x - n * bytes) < 0.1 * bytes # kernels pad
# parameters and the two slots of Adam; with --patience the best parameters, too
sys.exit(not (about(kept - without, 3) and about(best - best_without, 4)))
PYTHON
  [ -z "${NN_TEST_DEVICE-}" ] || return 0 # whose memory is the process's
  nn-train -q -m 'dense 3000, relu, dense 1000, relu, dense ?' --target=kind --epochs=2 --valid=0.2 --patience=3 --log=log -o m.safetensors "$data"
  jq -e -s 'map(select(.event=="end"))[0].predicted.peak_bytes|(.error|fabs)<0.05 or (.predicted-.measured|fabs)<4194304' log
}
