# For tests of ranks that have parts of a network or of its state: data, networks, and the comparison with one process. After ranks.bash.
# shellcheck shell=bash disable=SC2034

setup() {
  enter_ranks
  . "$NN_SRC/tests/cli/train-data.sh"
  rm -f ./*.safetensors log
}

train() {
  timeout -k 5 120 nn-train -q -t 1 "$@"
}

# The options of a grid RANKS:TENSOR[:PIPELINE], where a file has no other.
grid_options() {
  local ranks columns stages
  IFS=: read -r ranks columns stages <<<"$1"
  echo --ranks="$ranks" --tensor="$columns" ${stages:+--pipeline="$stages"}
}

# as_one "GRID ..." [OPTION]...: what a training leaves with each grid is what one process does
as_one() {
  local grid
  train "${@:2}" -o one.safetensors || return
  for grid in $1; do
    rm -f two.*
    # shellcheck disable=SC2046 # options
    train $(grid_options "$grid") "${@:2}" -o two.safetensors && same_trained || {
      echo "ranks $grid: ${*:2}"
      return 1
    }
  done
}

# Where a file has no other.
same_trained() {
  same one.safetensors two.safetensors
}

# 300 digits, and the options that learn them
make_digits() {
  zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 301 >digits.csv
}
digit=(--target=digit --loss=cross-entropy digits.csv)

# both.nn: two outputs, one of which is narrow
make_both() {
  printf '%s\n' 'body: dense 12' 'h: relu' 'first: dense ? from=h output target=digit' 'dense 8 from=h' 'j: tanh' \
    'second: dense ? from=j output target=p00,p34 weight=0.5' >both.nn
}

# clicks.csv and tables.nn: two tables, one of hashed crosses
make_tables() {
  awk 'BEGIN {
    print "user,item,age,bought"
    for (i = 0; i < 300; i++) printf "u%d,%d,%d,%s\n", i * 7 % 40, i * 11 % 30, i % 50, (i * 7 + i * 11) % 3 ? "yes" : "no"
  }' >clicks.csv
  printf '%s\n' 'pair: input columns=user cross=user+item hash=500' 'place: input columns=user,item' 'number: input columns=age' \
    'wide: embedding 2 mode=sum init=zeros sparse=yes from=pair' 'deep: embedding 5 from=place' 'row: flatten' \
    'concat from=row+number' 'dense 9' 'tanh' 'top: dense 2' 'add from=wide+top' >tables.nn
}
