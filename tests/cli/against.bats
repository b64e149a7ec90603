#!/usr/bin/env bats
# nn-predict --score --against=MODEL: how far the figures are from those of another model.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 >words.csv
  grep -v ',side$' words.csv >two.csv
  make_prices 150 >prices.csv
  awk -F, -v OFS=, '{ print $0, NR == 1 ? "w" : NR % 3 }' words.csv >weighed.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=20 -o a.st words.csv
  nn-train -q -m 'dense 4, tanh, dense ?' --target=kind --epochs=9 --seed=3 --normalize=none -o b.st words.csv
  nn-train -q -m 'dense ?' --target=kind --epochs=5 -o two.st two.csv
  nn-train -q -m 'dense 3, relu, dense ?' --target=kind --epochs=5 --seed=2 -o other-two.st two.csv
  nn-train -q -m 'dense 8, tanh, dense ?' --target=price --epochs=20 -o price.st prices.csv
  nn-train -q -m 'dense ?' --target=price --loss=mae --epochs=20 --seed=2 -o mae.st prices.csv
  nn-train -q -m 'dense ?' --target=kind --weight=w --epochs=5 -o weighed.st weighed.csv
  nn-train -q -m 'dense 3, relu, dense ?' --target=kind --weight=w --epochs=5 -o other-weighed.st weighed.csv
  nn-train -m a.st --steps=0 --precision=int8 -o small.st
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

# differs A B ARGUMENT...: are the lines of A all there, and behind each figure its distance from what B alone has?
differs() {
  nn-predict -q --score "$1" "${@:3}" >one || return
  nn-predict -q --score "$2" "${@:3}" >two || return
  nn-predict -q --score --against="$2" "$1" "${@:3}" >both || return
  cmp one <(grep -v '\.difference ' both) || return
  awk 'FILENAME == "one" { a[$1] = $2; if ($1 !~ /(^|[.])(samples|support|confusion)([.]|$)/) wanted++; next }
    FILENAME == "two" { b[$1] = $2; next }
    /[.]difference / { n = $1; sub(/[.]difference$/, "", n); found++; d = $2 - (a[n] - b[n]); if (n != last || !(n in b) || d > 1e-12 || d < -1e-12) { print; bad = 1 } }
    { last = $1 }
    END { if (found != wanted) print found " of " wanted; exit bad || found == 0 || found != wanted }' one two both
}

@test "against: each difference is that of two runs of --score" {
  differs a.st b.st words.csv
  differs small.st a.st words.csv
  differs two.st other-two.st two.csv
  grep -q '^auc.difference ' both
  differs price.st mae.st prices.csv
  grep -q '^rmse.difference ' both
  differs weighed.st other-weighed.st weighed.csv
}

@test "against: outputs with names, targets of their own, thresholds" {
  cat >heads.nn <<'END'
dense 6
trunk: tanh
size: dense 1 output target=a from=trunk
kind: dense ? target=kind from=trunk
END
  nn-train -q -m heads.nn --epochs=3 -o heads.st words.csv
  nn-train -q -m heads.nn --epochs=3 --seed=9 -o other-heads.st words.csv
  differs heads.st other-heads.st words.csv
  grep -q '^kind.accuracy.difference ' both
  grep -q '^size.rmse.difference ' both
  differs two.st other-two.st --threshold=0.7 two.csv
  cut -d, -f4 two.csv >kinds.csv
  cut -d, -f1-3 two.csv >inputs.csv
  nn-predict --score=kinds.csv --against=other-two.st two.st inputs.csv | cmp - <(nn-predict --score --against=other-two.st two.st two.csv)
}

@test "against: the same for any batch and threads, from a pipe, in every format and in the log" {
  nn-predict --score --against=b.st --log=log a.st words.csv >whole
  nn-predict --score --against=b.st -b 7 -t 3 a.st words.csv | cmp - whole
  nn-predict --score --against=b.st a.st <words.csv | cmp - whole
  # shellcheck disable=SC2002
  cat words.csv | nn-predict --score --against=b.st -b 3 a.st - | cmp - whole
  nn-predict --score --against=b.st --to=csv --to-header=no a.st words.csv | tr , ' ' | cmp - whole
  value=$(awk '$1 == "loss.difference" { print $2 }' whole)
  nn-predict --score --against=b.st --to=json a.st words.csv | grep -qF "\"loss.difference\":$value"
  grep -F '"event":"score"' log | grep -qF "\"loss.difference\":$value"
}

@test "against: a model against itself has no difference, and counts have none" {
  nn-predict --score --against=a.st a.st words.csv >self
  [ "$(grep -c '\.difference ' self)" -eq "$(grep -c '\.difference 0$' self)" ]
  run ! grep -qE '^(samples|support|confusion).*difference' self
}

@test "against: rows that cannot be read are left out of both" {
  sed '20s/^[^,]*/x/; 70s/^[^,]*/y/' words.csv >bad.csv
  sed '20d; 70d' words.csv >good.csv
  run -0 --separate-stderr nn-predict --score --against=b.st --on-error=skip a.st bad.csv
  [ "$output" = "$(nn-predict --score --against=b.st a.st good.csv)" ]
  [ "$stderr" = "nn-predict: warning: 2 rows could not be read and were left out" ]
  run -1 --separate-stderr nn-predict --score --against=b.st a.st bad.csv
  [[ $stderr == "nn-predict: bad.csv:20:1: "* && ${#stderr_lines[@]} -eq 1 ]]
}

# told STATUS MESSAGE ARGUMENT...
told() {
  run "-$1" --separate-stderr nn-predict "${@:3}"
  [ "$stderr" = "nn-predict: $2" ] || { printf '%s\n' "$stderr"; return 1; }
}

@test "against: what cannot be compared is told" {
  told 1 "two.st: has other targets (nn.target) than a.st, so their figures are not of the same" --score --against=two.st a.st words.csv
  told 1 "a.st: has other weights of rows than weighed.st, so their figures are not of the same" --score --against=a.st weighed.st weighed.csv
  nn-train -q -m 'dense ?' --target=kind --ignore=side --epochs=1 -o ignore.st words.csv
  told 1 "ignore.st: has another class to ignore than two.st, so their figures are not of the same" --score --against=ignore.st two.st words.csv
  told 1 "none.st: cannot open: No such file or directory" --score --against=none.st a.st words.csv
  told 2 "--against: compares the figures of --score, which is not given" --against=b.st a.st words.csv
  told 2 "--against: compares two model files; not with --ensemble" --score --ensemble=mean --against=b.st a.st words.csv
  told 2 "--against: compares two model files; not with -m TEXT" --score -m 'dense 3' --against=b.st a.st words.csv
  told 2 "--against=-: expected the name of a file" --score --against=- a.st words.csv
}
