#!/usr/bin/env bats
# --tensorboard: figures as files of events.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
}

train() {
  nn-train -q -m 'dense 16, relu, dense ?' --target=digit --loss=cross-entropy --valid=0.2 --epochs=2 --log-every=10 "$@" \
    "$NN_SRC/share/data/digits.csv.gz"
}

@test "tensorboard: the figures of the log by their names, in a directory that is made; a resumed training adds a file" {
  [ -n "${NN_PYTHON-}" ] || skip "no python3"
  train --tensorboard=runs/one --log=log -o m.st --checkpoint=state
  "$NN_PYTHON" "$NN_SRC/tests/cli/event-files.py" runs/one >found
  cut -d ' ' -f 3 found | sort -u | grep -qx valid_loss
  for name in loss lr samples_per_s; do
    [ "$(grep -c "^0 [0-9]* $name " found)" -eq "$(grep -c '"event":"step"' log)" ]
  done
  figures() { jq -r "select(.event == \"$1\") | \"\(.step) \(.$2 * 1e4 | round)\"" log; }
  shown() { awk -v name="$1" '$3 == name { printf "%d %.0f\n", $2, $4 * 1e4 }' found; }
  diff <(figures step loss) <(shown loss)
  diff <(figures epoch accuracy) <(shown accuracy)
  train --tensorboard=runs/one --epochs=3 --resume -o m.st --checkpoint=state
  "$NN_PYTHON" "$NN_SRC/tests/cli/event-files.py" runs/one >found
  [ "$(awk '{ print $1 }' found | sort -u | xargs)" = '0 1' ]
  [ "$(awk '$3 == "epoch_loss" { print $2 }' found | sort -n | uniq -d | wc -l)" -eq 0 ]
}

@test "tensorboard: what is written does not depend on it, and a directory that cannot be is one line before work begins" {
  train -o without.st
  train --tensorboard=t -o with.st
  cmp without.st with.st
  echo >file
  run -1 --separate-stderr train --tensorboard=file -o m.st
  [[ $stderr == 'nn-train: --tensorboard=file: cannot write file/events.out.tfevents.'*': Not a directory' ]]
  run -2 --separate-stderr train --tensorboard=t --selfcheck
  [[ $stderr == 'nn-train: --tensorboard: '* ]]
}
