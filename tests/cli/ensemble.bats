#!/usr/bin/env bats
# nn-predict --ensemble=mean: the answers of several models, averaged.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 >plain.csv
  awk -F, -v OFS=, 'NR == 1 { print $0, "city"; next } { print $0, NR % 3 ? "rome" : "oslo" }' plain.csv >words.csv
  grep -v ',side,' words.csv >two.csv
  make_prices 150 >prices.csv
  # scales, categories, columns and hidden layers of their own
  nn-train -q -m 'dense ?' --target=kind --epochs=20 -o a.st words.csv
  nn-train -q -m 'dense 4, tanh, dense ?' --target=kind --epochs=9 --seed=3 --normalize=none -o b.st plain.csv
  nn-train -q -m 'dense 5, relu, dense ?' --target=kind --epochs=30 -o c.st <(cut -d, -f4,2,1 plain.csv)
  # the same labels in another order
  LC_ALL=C sed 's/\[\\"down\\",\\"side\\",\\"up\\"\]/[\\"up\\",\\"side\\",\\"down\\"]/' b.st >turned.st
  nn-train -q -m 'dense ?' --target=kind --epochs=5 -o two.st two.csv
  nn-train -q -m 'dense 3, relu, dense ?' --target=kind --epochs=5 --seed=2 -o other-two.st two.csv
  nn-train -q -m 'dense ?' --target=price --epochs=20 -o price.st prices.csv
  nn-train -q -m 'dense 8, tanh, dense ?' --target=price --loss=mae --epochs=20 --seed=2 -o mae.st prices.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_FILE_TMPDIR" || return
}

mean() {
  nn-predict -q --ensemble=mean "$@"
}

# averages TOLERANCE MODEL... -- ARGUMENT...: is each field the mean of those that the models print?
averages() {
  local tolerance=$1 models=() files=() m
  shift
  while [ "$1" != -- ]; do models+=("$1"); shift; done
  shift
  for m in "${models[@]}"; do
    nn-predict -q "$m" "$@" >"$m.out"
    files+=("$m.out")
  done
  mean "${models[@]}" "$@" >mean.out
  paste -d, mean.out "${files[@]}" | awk -F, -v n="${#models[@]}" -v t="$tolerance" '
    NR > 1 { w = NF / (n + 1); for (c = 1; c <= w; c++) { s = 0; for (k = 1; k <= n; k++) s += $(k * w + c); d = $c - s / n; if (d * d > t * t) bad++ } }
    END { exit bad || NR < 2 }'
}

@test "ensemble: probabilities are the mean of what each model prints alone" {
  averages 1e-7 a.st b.st c.st -- words.csv
  averages 1e-7 two.st other-two.st -- two.csv
  averages 2e-5 price.st mae.st -- prices.csv
  # one model is its own mean
  cmp <(mean a.st words.csv) <(nn-predict -q a.st words.csv)
  cmp <(mean a.st a.st words.csv) <(nn-predict -q a.st words.csv)
}

@test "ensemble: classes are found by their labels, columns of the first model name the answer" {
  [ "$(nn-predict turned.st words.csv | head -n 1)" = p.up,p.side,p.down ]
  [ "$(mean turned.st a.st words.csv | head -n 1)" = p.up,p.side,p.down ]
  nn-predict -q turned.st words.csv | awk -F, -v OFS=, '{ print $3, $2, $1 }' >turned.csv
  mean a.st turned.st words.csv >mean.csv
  paste -d, mean.csv <(nn-predict -q a.st words.csv) turned.csv |
    awk -F, 'NR > 1 { for (c = 1; c < 4; c++) { d = $c - ($(c + 3) + $(c + 6)) / 2; if (d * d > 1e-14) bad++ } } END { exit bad || NR != 201 }'
}

@test "ensemble: numpy and scikit-learn say the same" {
  run "${NN_PYTHON:-${PYTHON:-python3}}" "$NN_SRC/tests/cli/ensemble.py" "words.csv kind a.st b.st c.st" \
    "words.csv kind a.st turned.st c.st" "two.csv kind two.st other-two.st" "prices.csv price price.st mae.st"
  [ "$status" -ne 77 ] || skip "no scikit-learn"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "ensemble: batches, threads, pipes and the place of DATA change no byte, another order the last bit" {
  mean a.st b.st c.st words.csv >whole
  for how in --batch=1 --batch=7 --threads=1 --threads=3; do
    same whole <(mean a.st b.st $how c.st words.csv)
    same whole <(mean a.st b.st $how c.st <words.csv)
  done
  same whole <(mean a.st words.csv b.st c.st)
  same whole <(mean a.st b.st c.st <(cat words.csv))
  same whole <(gzip -c words.csv | mean a.st b.st c.st -)
  for _ in {1..60}; do sed 1d words.csv; done | cat <(head -n 1 words.csv) - >many.csv
  same <(mean --threads=3 a.st b.st c.st many.csv) <(mean --batch=5 a.st b.st c.st <many.csv)
  same <(mean --score a.st b.st many.csv) <(mean --score --batch=9 --threads=1 a.st b.st <many.csv)
  mean c.st b.st a.st words.csv | paste -d, - whole |
    awk -F, 'NR > 1 { for (c = 1; c < 4; c++) { d = $c - $(c + 3); if (d * d > 1e-14) bad++ } } END { exit bad }'
}

@test "ensemble: a row into a pipe gives a row out" {
  mkfifo to from
  mean --emit=class a.st b.st <to >from &
  exec 5>to 6<from
  head -n 2 words.csv >&5
  IFS= read -r -t 20 header <&6
  IFS= read -r -t 20 row <&6
  sed -n 3p words.csv >&5
  IFS= read -r -t 20 next <&6
  exec 5>&- 6<&-
  wait
  [ "$header" = class ]
  printf '%s\n' class "$row" "$next" | cmp - <(mean --emit=class a.st b.st words.csv | head -n 3)
}

@test "ensemble: --emit, --to and --threshold speak of the mean" {
  mean a.st b.st words.csv | sed 1d >probs
  mean --emit=class --to-header=no a.st b.st words.csv >classes
  awk -F, '{ b = 1; for (c = 2; c < 4; c++) if ($c > $b) b = c; split("down,side,up", name, ","); print name[b] }' probs | cmp - classes
  cmp <(mean --emit=top:1 --to-header=no a.st b.st words.csv | cut -d, -f1) classes
  [[ $(mean --to=jsonl --emit=class a.st b.st words.csv | head -n 1) == "{\"class\":\"$(head -n 1 classes)\"}" ]]
  mean --emit=class --threshold=0.3 --to-header=no two.st other-two.st two.csv >above
  mean --to-header=no two.st other-two.st two.csv | awk -F, '{ print ($2 >= 0.3) ? "up" : "down" }' | cmp - above
  mean --score --threshold=0.3 two.st other-two.st two.csv >figures
  hits=$(paste -d, above <(sed 1d two.csv) | awk -F, '$1 == $5 { n++ } END { print n / NR }')
  awk -v a="$hits" '$1 == "accuracy" { d = $2 - a; exit !(d * d < 1e-9) }' figures
}

@test "ensemble: a row that one model cannot read is bad for all, kept columns stay with their rows" {
  sed -e '4s/^[^,]*/x/' -e '7s/^\([^,]*\),[^,]*/\1,y/' words.csv >bad.csv
  sed -e 4d -e 7d words.csv >good.csv
  run -1 --separate-stderr mean --batch=2 c.st a.st bad.csv
  [[ $stderr == *bad.csv:4:1:* && ${#lines[@]} -eq 3 ]]
  mean --batch=3 --on-error=skip --keep=city,a c.st a.st bad.csv >skipped
  cmp skipped <(mean --keep=city,a c.st a.st good.csv)
  mean --on-error=skip --keep=city,a c.st a.st <bad.csv | cmp - skipped
  mean --batch=3 --on-error=mark --keep=a --emit=class c.st a.st bad.csv >marked
  [ "$(sed -n 4p marked)" = x, ] && [ "$(wc -l <marked)" -eq 201 ]
  cmp <(sed -e 4d -e 7d marked) <(mean --emit=class --keep=a c.st a.st good.csv)
  cmp <(mean --score --on-error=mark --batch=5 c.st a.st bad.csv) <(mean --score c.st a.st good.csv)
  run -0 --separate-stderr nn-predict --ensemble=mean --on-error=skip c.st a.st bad.csv
  [[ $stderr == *"2 rows could not be read and were left out"* ]]
}

@test "ensemble: arrays one after another and pictures with scales of their own" {
  python=${NN_PYTHON:-${PYTHON:-python3}}
  "$python" -c 'import numpy' 2>/dev/null || skip "no numpy"
  "$python" -c '
import numpy as np
r = np.random.default_rng(1)
x = r.integers(0, 255, (90, 1, 4, 4), dtype=np.uint8)
np.save("x.npy", x)
np.save("y.npy", (x.reshape(90, -1).mean(1) > 127).astype(np.int32))
with open("stream.npy", "wb") as f:
    for part in (x[:30], x[30:30], x[30:]):
        np.save(f, part)'
  nn-train -q -m 'flatten, dense ?' --epochs=3 -o scaled.st x.npy y.npy
  nn-train -q -m 'conv2d 3 3x3, relu, flatten, dense ?' --normalize=none --epochs=3 -o raw.st x.npy y.npy
  averages 1e-7 scaled.st raw.st -- --to=csv x.npy
  same <(mean scaled.st raw.st x.npy) <(mean --batch=7 scaled.st raw.st <x.npy)
  cmp <(mean --to=csv --to-header=no scaled.st raw.st stream.npy) <(mean --to=csv --to-header=no scaled.st raw.st x.npy)
  same <(mean scaled.st raw.st stream.npy) <(cat stream.npy | mean --batch=4 scaled.st raw.st)
  mean --score=y.npy scaled.st raw.st x.npy | grep -q '^samples 90$'
}

@test "ensemble: several outputs, probabilities of columns, and types that differ" {
  awk -F, -v OFS=, 'NR == 1 { print $0, "n", "sign"; next } { print $0, $1 * 2 + 1.5, ($1 > 0 ? "1.0" : "0.0") }' plain.csv >more.csv
  for s in 1 2; do
    nn-train -q -m 'h: dense 6, k: dense ? output target=kind from=h, v: dense ? output target=n from=h' --epochs=3 --seed=$s -o more$s.st more.csv
    nn-train -q -m 'dense ?' --target=sign --loss=bce --epochs=3 --seed=$s -o sign$s.st <(cut -d, -f1-3,6 more.csv)
  done
  averages 1e-6 more1.st more2.st -- --output-name=v more.csv
  averages 1e-7 more1.st more2.st -- --output-name=k more.csv
  [[ $(mean --to=jsonl more1.st more2.st more.csv | head -n 1) == '{"k":{"probs":{"down":'*'},"v":{"values":{"n":'*'}}}' ]]
  run -1 --separate-stderr mean more1.st b.st more.csv
  [[ $stderr == "nn-predict: b.st: number of outputs: found 1, but more1.st has 2" ]]
  # a mean of the same is the same, its loss too (in another arithmetic)
  averages 1e-7 sign1.st sign2.st -- more.csv
  paste -d ' ' <(mean --score sign1.st sign1.st more.csv) <(nn-predict --score sign1.st more.csv) |
    awk '{ d = $2 - $4; if ($1 != $3 || d * d > 1e-12) bad++ } END { exit bad || NR < 5 }'
  # f64 where one computes in it, whatever the order
  nn-train -q --precision=f64 -m 'dense ?' --target=kind --epochs=1 -o wide.st plain.csv
  same <(mean wide.st b.st plain.csv) <(mean b.st wide.st plain.csv)
  [ "$(mean b.st wide.st plain.csv | sed -n 2p | wc -c)" -gt 45 ]
}

@test "ensemble: models of other questions are refused by name, in one line" {
  run -1 --separate-stderr mean a.st two.st words.csv
  [[ $stderr == 'nn-predict: two.st: has no class "side", which a.st has' && -z $output ]]
  run -1 --separate-stderr mean two.st a.st words.csv
  [[ $stderr == 'nn-predict: two.st: has no class "side", which a.st has' ]]
  run -1 --separate-stderr mean price.st a.st words.csv
  [[ $stderr == 'nn-predict: a.st: predicts classes, but price.st numbers' ]]
  nn-train -q -m 'dense ?' --target=a --epochs=1 -o a-of.st prices.csv
  run -1 --separate-stderr mean price.st a-of.st prices.csv
  [[ $stderr == 'nn-predict: a-of.st: has no target "price", which price.st has' ]]
  sed 's/kind/sort/' words.csv >sort.csv
  nn-train -q -m 'dense ?' --target=sort --epochs=1 -o sort.st sort.csv
  run -1 --separate-stderr mean a.st sort.st words.csv
  [[ $stderr == 'nn-predict: sort.st: predicts "sort", but a.st "kind"' ]]
}

@test "ensemble: what it cannot do is status 2, and says what works" {
  run -2 --separate-stderr mean --emit=logits a.st b.st words.csv
  [[ $stderr == *"--emit=probs, class, top:K and values work" && ${#stderr_lines[@]} -eq 1 ]]
  run -2 --separate-stderr mean -m 'dense 3' a.st words.csv
  run -2 --separate-stderr mean --info a.st
  run -2 --separate-stderr mean a.st words.csv b.st prices.csv
  [[ $stderr == *"got words.csv and prices.csv, which are no model files" ]]
  run -2 --separate-stderr mean a.st none.st words.csv
  [[ $stderr == *"but none.st is not there" ]]
  run -2 --separate-stderr nn-predict a.st b.st words.csv
  [[ $stderr == *"--ensemble=mean takes several models" ]]
  run -2 --separate-stderr mean a.st b.st words.csv -o b.st
  run -2 --separate-stderr nn-predict --ensemble=vote a.st b.st words.csv
  run -1 --separate-stderr mean a.st b.st none.csv
  [[ $stderr == *none.csv* ]]
}
