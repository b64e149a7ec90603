# Of tests of rows of different length: their data, and where they are.
# shellcheck shell=bash

# begin_lengths PART: in setup_file, what lengths.py makes for it
begin_lengths() {
  cd "$BATS_FILE_TMPDIR" || return
  allow_ranks
  export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
  python=${PYTHON:-python3}
  "$python" -c 'import numpy' 2>/dev/null || skip "$python has no numpy"
  "$python" "$NN_SRC/tests/cli/lengths.py" "$1"
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}
