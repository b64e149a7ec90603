# For tests that start ranks: whether they can, their surroundings, and what is left of them.
# shellcheck shell=bash disable=SC2154

# Why ranks cannot run here, or nothing.
lacking_ranks() {
  [ -e "$NN_BUILD/lib/nn-mpi.so" ] || echo "built without MPI"
  command -v mpirun >/dev/null || echo "no mpirun"
}

# A test's root may; users are asked. Open MPI frees not all it took, which a leak checker would hold against our ranks; each module has an
# nn_module of its own, which is no violation of anything.
allow_ranks() {
  export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0:handle_segv=0:detect_odr_violation=0"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # no look at PCI for each rank, nor at displays, credentials and shared tables of PMIx: a quarter of a start
  export HWLOC_COMPONENTS=-pci,-linuxio HWLOC_PLUGINS_PATH=/nowhere PMIX_MCA_gds=hash PMIX_MCA_psec=native
  # nor at components that nobody asks for: an eighth
  export OMPI_MCA_coll=self,basic,libnbc,tuned OMPI_MCA_osc=sm OMPI_MCA_op=^avx OMPI_MCA_mpool=^hugepage OMPI_MCA_rcache=^grdma
}

# The first thing of setup_file: begin_ranks [WHY]... || return 0. WHY: what else is lacking, or nothing. In the directory of the file's tests.
begin_ranks() {
  LACKING=$({ lacking_ranks; printf '%s\n' "$@"; } | grep -m 1 .) || true
  export LACKING
  [ -z "$LACKING" ] || return
  allow_ranks
  export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
  cd "$BATS_FILE_TMPDIR" || exit
}

# The first thing of each test.
enter_ranks() {
  [ -z "$LACKING" ] || skip "$LACKING"
  cd "$BATS_FILE_TMPDIR" || return
}

# Where a file has no other.
setup() {
  enter_ranks
}

# Tests keep in these variables what they start in the background.
teardown() {
  # shellcheck disable=SC2086 # lists
  [ -z "${parent-}${sleepers-}" ] || kill -9 ${parent-} ${processes-} ${sleepers-} 2>/dev/null || true
}

# Plain mpirun, as users would.
mpi() {
  timeout -k 5 120 mpirun --stdin none --oversubscribe --bind-to none --mca pml ob1 --mca btl self,vader --mca oob_tcp_if_include lo "$@"
}

# The children of process $1; a look at all processes takes ten times as long.
children() {
  [ -e "/proc/$$/task/$$/children" ] || { pgrep -P "$1"; return; }
  cat "/proc/$1/task/"*/children 2>/dev/null || true
}

# Everything that process $1 started, with itself.
family() {
  local p
  echo "$1"
  for p in $(children "$1"); do
    family "$p"
  done
}

# started N: $parent has N ranks, ${ranks[@]} in order; $processes is all of them
started() {
  local i p mpirun
  for ((i = 0; i < 200; i++)); do
    sleep 0.05
    mpirun=$(children "$parent")
    [ -n "$mpirun" ] || continue
    ranks=()
    for p in $(children "${mpirun%% *}"); do
      ranks["$(tr '\0' '\n' <"/proc/$p/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p')"]=$p
    done 2>/dev/null || continue
    if [ "${#ranks[@]}" = "$1" ] && grep -q mca_ "/proc/${ranks[0]}/maps"; then
      # shellcheck disable=SC2034 # for the caller
      processes=$(family "$parent")
      return 0
    fi
  done
  return 1
}

# until_ COMMAND...: it holds within half a minute
until_() {
  local i
  for ((i = 0; i < 600; i++)); do
    ! "$@" || return 0
    sleep 0.05
  done
  return 1
}

# saved STATE [SINCE]: two states were written (since SINCE was), so that all who tell of the first know it
saved() {
  local first
  until_ [ "$1" -nt "${2-}" ] || return
  first=$(stat -c %i "$1")
  until_ replaced "$1" "$first"
}

replaced() {
  [ "$(stat -c %i "$1")" != "$2" ]
}

# ended STATUS: so the parent ends, within a minute
ended() {
  local i status=0
  for ((i = 0; i < 600; i++)); do
    kill -0 "$parent" 2>/dev/null || break
    sleep 0.1
  done
  [ "$i" -lt 600 ] || kill -9 "$parent"
  wait "$parent" || status=$?
  [ "$status" = "$1" ] || {
    echo "ended with $status"
    return 1
  }
}

# No process of the list $1 is left within $2 tenths of a second; zombies that nobody here can wait for do not count.
gone() {
  local i p state left=
  for ((i = 0; i < $2; i++)); do
    left=
    for p in $1; do
      state=$(sed -E 's/.*\) (.).*/\1/' "/proc/$p/stat" 2>/dev/null) || continue
      [[ -z $state || $state == Z ]] || left+=" $p"
    done
    [ -n "$left" ] || return 0
    sleep 0.1
  done
  echo "left:$left"
  return 1
}
