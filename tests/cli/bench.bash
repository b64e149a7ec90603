# For tests of nn-bench whose claims need every figure.
# shellcheck shell=bash

# measured COMMAND...: its rows in rows.csv and what it says in notes; with more time where other work left too little for a figure
measured() {
  local time
  for time in 0.1 1 10; do
    "$@" --time=$time --to=csv >rows.csv 2>notes || return
    grep -q 'is too short for a figure' notes || return 0
  done
}
