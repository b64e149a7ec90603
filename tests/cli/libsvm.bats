#!/usr/bin/env bats
# LIBSVM: "label index:value ...", rows of what is not 0; trained on and predicted as the array that they stand for.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

# The same rows as LIBSVM from 1 (with comments, +1 and 1.0 as labels), from 0, and as arrays.
setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  "${PYTHON:-python3}" - <<'PYTHON'
import struct
rows = [[(i * j % 7) / 4 if (i + j) % 3 else 0.0 for j in range(1, 7)] for i in range(150)]
labels = [1 if sum(r) > 4 else -1 for r in rows]

def put(name, kind, shape, data):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)

for name, least in ("one.svm", 1), ("zero.svm", 0):
    with open(name, "w") as f:
        for i, (row, y) in enumerate(zip(rows, labels)):
            words = ["%d:%r" % (j + least, v) for j, v in enumerate(row) if v]
            f.write(("+1" if y > 0 else "-1.0" if i % 5 == 1 else "-1") + " " + "  ".join(words) + (" # said 9:9\r" if i % 4 == 1 else "") + "\n")
put("x.npy", "<f4", (150, 6), b"".join(struct.pack("<6f", *r) for r in rows))
put("y.npy", "<i8", (150,), struct.pack("<150q", *labels))
PYTHON
}

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  data=$BATS_FILE_TMPDIR
}

train() {
  nn-train -q -m 'dense 6, relu, dense ?' --loss=cross-entropy --epochs=2 "$@"
}

@test "libsvm: trains and predicts as the array of the same rows, byte for byte; indices from 0 are kept in the model" {
  train -o want "$data/x.npy" "$data/y.npy"
  train -o m "$data/one.svm"
  same m want
  train --valid="$data/one.svm" -o held - <"$data/one.svm"
  train --zero-based -o zero "$data/zero.svm"
  [[ $(metadata zero nn.input) == *'"index_base":0'* ]]
  nn-predict m --to=csv "$data/x.npy" >want
  head -n 1 want | grep -qx 'p.-1,p.1'
  nn-predict m "$data/one.svm" | cmp - want
  nn-predict m --zero-based - <"$data/zero.svm" | cmp - want
  nn-predict zero "$data/zero.svm" | cmp - want
  grep ' .*:.*:' "$data/one.svm" >values.svm
  cut -d' ' -f2- values.svm | nn-predict m | cmp - <(nn-predict m values.svm)
  cmp <(nn-predict m --score "$data/one.svm") <(nn-predict m --score="$data/y.npy" "$data/x.npy")
  cmp <(nn-predict m --score="$data/one.svm" "$data/x.npy") <(nn-predict m --score="$data/y.npy" "$data/x.npy")
  # --normalize measures it as an array
  train --normalize=standard -o m "$data/one.svm"
  train --normalize=standard "$data/x.npy" "$data/y.npy" | cmp - m
  # an input line may be wider than the largest index
  nn-train -q -m 'input 9, dense ?' --loss=mse --epochs=1 -o wide "$data/one.svm"
  nn-predict wide <<<'0 9:1' >/dev/null
}

@test "libsvm: through a pipe a row in gives a row out, and bad ones are one line that says where" {
  train -o m "$data/one.svm"
  mkfifo in out
  nn-predict m --to-header=no --on-error=mark <in >out 2>err 3>&- &
  exec 7>in 8<out
  for row in '1 1:0.5 2:1' '1 2:1 1:2' '1'; do
    echo "$row" >&7
    read -t 20 -r answer <&8
    echo "$answer" >>answers
  done
  exec 7>&- 8<&-
  wait
  [ "$(sed '2q;d' answers)" = , ] && [[ $(sed 1q answers) == 0.* && $(tail -n 1 answers) == 0.* ]]
  says() {
    run -1 --separate-stderr nn-predict m <<<$'1 1:1\n'"$2"
    [ "$stderr" = "nn-predict: -:2: $1" ] || { echo "$stderr"; return 1; }
  }
  run -1 --separate-stderr nn-predict --keep=id m "$data/one.svm"
  [[ $stderr == *'one.svm is no table, it has no columns' ]]
  says 'found "0:1", expected indices from 1; --zero-based counts from 0' '1 0:1'
  says 'found "2:1", expected an index above 3, which came before' '1 3:1 2:1'
  says 'found "3:1", expected an index above 3, which came before' '1 3:1 3:1'
  says 'found "1000000000000000000:1", expected an index of at most 6' '1 1000000000000000000:1'
  says 'found "99999999999999999999:1", expected index:value' '1 99999999999999999999:1'
  says 'found "up", expected a label, which is a number' 'up 1:1'
  says 'found "1:nan", expected index:value' '1 1:nan'
  says 'found "1:1e39", expected a value that f32 can hold' '1 1:1e39'
  says 'found "qid:3", expected index:value' '1 qid:3 1:1'
}

@test "libsvm: training names what it cannot read, and rows that no memory holds" {
  run -2 --separate-stderr nn-train -q -m 'dense ?' --epochs=1 -o m "$data/one.svm"
  [[ $stderr == *'the integers of the target could be classes or numbers'* ]]
  printf '1 1:1\n1 1000001:1\n' >far.svm
  run -1 --separate-stderr train -o m far.svm
  [ "$stderr" = 'nn-train: far.svm:2: found "1000001:1", expected an index of at most 1000000' ]
  printf '1 1:1\n2:2 3:1\n' >bare.svm
  run -1 --separate-stderr train -o m bare.svm
  [ "$stderr" = 'nn-train: bare.svm:2: has no label in front of index:value' ]
  { printf '1 1000000:1\n'; yes '1 1:1' | head -n 3000000; } >large.svm
  run -4 --separate-stderr train -o m large.svm
  [[ ${stderr_lines[0]} == 'nn-train: large.svm: 3000001 rows of 1000000 values take more memory than there is '* ]]
  [ ! -e m ]
}

@test "libsvm: lines of comments alone are passed over, at the top and in between, as scikit-learn writes them" {
  (printf '# Generated by dump_svmlight_file from scikit-learn 1.2.1\r\n# Column indices are one-based\n#\n# hello: 1:2\n\n'
    sed '2i# of the first row' "$data/one.svm"
    printf '\t# the end') >c.svm
  train -o want "$data/one.svm"
  train -o m c.svm
  same m want
  nn-predict m "$data/one.svm" >want
  nn-predict m c.svm | cmp - want
  nn-predict --on-error=mark m - <c.svm | cmp - want
  cmp <(nn-predict m --score c.svm) <(nn-predict m --score "$data/one.svm")
  # comments that come slowly, and more of them than the table is told by
  (printf '# a'; sleep 0.2; printf ' b\n# c\n'; sleep 0.2; printf '1 1:'; sleep 0.2; echo 0.5) | nn-predict m - | wc -l | grep -x 2
  (yes '# filler' | head -3000; cat "$data/one.svm") | nn-predict m - | cmp - want
  # a header of CSV may begin with #
  printf '#a,b\n1,2.5\n2,3.5\n' >d.csv
  nn-train -q -m 'dense ?' --target=b --steps=1 -o d.st d.csv
  nn-predict d.st d.csv | wc -l | grep -x 3
}
