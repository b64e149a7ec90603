#!/bin/sh
# Count the values 0-9 in a column of a CSV file, shared among N awk processes that meet every 500 rows.
#
# usage: count.sh FILE.csv.gz COLUMN [N]      (columns are numbered from 1; N is 2)
# Prints a line of ten running sums per step. Each awk writes its counts as .npy arrays (int64) into a FIFO and
# nn-allreduce adds those of all: so does any program that can write bytes.
set -eu
[ $# -ge 2 ] || {
  echo "usage: count.sh FILE.csv.gz COLUMN [N]" >&2
  exit 2
}
file=$1 column=$2 n=${3:-2}
fifos=$(mktemp -d)
trap 'rm -rf "$fifos"' EXIT

rank=0
while [ "$rank" -lt "$n" ]; do
  mkfifo "$fifos/in.$rank"
  gzip -dc "$file" | LC_ALL=C awk -F, -v column="$column" -v rank="$rank" -v n="$n" '
    # eight bytes, the lowest first
    function number(v,   i) { for (i = 0; i < 8; i++) { printf "%c", v % 256; v = int(v / 256) } }
    # a version 1 header of 128 bytes, then the counts
    function frame(   i) {
      printf "%cNUMPY%c%c%c%c%-117s\n", 147, 1, 0, 118, 0, "{\047descr\047: \047<i8\047, \047fortran_order\047: False, \047shape\047: (10,), }"
      for (i = 0; i < 10; i++) number(count[i])
    }
    NR > 1 && NR % n == rank { count[$column]++ }
    NR % 500 == 0 { frame() }
    END { frame() }' >"$fifos/in.$rank" &
  rank=$((rank + 1))
done
# 208 bytes are 26 numbers, of which the first 16 are the header
nn-allreduce -q --ranks="$n" --stream --op=sum "$fifos/in.%r" |
  od -v -A n -w208 -t d8 | awk '{ for (i = 17; i <= 26; i++) printf "%s%s", $i, i < 26 ? " " : "\n" }'
