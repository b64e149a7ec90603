#!/usr/bin/env bats
# --spool: stdin kept as a file, so that a training from a pipe can be resumed.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 >words.csv
  gzip -k words.csv
  cut -d, -f1-3 words.csv >x.csv
  cut -d, -f4 words.csv >y.csv
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=6 -o whole words.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

train() {
  nn-train -q -m 'dense 8, relu, dense ?' --target=kind "$@"
}

@test "spool: what stdin gave stays in the file, and the model is that of a file" {
  cat "$data/words.csv" | train --epochs=6 --spool=s -o m -
  same s "$data/words.csv"
  same m "$data/whole"
  cat "$data/words.csv.gz" | train --epochs=6 --spool=s -o m -
  same s "$data/words.csv.gz"
  same m "$data/whole"
}

@test "spool: a run from a pipe goes on from its state to the same bytes, without stdin" {
  cat "$data/words.csv" | train --epochs=2 --spool=s --checkpoint-every=1h -o m -
  run -0 --separate-stderr nn-train -m 'dense 8, relu, dense ?' --target=kind --epochs=6 --spool=s --resume -o m - <&-
  [ "${stderr_lines[0]}" = "nn-train: note: s: is read in place of stdin, which it was" ]
  same m "$data/whole"
}

@test "spool: killed at any moment and resumed by the same command, the bytes are those of a run never stopped" {
  killed=0
  for delay in 0 0.002 0.005 0.01 0.03 0.06 0.1 0.2; do
    rm -f s m m.state.safetensors
    for _ in 1 2 3 4 5 6; do
      nn-train -q -m 'dense 8, relu, dense ?' --target=kind --epochs=6 --checkpoint-every=1 --spool=s --resume -o m - \
        < <(cat "$data/words.csv") 2>/dev/null 3>&- &
      train=$!
      sleep "$delay"
      kill -9 $train 2>/dev/null || true
      wait $train || killed=$((killed + 1)) # gone, and with it its lock
      [ ! -e s ] || same s "$data/words.csv"
    done
    cat "$data/words.csv" | train --epochs=6 --spool=s --resume -o m -
    same m "$data/whole"
  done
  [ "$killed" -gt 0 ]
}

@test "spool: a kill while stdin is read leaves no file, and nothing beside it after the next run" {
  mkfifo pipe
  nn-train -q -m 'dense ?' --target=kind --spool=s -o m - <pipe &
  train=$!
  exec 5>pipe
  head -c 1000 "$data/words.csv" >&5
  for _ in $(seq 100); do
    sleep 0.05
    compgen -G '.s.*.tmp' >/dev/null && break
  done
  kill -KILL $train
  wait $train || true
  exec 5>&-
  [ -n "$(compgen -G '.s.*.tmp')" ]
  [ ! -e s ]
  cat "$data/words.csv" | train --epochs=6 --spool=s -o m -
  same s "$data/words.csv"
  [ -z "$(compgen -G '.*.tmp')" ]
}

@test "spool: targets from stdin are kept too" {
  nn-train -q -m 'dense 8, relu, dense ?' --epochs=6 -o files "$data/x.csv" "$data/y.csv"
  cat "$data/y.csv" | nn-train -q -m 'dense 8, relu, dense ?' --epochs=3 --spool=s --checkpoint-every=1h -o m "$data/x.csv" -
  same s "$data/y.csv"
  nn-train -q -m 'dense 8, relu, dense ?' --epochs=6 --spool=s --resume -o m "$data/x.csv" - </dev/null
  same m files
}

@test "spool: a state without its spool is refused, other data too" {
  cat "$data/words.csv" | train --epochs=1 --spool=s --checkpoint-every=1h -o m -
  mv s t
  run -1 --separate-stderr train --epochs=2 --spool=s --resume -o m - <"$data/words.csv"
  [ "$stderr" = "nn-train: s: does not exist: the run that wrote m.state.safetensors did not keep its stdin there" ]
  head -50 t >s
  run -1 --separate-stderr train --epochs=2 --spool=s --resume -o m - </dev/null
  [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "spool: --resume without a state and without the file begins from stdin" {
  cat "$data/words.csv" | train --epochs=6 --spool=s --resume -o m -
  same m "$data/whole"
}

@test "spool: a size is how much of stdin is taken" {
  bytes=$(wc -c <"$data/words.csv")
  train --epochs=6 --spool=$bytes -o m - <"$data/words.csv"
  same m "$data/whole"
  cat "$data/words.csv" | train --epochs=6 --spool=1M -o m -
  same m "$data/whole"
  run -1 --separate-stderr train --spool=$((bytes - 1)) -o n - <"$data/words.csv"
  [ "$stderr" = "nn-train: -: gives more than $((bytes - 1)) bytes, as many as --spool=$((bytes - 1)) allows" ]
  run -1 --separate-stderr bash -c "yes 1,2 | nn-train -m 'dense ?' --target=1 --spool=2K -o n -"
  [ "$stderr" = "nn-train: -: gives more than 2048 bytes, as many as --spool=2K allows" ]
  [ ! -e n ]
}

@test "spool: a disk that fills up ends the run with one line and leaves an older spool as it was" {
  echo old >s
  run -1 --separate-stderr bash -c "ulimit -f 1; train() { nn-train -q -m 'dense ?' --target=kind --spool=s -o /dev/null -; }; cat '$data/words.csv' | train"
  [[ $stderr == "nn-train: s: cannot write"* ]]
  [ "${#stderr_lines[@]}" -eq 1 ]
  [ "$(cat s)" = old ]
  [ -z "$(compgen -G '.s.*')" ]
}

@test "spool: more than half of the free space is refused" {
  [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=128k none small 2>/dev/null || skip "no tmpfs can be mounted"
  run -1 --separate-stderr bash -c "yes 1,2 | head -c 100000 | nn-train -m 'dense ?' --target=1 --spool=small/s -o m -"
  entries=$(ls -A small)
  umount small
  [[ $stderr == "nn-train: -: gives more than "*" bytes, half of what is free beside small/s;"* ]]
  [ -z "$entries" ]
}

@test "spool: a file that is not stdin makes it idle; names that collide are refused" {
  train --epochs=6 --spool=s -o m "$data/words.csv"
  [ ! -e s ]
  same m "$data/whole"
  for bad in --spool= --spool=-; do
    run -2 --separate-stderr train $bad -o m - <"$data/words.csv"
    [[ $stderr == "nn-train: --spool=$(cut -d= -f2 <<<$bad): expected"* ]]
  done
  run -2 --separate-stderr train --spool=m -o m - <"$data/words.csv"
  run -2 --separate-stderr train --spool=l --log=l -o m - <"$data/words.csv"
  cp "$data/x.csv" x.csv
  run -2 --separate-stderr nn-train -m 'dense ?' --spool=x.csv -o m x.csv - <"$data/y.csv"
  same x.csv "$data/x.csv"
}
