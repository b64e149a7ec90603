#!/usr/bin/env bats
# nn-allreduce: several files in one process.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

# py CODE: Python with numpy as np
py() {
  "${NN_PYTHON:-python3}" -c "import numpy as np, sys
$1"
}

setup_file() {
  NUMPY=$("${NN_PYTHON:-python3}" -c 'import numpy; print("yes")' 2>/dev/null || true)
  export NUMPY
  [ -n "$NUMPY" ] || return 0
  cd "$BATS_FILE_TMPDIR" || return
  for s in 1 2 3; do
    nn-train -q -m 'dense 8, relu, dense ?' --target=digit --loss=cross-entropy --steps=3 --seed=$s \
      -o m$s.safetensors "$NN_SRC/share/data/digits.csv.gz"
  done
  py 'for i in range(5): np.save(f"g{i}.npy", np.random.default_rng(i).standard_normal((3, 70001)).astype(np.float32))'
}

setup() {
  [ -n "$NUMPY" ] || skip "no numpy"
  cd "$BATS_FILE_TMPDIR" || return
}

@test "allreduce: the mean of two files is numpy's, to stdout and to -o" {
  run -0 --separate-stderr nn-allreduce g0.npy g1.npy -o mean.npy
  [ -z "$output$stderr" ]
  nn-allreduce g0.npy g1.npy >stdout.npy
  cmp mean.npy stdout.npy
  py 'a, b, m = (np.load(f) for f in ("g0.npy", "g1.npy", "mean.npy")); assert m.dtype == a.dtype and ((a + b) / 2 == m).all()'
}

@test "allreduce: five files are added as ((a+b)+(c+d))+e" {
  nn-allreduce --op=sum g0.npy g1.npy g2.npy g3.npy g4.npy -o sum.npy
  py 'a, b, c, d, e = (np.load(f"g{i}.npy") for i in range(5)); assert (((a + b) + (c + d)) + e == np.load("sum.npy")).all()'
}

@test "allreduce: every op on every type of number is numpy's" {
  cat >x.py <<'P'
import numpy as np, sys
for t in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
    rng = np.random.default_rng(7)
    x = [(rng.integers(0, 4, (5, 7, 11)) if t[0] != "f" else rng.standard_normal((5, 7, 11))).astype(t) for _ in range(3)]
    if sys.argv[1] == "make":
        for i, a in enumerate(x): np.save(f"x{t}{i}.npy", a)
        continue
    wide = np.stack(x).astype("f8" if t[0] == "f" else "i8")
    for op in "sum mean min max prod".split():
        want, out = getattr(wide, op)(0), np.load(f"{t}{op}.npy")
        if t[0] != "f": want = np.trunc(want)
        near = {"f2": 2e-3, "f4": 1e-6}.get(t, 1e-14)      # three roundings of the type
        assert out.dtype == x[0].dtype and out.shape == (5, 7, 11)
        assert np.allclose(out.astype("f8"), want, rtol=near, atol=near), (t, op)
P
  "${NN_PYTHON:-python3}" x.py make
  for type in f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8; do
    for op in sum mean min max prod; do
      nn-allreduce --op=$op x${type}0.npy x${type}1.npy x${type}2.npy -o $type$op.npy
    done
  done
  "${NN_PYTHON:-python3}" x.py check
}

@test "allreduce: order of bytes and of dimensions, emptiness and scalars do no harm" {
  py '
a = np.arange(12, dtype="f4").reshape(3, 4)
np.save("c.npy", a); np.save("swapped.npy", a.astype(">f4")); np.save("columns.npy", np.asfortranarray(a))
np.save("empty.npy", np.zeros((0, 3), "f4")); np.save("scalar.npy", np.float64(2.5))'
  nn-allreduce --op=sum c.npy swapped.npy columns.npy -o out.npy
  py 'assert (np.load("out.npy") == 3 * np.load("c.npy")).all() and np.load("out.npy").dtype == np.dtype("f4")'
  nn-allreduce empty.npy empty.npy -o out.npy
  py 'assert np.load("out.npy").shape == (0, 3)'
  nn-allreduce --op=prod scalar.npy scalar.npy -o out.npy
  py 'assert np.load("out.npy") == 6.25 and np.load("out.npy").shape == ()'
}

@test "allreduce: one file is its own mean" {
  nn-allreduce g0.npy | cmp - g0.npy
  nn-allreduce m1.safetensors -o once.safetensors       # less its metrics
  nn-allreduce once.safetensors | cmp - once.safetensors
}

@test "allreduce: pipes and standard input give the bytes of files" {
  nn-allreduce g0.npy g1.npy -o files.npy
  nn-allreduce <(cat g0.npy) - <g1.npy | cmp - files.npy
  gzip -c g1.npy | nn-allreduce g0.npy - | cmp - files.npy
  nn-allreduce m1.safetensors m2.safetensors -o files.safetensors
  nn-allreduce <(cat m1.safetensors) - <m2.safetensors | cmp - files.safetensors
}

@test "allreduce: the output may be one of the inputs" {
  nn-allreduce g0.npy g1.npy -o other.npy
  cp g1.npy same.npy
  nn-allreduce g0.npy same.npy -o same.npy
  cmp same.npy other.npy
  cp m1.safetensors same.safetensors
  nn-allreduce same.safetensors m2.safetensors -o same.safetensors
  nn-allreduce m1.safetensors m2.safetensors | cmp - same.safetensors
}

@test "allreduce: models are averaged tensor by tensor and predict" {
  nn-allreduce m1.safetensors m2.safetensors m3.safetensors -o mean.safetensors
  py '
import json
def load(name):
    b = open(name, "rb").read(); n = int.from_bytes(b[:8], "little"); head = json.loads(b[8:8 + n])
    meta = head.pop("__metadata__")
    assert all(t["dtype"] == "F32" for t in head.values())
    return meta, {k: np.frombuffer(b[8 + n:][t["data_offsets"][0]:t["data_offsets"][1]], "<f4") for k, t in head.items()}
(meta, a), (_, b), (_, c), (mean_meta, m) = (load(f + ".safetensors") for f in ("m1", "m2", "m3", "mean"))
train, mean_train = (json.loads(d.pop("nn.train")) for d in (meta, mean_meta))
assert train.pop("metrics") and train == mean_train and meta == mean_meta and a.keys() == m.keys()
for k in a: assert (((a[k] + b[k]) + c[k]) / np.float32(3) == m[k]).all(), k'
  run -0 nn-predict --score mean.safetensors "$NN_SRC/share/data/digits.csv.gz"
  [ "${lines[0]}" = "samples 1797" ]
}

@test "allreduce: what disagrees is named with its file" {
  py '
np.save("f8.npy", np.zeros(3)); np.save("f4.npy", np.zeros(3, "f4")); np.save("long.npy", np.zeros(4)); np.save("bool.npy", np.zeros(3, bool))'
  nn-train -q -m 'dense 9, relu, dense ?' --target=digit --loss=cross-entropy --steps=1 -o other.safetensors "$NN_SRC/share/data/digits.csv.gz"
  nn-train -q -m 'dense 8, tanh, dense ?' --target=digit --loss=cross-entropy --steps=1 -o tanh.safetensors "$NN_SRC/share/data/digits.csv.gz"
  nn-train -q -m 'dense 8, relu, dense 4, dense ?' --target=digit --loss=cross-entropy --steps=1 -o more.safetensors "$NN_SRC/share/data/digits.csv.gz"
  echo kept >out
  refused() {
    run -1 --separate-stderr nn-allreduce "${@:2}" -o out
    [ "$stderr" = "nn-allreduce: $1" ]
    [ "$(cat out)" = kept ]
  }
  refused "f4.npy: found f32, expected f64 as in f8.npy" f8.npy f4.npy
  refused "long.npy: found shape 4, expected 3 as in f8.npy" f8.npy f8.npy long.npy
  refused "bool.npy: holds bool, expected numbers" bool.npy
  refused "m1.safetensors: is safetensors, f8.npy is .npy" f8.npy m1.safetensors
  refused 'other.safetensors: tensor "0.bias": found shape 9, expected 8 as in m1.safetensors' m1.safetensors other.safetensors
  refused "tanh.safetensors: nn.model is another network than in m1.safetensors" m1.safetensors tanh.safetensors
  refused 'm1.safetensors: tensor "3.bias" of more.safetensors is missing' more.safetensors m1.safetensors
  refused 'more.safetensors: tensor "3.bias" is not in m1.safetensors' m1.safetensors more.safetensors
  refused "none.npy: cannot open: No such file or directory" f8.npy none.npy
  refused "/dev/null: is empty, expected .npy, .npz or safetensors" /dev/null
  echo hello >text
  refused "text: looks like text, expected .npy, .npz or safetensors" text
}

@test "allreduce: models that read their columns or name their answers in other ways have no mean" {
  train() {        # NAME TABLE [OPTION]...
    printf '%b' "$2" >table.csv
    nn-train -q -m 'dense 2, relu, dense 2' --target=y --loss=cross-entropy --steps=1 -o "$1.safetensors" "${@:3}" table.csv
  }
  rewrite() {      # FROM TO CODE: m is the metadata
    "${NN_PYTHON:-python3}" -c '
import json, sys
b = open(sys.argv[1], "rb").read(); n = int.from_bytes(b[:8], "little"); head = json.loads(b[8:8 + n]); m = head["__metadata__"]
exec(sys.argv[3])
h = json.dumps(head).encode(); h += b" " * (-len(h) % 8); open(sys.argv[2], "wb").write(len(h).to_bytes(8, "little") + h + b[8 + n:])' "$@"
  }
  train first 'age,sex,y\n1,m,no\n3,f,yes\n'
  train scale 'age,sex,y\n1,m,no\n2,f,yes\n'
  train category 'age,sex,y\n1,m,no\n3,e,yes\n'
  train label 'age,sex,y\n1,m,no\n3,f,oui\n'
  train name 'years,sex,y\n1,m,no\n3,f,yes\n'
  train fill 'age,sex,y\n1,m,no\n3,f,yes\n' --missing=mean
  rewrite first.safetensors bare.safetensors 'del m["nn.target"]'
  rewrite first.safetensors text.safetensors 'm["nn.input"] = "{"'
  rewrite first.safetensors train.safetensors 'm["nn.train"] = "{\"a\":1"'
  rewrite first.safetensors list.safetensors 'm["nn.train"] = "[1]"'
  rewrite first.safetensors spaced.safetensors 'm["nn.input"] = json.dumps(json.loads(m["nn.input"]), indent=1)'
  rewrite first.safetensors nested.safetensors 'm["nn.train"] = """{ "metrics" : {"a}":[1,{"b":"\\"}"}]},"seed":18446744073709551615, "metricsx":"},"}"""'
  echo kept >out
  refused() {
    run -1 --separate-stderr nn-allreduce "first.safetensors" "$1.safetensors" -o out
    [ "$stderr" = "nn-allreduce: $1.safetensors: $2" ]
    [ "$(cat out)" = kept ]
  }
  refused scale 'nn.input: columns "age": mean: found 1.5, expected 2 as in first.safetensors'
  refused category 'nn.input: columns "sex": values[0]: found "e", expected "f" as in first.safetensors'
  refused label 'nn.target: labels[1]: found "oui", expected "yes" as in first.safetensors'
  refused name 'nn.input: columns[0]: name: found "years", expected "age" as in first.safetensors'
  refused fill 'nn.input: columns "age": missing: found 2, expected nothing as in first.safetensors'
  refused bare 'has no nn.target, first.safetensors has one'
  refused text "nn.input: JSON, byte 2: found the end of the text, expected a key or }"
  for train in train list; do
    run -1 --separate-stderr nn-allreduce $train.safetensors first.safetensors -o out
    [ "$stderr" = "nn-allreduce: $train.safetensors: nn.train: expected an object of JSON" ]
  done
  [ "$(cat out)" = kept ]
  nn-allreduce nested.safetensors spaced.safetensors | head -c 2000 | grep -aqF '"nn.train":"{\"seed\":18446744073709551615,\"metricsx\":\"},\"}"'
}

@test "allreduce: a file that ends early or goes on is an error, from a pipe too" {
  head -c 1000 g0.npy >cut.npy
  (cat g0.npy; echo more) >long.npy
  run -1 --separate-stderr nn-allreduce cut.npy g0.npy -o out.npy
  [[ $stderr == "nn-allreduce: cut.npy: ends early: "* ]]
  run -1 --separate-stderr nn-allreduce g0.npy - -o out.npy < <(cat cut.npy)
  [ "$stderr" = "nn-allreduce: -: the array ends early: expected 262144 bytes, found 872" ]
  run -1 --separate-stderr nn-allreduce g0.npy long.npy -o out.npy
  [ "$stderr" = "nn-allreduce: long.npy: other bytes follow the array" ]
}

@test "allreduce: NaN wins in every op and is counted" {
  py '
a = np.ones((2, 3), "f4"); a[1, 2] = np.nan; np.save("nan.npy", a); np.save("one.npy", np.ones((2, 3), "f4"))
for t in ("f2", "f8"): np.save(f"nan{t}.npy", a.astype(t)); np.save(f"one{t}.npy", np.ones((2, 3), t))'
  n=0
  for t in '' f2 f8; do
    for op in mean sum min max prod; do
      for files in "nan$t.npy one$t.npy" "one$t.npy nan$t.npy"; do
        # shellcheck disable=SC2086 # two words
        run -0 --separate-stderr nn-allreduce --op=$op $files -o "won.$((n++)).npy"
        [ "$stderr" = "nn-allreduce: warning: 1 of 6 values of the result is NaN" ]
      done
    done
  done
  py '
for i in range(30):
    a = np.load(f"won.{i}.npy"); assert np.isnan(a[1, 2]) and np.isnan(a).sum() == 1'
  run -0 --separate-stderr nn-allreduce -q nan.npy one.npy -o out.npy
  [ -z "$stderr" ]
}

@test "allreduce: a whole number that does not fit is an error that names its place; a mean always fits" {
  py 'a = np.zeros((3, 4), "i1"); a[1, 2] = 100; np.save("a.npy", a); np.save("minus.npy", -a)'
  echo kept >out
  run -1 --separate-stderr nn-allreduce --op=sum a.npy a.npy -o out
  [ "$stderr" = "nn-allreduce: --op=sum: value [1,2] does not fit into i8; use --op=mean or files of a wider type" ]
  [ "$(cat out)" = kept ]
  run -1 nn-allreduce --op=prod a.npy a.npy -o out
  nn-allreduce a.npy a.npy -o mean.npy
  cmp mean.npy a.npy
  # what fits in the end fits
  nn-allreduce --op=sum a.npy a.npy minus.npy -o sum.npy
  cmp sum.npy a.npy
  py 'np.save("big.npy", np.full(5, 2**63 - 1)); np.save("least.npy", np.full(5, -2**63))'
  nn-allreduce big.npy big.npy big.npy -o out.npy
  cmp out.npy big.npy
  nn-allreduce big.npy least.npy -o out.npy
  py 'assert (np.load("out.npy") == 0).all()'       # -1 / 2, toward zero
}

@test "allreduce: no FILE, a terminal, an unknown op" {
  run -2 --separate-stderr nn-allreduce
  [ "$stderr" = "nn-allreduce: no FILE given; see nn-allreduce --help" ]
  run -2 --separate-stderr nn-allreduce --op=men g0.npy
  [ "$stderr" = "nn-allreduce: --op=men: expected one of mean, sum, min, max, prod; did you mean mean?" ]
  command -v script >/dev/null || skip "no script(1)"
  run -2 script -qec "nn-allreduce g0.npy" /dev/null
  [[ $output == *"nn-allreduce: stdout: is a terminal; name a file with -o"* ]]
}

@test "allreduce: when the reader of stdout leaves it ends with 141, silently" {
  run -141 bash -c "trap '' PIPE; (nn-allreduce g0.npy g1.npy 2>err) | true; exit \${PIPESTATUS[0]}"
  [ ! -s err ]
}

@test "nn-allreduce(1): every example runs" {
  examples() {
    sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$NN_SRC/man/nn-allreduce.1.in" | sed -n '/^\.RS$/,/^\.RE$/p' | grep -v '^\.' |
      sed 's/\\e/\\/g; s/\\-/-/g'
  }
  cd "$BATS_TEST_TMPDIR" || return
  cp -r "$NN_SRC/share/data/digits.csv.gz" "$NN_SRC/share/examples/actor-critic" .
  chmod -R u+w actor-critic # of a source that only lets itself be read
  [ "$(examples | wc -l)" -ge 5 ]
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 XDG_CACHE_HOME=$BATS_TEST_TMPDIR
  export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"      # Open MPI's
  while read -r line; do
    [[ $line != *--ranks* && $line != *critic.sh\ -n* ]] || [ -e "$NN_BUILD/lib/nn-mpi.so" ] || continue
    bash -eo pipefail -c "$line" </dev/null >out 2>err || { echo "$line"; cat err; false; }
  done < <(examples)
}
