# For tests of nn-bench: a folder and a cache of their own, the columns that end every row, and rows with every figure.
# shellcheck shell=bash disable=SC2034

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  export XDG_CACHE_HOME=$PWD/cache
}

last=threads,version,cpu,gpu,blas,date

# measured COMMAND...: its rows in rows.csv and what it says in notes; with more time where other work left too little for a figure
measured() {
  local time
  for time in 0.1 1 10; do
    "$@" --time=$time --to=csv >rows.csv 2>notes || return
    grep -q 'is too short for a figure' notes || return 0
  done
}
