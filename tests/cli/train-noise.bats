#!/usr/bin/env bats
# The noise scale of the gradient: as it is computed from every sample's own gradient, and at no cost to the bytes of the model.
# shellcheck disable=SC2154,SC2086
bats_require_minimum_version 1.5.0

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
}

# N rows of eight numbers and what follows from them, but for noise
make_line() {
  python3 -c 'import random, sys
random.seed(5)
print(*"abcdefgh", "y", sep=",")
for _ in range(int(sys.argv[1])):
    x = [random.gauss(0, 1) for _ in range(8)]
    print(*("%.5f" % v for v in x), "%.5f" % (sum(x) * 0.7 + random.gauss(0, 2)), sep=",")' "$1"
}

scale() {
  jq -r 'select(.event == "end") | .noise_scale' "$1"
}

@test "noise: least squares at fixed weights: the scale is that of the gradients of all samples, in leaves, pieces and one leaf alone" {
  make_line 4000 >line.csv
  fixed=(-q -m 'dense 1' --target=y --loss=mse --normalize=none --optimizer=sgd --lr=0 -o m.safetensors line.csv)
  nn-train "${fixed[@]}" --steps=0
  python3 - >true <<'PYTHON'
import csv, json, struct
f = open("m.safetensors", "rb")
header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
data = f.read()
tensors = {k: struct.unpack("<%df" % ((v["data_offsets"][1] - v["data_offsets"][0]) // 4), data[slice(*v["data_offsets"])])
           for k, v in header.items() if k != "__metadata__"}
weight = [t for t in tensors.values() if len(t) == 8][0]
bias = [t for t in tensors.values() if len(t) == 1][0][0]
mean, square, n = [0] * 9, 0, 0
for row in list(csv.reader(open("line.csv")))[1:]:
    *x, y = map(float, row)
    error = 2 * (sum(w * v for w, v in zip(weight, x)) + bias - y)
    g = [error * v for v in x + [1]]
    mean = [m + v for m, v in zip(mean, g)]
    square += sum(v * v for v in g)
    n += 1
length = sum((m / n) ** 2 for m in mean)
print((square / n - length) / length)
PYTHON
  # some forty measured steps count at a time, which in nine dimensions deviate by 10 to 20 %; of 15 such averages the mean by 3 to 5
  for args in '-b 256' '-b 256 --micro-batch=48 -t 2' '-b 200 -t 3' '-b 100 --leaves=1'; do
    nn-train "${fixed[@]}" $args --epochs=600 --log=log --log-every=640
    found=$(jq -s 'map(select(.event == "step") | .noise_scale) | add / length' log)
    echo "$args: $found, true $(cat true)"
    awk -v a="$found" -v b="$(cat true)" 'BEGIN { exit !(a / b > 0.87 && a / b < 1.13) }'
  done
}

@test "noise: where the gradient is all signal the scale is near nothing, where labels are noise it is large" {
  make_line 2000 | awk -F, -v OFS=, 'NR > 1 { $9 = 3 } 1' >same.csv
  make_line 2000 | awk -F, -v OFS=, 'BEGIN { srand(3) } NR > 1 { $9 = rand() - 0.5 } 1' >noise.csv
  nn-train -q -m 'dense 1 init=zeros' --target=y --loss=mse --normalize=none --optimizer=sgd --lr=0 -b 200 --epochs=20 --log=a -o m same.csv
  nn-train -q -m 'dense 1 init=zeros' --target=y --loss=mse --normalize=none --optimizer=sgd --lr=0 -b 200 --epochs=20 --log=b -o m noise.csv
  jq -e 'select(.event == "end") | .noise_scale < 12' a
  jq -e 'select(.event == "end") | .noise_scale == null or .noise_scale > 100' b
}

@test "noise: measuring changes no byte of the model, for any layers, and is the same for threads and micro-batches" {
  make_words 300 >words.csv
  for model in 'dense 32, relu, dense 16, relu, dense ?' 'dense 32, batchnorm, relu, dropout 0.3, dense ?'; do
    for args in '-b 64' '-b 100' '-b 16' '-b 50 --optimizer=lamb' '-b 300 --clip-norm=0.1'; do
      nn-train -q -m "$model" --target=kind --epochs=30 $args -t 1 -o plain words.csv
      nn-train -q -m "$model" --target=kind --epochs=30 $args -t 1 -o logged --log=log words.csv
      same plain logged
      nn-train -m "$model" --target=kind --epochs=30 $args -t 2 -o noted -v words.csv 2>/dev/null
      same plain noted
      nn-train -q -m "$model" --target=kind --epochs=30 $args -t 2 -o pieces --log=log2 --micro-batch=20 words.csv
      same plain pieces
      case $args in *16*) continue ;; esac # one leaf: its pieces are what is measured
      [ "$(scale log)" = "$(scale log2)" ]
    done
  done
}

@test "noise: the log and -v tell it" {
  make_words 300 >words.csv
  run -0 --separate-stderr nn-train -v -m 'dense 8, relu, dense ?' --target=kind -b 64 --epochs=38 --log=log --log-every=1 -o m words.csv
  [[ $stderr == *"nn-train: note: noise scale of the gradient: not known; 3 steps were measured, it takes 20"* ]]
  log_check log 'all("noise_scale" in e for e in of("step")) and of("end")[0]["noise_steps"] == 3'
  # measured at steps 1, 66 (65 has 44 samples) and 131, kept in between
  log_check log '[e["step"] for e, f in zip(of("step")[1:], of("step")) if e["noise_scale"] != f["noise_scale"]] == [66, 131]'
  # the sentence waits until the figure deserves it
  run -0 --separate-stderr nn-train -v -m 'dense 8, relu, dense ?' --target=kind -b 64 --epochs=260 -o m words.csv
  [[ $stderr == *"nn-train: note: noise scale of the gradient: about "*" samples (20 steps were measured); a batch beyond that buys nothing, this one has 64"* ]]
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind -b 1 --epochs=2 --log=one -o m words.csv
  log_check one 'of("end")[0]["noise_scale"] is None and of("end")[0]["noise_steps"] == 0'
}
