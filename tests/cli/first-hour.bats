#!/usr/bin/env bats
# nntools(7): every command of FIRST HOUR runs, one after the other, in one directory.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

commands() {
  sed -n '/^\.SH FIRST HOUR/,/^\.SH RULES/p' "$NN_SRC/man/nntools.7" | sed -n '/^\.RS$/,/^\.RE$/p' | grep -v '^\.' | sed 's/\\e/\\/g'
}

# The data sets where packages of Python carry them, else rows of the same columns that say little.
tables() {
  "${PYTHON:-python3}" - <<'P'
import random
random.seed(1)
try:
    import sklearn.datasets
    iris = sklearn.datasets.load_iris()
    rows = [(*x, iris.target_names[y]) for x, y in zip(iris.data, iris.target)]
except ImportError:
    kinds = ("setosa", "versicolor", "virginica")
    rows = [(5 + i % 3 + random.random(), 3, 1 + 2 * (i % 3), i % 3, kinds[i % 3]) for i in range(150)]
with open("iris.csv", "w") as file:
    print("sepal_length,sepal_width,petal_length,petal_width,species", file=file)
    for row in rows:
        print(*row, sep=",", file=file)
try:
    import importlib.util, pathlib, shutil
    package = pathlib.Path(importlib.util.find_spec("palmerpenguins").origin).parent
    shutil.copy(package / "data" / "penguins.csv", "penguins.csv")
except AttributeError:
    with open("penguins.csv", "w") as file:
        print("species,island,bill_length_mm,bill_depth_mm,flipper_length_mm,body_mass_g,sex,year", file=file)
        for i in range(120):
            species, island = (("Adelie", "Dream"), ("Gentoo", "Biscoe"))[i % 2]
            print(species, island, 40 + 5 * (i % 2) + i % 3, "NA" if i % 40 == 7 else 18 - 3 * (i % 2), 190 + 20 * (i % 2),
                  3700 + 1200 * (i % 2) + i, ("male", "female", "NA")[i % 3], 2007 + i % 3, sep=",", file=file)
P
}

# MNIST's files by name and kind, of the first N pictures where they are there, else of N that say nothing: BASE N
idx() {
  local n kind bytes data=${NN_DATA:-$NN_SRC/../shared/data}/mnist
  n=$(printf '\\x%02x\\x%02x' $(($2 / 256)) $(($2 % 256)))
  for kind in images:3:784:16:'\0\0\0\x1c\0\0\0\x1c' labels:1:1:8:; do
    IFS=: read -r kind rank bytes head dims <<<"$kind"
    {
      printf "\0\0\x8\x$rank\0\0$n$dims"
      if [ -e "$data/$1-$kind-idx$rank-ubyte.gz" ]; then
        gzip -dc "$data/$1-$kind-idx$rank-ubyte.gz" | tail -c +$((head + 1)) | head -c $((bytes * $2))
      else
        seq 9000000 | tr -d '\n' | tr 0-9 '\000-\011' | head -c $((bytes * $2))
      fi
    } | gzip -1 >"$1-$kind-idx$rank-ubyte.gz"
  done
}

@test "nntools(7): every command of FIRST HOUR runs, and says what the page says" {
  cd "$BATS_TEST_TMPDIR"
  command -v python3 >/dev/null || skip "Python is not installed"
  cp "$NN_SRC/share/data/digits.csv.gz" "$NN_SRC/share/examples/lenet.nn" .
  tables
  idx train 600
  idx t10k 100
  [ "$(commands | wc -l)" -ge 16 ]
  while read -r line; do
    bash -eo pipefail -c "trap '' PIPE; $line" </dev/null >out 2>err || [ $? = 141 ] || { echo "$line"; cat err; false; }
    case $line in
    *--try=*) [ "$(grep -c yes out)" = 1 ] ;;
    *--info*) grep -q island out ;;
    *--keep*) [ "$(head -1 out)" = island,year,class ] ;;
    *--emit=top:2*) [ "$(jq -r '.top | length' out)" = 2 ] ;;
    *body_mass_g\ *) grep -q '^mean	rmse' out ;;
    *--score*) grep -q '^accuracy ' out ;;
    *--resume*) grep -q 'epoch 2/2' err ;;
    esac || { echo "$line"; cat out err; false; }
  done < <(commands)
  grep -q "<svg" mnist.svg
}
