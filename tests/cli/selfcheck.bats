#!/usr/bin/env bats
# nn-train --selfcheck: the user's own network and data, checked. What it finds is in tests/lib/selfcheck.c.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  make_words 120 >words.csv
  make_prices 120 >prices.csv
}

@test "selfcheck: a table with a header, a row per check, all passed, status 0, and nothing else is written" {
  run -0 --separate-stderr nn-train --selfcheck -m 'dense 8, batchnorm group=16, relu, dropout, dense ?' --target=kind words.csv
  [ -z "$stderr" ]
  [ "${lines[0]}" = $'check\twhat\tcompared\tresult' ]
  for check in threads micro-batch resume gradient; do
    grep -q "^$check	" <<<"$output"
  done
  awk -F'\t' 'NF != 4 || (NR > 1 && $4 != "pass") { bad = 1 } END { exit bad }' <<<"$output"
  for p in 0.weight 0.bias 1.weight 1.bias 4.weight 4.bias; do
    grep -q "^gradient	$p	" <<<"$output"
  done
  mkdir empty
  (cd empty && TMPDIR=$PWD nn-train --selfcheck -m 'dense ?' --target=kind ../words.csv >../out)
  [ -z "$(ls -A empty)" ]
}

@test "selfcheck: every optimizer and loss, both precisions, images, several outputs, few samples" {
  check() {
    run -0 --separate-stderr nn-train --selfcheck "$@"
    [[ $output != *fail* ]]
    grep -q '^gradient' <<<"$output"
  }
  for o in sgd adam adamw rmsprop lars lamb; do
    check -q -m 'dense 5, gelu, dense ?' --optimizer=$o --clip-norm=1 --target=kind words.csv
  done
  for loss in mse huber mae; do
    check -m 'dense 5, silu, dense ?' --loss=$loss --precision=f64 --target=price prices.csv
  done
  sed 's/price/p,q/; /[0-9]$/s/$/,1.5/' prices.csv >two.csv
  printf 'h: dense 5\nx: dense 1 from=h target=p output\ny: dense 1 from=h target=q output weight=0.5\n' >two.nn
  check -m two.nn two.csv
  head -4 words.csv >few.csv
  check -m 'dense ?' --target=kind few.csv
  check -m 'input 3, reshape 1x1x3, conv2d 2 1x2 pad=1, relu, maxpool2d 2x1, flatten, dense ?' --target=kind words.csv
  check -m 'dense ?' --class-weight=1,2 --ignore=up --target=kind words.csv
}

@test "selfcheck: from a start model, from stdin, with other threads and kernels" {
  nn-train -q -m 'dense 5, relu, dense ?' --epochs=2 --target=kind -o m words.csv
  nn-train --selfcheck -m m --target=kind words.csv >a
  nn-train --selfcheck -m m --target=kind - <words.csv >b
  cat words.csv | nn-train --selfcheck -m m --target=kind -t 3 - >c
  same a b
  grep -q '^threads	1 against 4	' c
  NN_CPU=generic nn-train --selfcheck -m m --target=kind words.csv >d
  kind=generic
  [ -z "${NN_TEST_DEVICE-}" ] || { [ "${NN_TEST_MODULE-}" = cuda ] && kind=simt || kind=apart; } # which is compared with every kind of kernels of the processor
  if grep -q '^kernels' a; then grep -q "^kernels	$kind against " d; fi
  [ "$(grep -c 'pass$' d)" -eq $(($(wc -l <d) - 1)) ]
}

@test "selfcheck: outputs, states and --reproducible=no are refused, status 2; too few samples are status 1" {
  for bad in -om --checkpoint=s --resume --log=l --plot=p.svg --reproducible=no; do
    run -2 --separate-stderr nn-train --selfcheck -m 'dense ?' --target=kind $bad words.csv
    [[ $stderr == "nn-train: --"*selfcheck* ]]
    [ -z "$output" ]
  done
  [ ! -e m ] && [ ! -e l ]
  head -3 words.csv >few.csv
  run -1 --separate-stderr nn-train --selfcheck -m 'dense 2' --target=price --loss=mse prices.csv
  run -1 --separate-stderr nn-train --selfcheck -m 'dense ?' --target=kind few.csv
  [ "$stderr" = "nn-train: few.csv: --selfcheck needs 3 samples, found 2" ]
}

@test "selfcheck: a signal ends it with 128+n between two rows" {
  awk 'BEGIN { for (i = 0; i < 300; i++) { for (j = 0; j < 40; j++) printf "%d.5,", (i * j) % 17; print i % 3 } }' >wide.csv
  nn-train --selfcheck -m 'dense 600, relu, repeat 30 { dense 600 relu } dense ?' --target=41 --loss=cross-entropy wide.csv >/dev/null 2>&1 || true
  for signal in TERM INT; do
    (trap - INT; exec nn-train --selfcheck -m "$(printf 'dense 600, relu, %.0s' $(seq 12)) dense ?" --target=41 --loss=cross-entropy wide.csv) >out 2>err &
    pid=$!
    for _ in $(seq 200); do
      grep -q threads out && break
      sleep 0.02
    done
    kill -$signal $pid
    status=0
    wait $pid || status=$?
    case $signal in TERM) wanted=143 ;; INT) wanted=130 ;; esac
    # a background job of a shell without job control may have INT ignored: then it ends by itself
    [ "$status" -eq $wanted ] || { [ $signal = INT ] && [ "$status" -eq 0 ]; }
    awk -F'\t' 'NF != 4 { bad = 1 } END { exit bad }' out
  done
}
