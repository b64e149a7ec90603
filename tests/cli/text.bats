#!/usr/bin/env bats
# Text as characters: --window=T, the characters a model keeps, the end that is held out, and what is refused.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  awk 'BEGIN { for (i = 0; i < 400; i++) printf "%s %s the %s.\n", (i % 3 ? "a cat" : "two dogs"), (i % 5 ? "sat on" : "ran to"), (i % 7 ? "mat" : "hill") }' >t.txt
  head -c 300 /dev/zero | tr '\0' 'z' >z.txt
}

setup() {
  . "$NN_SRC/tests/cli/ranks.bash"
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  cp "$BATS_FILE_TMPDIR"/*.txt .
}

train() {
  nn-train -q -m 'embedding 8, dense ?' --window=16 --epochs=2 "$@"
}

@test "text: a row is a window, its classes the characters that come next: the numbers of the same arrays" {
  "${PYTHON:-python3}" - <<'PYTHON' || skip "no numpy"
import numpy as np
b = np.frombuffer(open("t.txt", "rb").read(), np.uint8)
place = np.searchsorted(np.unique(b), b)
n = (len(b) - 1) // 16
np.save("x.npy", place[:n * 16].reshape(n, 16).astype(np.int32))
np.save("y.npy", b[1:n * 16 + 1].reshape(n, 16).astype(np.int32))
PYTHON
  train -o text.st t.txt
  nn-train -q -m 'embedding 8, dense ?' --epochs=2 -o arrays.st x.npy y.npy
  nn-predict --info text.st >a
  nn-predict --info arrays.st >b
  # all but the file's name and how the input came: the metrics and the labels too
  diff <(grep -v '^input\|^text.st' a) <(grep -v '^input\|^arrays.st' b)
  grep -q '^input: shape 16, text of [0-9]* characters$' a
  nn-predict --score text.st t.txt >a
  nn-predict --score=y.npy arrays.st x.npy >b
  same a b
  [[ $(cut -d' ' -f1 <a | xargs) = 'samples loss accuracy' ]]
}

@test "text: stdin, gzip, threads and micro-batches give the same bytes" {
  train -o want.st t.txt
  train -o pipe.st - <t.txt
  gzip -c t.txt >t.txt.gz
  train -o gzip.st t.txt.gz
  train -o threads.st --threads=3 --micro-batch=8 t.txt
  for model in pipe gzip threads; do same $model.st want.st; done
}

@test "text: ranks give the same bytes, from a file and from stdin" {
  LACKING=$(lacking_ranks)
  [ -z "$LACKING" ] || skip "$LACKING"
  allow_ranks
  train -o want.st t.txt
  train --ranks=2 -o ranks.st t.txt
  same ranks.st want.st
  train --ranks=2 -o ranks.st - <t.txt
  same ranks.st want.st
}

@test "text: a fraction holds out the end, folds are runs, held-out files bring characters of their own" {
  head -c 9000 t.txt >begin
  cat begin z.txt >mixed # windows: 562 of the text, 18 of z alone; the border is in the first of these
  nn-train -q -m 'embedding 8, dense ?' --window=16 --epochs=1 --valid=0.03 --log=log -o m.st mixed
  nn-train -q -m 'embedding 8, dense ?' --window=16 --epochs=1 --valid=0.03 --split-seed=7 -o n.st mixed
  same <(nn-predict --info m.st | tail -n +2) <(nn-predict --info n.st | tail -n +2)
  tail -n 1 <(grep '"event":"epoch"' log) | grep -q '"accuracy":0,' # a z was never trained on
  train -o held.st --valid=z.txt begin
  nn-predict --info held.st | grep -q '  dense 19'
  nn-predict --info held.st | grep -q ' 121, 122$\|, 122$'
  nn-train -q -m 'embedding 8, dense ?' --window=16 --epochs=1 --folds=5 t.txt >folds
  [ "$(grep -c '^[1-5]' folds)" = 10 ]
}

@test "text: a start model keeps its window and its characters" {
  train -o m.st t.txt
  nn-train -q -m m.st --epochs=1 -o n.st t.txt
  nn-predict --score n.st t.txt >score
  says 1 'nn-train: z.txt: byte 1: the character "z" is not among those of the start model' \
    nn-train -q -m m.st --epochs=1 -o n.st z.txt
  says 1 'nn-train: t.txt: --window=8, but the start model reads windows of 16' \
    nn-train -q -m m.st --window=8 --epochs=1 -o n.st t.txt
}

@test "text: in prediction a window is a row, and unknown characters are counted" {
  train -o m.st t.txt
  nn-predict --to=jsonl m.st t.txt | wc -l | grep -qx "$(($(wc -c <t.txt) / 16))"
  run --separate-stderr nn-predict --score m.st z.txt
  [ "$status" = 0 ]
  [ "$stderr" = 'nn-predict: warning: z.txt: 300 characters were not in the training data; they count as all zeros: "z"' ]
  [[ $output == *'accuracy 0' ]]
}

@test "text: --score=FILE has the class of each character of the data, by default the next one" {
  train -o m.st t.txt
  head -c 4801 t.txt >x
  nn-predict --score m.st x >want
  head -c 4800 x | nn-predict --score=<(tail -c +2 x) m.st - | cmp - want
  nn-predict --score=<(tail -c +2 x) m.st <(head -c 4815 t.txt) | cmp - want # the rest of a window is none
  head -c 32 x >few
  says 1 'nn-predict: few: found 2 rows, but x has more' nn-predict --score=few m.st x
  sed 's/^a/Q/' x | tail -c +2 >y
  run --separate-stderr nn-predict --score=y m.st x
  [ "$stderr" = "nn-predict: warning: y: $(tr -cd Q <y | wc -c) labels were not in the training data and count as wrong: \"Q\"" ]
}

@test "text: what is no text, too short, or not for this model is one line" {
  : >empty
  printf abc >short
  printf 'to be\0or not to be, that' >nul
  says 1 'nn-train: empty: is empty, expected text' train -o m.st empty
  says 1 'nn-train: -: is empty, expected text' train -o m.st - <empty
  says 1 'nn-train: short: has 3 characters, a window of 16 takes 17' train -o m.st short
  says 1 'nn-train: nul: byte 6 is NUL, expected text without it' train -o m.st nul
  says 2 "nn-train: t.txt: --window reads characters, which an embedding has to take, as in 'embedding 32, ...'" \
    nn-train -q -m 'dense 8, dense ?' --window=16 -o m.st t.txt
  printf 'dense 8\ndense ?\n' >plain.nn
  says 1 "nn-train: t.txt: --window reads characters, which an embedding has to take, as in 'embedding 32, ...'" \
    nn-train -q -m plain.nn --window=16 -o m.st t.txt
  says 2 'nn-train: t.txt: a text has one input and one target, the model has 2 and 1' \
    nn-train -q -m 'a: input columns=x, embedding 3, f: flatten, b: input 3, concat from=b+f, dense ?' --window=16 -o m.st t.txt
  says 2 'nn-train: t.txt: characters are classes, the loss wants numbers' train --loss=mse -o m.st t.txt
  says 2 'nn-train: z.txt: a text has no targets but the characters that come next' train -o m.st t.txt z.txt
  says 2 'nn-train: t.txt: is text without columns, so --target=a is not in it' train --target=a -o m.st t.txt
  says 1 'nn-train: t.txt: found 18 different characters, the embedding has 5 rows' \
    nn-train -q -m 'embedding 8 rows=5, dense ?' --window=16 -o m.st t.txt
  says 1 'nn-train: t.txt: samples are 16 (16 values), the input line says 8 (8)' \
    nn-train -q -m 'input 8, embedding 8, dense ?' --window=16 -o m.st t.txt
  train -o m.st t.txt
  says 1 'nn-predict: short: has 3 characters, a window of 16 takes 16' nn-predict --to=jsonl m.st short
  run --separate-stderr train --window=0 -o m.st t.txt
  [ "$status" = 2 ]
}

@test "text: a model file whose characters cannot be is refused" {
  train -o m.st t.txt
  for bad in '"characters":[32,32' '"characters":[10,0 ' '"characters":[99,98'; do
    sed 's/"characters":\[10,32/'"$bad"'/' m.st >bad.st
    sed 's/\\"characters\\":\[10,32/'"${bad//\"/\\\\\"}"'/' m.st >bad.st
    run --separate-stderr nn-predict --score bad.st t.txt
    [ "$status" = 1 ]
    [[ $stderr == *'nn.input: characters['* ]]
  done
}

# go_on MODEL N [OPTION]...: what follows the prompt
go_on() {
  printf 'a cat sat on the ma' | nn-predict --generate="$2" "${@:3}" "$1"
}

@test "text: --generate goes on with a text, and the same seed gives the same bytes" {
  nn-train -q -m 'embedding 16, lstm 24, dense ?' --window=32 --epochs=30 --lr=0.01 -b 16 -o m.st t.txt
  [[ $(go_on m.st 1 --temperature=0) == t ]]
  go_on m.st 500 >one # longer than a window
  [ "$(wc -c <one)" = 500 ]
  go_on m.st 500 --seed=1 --threads=2 --flush=full -o two
  same one two
  NN_CPU=generic go_on m.st 500 >two
  same one two
  printf 'a cat sat on the ma' >prompt
  nn-predict --generate=500 m.st prompt >two
  same one two
  go_on m.st 500 --seed=2 >two
  run -1 cmp -s one two
  [[ $(grep -o 'the mat' one | wc -l) -gt 3 ]]
}

@test "text: what --generate draws are the probabilities of the model" {
  nn-train -q -m 'embedding 8, a: position, b: attention 2 causal=yes, add from=a+b, dense ?' --window=8 --epochs=2 -o m.st t.txt
  printf 'a cat sa' >prompt # a window: the last answer of a row
  "${PYTHON:-python3}" - <<'PYTHON'
import json, subprocess
def run(*words, text="a cat sa"):
    return subprocess.run(["nn-predict", *words, "m.st", "prompt"], capture_output=True, check=True).stdout
row = json.loads(run("--to=jsonl", "--emit=probs"))["probs"][-1]
p = {int(k): v for k, v in row.items()}
n, counts = 400, dict.fromkeys(p, 0)
for seed in range(n):
    counts[run("--generate=1", f"--seed={seed}")[0]] += 1
# chi square over what is drawn five times or more: 5 deviations above its mean
kept = [k for k in p if p[k] * n >= 5]
chi = sum((counts[k] - n * p[k]) ** 2 / (n * p[k]) for k in kept)
assert chi < len(kept) + 5 * (2 * len(kept)) ** 0.5, (chi, kept)
assert run("--generate=1", "--temperature=0")[0] == max(p, key=p.get)
PYTHON
}

@test "text: --generate computes a character at a time, with the answers of whole windows" {
  nn-train -q -m 'embedding 12, position, x: identity, a: attention 3 causal=yes, y: add from=x+a, layernorm, l: lstm 9 layers=2, g: gru 7 from=y,
    r: rnn 5 from=y, concat dim=1 from=l+g+r, dense 20, relu, dense ?' --window=12 --epochs=2 -o m.st t.txt
  printf 'a cat sat on' >window
  nn-predict --to=jsonl --emit=class m.st window >classes
  for n in $(seq 12); do
    head -c "$n" window | nn-predict --generate=1 --temperature=0 m.st | od -An -tu1
  done | tr -s ' \n' ',' >one
  tr -d ' "[]{}a-z:\n' <classes >two
  [ ",$(cat two)," = "$(cat one)" ]
}

@test "text: --generate keeps the state of a recurrent net beyond its window" {
  nn-train -q -m 'embedding 8, gru 12, dense ?' --window=3 --epochs=2 --lr=0.02 -o m.st t.txt
  nn-train -q -m 'embedding 8, gru 12, dense ?' --window=200 --init=m.st --steps=0 -o wide.st t.txt
  head -c 50 t.txt >prompt
  nn-predict --generate=150 m.st prompt >one
  nn-predict --generate=150 wide.st prompt >two
  same one two
}

stateful() {
  nn-train -q -m 'embedding 8, l: lstm 10, g: gru 6, dropout 0.1, dense ?' --window=6 --stateful -b 64 --epochs=2 --lr=0.01 "$@" t.txt
}

@test "text: --stateful goes on where the batch before ended, as PyTorch with a detached state" {
  "${PYTHON:-python3}" -c 'from importlib.util import find_spec; assert find_spec("torch").origin' 2>/dev/null || skip "no torch"
  nn-train -q -m 'embedding 8, lstm 10, gru 6, dense ?' --window=6 --steps=0 -o start.st t.txt
  nn-train -q -m 'embedding 8, lstm 10, gru 6, dense ?' --init=start.st --window=6 --stateful -b 50 --epochs=2 --optimizer=sgd --lr=1 -o m.st t.txt
  "${PYTHON:-python3}" - <<'PYTHON'
import json, struct
import numpy as np, torch
def read(path):
    f = open(path, "rb").read()
    n = struct.unpack("<Q", f[:8])[0]
    head = json.loads(f[8:8 + n])
    return {k: torch.tensor(np.frombuffer(f[8 + n:][v["data_offsets"][0]:v["data_offsets"][1]], "<f4").reshape(v["shape"]).copy())
            for k, v in head.items() if k != "__metadata__"}
class Net(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.e, self.l, self.g = torch.nn.Embedding(classes, 8), torch.nn.LSTM(8, 10, batch_first=True), torch.nn.GRU(10, 6, batch_first=True)
        self.d = torch.nn.Linear(6, classes)
    def forward(self, x, state):
        y, a = self.l(self.e(x), state[0])
        y, b = self.g(y, state[1])
        return self.d(y), (tuple(v.detach() for v in a), b.detach())
b = np.frombuffer(open("t.txt", "rb").read(), np.uint8)
place = np.searchsorted(np.unique(b), b)
n = (len(b) - 1) // 6
streams = n // 50
take = lambda at: torch.tensor(place[at:at + n * 6].reshape(n, 6)[:streams * 50].reshape(50, streams, 6).astype(np.int64))
x, y = take(0), take(1)
net = Net(len(np.unique(b)))
names = {"0.": "e.", "1.": "l.", "2.": "g.", "3.": "d."}
net.load_state_dict({names[k[:2]] + k[2:]: v for k, v in read("start.st").items()})
optimizer = torch.optim.SGD(net.parameters(), lr=1)
for epoch in range(2):
    state = (None, None)
    for k in range(streams):
        optimizer.zero_grad()
        logits, state = net(x[:, k], state)
        torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y[:, k].reshape(-1)).backward()
        optimizer.step()
found = read("m.st")
worst = max(float((found[k] - v).abs().max()) for k, v in ((next(i for i in names if names[i] == n[:2]) + n[2:], v) for n, v in net.state_dict().items()))
assert worst < 1e-4, worst
PYTHON
}

@test "text: --stateful has the same bytes for threads, micro-batches, ranks, and resumed" {
  stateful -o m.st
  stateful --recompute -o two.st
  cmp m.st two.st
  stateful --threads=2 --micro-batch=16 -o two.st
  same m.st two.st
  NN_CPU=generic stateful -o two.st
  same m.st two.st
  stateful --steps=7 --checkpoint=c -o two.st
  stateful --resume --micro-batch=32 --checkpoint=c -o two.st
  same m.st two.st
  LACKING=$(lacking_ranks)
  [ -z "$LACKING" ] || skip "$LACKING"
  allow_ranks
  stateful --ranks=3 -o two.st
  same m.st two.st
  stateful --steps=5 --checkpoint=d -o two.st
  stateful --ranks=2 --steps=9 --resume --checkpoint=d -o two.st
  stateful --resume --checkpoint=d -o two.st
  same m.st two.st
}

@test "text: --stateful says in a line what it cannot do" {
  says 2 'nn-train: --stateful: windows of a text go on; needs --window=N' nn-train -m 'dense 8, dense ?' --stateful -o m.st x.csv
  says 2 'nn-train: --shuffle: not with --stateful' stateful --shuffle=yes -o m.st
  says 2 'nn-train: --stateful: needs --strategy=sync' stateful --strategy=local:2 -o m.st
  says 2 'nn-train: --stateful: the network has no rnn, lstm or gru' \
    nn-train -q -m 'embedding 8, dense ?' --window=6 --stateful -o m.st t.txt
  says 2 'nn-train: --stateful: a bidirectional layer has nothing to go on with in its second direction' \
    nn-train -q -m 'embedding 8, gru 4 bidirectional=yes, dense ?' --window=6 --stateful -o m.st t.txt
  says 1 'nn-train: t.txt: has 92 windows to train on, --stateful with --batch=100 needs as many at least' \
    nn-train -q -m 'embedding 8, gru 4, dense ?' --window=100 --stateful -b 100 -o m.st t.txt
}

@test "text: --generate says in a line what it cannot do" {
  train -o m.st t.txt
  says 1 'nn-predict: -: is empty, expected a text to go on with, a character at least' nn-predict --generate=5 m.st </dev/null
  says 0 'nn-predict: warning: -: characters of the prompt that the model does not know: 1' nn-predict --generate=5 m.st <<<'Q a' >/dev/null
  says 2 'nn-predict: --temperature: is of --generate, which is not given' nn-predict --temperature=2 m.st t.txt
  says 2 'nn-predict: --generate: prints a text, no predictions; not with --score' nn-predict --generate=5 --score m.st t.txt
  make_words 50 >words.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=1 -o words.st words.csv
  says 1 'nn-predict: words.st: is not a model of text (nn-train --window), which --generate goes on with' \
    nn-predict --generate=5 words.st t.txt
}

@test "text: the recurrent net of the examples learns, and goes on" {
  nn-train -q -m "$NN_SRC/share/examples/char-lstm.nn" --window=16 --valid=0.1 --steps=30 --lr=0.01 -b 8 --log=log -o m.st t.txt
  jq -es '[.[] | select(.event == "epoch")] | last | .valid_loss < 1.5 and .accuracy > 0.5' log
  [ "$(go_on m.st 40 --temperature=0 | wc -c)" = 40 ]
}

@test "text: the transformer of the examples learns, and goes on" {
  nn-train -q -m "$NN_SRC/share/examples/char-transformer.nn" --window=16 --valid=0.1 --steps=30 -b 8 --log=log -o m.st t.txt
  jq -es '[.[] | select(.event == "epoch")] | last | .valid_loss < 1.5 and .accuracy > 0.5' log
  [ "$(go_on m.st 40 --temperature=0 | wc -c)" = 40 ]
  nn-predict --info m.st | grep -q '  a_1.in_proj_weight 384x128 f32'
}
