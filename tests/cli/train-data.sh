# Small data that the tests of nn-train make for themselves, and what they say of it; sourced.
# shellcheck shell=bash disable=SC2154,SC2015

# N rows of three numbers and a word that follows from them, with a header
make_words() {
  awk -v n="$1" 'BEGIN {
    print "a,b,c,kind"
    for (i = 0; i < n; i++) {
      x = sin(i * 1.3) * 2; y = cos(i * 0.7); z = sin(i * i * 0.11)
      printf "%.4f,%.4f,%.4f,%s\n", x, y, z, (x + y > 0) ? (z > 0 ? "up" : "side") : "down"
    }
  }'
}

# N rows of three numbers and a price
make_prices() {
  awk -v n="$1" 'BEGIN {
    print "a,b,c,price"
    for (i = 0; i < n; i++) {
      x = sin(i * 1.3) * 2; y = cos(i * 0.7); z = sin(i * i * 0.11)
      printf "%.4f,%.4f,%.4f,%.3f\n", x, y, z, 100 + 30 * x - 20 * y * z
    }
  }'
}

# there KIND: does this processor have the instruction set?
there() {
  NN_CPU=$1 nn-train --version -v | grep -q " $1, NN_CPU=$1"
}

# same FILE FILE: the same bytes, or both sums
same() {
  cmp -s "$1" "$2" || { sha256sum "$1" "$2"; return 1; }
}

# log_check FILE EXPRESSION: a Python expression over `events`, the list of objects in the log
log_check() {
  python3 - "$1" "$2" <<'PYTHON'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
of = lambda kind: [e for e in events if e["event"] == kind]
if not eval("(" + sys.argv[2] + ")"):
    print(*events, sep="\n")
    sys.exit(1)
PYTHON
}

# metadata FILE KEY: a string of a safetensors file's metadata
metadata() {
  python3 - "$1" "$2" <<'PYTHON'
import json, struct, sys
with open(sys.argv[1], "rb") as f:
    n = struct.unpack("<Q", f.read(8))[0]
    print(json.loads(f.read(n))["__metadata__"].get(sys.argv[2], ""))
PYTHON
}

# train_refused STATUS PATTERN ARGUMENT...: nn-train says one line on stderr that holds PATTERN, and leaves nothing behind
train_refused() {
  local status=$1 pattern=$2
  shift 2
  run "-$status" --separate-stderr nn-train -q "$@" || return
  [ -z "$output" ] && [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == "nn-train: "*"$pattern"* ]] && [ -z "$(find . -name '.*.tmp')" ] || {
    echo "$stderr"
    return 1
  }
}

# says STATUS "stderr" COMMAND...: what a tool says and how it ends
says() {
  local status=$1 text=$2 found
  shift 2
  found=$("$@" 2>&1 >/dev/null) && code=0 || code=$?
  echo "status $code: $found"
  [ "$code" = "$status" ] && [ "$found" = "$text" ]
}
