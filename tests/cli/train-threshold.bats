#!/usr/bin/env bats
# nn-train --threshold: where a model of two classes says the second, found on the held-out rows.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  # rare, and wrong in places, so that the best threshold is not 0.5; equal rows have equal probabilities
  make_words 420 >words.csv
  awk -F, -v OFS=, 'NR == 1 { print $0, "w"; next } { $4 = ($4 == "up" && NR % 3) || NR % 11 == 0 ? "yes" : "no"; print $0, NR % 3 + 1 }' words.csv >all.csv
  cat <(sed -n 1,261p all.csv) <(sed -n 2,40p all.csv) >train.csv
  cat <(head -n 1 all.csv) <(sed -n 262,421p all.csv) <(sed -n 262,300p all.csv) >held.csv
  for by in f1 youden; do train --threshold=$by -o $by.st --log=$by.log 2>$by.err; done
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_FILE_TMPDIR" || return
}

train() {
  nn-train -m 'dense 6, tanh, dense ?' --target=kind --epochs=15 --lr=0.01 --valid=held.csv "$@" train.csv
}

# threshold MODEL: the one in it
threshold() {
  metadata "$1" nn.train | sed -n 's/.*"threshold":{"by":"[a-z0-9]*","value":\([^}]*\)}.*/\1/p'
}

@test "threshold: it is the best of all probabilities of held-out rows, the smallest of equals" {
  for by in f1 youden; do
    nn-predict -q --to-header=no $by.st held.csv | paste -d, - <(sed 1d held.csv) >rows
    best=$(awk -F, -v by=$by '
      { p[NR] = $2; yes[NR] = $6 == "yes"; n[yes[NR]]++ }
      END {
        for (k = 1; k <= NR; k++) {
          tp = fp = 0
          for (i = 1; i <= NR; i++) if (p[i] + 0 >= p[k] + 0) { if (yes[i]) tp++; else fp++ }
          figure = by == "f1" ? 2 * tp / (tp + fp + n[1]) : tp * n[0] - fp * n[1]
          if (k == 1 || figure > most || (figure == most && p[k] + 0 < best + 0)) { most = figure; best = p[k] }
        }
        print best
      }' rows)
    [ "$(threshold $by.st)" = "$best" ]
  done
  [ "$(threshold f1.st)" != "$(threshold youden.st)" ]
}

@test "threshold: scikit-learn's curves have the same one" {
  nn-train -q -m 'dense ?' --target=kind --weight=w --epochs=4 --valid=held.csv --threshold=f1 -o weighted.st train.csv
  run "${NN_PYTHON:-${PYTHON:-python3}}" "$NN_SRC/tests/cli/threshold.py" "f1.st held.csv kind f1" "youden.st held.csv kind youden" \
    "weighted.st held.csv kind f1 w"
  [ "$status" -ne 77 ] || skip "no scikit-learn"
  [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "threshold: nn-predict uses it for classes and figures, unless --threshold says another" {
  t=$(threshold f1.st)
  cmp <(nn-predict --emit=class f1.st held.csv) <(nn-predict --emit=class --threshold="$t" f1.st held.csv)
  cmp <(nn-predict --score f1.st held.csv) <(nn-predict --score --threshold="$t" f1.st held.csv)
  nn-predict --to-header=no f1.st held.csv | awk -F, -v t="$t" '{ print ($2 + 0 >= t + 0) ? "yes" : "no" }' >above
  nn-predict --emit=class --to-header=no f1.st held.csv | cmp - above
  run ! cmp -s above <(nn-predict --emit=class --to-header=no --threshold=0.5 f1.st held.csv)
  # probabilities and the likeliest are what they are without
  train -q -o plain.st
  cmp <(nn-predict f1.st held.csv) <(nn-predict plain.st held.csv)
  cmp <(nn-predict --emit=top:1 f1.st held.csv) <(nn-predict --emit=top:1 plain.st held.csv)
  cmp <(nn-predict --score --threshold=0.5 f1.st held.csv) <(nn-predict --score --threshold=0.5 plain.st held.csv)
}

@test "threshold: the end of the training, its log and --info say it, figures in the model are those with it" {
  t=$(threshold f1.st)
  tail -n 1 f1.err | grep -qE '; threshold 0\.[0-9]+ \(f1 0\.[0-9]+\); written to f1.st$'
  said=$(sed -n 's/.*; threshold [0-9.]* (f1 \([0-9.]*\)).*/\1/p' f1.err)
  awk -v a="$said" -v b="$(nn-predict --score f1.st held.csv | awk '$1 == "f1.yes" { print $2 }')" 'BEGIN { d = a - b; exit !(d * d < 1e-7) }'
  grep -q "\"event\":\"end\".*\"threshold\":$t," f1.log
  nn-predict --info f1.st | grep -qx "threshold $t of the second class, by f1"
  accuracy=$(nn-predict --score f1.st held.csv | awk '$1 == "accuracy" { print $2 }')
  metadata f1.st nn.train | grep -q "\"accuracy\":$accuracy,"
}

@test "threshold: threads, --resume and --patience give the same bytes" {
  train -q --threshold=f1 --threads=3 --micro-batch=7 -o threads.st
  same f1.st threads.st
  train -q --epochs=6 --checkpoint=r.state -o part.st
  train -q --threshold=f1 --checkpoint=r.state --resume -o r.st
  same f1.st r.st
  train -q --patience=2 --threshold=f1 -o best.st
  [ "$(nn-predict --info best.st | grep -c '^threshold 0')" -eq 1 ]
  cmp <(nn-predict --score best.st held.csv) <(nn-predict --score --threshold="$(threshold best.st)" best.st held.csv)
}

@test "threshold: ranks give the same bytes" {
  . "$NN_SRC/tests/cli/ranks.bash"
  lacking=$(lacking_ranks | head -n 1)
  [ -z "$lacking" ] || skip "$lacking"
  allow_ranks
  train -q --threshold=f1 --ranks=2 -o ranks.st
  same f1.st ranks.st
}

@test "threshold: of a mean of models there is none, and none of what is averaged" {
  run -0 --separate-stderr nn-predict --ensemble=mean --score f1.st youden.st held.csv
  [[ $stderr == "nn-predict: note: thresholds of models are none of their mean"* ]]
  nn-predict --ensemble=mean f1.st youden.st --to-header=no held.csv | awk -F, '{ print ($2 + 0 > $1 + 0) ? "yes" : "no" }' |
    cmp - <(nn-predict -q --ensemble=mean --emit=class --to-header=no f1.st youden.st held.csv)
  nn-allreduce f1.st f1.st -o mean.st
  run ! grep -aq threshold mean.st
  # nor does it outlive another training
  nn-train -q -m f1.st --target=kind --epochs=1 -o on.st train.csv
  [ -z "$(threshold on.st)" ]
}

@test "threshold: without held-out rows of two classes it is an error, in one line" {
  for options in "--threshold=f1" "--threshold=f1 --loss=mse --valid=0.2" "--threshold=youden --folds=3" "--threshold=best --valid=0.2"; do
    # shellcheck disable=SC2086
    run -2 --separate-stderr nn-train -q -m 'dense ?' --target=kind $options train.csv
    [ "${#stderr_lines[@]}" -eq 1 ]
  done
  run -1 --separate-stderr nn-train -q -m 'dense ?' --target=kind --threshold=f1 --valid=0.2 -o x.st words.csv
  [[ $stderr == *"decides between two classes"* && ${#stderr_lines[@]} -eq 1 && ! -e x.st ]]
  grep -v ',yes,' held.csv >no.csv
  run -1 --separate-stderr nn-train -q -m 'dense ?' --target=kind --threshold=f1 --valid=no.csv -o x.st train.csv
  [[ $stderr == *'no held-out row is of the class "yes"'* && ! -e x.st ]]
  # a model file that claims a threshold beyond 1
  LC_ALL=C sed -E 's/(\\"value\\":)0\.([0-9])/\17.\2/' f1.st >high.st
  run -1 --separate-stderr nn-predict high.st held.csv
  [[ $stderr == *"nn.train: threshold: expected a value above 0, at most 1"* ]]
}
