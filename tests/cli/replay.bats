#!/usr/bin/env bats
# --replay: steps draw from the newest samples of a stream.
# shellcheck disable=SC2154,SC2086,SC2016
load ranks.bash
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  awk 'BEGIN {
    srand(3); print "u,v,kind,y,w"
    for (i = 0; i < 1500; i++) {
      u = rand(); v = rand()
      printf "%.4f,%.4f,%s,%.4f,%d\n", u, v, (u > v ? "b" : "a"), 2 * u - v, i % 3
    }
  }' >a.csv
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

# replay ARGUMENT...
replay() {
  nn-train -q -m 'dense 8, relu, dense ?' --replay=320 --batch=32 "$@"
}

refused() {
  echo before >out
  train_refused "$1" "$2" -m 'dense ?' -o out "${@:3}" && [ "$(cat out)" = before ]
}

@test "replay: bytes depend on the stream and the seed, not on threads, micro-batches, ranks, pipes and packing" {
  replay --target=y -o one.st "$data/a.csv"
  replay --target=y --threads=1 --micro-batch=5 -o two.st "$data/a.csv"
  cat "$data/a.csv" | replay --target=y -o pipe.st -
  while IFS= read -r line; do printf '%s\n' "$line"; done <"$data/a.csv" | replay --target=y -o lines.st -
  gzip -c "$data/a.csv" | replay --target=y -o packed.st -
  for other in two pipe lines packed; do
    cmp one.st $other.st
  done
  replay --target=y --seed=2 -o seed.st "$data/a.csv"
  run ! cmp -s one.st seed.st
}

@test "replay: ranks that read the file make the bytes of one" {
  LACKING=$(lacking_ranks | head -n 1)
  [ -z "$LACKING" ] || skip "$LACKING"
  allow_ranks
  replay --target=y --steps=20 -o one.st "$data/a.csv"
  replay --target=y --steps=20 --ranks=2 -o ranks.st "$data/a.csv"
  cmp one.st ranks.st
}

@test "replay: a run that was stopped and resumed has the bytes of one that was not, from a file and from a spool" {
  replay --target=y -o whole.st "$data/a.csv"
  replay --target=y --steps=17 --checkpoint=state -o part.st "$data/a.csv"
  replay --target=y --resume --checkpoint=state -o part.st "$data/a.csv"
  cmp whole.st part.st
  cat "$data/a.csv" | replay --target=y --steps=17 --checkpoint=other --spool=kept -o part.st -
  replay --target=y --resume --checkpoint=other --spool=kept -o part.st - </dev/null
  cmp whole.st part.st
}

@test "replay: without a length training draws as many samples as the stream had; new ones count, old ones are gone" {
  replay --target=y --log=log -o all.st "$data/a.csv"
  grep '"event":"end"' log | grep -q '"reason":"stream","step":47,'
  # those of the first samples alone would be another model
  head -n 321 "$data/a.csv" >head.csv
  replay --target=y --steps=47 -o head.st head.csv
  run ! cmp -s all.st head.st
  # a stream shorter than the buffer is drawn from once
  head -n 101 "$data/a.csv" | replay --target=y --log=log -o short.st -
  grep '"event":"end"' log | grep -q '"reason":"stream","step":4,'
  run -0 --separate-stderr nn-train -m 'dense 8, relu, dense ?' --replay=320 --batch=32 --lr=0.001 --target=y -o slow.st "$data/a.csv"
  [[ $stderr == *'still falling when training ended: try --steps='*', with --valid=FILE to see'* ]]
}

# The writer sends the rest only when a step was made: who waits for the end of the stream never begins.
@test "replay: training begins when the buffer is full, and waits for what has not been sent" {
  {
    head -n 321 "$data/a.csv"
    until grep -q '"event":"step"' log; do sleep 0.1; done
    tail -n +322 "$data/a.csv"
  } 2>/dev/null | timeout 60 nn-train -q -m 'dense 8, relu, dense ?' --replay=320 --batch=32 --target=y --log=log --log-every=1 -o live.st -
  replay --target=y -o file.st "$data/a.csv"
  cmp live.st file.st
}

@test "replay: a signal while it waits for samples ends training with a state" {
  mkfifo pipe
  nn-train -q -m 'dense 8, relu, dense ?' --replay=320 --batch=32 --target=y --log=log --log-every=1 --checkpoint=state -o m.st pipe &
  pid=$!
  exec 7>pipe
  head -n 401 "$data/a.csv" >&7
  until grep -q '"step":2,' log; do sleep 0.1; done
  kill -TERM $pid
  status=0
  wait $pid || status=$?
  exec 7>&-
  [ $status -eq 143 ]
  [ -s state ]
}

@test "replay: arrays, JSON lines and LIBSVM, weights and what is missing; classes and held-out files" {
  "$PYTHON" - "$data/a.csv" <<'P'
import csv, json, struct, sys
rows = list(csv.DictReader(open(sys.argv[1])))
def npy(name, shape, values):
    h = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    h += ' ' * (64 - (11 + len(h)) % 64) + '\n'
    open(name, 'wb').write(b'\x93NUMPY\1\0' + struct.pack('<H', len(h)) + h.encode() + struct.pack('<%df' % len(values), *values))
npy('x.npy', (len(rows), 2), [float(r[c]) for r in rows for c in 'uv'])
npy('y.npy', (len(rows),), [float(r['y']) for r in rows])
open('a.jsonl', 'w').writelines(json.dumps({'u': float(r['u']), 'v': float(r['v']), 'y': float(r['y']) + 0.5}) + '\n' for r in rows)
open('a.svm', 'w').writelines('%d 1:%s 2:%s\n' % (r['kind'] == 'b', r['u'], r['v']) for r in rows)
open('gaps.csv', 'w').writelines(['u,v,y,w\n'] + ['%s,%s,%s,%s\n' % (r['u'], '' if i % 50 == 7 else r['v'], r['y'], r['w']) for i, r in enumerate(rows)])
P
  cat x.npy | replay -o a.st - y.npy
  replay -o b.st x.npy y.npy
  cmp a.st b.st
  cat a.jsonl | replay --target=y -o a.st -
  replay --target=y -o b.st a.jsonl
  cmp a.st b.st
  cat gaps.csv | replay --target=y --weight=w --missing=mean -o a.st -
  replay --target=y --weight=w --missing=mean -o b.st gaps.csv
  cmp a.st b.st
  cat a.svm | nn-train -q -m 'input 2, dense 8, relu, dense ?' --loss=cross-entropy --replay=320 --batch=32 -o a.st -
  [ -s a.st ]
  cat "$data/a.csv" | replay --target=kind --valid="$data/a.csv" --epochs=30 --lr=0.02 --log=log -o c.st -
  nn-predict --score c.st "$data/a.csv" | awk '$1 == "accuracy" { exit !($2 > 0.9) }'
}

@test "replay: a buffer of fewer than ten batches is warned of, once" {
  run --separate-stderr replay --target=y --batch=33 -o m.st "$data/a.csv"
  [ $status -eq 0 ]
  [ -z "$stderr" ] # -q
  run --separate-stderr nn-train -m 'dense ?' --replay=319 --batch=32 --target=y --steps=3 -o m.st "$data/a.csv"
  [ "$(grep -c 'warning: --replay=319: fewer than 10 batches of 32' <<<"$stderr")" -eq 1 ]
  run --separate-stderr nn-train -m 'dense ?' --replay=320 --batch=32 --target=y --steps=3 -o m.st "$data/a.csv"
  run ! grep -q 'warning: --replay' <<<"$stderr"
}

@test "replay: what does not go with a stream is status 2; what a stream cannot be is status 1, with the place" {
  for bad in --shuffle=no --selfcheck --valid=0.1 --missing=drop --strategy=local:4 --window=8; do
    refused 2 "${bad%%=*}" --replay=320 --target=y $bad "$data/a.csv"
  done
  train_refused 2 --folds -m 'dense ?' --replay=320 --target=y --folds=3 "$data/a.csv"
  refused 2 --replay --replay=0 --target=y "$data/a.csv"
  refused 2 'each rank reads the stream itself' --replay=320 --ranks=2 --target=y - <"$data/a.csv"
  refused 2 --spool --replay=320 --target=y --resume - <"$data/a.csv"
  { head -n 601 "$data/a.csv"; echo 1,2,zz,3,1; } >label.csv
  refused 1 'label.csv: sample 601: label "zz" is not one of the first 320 samples' --replay=320 --target=kind label.csv
  { head -n 601 "$data/a.csv"; echo 1,x,a,3,1; } >number.csv
  refused 1 'number.csv:602:2' --replay=320 --target=y number.csv
  sed 's/,/ 1:/; s/,.*//' "$data/a.csv" | tail -n +2 | sed 's/^/1 1:/; s/ 1:[^ ]*$//' >a.svm
  refused 1 'input N' --replay=320 --loss=cross-entropy a.svm
}
