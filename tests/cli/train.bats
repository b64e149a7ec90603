#!/usr/bin/env bats
# nn-train: from rows to a model.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 >words.csv
  make_prices 200 >prices.csv
  zcat "$NN_SRC/share/data/digits.csv.gz" >digits.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

@test "train: two dense layers know 96 % of the held-out digits" {
  nn-train -q -m 'dense 64, relu, dense ?' --target=digit --loss=cross-entropy --epochs=15 --valid=0.2 --log=log \
    -o m.safetensors "$data/digits.csv"
  log_check log 'of("epoch")[-1]["accuracy"] >= 0.96'
}

@test "train: without a terminal progress is one line per epoch on stderr" {
  run -0 --separate-stderr nn-train -m 'dense 8, relu, dense ?' --target=kind --epochs=3 --valid=0.2 -o m "$data/words.csv"
  [ -z "$output" ]
  [ "${#stderr_lines[@]}" -eq 5 ]
  [[ ${stderr_lines[4]} =~ ^'3 epochs done; accuracy '[01]\.[0-9]+'; written to m'$ ]]
  line='^epoch [1-3]/3  loss [0-9]\.[0-9]{4}  valid_loss [0-9]\.[0-9]{4}  accuracy [01]\.[0-9]{4}  [0-9]+\.[0-9]{2} s  [0-9]+ samples/s$'
  for i in 1 2 3; do [[ ${stderr_lines[i]} =~ $line ]]; done
}

@test "train: without held-out rows the line says what the rows said as they passed" {
  run -0 --separate-stderr nn-train -m 'dense ?' --target=kind --epochs=1 -o m "$data/words.csv"
  [[ ${stderr_lines[1]} =~ ^'epoch 1/1  loss '[0-9.]+'  train_accuracy '[0-9.]+'  ' ]]
  run -0 --separate-stderr nn-train -m 'dense ?' --target=price --epochs=1 -o p "$data/prices.csv"
  [[ ${stderr_lines[1]} =~ ^'epoch 1/1  loss '[0-9.]+'  train_rmse '[0-9.]+'  ' ]]
}

@test "train: --quiet leaves stderr empty" {
  run -0 --separate-stderr nn-train -q -m 'dense ?' --target=kind --epochs=1 -o m "$data/words.csv"
  [ -z "$stderr" ]
}

@test "train: without -o the model goes to stdout, the same bytes as with it" {
  nn-train -q -m 'dense ?' --target=kind --epochs=2 "$data/words.csv" >a
  nn-train -q -m 'dense ?' --target=kind --epochs=2 "$data/words.csv" -o b
  nn-train -q -m 'dense ?' --target=kind --epochs=2 "$data/words.csv" -o - >c
  same a b
  same a c
}

@test "train: a model is never written to a terminal" {
  command -v script >/dev/null || skip "script is not installed"
  run script -qec "nn-train -q -m 'dense ?' --target=kind '$data/words.csv'" /dev/null
  [ "$status" -eq 2 ]
  [[ $output == "nn-train: stdout: is a terminal"* ]]
}

@test "train: on a terminal progress is a bar, with TERM=dumb lines" {
  command -v script >/dev/null || skip "script is not installed"
  train="nn-train -m 'dense ?' --target=kind --epochs=4 -o m '$data/words.csv'"
  TERM=xterm COLUMNS=100 run -0 script -qec "$train" /dev/null
  [[ $output == *$'\r''epoch 1/4    6 %  [=='*']  step 1/16  loss '* ]]
  TERM=dumb run -0 script -qec "$train" /dev/null
  [[ $output == *'epoch 4/4'* && $output != *'step 1'* ]]
}

@test "train: on a terminal of any width a line stays for each epoch, whole fields of it, and none is wider" {
  for width in 20 31 80 200; do
    python3 - $width nn-train -m 'dense 8, relu, dense ?' --target=kind --epochs=4 --valid=0.2 -o m "$data/words.csv" <<'PYTHON'
import fcntl, os, pty, re, struct, sys, termios
width = int(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    os.environ.pop("COLUMNS", None)
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b""
try:
    while data := os.read(terminal, 65536):
        shown += data
except OSError:  # the other end is closed
    pass
assert os.waitpid(pid, 0)[1] == 0
drawn = [line for line in shown.decode().replace("\x1b[K", "").replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.startswith("epoch")]
stay = [line for line in drawn if "%" not in line]
bars = [line for line in drawn if "%" in line]
assert all(len(line) < width for line in drawn), drawn
assert [line.split("  ")[0] for line in stay] == [f"epoch {n}/4" for n in range(1, 5)] and bars, drawn
field = r"epoch \d/4| *\d+ %|\[=*>? *\]|step \d+/12|(valid_)?(loss|accuracy) \d\.\d{4}|\d+ s left|\d\.\d\d s|[\d.]+[kM]? samples/s"
assert all(re.fullmatch(field, part) for line in drawn for part in line.split("  ") if part.strip(" ")) or "[" in bars[0], drawn
assert width < 80 or (all("[" in line for line in bars) and all("accuracy" in line for line in stay)), drawn
assert width < 200 or all(line.endswith(" samples/s") for line in stay), drawn
PYTHON
  done
}

@test "train: the largest seed is as good as any other" {
  nn-train -q --steps=1 -m 'dense ?' --target=kind --seed=18446744073709551615 -o large "$data/words.csv"
  [ "$(nn-predict large "$data/words.csv" | wc -l)" = "$(wc -l <"$data/words.csv")" ]
}

@test "train: the same seed gives the same bytes, another seed others" {
  train() { nn-train -q -m 'dense 8, tanh, dense ?' --target=kind --epochs=2 "$@" "$data/words.csv"; }
  train >a
  train --seed=1 >b
  train --seed=2 >c
  same a b
  run ! cmp -s a c
}

@test "train: --steps=0 writes the model as it was initialized" {
  nn-train -q --steps=0 -m 'dense 8, tanh, dense ?' --target=kind "$data/words.csv" >a
  nn-train -q --epochs=0 -m 'dense 8, tanh, dense ?' --target=kind "$data/words.csv" >b
  same a b
  nn-predict a "$data/words.csv" >rows
  [ "$(wc -l <rows)" -eq 201 ]
}

@test "train: the end is one line: why, the epoch kept and its metric, where it is written" {
  words=(-m 'dense ?' --target=kind "$data/words.csv")
  run -0 --separate-stderr nn-train "${words[@]}" --epochs=60 --valid=0.2 --patience=2 --lr=0.05 --log=log -o m
  best=$(jq -s -r 'map(select(.event == "end"))[0] | "stopped after epoch \(.epoch): no better accuracy in 2 evaluations; epoch \(.best_epoch) is kept"' log)
  [[ ${stderr_lines[-1]} == "$best (accuracy 0."*"); written to m" ]]
  nn-train -q "${words[@]}" --steps=0 -o n
  run -0 --separate-stderr bash -c 'nn-train "$@" --steps=0 2>&1 >n' - "${words[@]}"
  [ "${lines[-1]}" = "no step made, the model is as it began; written to stdout" ]
  run -0 --separate-stderr nn-train "${words[@]}" --time-limit=0.01 --checkpoint-every=1h -o m
  [[ $stderr == *$'\n'"time is up after 0.01 s, in epoch "*" (step "*"); train_accuracy "*"; written to m"* ]]
  run -0 --separate-stderr nn-train "${words[@]}" --resume --steps=0 -o m
  [[ ${stderr_lines[-1]} == "the model of step "*" (epoch "*"); written to m" ]]
  run -0 --separate-stderr nn-train "${words[@]}" --folds=2 --epochs=60 --patience=1
  [[ $stderr == *$'\n'"fold 1/2  stopped after epoch "*": no better accuracy in 1 evaluation; epoch "*" is kept (accuracy "*")"* ]]
  run -0 --separate-stderr nn-train -q "${words[@]}" --epochs=1 -o m
  [ -z "$stderr" ]
}

@test "train: --steps ends within an epoch, and the line of that epoch is printed" {
  run -0 --separate-stderr nn-train -b 32 --steps=10 --log=log -m 'dense ?' --target=kind -o m "$data/words.csv"
  [ "${#stderr_lines[@]}" -eq 4 ]
  [[ ${stderr_lines[2]} == "epoch 2/2  "* && ${stderr_lines[3]} == "10 steps done, in epoch 2; train_accuracy "*"; written to m" ]]
  log_check log 'of("end")[0]["step"] == 10 and of("end")[0]["reason"] == "steps"'
}

@test "train: the last, smaller batch of an epoch is used" {
  nn-train -q -b 64 --epochs=1 --log=log --log-every=1 -m 'dense ?' --target=kind -o m "$data/words.csv"
  log_check log '[e["samples"] for e in of("step")] == [64, 128, 192, 200]'
}

@test "train: numbers are scaled inside and metrics are in the units of the data" {
  nn-train -q -m 'dense 32, tanh, dense ?' --target=price --epochs=60 --lr=0.01 --valid=0.2 --log=log -o m "$data/prices.csv"
  log_check log '0 < of("epoch")[-1]["rmse"] < 8 and of("epoch")[-1]["r2"] > 0.95'
  nn-predict m "$data/prices.csv" >rows
  awk 'NR > 1 { s += $1 } END { exit !(s / (NR - 1) > 80 && s / (NR - 1) < 120) }' rows
}

@test "train: metrics of held-out rows are the digits that nn-predict --score prints" {
  head -n 151 "$data/words.csv" >train.csv
  { head -n 1 "$data/words.csv"; tail -n 50 "$data/words.csv"; } >held.csv
  nn-train -q -m 'dense 16, relu, dense ?' --target=kind --epochs=3 --valid=held.csv --log=log -o m train.csv
  nn-predict --score m held.csv >score
  log_check log 'all(float(dict(l.split() for l in open("score"))[k]) == of("epoch")[-1][n]
    for k, n in [("loss", "valid_loss"), ("accuracy", "accuracy"), ("f1.macro", "f1.macro")])'
  train="$(metadata m nn.train)" python3 -c 'import json, os
score = dict(l.split() for l in open("score"))
metrics = json.loads(os.environ["train"])["metrics"]
assert metrics["accuracy"] == float(score["accuracy"]) and metrics["valid_loss"] == float(score["loss"]), (metrics, score)'
}

@test "train: --patience stops and writes the best model, not the last" {
  nn-train -q -m 'dense 64, relu, dense 64, relu, dense ?' --target=kind --epochs=400 --lr=0.03 --valid=0.3 --patience=3 \
    --metric=loss --log=log -o m "$data/words.csv"
  log_check log 'of("end")[0]["reason"] == "patience"
    and of("end")[0]["best_epoch"] == of("end")[0]["epoch"] - 3
    and [e["epoch"] for e in of("epoch") if e["best"]][-1] == of("end")[0]["best_epoch"]'
  best=$(metadata m nn.train | python3 -c 'import json, sys; print(json.load(sys.stdin)["metrics"]["valid_loss"])')
  log_check log "min(e['valid_loss'] for e in of('epoch')) == $best"
}

@test "train: --valid-every evaluates between the ends of epochs too" {
  nn-train -q -b 20 --epochs=2 --valid=0.2 --valid-every=3 --log=log -m 'dense ?' --target=kind -o m "$data/words.csv"
  log_check log '[e["step"] for e in of("valid")] == [3, 6, 9, 12, 15] and len(of("epoch")) == 2'
}

@test "train: plateau lowers the rate after 5 evaluations without a better metric" {
  nn-train -q -b 200 --lr=0 --epochs=12 --schedule=plateau --log=a --log-every=1 -m 'dense ?' --target=kind -o m "$data/words.csv"
  nn-train -q -b 200 --lr=1e-9 --epochs=12 --schedule=plateau --log=b --log-every=1 -m 'dense ?' --target=kind -o m "$data/words.csv"
  log_check b '[round(e["lr"] * 1e9, 6) for e in of("step")] == [1] * 6 + [0.1] * 5 + [0.01]'
}

@test "train: a model file is a start, and its classes and scales are kept" {
  nn-train -q -m 'dense 16, relu, dense ?' --target=kind --epochs=5 -o a "$data/words.csv"
  head -n 60 "$data/words.csv" >some.csv
  nn-train -q -m a --target=kind --steps=0 -o b some.csv
  nn-predict a some.csv >pa
  nn-predict b some.csv >pb
  same pa pb
  nn-train -q -m a --target=kind --epochs=1 -o a some.csv
  nn-predict a some.csv >pc
  run ! cmp -s pa pc
}

@test "train: nn.train names no thread, rank, path, time, host or device" {
  nn-train -q -t 2 -m 'dense ?' --target=kind --epochs=1 --log=l -o m.safetensors "$data/words.csv"
  run -0 metadata m.safetensors nn.train
  [[ $output == '{"batch":64,'* && $output == *'"metrics":{'* && $output == *'"seed":1,'* ]]
  [[ $output != *words* && $output != *device* && $output != *ranks* && $output != *threads* && $output != *"$(hostname)"* && $output != *tmp* ]]
}

@test "train: each event of the log has its keys, in lines of JSON that begin with the event" {
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=2 --valid=0.2 --log=log --log-every=1 -o m.safetensors \
    "$data/words.csv"
  [ "$(grep -c '^{"event":"' log)" -eq "$(wc -l <log)" ]
  log_check log 'all(k in of("start")[0] for k in "version model model_sha256 parameters options seed device blas cpu ranks threads "
    "cores samples features classes batch leaves micro_batch data_sha256 steps_per_epoch predicted".split())
    and all(k in of("start")[0]["predicted"] for k in "step_s epoch_s total_s peak_bytes".split())'
  log_check log 'all(k in e for e in of("step") for k in "step epoch samples loss lr grad_norm samples_per_s input_wait_s compute_s "
    "comm_s wait_s".split()) and len(of("step")) == 6'
  log_check log 'all(k in e for e in of("epoch") for k in "epoch step loss valid_loss accuracy seconds samples_per_s best".split())'
  log_check log 'all(k in e for e in of("checkpoint") for k in "step file seconds".split()) and len(of("checkpoint")) == 2'
  log_check log 'all(k in of("end")[0] for k in "reason step epoch best_epoch seconds first_step_s first_epoch_s "
    "steady_samples_per_s peak_bytes output sha256 ranks predicted".split()) and of("end")[0]["reason"] == "epochs"'
  log_check log "of('end')[0]['sha256'] == '$(sha256sum m.safetensors | cut -d' ' -f1)'"
  log_check log 'of("start")[0]["model"] == "input 3\ndense 8\nrelu\ndense 3\n" and of("start")[0]["parameters"] == 59
    and of("start")[0]["samples"] == 160 and of("start")[0]["steps_per_epoch"] == 3'
}

@test "train: class weights and an ignored class change the loss they should" {
  nn-train -q -m 'dense ?' --target=kind --steps=1 -b 200 --log=a -o m "$data/words.csv"
  nn-train -q -m 'dense ?' --target=kind --steps=1 -b 200 --class-weight=2,2,2 --log=b -o m "$data/words.csv"
  nn-train -q -m 'dense ?' --target=kind --steps=1 -b 200 --class-weight=0,1,1 --log=c -o m "$data/words.csv"
  nn-train -q -m 'dense 3' --target=kind --steps=1 -b 200 --ignore=down --log=d -o m "$data/words.csv"
  loss() { python3 -c 'import json, sys; print([json.loads(l)["loss"] for l in open(sys.argv[1]) if "\"step\"" in l[:20]][0])' "$1"; }
  [ "$(loss a)" = "$(loss b)" ]
  [ "$(loss c)" = "$(loss d)" ]
  [ "$(loss a)" != "$(loss c)" ]
}

@test "train: a batch in which every target is ignored changes nothing and is no error" {
  { head -n 1 "$data/words.csv"; grep ',down$' "$data/words.csv" | head -n 20; grep ',up$' "$data/words.csv" | head -n 20; } >two.csv
  nn-train -q -m 'dense ?' --target=kind --shuffle=no -b 20 --steps=1 --ignore=down -o a two.csv
  nn-train -q -m 'dense ?' --target=kind --shuffle=no -b 20 --steps=0 --ignore=down -o b two.csv
  nn-predict a two.csv >pa
  nn-predict b two.csv >pb
  same pa pb
}

@test "train: a diverging run ends with status 6, names step and layer and leaves the output alone" {
  echo before >m
  run -6 --separate-stderr nn-train -q -m 'dense 8, relu, dense ?' --target=price --optimizer=sgd --lr=1e20 --epochs=50 -o m \
    "$data/prices.csv"
  [[ $stderr == "nn-train: step "*"not finite"* || $stderr == "nn-train: step "*"no longer finite"* ]]
  [ "${#stderr_lines[@]}" -eq 1 ]
  [ "$(cat m)" = before ]
}

@test "train: several outputs have a loss each, added with their weights" {
  awk -F, 'NR == 1 { print "a,b,c,kind,price"; next } { printf "%s,%.3f\n", $0, 3 * $1 + $2 }' "$data/words.csv" >both.csv
  printf '%s\n' 'dense 16' 'body: relu' 'kind: dense ? output target=kind' \
    'price: dense ? from=body output target=price weight=0.5' >both.nn
  nn-train -q -m both.nn --epochs=3 --valid=0.2 --log=log -o m both.csv
  log_check log 'len(of("epoch")) == 3 and of("epoch")[-1]["valid_loss"] < of("epoch")[0]["valid_loss"]'
  log_check log 'all(k in of("epoch")[0] for k in ("kind.accuracy", "kind.loss", "price.rmse", "price.loss"))'
}
