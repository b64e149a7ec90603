#!/usr/bin/env bats
# Arrays that take more memory than they may: their rows stay in files, to the same bytes.
# shellcheck disable=SC2154,SC2164
bats_require_minimum_version 1.5.0

setup_file() {
  command -v python3 >/dev/null || return 0
  cd "$BATS_FILE_TMPDIR"
  python3 "$NN_SRC/tests/cli/arrays.py"
}

setup() {
  command -v python3 >/dev/null || skip "python3 is not installed"
  cd "$BATS_FILE_TMPDIR"
}

# same OPTION... DATA: in memory, and with batches that are read ahead or on the spot
same() {
  nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 8 --epochs=3 "$@" -o all
  local memory
  for memory in 2K 600; do
    nn-train -v -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 8 --epochs=3 "$@" --input-memory=$memory -o some 2>said
    grep -qE '^nn-train: note: input: (read: |.* of samples that are read in them)' said
    cmp all some
  done
}

@test "arrays: those that do not fit give the bytes of those that do, of any type and order" {
  for x in xf4 xf8 xf4b xf8b i8 u1 f fb rows nan; do
    [ $x = nan ] && set -- --missing=drop || set --
    same "$@" $x.npy y.npy
  done
  same x.idx y.npy
  same xf8.npy y.npy --precision=f64
  same -m 'conv2d 4 2x2, relu, flatten, dense ?' fb.npy y.npy
  same -m 'embedding 3, flatten, dense ?' i8.npy y.npy
  same xf8.npy y.npy --threads=3 --shuffle=no
}

@test "arrays: compressed and from a pipe they are kept in TMPDIR, and nothing is left there" {
  mkdir -p tmp
  export TMPDIR=$PWD/tmp
  for x in xf4 f xf8b; do
    for tool in gzip xz zstd; do
      command -v $tool >/dev/null || continue
      $tool -kf $x.npy
      for f in $x.npy.*z*; do
        nn-train -q --epochs=1 -m 'dense ?' --loss=cross-entropy $f y.npy -o all 2>error || { grep -q 'is not installed' error && continue; }
        same $f y.npy
      done
      rm $x.npy.*z*
    done
    nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 8 --epochs=3 $x.npy y.npy -o all
    cat $x.npy | nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 8 --epochs=3 --input-memory=2K - y.npy -o some
    cmp all some
  done
  [ -z "$(ls tmp)" ]
  export TMPDIR=$PWD/nowhere
  run -1 --separate-stderr nn-train -q -m 'dense ?' --loss=cross-entropy --input-memory=2K - y.npy -o m < <(cat xf4.npy)
  [[ $stderr == "nn-train: $PWD/nowhere/nn-rows."*": cannot keep rows there: No such file or directory" ]]
}

@test "arrays: missing values, scales and held-out rows do not depend on the memory" {
  for x in nan nanf; do
    same $x.npy y.npy --missing=drop
    same $x.npy y.npy --missing=mean --normalize=standard
    same $x.npy y.npy --missing=mean --valid=0.25
  done
  grep -q 'nan' <(nn-train -v --epochs=1 -m 'dense ?' --loss=cross-entropy nan.npy y.npy --missing=drop --input-memory=2K -o m 2>&1)
  same xf8.npy y.npy --normalize=minmax --valid=v.npy,vy.npy
  same u1.npy y.npy --normalize=0.5
  nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy --folds=3 -b 8 --epochs=2 xf8.npy y.npy >all
  nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy --folds=3 -b 8 --epochs=2 xf8.npy y.npy --input-memory=2K >some
  cmp all some
  # held-out rows stay, too, where those of the training fit
  nn-train -q -m 'dense ?' --loss=cross-entropy --epochs=2 v.npy vy.npy --valid=xf4.npy,y.npy -o all --log=all.log
  nn-train -q -m 'dense ?' --loss=cross-entropy --epochs=2 v.npy vy.npy --valid=xf4.npy,y.npy -o some --log=some.log --input-memory=1K
  cmp all some
  [ "$(grep -o '"valid_loss":[0-9.e-]*' all.log)" = "$(grep -o '"valid_loss":[0-9.e-]*' some.log)" ]
  grep -q '"valid_loss"' some.log
}

@test "arrays: named ones, in .npz and safetensors, stay in their files, in training and in prediction" {
  local name hash
  mkdir -p kept
  for name in s4.npz s8.npz s4.safetensors u1.npz d4.npz d8.npz f4.npz b4.npz fb.npz df4.npz db4.npz dfb.npz; do
    nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 1000 --epochs=2 $name -o all --log=all.log
    nn-train -v -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 1000 --epochs=2 $name -o some --log=some.log --input-memory=200K 2>said
    grep -q '^nn-train: note: input: read: ' said
    cmp all some
    # of what goes by the digest is the same
    hash=$(grep -o '"data_sha256":"[0-9a-f]*"' all.log)
    [ -n "$hash" ]
    [ "$hash" = "$(grep -o '"data_sha256":"[0-9a-f]*"' some.log)" ]
  done
  # where TMPDIR has no room those that are turned or were inflated are read
  for name in f4.npz d4.npz dfb.npz; do
    nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 1000 --epochs=2 $name -o all
    TMPDIR=$PWD/nowhere nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 1000 --epochs=2 $name -o some --input-memory=200K
    cmp all some
  done
  # a file that is smaller than what it holds is measured by that
  [ "$(stat -c %s d4.npz)" -lt 1500000 ]
  TMPDIR=$PWD/kept nn-train -v -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 1000 --epochs=2 d4.npz -o some --input-memory=1500K 2>said
  grep -q '^nn-train: note: input: read: ' said
  cmp all some
  [ -z "$(ls kept)" ]
  nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 1000 --epochs=2 s4.npz --valid=s4.safetensors -o all
  nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 1000 --epochs=2 s4.npz --valid=s4.safetensors -o some --input-memory=200K
  cmp all some
  TMPDIR=$PWD/nowhere nn-predict all d4.npz >all.csv # which is read whole
  nn-predict all d4.npz | cmp all.csv -
  nn-predict all s4.npz | cmp all.csv -
  nn-predict all s4.safetensors | cmp all.csv -
  nn-predict all - <s4.npz | cmp all.csv -
  for name in f4 b4 df4 db4; do nn-predict all $name.npz | cmp all.csv -; done
  nn-predict all --score s4.npz >score
  nn-predict all --score d4.npz | cmp score -
}

# several inputs, of which `c` is too small to stay
several=$'a: input 12\nwide: dense 5\nb: input 9\nfew: dense 3\nc: input 1\nconcat from=wide+few+c\nrelu\ndense ?'

# stay OPTION... DATA: several inputs in memory, read ahead, and on the spot
stay() {
  nn-train -q -m "$several" --loss=cross-entropy -b 1000 --epochs=2 "$@" -o all --log=all.log
  local memory
  for memory in 300K 20K; do
    nn-train -v -m "$several" --loss=cross-entropy -b 1000 --epochs=2 "$@" -o some --log=some.log --input-memory=$memory 2>said
    [ $memory = 20K ] || grep -q '^nn-train: note: input: read: ' said
    cmp all some
    [ "$(grep -o '"data_sha256":"[0-9a-f]*"' all.log)" = "$(grep -o '"data_sha256":"[0-9a-f]*"' some.log)" ]
  done
}

@test "arrays: those of several inputs stay in their files, in training and in prediction" {
  local name
  for name in several.npz dseveral.npz fseveral.npz several.safetensors; do
    stay $name
    [[ $name == [df]* ]] || stay $name --normalize=standard --valid=0.25 --threads=3
    nn-predict all $name >all.csv
    gzip -c $name | nn-predict all - | cmp all.csv - # which are in memory
    nn-predict all --score $name >score
    gzip -c $name | nn-predict all --score - | cmp score -
    [ -s score ]
  done
  stay gaps.npz --missing=drop
  grep -q '3 of 36000 rows miss a value' said
  stay gaps.npz --missing=mean --normalize=minmax
  stay several.npz --valid=several.safetensors --precision=f64
  nn-train -q -m "$several" --loss=cross-entropy -b 1000 --folds=3 --epochs=1 several.npz >all
  nn-train -q -m "$several" --loss=cross-entropy -b 1000 --folds=3 --epochs=1 several.npz --input-memory=200K >some
  cmp all some
  # an embedding's numbers of categories are counted where they lie
  nn-train -q -m $'a: input 12\nwide: dense 5\nb: input 9\nembedding 2\nfew: flatten\nconcat from=wide+few\ndense ?' several.npz -b 1000 --epochs=1 -o all
  nn-train -q -m $'a: input 12\nwide: dense 5\nb: input 9\nembedding 2\nfew: flatten\nconcat from=wide+few\ndense ?' several.npz -b 1000 --epochs=1 -o some --input-memory=200K
  cmp all some
}

@test "arrays: rows of several inputs stay in a cache, too" {
  nn-train -q -m "$several" --loss=cross-entropy -b 1000 --epochs=2 gaps.npz --missing=mean --valid=0.25 -o all
  for _ in made read; do
    nn-train -v -m "$several" --loss=cross-entropy -b 1000 --epochs=2 gaps.npz --missing=mean --valid=0.25 --cache=cache --input-memory=300K -o some 2>said
    grep -q '^nn-train: note: input: read: ' said
    cmp all some
  done
  rm cache
}

@test "arrays: ranks read rows of several inputs" {
  nn-train -q -m "$several" --loss=cross-entropy -b 1000 --epochs=2 several.npz -o some --input-memory=200K --ranks=2 --threads=1 --leaves=4 || skip "no ranks here"
  nn-train -q -m "$several" --loss=cross-entropy -b 1000 --epochs=2 several.npz -o all --leaves=4
  cmp all some
}

@test "arrays: targets that do not fit stay in a file, to the same bytes, as classes of places and as numbers" {
  local places=(-m 'input 1x3x4, conv2d 4 1x1, relu, conv2d ? 1x1') y
  mkdir -p tmp
  export TMPDIR=$PWD/tmp
  for y in ti8 ti4b ti1 tu1 tf; do same "${places[@]}" xf8.npy $y.npy; done
  same "${places[@]}" u1.npy tu1.npy --valid=0.25 --augment=flip
  same "${places[@]}" xf4.npy ti8.npy --valid=xf8.npy,ti8.npy --precision=f64
  gzip -kf ti8.npy
  if nn-train -q "${places[@]}" --steps=1 xf4.npy ti8.npy.gz -o m 2>/dev/null; then same "${places[@]}" xf4.npy ti8.npy.gz; fi
  nn-train -q "${places[@]}" xf4.npy ti8.npy --epochs=1 -o all
  cat ti8.npy | nn-train -q "${places[@]}" xf4.npy - --epochs=1 --input-memory=2K -o some
  cmp all some
  same -m 'input 1x3x4, conv2d 1 1x1' --loss=mse xf8.npy tu1.npy # bytes of pictures
  same -m 'dense 12' --loss=mse xf8.npy n.npy --normalize=standard --valid=0.25
  same -m 'dense 12' --loss=mse nan.npy holes.npy --missing=drop
  grep -q '5 of 180 rows miss a value and are left out' said
  same -m 'dense 12' xf8.npy shares.npy
  # as of named arrays, in a cache that is made of them, and with ranks
  for y in places.npz dplaces.npz; do
    nn-train -q "${places[@]}" --loss=cross-entropy -b 1000 --epochs=1 $y -o all
    nn-train -q "${places[@]}" --loss=cross-entropy -b 1000 --epochs=1 $y -o some --input-memory=1M
    cmp all some
    nn-train -q "${places[@]}" --loss=cross-entropy -b 1000 --epochs=1 $y -o some --input-memory=1M --cache=store
    cmp all some
    nn-train -q "${places[@]}" --loss=cross-entropy -b 1000 --epochs=1 $y -o some --cache=store
    cmp all some
    nn-train -v "${places[@]}" --loss=cross-entropy -b 1000 --epochs=1 $y -o some --input-memory=1M --cache=store 2>said
    grep -q 'data are read from store' said
    cmp all some
    python3 -c 'import json, struct
with open("store", "r+b") as file:
    file.seek(-24, 2)
    length = struct.unpack("<Q", file.read(8))[0]
    file.seek(-24 - length, 2)
    file.seek(json.loads(file.read(length))["data"]["targets"][0]["section"]["at"] + 4000)
    file.write(b"\0\0\0\1")'
    nn-train -v "${places[@]}" --loss=cross-entropy -b 1000 --epochs=1 $y -o some --input-memory=1M --cache=store 2>said
    grep -q 'store is damaged: a class is none' said
    cmp all some
    nn-predict all --score $y | grep -q '^accuracy'
    rm store
  done
  # two of them; and where the input is in memory
  y=$'input 1x3x4\nh: conv2d 4 1x1\nat: conv2d ? 1x1 output\nflatten from=h\nsums: dense 12 output'
  nn-train -q -m "$y" -b 1000 --epochs=1 two.npz -o all
  nn-train -q -m "$y" -b 1000 --epochs=1 two.npz -o some --input-memory=1M
  cmp all some
  same -m 'dense 12' --loss=mse narrow.npy n.npy
  [ -z "$(ls tmp)" ]
}

@test "arrays: what is wrong with one is said in the same words" {
  local data
  for data in nan.npy nanf.npy inf.npy large.npy short.npy long.npy nan.npz text.npz crc.npz cut.npz dnan.npz dtext.npz dcrc.npz nan.safetensors "inf.npy y.npy --missing=drop" "xf4.npy y.npy -m m.nn" "xf4.npy vy.npy" \
    "xf4.npy inf.npy --loss=mse" "xf4.npy short.npy --loss=mse" "xf4.npy long.npy --loss=mse" "xf4.npy noshares.npy" "nany.npz --loss=mse" "xf4.npy ti8.npy --classes=two"; do
    set -- $data
    [[ $# -gt 1 || $1 != *.npy ]] || set -- "$1" y.npy
    printf 'embedding 3, flatten, dense ?' | tr , '\n' >m.nn
    printf '0\n1\n' >two
    run -1 --separate-stderr nn-train -q -m 'dense ?' --loss=cross-entropy "$@" -o m
    whole=$stderr
    run -1 --separate-stderr nn-train -q -m 'dense ?' --loss=cross-entropy "$@" --input-memory=1K -o m
    [ "$stderr" = "$whole" ] || { echo "$whole"; echo "$stderr"; false; }
    [ "${#stderr_lines[@]}" -eq 1 ]
  done
  gzip -c xf4.npy | head -c 2000 >cut.npy.gz
  run -1 --separate-stderr nn-train -q -m 'dense ?' --loss=cross-entropy cut.npy.gz y.npy --input-memory=1K -o m
  [ "$stderr" = "nn-train: cut.npy.gz: the gzip data end early" ]
}

@test "arrays: one that is cut while it is read ends the training once, with its name" {
  cp xf4.npy cut.npy
  nn-train -q -m 'dense ?' --loss=cross-entropy -b 8 --time-limit=60 --input-memory=2K --log=cut.log cut.npy y.npy -o m 2>error 3>&- &
  local i=0 status=0
  until grep -qs '"event":"step"' cut.log || [ $((i += 1)) -gt 300 ]; do sleep 0.05; done
  truncate -s 1000 cut.npy
  wait $! || status=$?
  [ $status -eq 1 ]
  cat error
  # whatever comes first: a row, or the end of an epoch that looks at the file
  grep -qxE 'nn-train: cut.npy: (was cut while it was read|changed while training)' error
  [ "$(wc -l <error)" -eq 1 ]
}

@test "arrays: a training that was stopped goes on with more memory or less" {
  nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 8 --epochs=3 xf8.npy y.npy --checkpoint=state -o all
  nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 8 --epochs=3 xf8.npy y.npy --checkpoint=part --steps=14 -o some
  nn-train -q -m 'dense 8, relu, dense ?' --loss=cross-entropy -b 8 --epochs=3 xf8.npy y.npy --checkpoint=part --resume --input-memory=2K -o some 2>error
  cmp all some
}

@test "arrays: 32 MiB are trained on in less than half of that, as --explain says" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=* ]] || skip "the sanitizer takes memory of its own"
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  set -- -m 'dense ?' --loss=cross-entropy --epochs=1 -b 1024 --input-memory=4M
  for data in big.npy big.npy.gz; do
    [ -e $data ] || gzip -1 -k big.npy
    nn-train -q "$@" $data bigy.npy -o some --log=log
    jq -c 'select(.event=="end").predicted.peak_bytes' log
    jq -e -s 'map(select(.event=="end"))[0].predicted.peak_bytes|.measured < 16777216 and (.predicted-.measured|fabs) < 3145728' log
    nn-train "$@" --explain=json $data bigy.npy >plan
    jq -e --argjson taken "$(jq 'select(.event=="end").predicted.peak_bytes.measured' log)" '.memory.total-$taken|fabs < 4194304' plan
  done
  nn-train -q -m 'dense ?' --loss=cross-entropy --epochs=1 -b 1024 big.npy bigy.npy -o all
  cmp all some
  # 32 MiB of columns of the other order of bytes, deflated
  nn-train -q "$@" bigf.npz -o some --log=log
  jq -es 'map(select(.event == "end"))[0].predicted.peak_bytes.measured < 25165824' log
  rm big.npy.gz
}

@test "arrays: two inputs of 16 MiB are trained on and predicted of in less than half of that" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=* ]] || skip "the sanitizer takes memory of its own"
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  local both=$'a: input 64\none: dense 2\nb: input 64\ntwo: dense 2\nadd from=one+two\ndense ?' peak
  set -- -m "$both" --loss=cross-entropy --epochs=1 -b 1024
  nn-train -q "$@" --input-memory=3M bigs.npz -o some --log=log
  peak='select(.event == "end").predicted.peak_bytes'
  jq -c "$peak" log
  jq -es 'map(select(.event == "end"))[0].predicted.peak_bytes | .measured < 16777216 and (.predicted - .measured | fabs) < 3145728' log
  nn-train "$@" --explain=json --input-memory=3M bigs.npz >plan
  jq -e --argjson taken "$(jq "$peak.measured" log)" '.memory.total - $taken | fabs < 4194304' plan
  nn-train -q "$@" bigs.npz -o all
  cmp all some
  # which would not do for what lies in memory
  ( ulimit -d 24000; nn-predict --batch=1024 -t 1 all bigs.npz ) >some.csv
  gzip -1c bigs.npz | nn-predict all - | cmp - some.csv
}

@test "arrays: 32 MiB and targets of 32 MiB are trained on in a quarter of that, as --explain says" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=* ]] || skip "the sanitizer takes memory of its own"
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  set -- -m 'input 1x8x8, conv2d ? 1x1' --loss=cross-entropy --steps=20 -b 512 --input-memory=4M
  nn-train -q "$@" big.npy bigt.npy -o some --log=log
  jq -c 'select(.event == "end").predicted.peak_bytes' log
  jq -es 'map(select(.event == "end"))[0].predicted.peak_bytes | .measured < 16777216 and (.predicted - .measured | fabs) < 4194304' log
  nn-train "$@" --explain=json big.npy bigt.npy >plan
  jq -e --argjson taken "$(jq 'select(.event == "end").predicted.peak_bytes.measured' log)" '.memory.total - $taken | fabs < 4194304' plan
  nn-train -q "${@:1:6}" big.npy bigt.npy -o all --steps=20
  cmp all some
}
