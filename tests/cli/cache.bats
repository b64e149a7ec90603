#!/usr/bin/env bats
# nn-train --cache: data kept as they were read give the same model, and are made anew where they are others.
# shellcheck disable=SC2154,SC2164
bats_require_minimum_version 1.5.0
load ranks.bash

setup() {
  cd "$BATS_TEST_TMPDIR"
  awk 'BEGIN {
    srand(3); split("rome oslo bonn lima", city, " ")
    print "id,city,a,b,w,y" >"t.csv"; print "id,city,a,b,w,y" >"v.csv"
    for (i = 0; i < 80; i++) {
      a = rand() < 0.1 ? "" : rand()
      file = i < 60 ? "t.csv" : "v.csv"
      y = i % 3 ? "no" : "yes"
      if (i == 70) y = "maybe"
      print i % 7 "," (i == 71 ? "new" : city[int(rand() * 4) + 1]) "," a "," 5 * rand() "," rand() "," y >file
    }
  }'
}

# same OPTION... DATA: without, with, and from a cache; a line of -v says that files were not read
same() {
  rm -f cache
  nn-train -q --epochs=3 -b 8 "$@" -o plain
  nn-train -q --epochs=3 -b 8 "$@" --cache=cache -o made
  nn-train -v --epochs=3 -b 8 "$@" --cache=cache -o again 2>said
  grep -q '^nn-train: note: data are read from cache$' said
  cmp plain made
  cmp plain again
}

table=(-m 'dense 8, relu, dense ?' --target=y t.csv)

@test "cache: a table with text, missing values, weights and held-out rows gives the same model" {
  same "${table[@]}" --missing=mean --weight=w --valid=v.csv
  same "${table[@]}" --missing=drop --valid=v.csv --precision=f64
  same "${table[@]}" --missing=drop --ignore=no --valid=0.2
  printf 'no\nyes\nmaybe\n' >classes
  same "${table[@]}" --missing=drop --classes=classes
  printf 'input columns=city,id\nembedding 3\nflatten\ndense ?\n' >m.nn
  same -m m.nn --target=y t.csv
  mv plain start
  same -m start t.csv
  nn-train -q "${table[@]}" --missing=drop --folds=2 >plain
  nn-train -q "${table[@]}" --missing=drop --folds=2 --cache=folds >made
  nn-train -q "${table[@]}" --missing=drop --folds=2 --cache=folds >again
  cmp plain made
  cmp plain again
}

@test "cache: what is said of the data is said again" {
  nn-train --epochs=1 "${table[@]}" --missing=drop --valid=v.csv --cache=cache -o m 2>first
  nn-train --epochs=1 "${table[@]}" --missing=drop --valid=v.csv --cache=cache -o m 2>second
  for said in 'rows miss a value and are left out' 'not in the training data' 'columns: .* target y: 3 classes'; do
    [ "$(grep "$said" first)" = "$(grep "$said" second)" ]
    grep -q "$said" second
  done
}

@test "cache: arrays, LIBSVM, gzip and rows of different length" {
  printf '%s 1:1 3:2.5\n%s 2:1\n' 1 2 2 0 1 3 >l.svm
  same -m 'dense ?' --loss=cross-entropy l.svm
  gzip -k t.csv
  same -m 'dense 8, relu, dense ?' --target=y --missing=mean t.csv.gz
  printf '{"x":[1,2,3],"y":"p"}\n{"x":[4],"y":"q"}\n{"x":[2,2],"y":"p"}\n' >s.jsonl
  same -m 'input ?, embedding 4, lstm 5, last, dense ?' s.jsonl
  printf '{"x":[[1,0.5],[2,1]],"y":[0,1]}\n{"x":[[3,1.5]],"y":[2]}\n' >t.jsonl
  same -m 'input ?x2, lstm 5, dense ?' t.jsonl
  # most of what is filled up in the file is no step of a row
  command -v python3 >/dev/null || return 0
  python3 - <<'END'
import struct, zipfile
def npy(kind, pack, shape, values):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join("%d," % d for d in shape))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%d%s" % (len(values), pack), *values)
with zipfile.ZipFile("p.npz", "w") as z:
    z.writestr("x.npy", npy("<f4", "f", [900, 200, 2], [i % 7 for i in range(360000)]))
    z.writestr("lengths.npy", npy("<i8", "q", [900], [1 + i % 2 for i in range(900)]))
    z.writestr("y.npy", npy("<i8", "q", [900, 200], [i % 3 for i in range(180000)]))
END
  same -m 'input ?x2, lstm 5, dense ?' p.npz
  [ "$(stat -c %s cache)" -lt 100000 ]
}

@test "cache: pictures, masks and held-out pictures, in memory and not" {
  command -v python3 >/dev/null || skip "python3 is not installed"
  python3 "$NN_SRC/tests/cli/pictures.py"
  nn-train -q --epochs=1 -m 'flatten, dense ?' train -o m 2>error || ! grep -q 'module nn-png.so is not installed' error || skip "built without libpng"
  net='conv2d 4 3x3, relu, flatten, dense ?'
  same -m "$net" train --augment=flip
  same -m "$net" train --valid=test --normalize=standard
  same -m 'conv2d 4 3x3 pad=1, relu, conv2d ? 3x3 pad=1' images masks --augment=flip
  same -m 'conv2d 4 3x3 pad=1, relu, conv2d ? 3x3 pad=1' masked.tar
  # made of pictures that stay in their files, read by a run with less memory and by one with more
  gzip -k folders.tar
  same -m "$net" folders.tar.gz --valid=0.25 --normalize=standard --input-memory=5K
  grep -q 'note: input: read: ' said
  run ! grep -q 'decode' said
  nn-train -q --epochs=3 -b 8 -m "$net" folders.tar.gz --valid=0.25 --normalize=standard --cache=cache -o more
  cmp plain more
  nn-train -q --epochs=3 -b 8 -m "$net" folders.tar.gz --valid=0.25 --normalize=standard --cache=cache --input-memory=500 -o less
  cmp plain less
}

@test "cache: rows of a table that take more than --input-memory stay in the file, to the same bytes" {
  same "${table[@]}" --missing=drop --weight=w --input-memory=900 --valid=v.csv
  grep -q 'note: input: read: ' said
  same -m 'dense 8, relu, dense ?' --target=b t.csv --missing=drop --normalize=minmax --input-memory=1K
  # and those of several inputs, categories among them
  printf 'n: input columns=a,b\ndense 3\nwide: tanh\nc: input columns=city,id\nembedding 3\ndeep: flatten\nconcat from=wide+deep\ndense ?\n' >m.nn
  same -m m.nn --target=y t.csv --missing=drop --input-memory=700 --valid=v.csv
  grep -q 'note: input: read: ' said
  same -m m.nn --target=y t.csv --missing=mean --normalize=standard --input-memory=500
  grep -q 'note: input: .* of samples that are read in them' said
}

@test "cache: --explain says what a training takes that finds its rows there, and one that does not" {
  awk 'BEGIN { srand(1); print "a,b,c,d,e,f,g,h,y"; for (i = 0; i < 200000; i++) { for (k = 0; k < 8; k++) printf "%.2f,", rand(); print i % 3 } }' >large.csv
  set -- --device=cpu -t 1 -m 'dense 8, relu, dense ?' --target=y --loss=cross-entropy large.csv --epochs=1 -b 256 --input-memory=1M --cache=cache
  nn-train --explain=json "$@" >before
  [ ! -e cache ]
  nn-train -q "$@" -o made
  nn-train --explain=json "$@" >after
  nn-train -q "$@" -o again --log=log
  cmp made again
  # 6.4 MB of the table, of which some batches are read ahead
  jq -es '.[0].memory.input - .[1].memory.input > 5.5e6' before after
  nn-train --explain=json "$@" --missing=drop | jq -e '.memory.input > 9e6' # not made with this option
  touch large.csv
  nn-train --explain=json "$@" | jq -e '.memory.input > 9e6'
  [[ ${KIND_CFLAGS-} != *-fsanitize=* ]] || return 0 # which takes memory of its own
  jq -es '.[0].memory.total as $said | .[1].predicted.peak_bytes.measured | ($said - . | fabs) < 4194304' after <(tail -n 1 log)
}

@test "cache: it is made anew, in one line, where data, options or network are others" {
  nn-train -q --epochs=1 "${table[@]}" --missing=drop --cache=cache -o m
  # run again OPTION...: exactly one note, which names the file
  anew() {
    nn-train --epochs=1 "$@" --cache=cache -o m 2>said
    [ "$(grep -c '^nn-train: note: cache is of other data, or was made with other options; it is made anew$' said)" -eq 1 ]
    nn-train -v --epochs=1 "$@" --cache=cache -o m 2>said
    grep -q 'data are read from cache' said
  }
  anew "${table[@]}" --missing=mean
  touch -d '2001-01-01' t.csv
  anew "${table[@]}" --missing=mean
  echo '1,rome,1,1,1,no' >>t.csv
  anew "${table[@]}" --missing=mean
  anew "${table[@]}" --missing=mean --valid=v.csv
  touch -d '2001-01-02' v.csv
  anew "${table[@]}" --missing=mean --valid=v.csv
  anew "${table[@]}" --missing=mean --precision=f64
  # what does not change what is read does not
  nn-train -v --epochs=2 --batch=3 "${table[@]}" --missing=mean --precision=f64 --lr=0.1 --seed=3 --cache=cache -o m 2>said
  grep -q 'data are read from cache' said
}

@test "cache: one that is cut or damaged is never used, and made anew" {
  nn-train -q --epochs=2 "${table[@]}" --missing=drop --cache=cache -o plain
  cp cache whole
  size=$(stat -c %s whole)
  for at in 9 1000 $((size - 30)) $((size - 20)) $((size - 10)); do
    cp whole cache
    printf '\377\001\377' | dd of=cache bs=1 seek="$at" conv=notrunc 2>/dev/null
    nn-train --epochs=2 "${table[@]}" --missing=drop --cache=cache -o m 2>said
    grep -q '^nn-train: note: cache is damaged: .*; it is made anew$' said
    cmp plain m
    cmp whole cache
  done
  for cut in 8 20 500 $((size - 1)); do
    head -c "$cut" whole >cache
    nn-train --epochs=2 "${table[@]}" --missing=drop --cache=cache -o m 2>said
    grep -q '^nn-train: note: cache is damaged: .*; it is made anew$' said
    cmp plain m
    cmp whole cache
  done
}

@test "cache: a full disk costs the cache alone, and a file that is no cache stays" {
  # the model, which is small, still fits; memory of another device may be a file
  awk 'BEGIN { print "a,y"; for (i = 0; i < 20000; i++) print i "," i / 3 }' >big.csv
  run -0 --separate-stderr bash -c 'trap "" XFSZ; ulimit -f 40; exec "$@"' - \
    nn-train --device=cpu --epochs=1 -b 1000 -m 'dense ?' --target=y big.csv --cache=cache -o m
  [ "$(grep -c '^nn-train: warning: --cache: cache: .*; the training goes on without it$' <<<"$stderr")" -eq 1 ]
  [ ! -e cache ]
  [ -s m ]
  [ -z "$(find . -name '.cache*')" ]
  echo 'my notes' >notes
  run -1 --separate-stderr nn-train -q --epochs=1 "${table[@]}" --missing=drop --cache=notes -o m
  [ "$stderr" = "nn-train: --cache=notes: is no cache of data, and is not overwritten" ]
  [ "$(cat notes)" = 'my notes' ]
  mkfifo fifo
  run -1 --separate-stderr timeout 60 nn-train -q --epochs=1 "${table[@]}" --missing=drop --cache=fifo -o m
  [ "$stderr" = "nn-train: --cache=fifo: is no cache of data, and is not overwritten" ]
  run -2 --separate-stderr nn-train -q --epochs=1 "${table[@]}" --missing=drop --cache=- -o m
  [ "$stderr" = "nn-train: --cache=-: expected the name of a file" ]
  nn-train -q --epochs=1 "${table[@]}" --missing=drop --cache=data -o m
  run -1 --separate-stderr nn-predict m data
  [[ $stderr == "nn-predict: data: looks like a cache file, expected CSV or TSV, "* ]]
  run -1 --separate-stderr nn-predict data t.csv
  [ "$stderr" = "nn-predict: data: looks like a cache file, not a model" ]
  run -1 --separate-stderr nn-train -q --epochs=1 "${table[@]}" --missing=drop --cache=nowhere/cache -o m
  [[ $stderr == "nn-train: nowhere/cache: "* ]]
  run -2 --separate-stderr nn-train -q "${table[@]}" --cache=t.csv -o m
  [[ $stderr == "nn-train: "*t.csv* ]]
  run -1 --separate-stderr nn-train -q "${table[@]}" --cache=cache -o m
  [[ $stderr == "nn-train: t.csv:"* ]]
  [ "${#stderr_lines[@]}" -eq 1 ]
  [ ! -e cache ]
  run -2 --separate-stderr nn-train -q -m 'dense ?' --target=y - --cache=cache -o m <t.csv
  [[ $stderr == "nn-train: --cache=cache: keeps data of files, "* ]]
  mkfifo pipe
  run -1 --separate-stderr nn-train -q -m 'dense ?' --target=y pipe --cache=cache -o m
  [[ $stderr == "nn-train: pipe: is a pipe or a device, "* ]]
  run -0 --separate-stderr nn-train --epochs=1 -m 'embedding 4, gru 5, dense ?' --window=16 "$NN_SRC/COPYING" --cache=cache -o m
  [[ $stderr == *"note: --cache: a text is read as it lies; cache is not written"* ]]
  [ ! -e cache ]
}

@test "cache: a training that was stopped goes on from it, --explain and --selfcheck know it" {
  nn-train -q --epochs=4 "${table[@]}" --missing=drop --checkpoint=s1 -o plain
  nn-train -q --epochs=4 --steps=2 "${table[@]}" --missing=drop --checkpoint=s2 --cache=cache -o m
  nn-train -q --epochs=4 --resume "${table[@]}" --missing=drop --checkpoint=s2 --cache=cache -o m 2>said
  cmp plain m
  nn-train --explain "${table[@]}" --missing=drop --cache=cache >/dev/null
  nn-train -q --selfcheck "${table[@]}" --missing=drop --cache=cache >table
  run ! grep -q failed table
  rm cache
  nn-train -q --selfcheck "${table[@]}" --missing=drop --cache=cache >again
  cmp table again
  [ ! -e cache ]
}

@test "cache: ranks make it once and read it" {
  [ -z "$(lacking_ranks)" ] || skip "no ranks here"
  allow_ranks
  nn-train -q --epochs=2 --ranks=2 --threads=1 --leaves=4 "${table[@]}" --missing=drop -o plain
  nn-train --epochs=2 --ranks=2 --threads=1 --leaves=4 "${table[@]}" --missing=drop --cache=cache -o made 2>said
  [ "$(grep -c 'cache has the data now' said)" -eq 1 ]
  nn-train -v --epochs=2 --ranks=2 --threads=1 --leaves=4 "${table[@]}" --missing=drop --cache=cache -o again 2>said
  [ "$(grep -c 'data are read from cache' said)" -eq 1 ]
  cmp plain made
  cmp plain again
}
