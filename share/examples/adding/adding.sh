#!/bin/sh
# Rows of the adding problem (Hochreiter and Schmidhuber 1997): T steps of a number in 0..1 and a mark; the target is the
# sum of the two numbers that are marked, one in each half of the row.
#
# usage: adding.sh [ROWS [T [SEED]]]      (2000, 100, 1), a CSV file on standard output
set -eu
LC_ALL=C exec awk -v rows="${1:-2000}" -v steps="${2:-100}" -v seed="${3:-1}" 'BEGIN {
  srand(seed)
  for (t = 0; t < steps; t++) printf "x%d,mark%d,", t, t
  print "sum"
  half = int(steps / 2)
  for (r = 0; r < rows; r++) {
    first = int(rand() * half)
    second = half + int(rand() * (steps - half))
    sum = 0
    for (t = 0; t < steps; t++) {
      x = sprintf("%.5f", rand())
      marked = t == first || t == second
      if (marked) sum += x
      printf "%s,%d,", x, marked
    }
    printf "%.5f\n", sum
  }
}'
