# The program tests/mpi/ranks under mpirun; TAP of all its runs together.
# shellcheck shell=bash
program=$NN_BUILD/tests/mpi/ranks
if [ ! -e "$NN_BUILD/lib/nn-mpi.so" ] || ! command -v mpirun >/dev/null; then
  echo "1..0 # skip no Open MPI"
  exit 0
fi
# The root of a test container may; users are asked.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1 OMPI_MCA_oob_tcp_if_include=lo XDG_CACHE_HOME=$TMPDIR
export HWLOC_COMPONENTS=-pci,-linuxio HWLOC_PLUGINS_PATH=/nowhere PMIX_MCA_gds=hash PMIX_MCA_psec=native # as cli/ranks.bash

# Open MPI frees not all it took, which a leak checker would hold against our ranks.
export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"

# ranks N TRANSPORT: the claims of a run, named; one that failed at once is a claim that did not hold
ranks() {
  timeout -k 5 300 mpirun --stdin none -n "$1" --oversubscribe --bind-to none --mca btl "self,$2" --mca btl_tcp_if_include lo \
    "$program" >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null
  status=$?
  tr -d '\r' <"$TMPDIR/out" | grep -E '^(not )?ok |^#' | sed -E "s/ranks: /ranks over $2: /" >>"$TMPDIR/all"
  if [ $status != 0 ] || ! grep -q '^1\.\.' "$TMPDIR/out"; then
    echo "not ok 0 - $1 ranks over $2 ended with status $status" >>"$TMPDIR/all"
    sed 's/^/# /' "$TMPDIR/err" >>"$TMPDIR/all"
  fi
}

# runs N:TRANSPORT...: each of them
runs() {
  : >"$TMPDIR/all"
  for run; do
    ranks "${run%:*}" "${run#*:}"
  done
  awk '/^(not )?ok/ { n++; sub(/ok [0-9]+/, "ok " n) } { print } END { print "1.." n }' "$TMPDIR/all"
  ! grep -q '^not ok' "$TMPDIR/all"
}
