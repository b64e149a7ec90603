#!/usr/bin/env bats
# nn-allreduce --ranks and under mpirun: the bytes of one process, one line of error, nothing left behind.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

py() {
  "${NN_PYTHON:-python3}" -c "import numpy as np, sys
$1"
}

setup_file() {
  begin_ranks "$("${NN_PYTHON:-python3}" -c 'import numpy' 2>/dev/null || echo "no numpy")" || return 0
  py '
for i in range(4):
    rng = np.random.default_rng(i)
    np.save(f"g.{i}.npy", rng.standard_normal((3, 70001)).astype("f4"))
    np.save(f"h.{i}.npy", rng.standard_normal(1000).astype("f2"))
    np.save(f"d.{i}.npy", rng.standard_normal(777))
    np.save(f"w.{i}.npy", rng.integers(-3, 4, 999))
def frames(name, arrays):
    with open(name, "wb") as f:
        for a in arrays: np.save(f, a)
for name, rank, n in *((f"frames.{i}", i, 5) for i in range(3)), ("three.0", 0, 3), ("three.1", 1, 3):
    rng = np.random.default_rng(rank)
    frames(name, [rng.standard_normal(50 + i) for i in range(n)])
# shapes and types that differ, at once and in a second frame; NaN; what does not fit
np.save("s.0.npy", np.zeros(3)); np.save("s.1.npy", np.zeros(4)); np.save("t.0.npy", np.zeros(3)); np.save("t.1.npy", np.zeros(3, "f4"))
for name, second in ("shape.0", np.zeros(3)), ("shape.1", np.zeros((3, 1))), ("type.0", np.zeros(3)), ("type.1", np.zeros(3, "f4")):
    frames(name, [np.zeros(2), second])
a = np.ones(1000); a[7] = np.nan; np.save("n.0.npy", np.ones(1000)); np.save("n.1.npy", a)
b = np.zeros((30, 40), "i1"); b[1, 2] = 100
for i in range(3): np.save(f"o.{i}.npy", b)
for i in range(2):
    frames(f"nan.{i}", [np.array([1.0, np.nan if k in (1, 3, 4) and i == 1 else 2]) for k in range(5)])
    frames(f"full.{i}", [np.array([1, 100 if k == 2 else 3], "i1") for k in range(3)])'
  for s in 0 1 2; do
    nn-train -q -m 'dense 8, relu, dense ?' --target=digit --loss=cross-entropy --steps=3 --seed=$s \
      -o m.$s.safetensors "$NN_SRC/share/data/digits.csv.gz"
  done
}

@test "allreduce ranks: 1 to 4 give the bytes of one process, every algorithm, every op" {
  # RANKS:OP:ALGORITHM; what an op does to a number does not depend on the way the number came
  for case in 1:mean:auto 2:mean:auto 4:mean:auto 3:sum:auto 3:mean:ring 3:min:halving 3:max:tree 3:prod:ring; do
    IFS=: read -r n op algorithm <<<"$case"
    files=()
    for ((i = 0; i < n; i++)); do files+=("g.$i.npy"); done
    nn-allreduce --op="$op" "${files[@]}" -o files.npy
    nn-allreduce -q --op="$op" --ranks="$n" --algorithm="$algorithm" g.%r.npy -o ranks.npy
    cmp files.npy ranks.npy
  done
}

@test "allreduce ranks: halves and whole numbers give the bytes of one process" {
  for letter in h w; do
    nn-allreduce $letter.{0,1,2}.npy -o files.npy
    nn-allreduce -q -n 3 $letter.%r.npy -o ranks.npy
    cmp files.npy ranks.npy
  done
}

@test "allreduce ranks: TCP gives the bytes of shared memory" {
  nn-allreduce g.0.npy g.1.npy -o files.npy
  OMPI_MCA_btl=self,tcp nn-allreduce -n 2 g.%r.npy -o ranks.npy
  cmp files.npy ranks.npy
}

@test "allreduce ranks: MPI's own sum is near" {
  nn-allreduce g.0.npy g.1.npy -o files.npy
  nn-allreduce -n 2 --algorithm=mpi --reproducible=no g.%r.npy -o ranks.npy
  py 'assert np.allclose(np.load("files.npy"), np.load("ranks.npy"), atol=1e-6)'
  run -2 --separate-stderr nn-allreduce -n 2 --algorithm=mpi g.%r.npy
  [ "$stderr" = "nn-allreduce: --algorithm=mpi: MPI adds in an order of its own; say --reproducible=no, too" ]
}

@test "allreduce ranks: the result goes once to -o or stdout, or with %r to a file of each rank" {
  nn-allreduce g.0.npy g.1.npy -o files.npy
  run -0 --separate-stderr nn-allreduce -n 2 g.%r.npy -o once.npy
  [ -z "$output$stderr" ]
  cmp files.npy once.npy
  nn-allreduce -n 2 g.%r.npy | cmp - files.npy
  nn-allreduce -n 2 g.%r.npy >>appended.npy
  cmp appended.npy files.npy
  nn-allreduce -n 2 g.%r.npy -o each.%r.npy
  cmp each.0.npy files.npy
  cmp each.1.npy files.npy
  # an output may be an input
  cp g.0.npy own.0.npy
  cp g.1.npy own.1.npy
  nn-allreduce -n 2 own.%r.npy -o own.%r.npy
  cmp own.1.npy files.npy
}

@test "allreduce ranks: plain mpirun works without --ranks" {
  nn-allreduce g.0.npy g.1.npy g.2.npy -o files.npy
  mpi -n 3 nn-allreduce g.%r.npy -o plain.npy
  cmp files.npy plain.npy
  # shellcheck disable=SC2016 # the rank's shell expands it
  mpi -n 3 sh -c 'cat g.$OMPI_COMM_WORLD_RANK.npy | nn-allreduce | cat >piped.$OMPI_COMM_WORLD_RANK'
  cmp files.npy piped.0
  [ ! -s piped.1 ]
  run mpi -n 2 nn-allreduce --ranks=3 g.%r.npy -o plain.npy
  [ "$status" = 2 ]
  [[ $output == *"nn-allreduce: --ranks=3: this is a rank of 2"* ]]
}

@test "allreduce ranks: models are averaged by name" {
  nn-allreduce m.{0,1,2}.safetensors -o files.safetensors
  nn-allreduce -q -n 3 m.%r.safetensors -o ranks.safetensors
  cmp files.safetensors ranks.safetensors
}

@test "allreduce ranks: a FIFO for each rank" {
  nn-allreduce g.0.npy g.1.npy -o files.npy
  rm -f pipe.?
  mkfifo pipe.0 pipe.1
  cat g.0.npy >pipe.0 &
  (sleep 0.5; cat g.1.npy >pipe.1) &
  nn-allreduce -n 2 pipe.%r -o ranks.npy
  cmp files.npy ranks.npy
}

@test "allreduce ranks: what disagrees is one line that names the file, and outputs stay" {
  nn-train -q -m 'dense 8, tanh, dense ?' --target=digit --loss=cross-entropy --steps=1 -o x.1.safetensors "$NN_SRC/share/data/digits.csv.gz"
  cp m.0.safetensors x.0.safetensors
  cp m.0.safetensors v.0.safetensors
  sed 's/\\"name\\":\\"p01\\"/\\"name\\":\\"q01\\"/' m.0.safetensors >v.1.safetensors
  cp m.0.safetensors y.0.npy
  cp g.0.npy y.1.npy
  cp g.0.npy z.0.npy
  echo kept >out
  refused() {
    run -1 --separate-stderr nn-allreduce -n 2 "$2" -o out
    [ "$stderr" = "nn-allreduce: $1" ]
    [ "$(cat out)" = kept ]
  }
  refused "s.1.npy: found shape 4, expected 3 as in s.0.npy" s.%r.npy
  refused "t.1.npy: found f32, expected f64 as in t.0.npy" t.%r.npy
  refused "x.1.safetensors: nn.model is another network than in x.0.safetensors" x.%r.safetensors
  refused 'v.1.safetensors: nn.input: columns[1]: name: found "q01", expected "p01" as in v.0.safetensors' v.%r.safetensors
  refused "y.1.npy: is .npy, y.0.npy is safetensors" y.%r.npy
  refused "z.1.npy: cannot open: No such file or directory" z.%r.npy
  run -1 --separate-stderr nn-allreduce -q -n 4 nowhere.%r.npy -o out
  [ "${#stderr_lines[@]}" = 1 ]
  [ -z "$(compgen -G '.out.*.tmp')" ]
}

@test "allreduce ranks: under plain mpirun what differs between ranks is named with the rank" {
  # mpi's own words stand beside: exactly one line is ours
  refused() {       # LINE, STATUS, what ranks 0 and 1 do
    run "-$2" --separate-stderr mpi -n 2 sh -c "if [ \$OMPI_COMM_WORLD_RANK = 0 ]; then $3; else $4; fi"
    [ "$(grep '^nn-allreduce' <<<"$stderr")" = "nn-allreduce: $1" ]
    [ ! -e differs.npy ]
  }
  rm -f differs.npy
  refused "rank 1 has --op=max, rank 0 --op=mean" 2 "nn-allreduce -o differs.npy g.0.npy" "nn-allreduce --op=max g.1.npy"
  refused "rank 1 has --stream=yes, rank 0 --stream=no" 2 "nn-allreduce -o differs.npy g.0.npy" "nn-allreduce --stream g.1.npy"
  refused "rank 1 has --sizes=2K, rank 0 --sizes=1K" 2 "nn-allreduce --bench --sizes=1K" "nn-allreduce --bench --sizes=2K"
  refused "rank 1: -: found f64, expected f32 as in the file of rank 0" 1 "nn-allreduce -o differs.npy <g.0.npy" "nn-allreduce <d.1.npy"
  refused "rank 1: -: ends after 1 frame, rank 0 goes on" 1 "cat d.0.npy d.0.npy | nn-allreduce --stream" "nn-allreduce --stream <d.1.npy"
  # threads, files and words are a rank's own
  # shellcheck disable=SC2016 # the rank's shell expands it
  run -0 --separate-stderr mpi -n 2 sh -c 'if [ $OMPI_COMM_WORLD_RANK = 0 ]; then nn-allreduce -t 1 -o same.npy g.0.npy; else nn-allreduce -q -t 2 g.1.npy; fi'
  nn-allreduce g.0.npy g.1.npy | cmp - same.npy
}

@test "allreduce ranks: NaN is counted once, a whole number that does not fit is one error" {
  for algorithm in ring halving tree; do
    run -0 --separate-stderr nn-allreduce -n 2 --algorithm=$algorithm n.%r.npy -o out.npy
    [ "$stderr" = "nn-allreduce: warning: 1 of 1000 values of the result is NaN" ]
    run -1 --separate-stderr nn-allreduce -q -n 3 --op=sum --algorithm=$algorithm o.%r.npy -o out.npy
    [ "$stderr" = "nn-allreduce: --op=sum: value [1,2] does not fit into i8; use --op=mean or files of a wider type" ]
    nn-allreduce -q -n 3 --algorithm=$algorithm o.%r.npy -o out.npy
    cmp out.npy o.0.npy
  done
}

@test "allreduce ranks: more ranks than cores are told once" {
  run -0 --separate-stderr taskset -c 0 nn-allreduce -n 2 d.%r.npy -o out.npy
  [ "$stderr" = "nn-allreduce: note: 2 ranks share 1 core" ]
}

@test "allreduce ranks: root, a missing mpirun and a missing module are status 3" {
  mkdir -p bare/bin bare/lib
  cp "$NN_BUILD/cmd/nn-allreduce" bare/bin
  cp -L "$NN_BUILD/lib/libnn.so.0" bare/lib
  run -3 --separate-stderr bare/bin/nn-allreduce -q -n 2 d.%r.npy -o out.npy
  [ "$stderr" = "nn-allreduce: module nn-mpi.so is not installed" ] || [ -d "$(sed -n 's/^pkglibdir = //p' "$NN_BUILD/Makefile")" ]
  run -3 --separate-stderr env PATH=/nowhere "$NN_BUILD/cmd/nn-allreduce" -n 2 d.%r.npy
  [ "$stderr" = "nn-allreduce: --ranks=2: mpirun is not installed (Debian: openmpi-bin)" ]
  [ "$(id -u)" = 0 ] || skip "not root"
  run -3 --separate-stderr env -u OMPI_ALLOW_RUN_AS_ROOT nn-allreduce -n 2 d.%r.npy
  [ "$stderr" = "nn-allreduce: --ranks=2: mpirun refuses to run as root; set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 if that is what you want" ]
}

@test "allreduce ranks: what mpirun itself says is kept as notes" {
  run -3 --separate-stderr env OMPI_MCA_rmaps=nonsense nn-allreduce -n 2 d.%r.npy -o out.npy
  [[ ${stderr_lines[0]} == "nn-allreduce: note: mpirun: "* ]]
  [[ ${stderr_lines[-1]} == "nn-allreduce: --ranks=2: mpirun ended with status "* ]]
}

@test "allreduce ranks: command lines that cannot be are status 2" {
  run -2 --separate-stderr nn-allreduce -n 2 d.npy
  [ "$stderr" = "nn-allreduce: --ranks=2: expected %r, the rank, in the name of FILE, found d.npy" ]
  run -2 --separate-stderr nn-allreduce -n 2 d.0.npy d.1.npy
  [ "$stderr" = "nn-allreduce: d.0.npy: each rank reads one FILE, found a second: d.1.npy" ]
  run -2 --separate-stderr nn-allreduce -n 2
  [ "$stderr" = "nn-allreduce: no FILE given; see nn-allreduce --help" ]
  run -2 nn-allreduce --ranks=0 d.%r.npy
}

# waiting N: N ranks wait for FIFOs whose writers are there; $parent, $processes, ${ranks[@]}
waiting() {
  local i
  rm -f wait.*
  for ((i = 0; i < $1; i++)); do
    mkfifo wait.$i
    sleep 100 <>wait.$i 3>&- &
    sleepers+=" $!"
  done
  nn-allreduce -q -n "$1" wait.%r -o waited.npy 2>err 3>&- &
  parent=$!
  started "$1"
  sleep 0.7
}

@test "allreduce ranks: a killed rank is named with its pid and signal, status 5, within 10 s, and nothing is left" {
  for signal in 9 11; do
    waiting 3
    kill -$signal "${ranks[1]}"
    start=$SECONDS
    ended 5
    [ $((SECONDS - start)) -le 10 ]
    [ "$(cat err)" = "nn-allreduce: rank 1 (pid ${ranks[1]}) was killed by signal $signal" ]
    gone "$processes" 20
    [ ! -e waited.npy ]
    [ -z "$(compgen -G '.waited.npy.*.tmp')" ]
  done
}

@test "allreduce ranks: a FIFO whose writer dies is an error that names it" {
  rm -f dies.?
  mkfifo dies.0 dies.1
  exec 7<>dies.0
  head -c 300 g.0.npy >dies.0
  head -c 300 g.0.npy >dies.1 &
  run -1 --separate-stderr nn-allreduce -n 2 dies.%r -o out.npy
  exec 7>&-
  [ "$stderr" = "nn-allreduce: dies.1: the array ends early: expected 840012 bytes, found 172" ]
}

@test "allreduce ranks: SIGTERM ends all with 143; the parent's death ends all" {
  waiting 2
  kill -TERM $parent
  ended 143
  gone "$processes" 20
  [ ! -s err ]
  waiting 2
  kill -9 $parent
  wait $parent || true
  gone "$processes" 60
}

@test "allreduce ranks: mpirun's death ends all with status 5" {
  waiting 2
  kill -9 "$(pgrep -P $parent)"
  ended 5
  gone "$processes" 60
  [ "$(wc -l <err)" = 1 ]
}

@test "allreduce ranks: mpirun that is stopped does not hold up a reduction that has ended" {
  waiting 2
  kill -STOP "$(pgrep -P $parent)"
  cat d.0.npy >wait.0
  cat d.1.npy >wait.1
  # shellcheck disable=SC2086 # a list
  kill $sleepers
  ended 0
  gone "$processes" 20
  nn-allreduce d.0.npy d.1.npy | cmp - waited.npy
}

@test "allreduce ranks: when the reader of stdout leaves it ends with 141, silently" {
  run -141 bash -c "trap '' PIPE; (nn-allreduce -n 2 g.%r.npy 2>err) | true; exit \${PIPESTATUS[0]}"
  [ ! -s err ]
}

@test "allreduce --stream: a frame in, a frame out, in step, as long as there are any" {
  # shellcheck disable=SC2016 # the rank's shell expands it
  mpi -n 3 sh -c 'nn-allreduce --stream --op=sum <frames.$OMPI_COMM_WORLD_RANK | cat >sums.$OMPI_COMM_WORLD_RANK'
  cmp sums.0 sums.1
  cmp sums.0 sums.2
  py '
files = [open(f"frames.{i}", "rb") for i in range(3)]; sums = open("sums.0", "rb")
for i in range(5):
    a, b, c = (np.load(f) for f in files)
    assert ((a + b) + c == np.load(sums)).all()
assert not sums.read()'
  # the same through FIFOs of ranks that nn-allreduce starts
  rm -f fifo.*
  mkfifo fifo.{0,1,2}
  for i in 0 1 2; do cat frames.$i >fifo.$i & done
  nn-allreduce -q -n 3 --stream --op=sum fifo.%r -o each.%r
  for i in 0 1 2; do cmp each.$i sums.0; done
  # alone it is a sum of one
  nn-allreduce --stream --op=sum <frames.0 | cmp - frames.0
  : >none
  nn-allreduce --stream --op=sum <none | cmp - none
}

@test "allreduce --stream: a result comes before the next frame is there" {
  cat >worker.py <<'P'
import io, numpy as np, sys
rank = sys.argv[1]
with open(f"in.{rank}", "wb") as to, open(f"out.{rank}", "rb") as back:
    x = np.full(4, float(rank))
    for step in range(20):
        frame = io.BytesIO()
        np.save(frame, x)                      # a pipe has no position to save at
        to.write(frame.getvalue()); to.flush()
        np.lib.format.read_magic(back)
        shape, _, dtype = np.lib.format.read_array_header_1_0(back)
        x = np.frombuffer(back.read(shape[0] * dtype.itemsize), dtype) + 1
    open(f"last.{rank}", "w").write(str(x))
P
  rm -f in.* out.*
  mkfifo in.{0,1} out.{0,1}
  timeout 60 "${NN_PYTHON:-python3}" worker.py 0 &
  timeout 60 "${NN_PYTHON:-python3}" worker.py 1 &
  timeout 60 nn-allreduce -n 2 --stream in.%r -o out.%r
  wait
  [ "$(cat last.0)" = "[20.5 20.5 20.5 20.5]" ]
  cmp last.0 last.1
}

@test "allreduce --stream: frames that are out of step are an error that names rank's file and frame" {
  rm -f out.*
  refused() {
    run -1 --separate-stderr nn-allreduce -n 2 --stream "$2" -o out.%r
    [ "$stderr" = "nn-allreduce: $1" ]
  }
  cp three.0 short.0; head -c $((2 * 128 + 50 * 8 + 51 * 8)) three.1 >short.1
  refused "short.1: ends after 2 frames, rank 0 goes on" short.%r
  cp short.1 long.0; cp three.1 long.1
  refused "long.1: goes on after 2 frames, rank 0 has ended" long.%r
  cp three.0 cut.0; head -c 1000 three.1 >cut.1
  refused "cut.1: ends early: the .npy header promises 408 bytes of data, found 344" cut.%r
  refused "shape.1: frame 2: found shape 3x1, expected 3 as on rank 0" shape.%r
  refused "type.1: frame 2: found f32, expected f64 as on rank 0" type.%r
  echo text >text.0; cp text.0 text.1
  refused "text.0: the .npy header ends early" text.%r
}

@test "allreduce --stream: NaN is told with its frame, once, and counted; what does not fit is told with its frame" {
  run -0 --separate-stderr nn-allreduce -n 2 --stream nan.%r -o out.%r
  [ "$stderr" = "nn-allreduce: warning: frame 2: 1 of 2 values of the result is NaN"$'\n'"nn-allreduce: warning: 3 of 5 frames of the result have NaN" ]
  cmp out.0 out.1
  run -1 --separate-stderr nn-allreduce -n 2 --stream --op=sum full.%r -o out.%r
  [ "$stderr" = "nn-allreduce: frame 3: --op=sum: value [1] does not fit into i8; use --op=mean or files of a wider type" ]
}

@test "allreduce --bench: rows have nccl-tests' columns, their figures fit together, nothing is wrong" {
  for n in 1 2; do
    run -0 --separate-stderr nn-allreduce --bench -n $n --sizes=1000,4K:64K*4 --to=csv
    [[ ${lines[0]} == size_bytes,count,type,op,algorithm,ranks,time_us,algbw_GBs,busbw_GBs,wrong,threads,version,cpu,gpu,blas,date ]]
    [ "${#lines[@]}" = 5 ]
    awk -F, -v n=$n '
      function near(a, b) { return a - b < 1e-4 * b + 1e-12 && b - a < 1e-4 * b + 1e-12 }
      NR > 1 && !($1 == (NR == 2 ? 1000 : 4096 * 4 ^ (NR - 3)) && $2 * 4 == $1 && $3 == "f32" && $4 == "mean" && $6 == n && $7 > 0 &&
        near($8, $1 / $7 / 1000) && near($9, $8 * 2 * (n - 1) / n) && $10 == 0) { print; exit 1 }' <<<"$output"
    [[ ${stderr_lines[0]} == "nn-allreduce: note: alpha_us "[0-9]* ]]
    [[ ${stderr_lines[1]} == "nn-allreduce: note: beta_us_per_MB "[0-9]* ]]
    [[ ${stderr_lines[2]} =~ ^"nn-allreduce: note: hash "[0-9a-f]{64}$ ]]
    [ "${#stderr_lines[@]}" = 3 ]
  done
}

@test "allreduce --bench: the hash is one for every algorithm, transport and format; mpi is compared, too" {
  hash_of() {
    nn-allreduce --bench -n 3 --op=sum --precision=f64 --sizes=8,3K,100K -o rows "$@" 2>&1 | sed -n 's/.*hash //p'
  }
  want=$(hash_of --algorithm=tree --to=json)
  [ "${#want}" = 64 ]
  py 'import json; rows = json.load(open("rows")); assert [r["algorithm"] for r in rows] == ["tree"] * 3 and rows[2]["type"] == "f64" and rows[2]["wrong"] == 0'
  [ "$(hash_of --algorithm=ring)" = "$want" ]
  [ "$(hash_of --algorithm=halving)" = "$want" ]
  [ "$(OMPI_MCA_btl=self,tcp hash_of)" = "$want" ]
  hash_of --algorithm=mpi --reproducible=no --to=csv
  [ "$(tail -n 3 rows | cut -d, -f 5,10 | sort -u)" = mpi,0 ]
}

@test "allreduce --bench: what a rank sends is counted: 2(n-1)/n of the array around the ring" {
  sent() {
    nn-allreduce -v --bench --sizes=4K,60K "$@" 2>&1 >rows | sed -n 's/.*note: sent_bytes //p'
  }
  [ "$(sent -n 4 --algorithm=ring)" = "92160 by the busiest rank for an array of 61440: 1 times 2(n-1)/n of it" ]
  [ "$(sent -n 4 --algorithm=halving)" = "92160 by the busiest rank for an array of 61440: 1 times 2(n-1)/n of it" ]
  [ "$(sent -n 4 --algorithm=tree)" = "122880 by the busiest rank for an array of 61440: 1.33 times 2(n-1)/n of it" ]
  [ -z "$(sent -n 2 --algorithm=mpi --reproducible=no)" ]
}

@test "allreduce --bench: --model and --step-ms say what ranks are worth" {
  run -0 --separate-stderr nn-allreduce --bench -n 2 --sizes=1K,64K --model='input 10, dense 5' --step-ms=4
  [[ ${stderr_lines[3]} == "nn-allreduce: note: input 10, dense 5: 220 bytes of gradients take "*" ms beside a step of 4 ms" ]]
  # the share that computing keeps: 4 ms of 4 and those for the gradients
  awk '{ ms = $0; sub(/.*take /, "", ms); sub(/ ms.*/, "", ms); d = EFF - 4 / (4 + ms); if (d > 1e-3 || d < -1e-3) exit 1 }' \
    EFF="${stderr_lines[4]#nn-allreduce: note: efficiency }" <(echo "${stderr_lines[3]}")
  [[ ${stderr_lines[5]} == "nn-allreduce: note: efficiency_overlapped "* ]]
  run -2 --separate-stderr nn-allreduce --bench -n 2 --model=m
  [ "$stderr" = "nn-allreduce: --model=m: needs --step-ms, the time of a step" ]
  for option in sizes=1K to=csv; do
    run -2 --separate-stderr nn-allreduce --$option x
    [ "$stderr" = "nn-allreduce: --${option%=*}: needs --bench" ]
  done
  run -2 --separate-stderr nn-allreduce --bench --sizes=1X
  [ "$stderr" = "nn-allreduce: --sizes=1X: expected sizes or FIRST:LAST*FACTOR, such as 1K:64M*2" ]
  run -2 --separate-stderr nn-allreduce --bench --sizes=1K:2T*4
  [ "$stderr" = "nn-allreduce: --sizes=1K:2T*4: expected sizes of at most 1T" ]
  run -2 --separate-stderr nn-allreduce --bench d.0.npy
  [ "$stderr" = "nn-allreduce: --bench: makes its own arrays, found d.0.npy" ]
}

@test "share/examples/data-parallel.py: several processes learn what one does" {
  one=$("${NN_PYTHON:-python3}" "$NN_SRC/share/examples/data-parallel.py" "$NN_SRC/share/data/digits.csv.gz")
  [[ $one == "rows 1797 accuracy 0.9"* ]]
  [ "$(mpi -n 3 "${NN_PYTHON:-python3}" "$NN_SRC/share/examples/data-parallel.py" "$NN_SRC/share/data/digits.csv.gz" | tr -d '\r')" = "$one" ]
}

@test "share/examples/count.sh: awk processes count together what one counts" {
  column=$(zcat "$NN_SRC/share/data/digits.csv.gz" | head -n 1 | tr , '\n' | grep -n digit | cut -d: -f1)
  zcat "$NN_SRC/share/data/digits.csv.gz" | awk -F, -v c="$column" 'NR > 1 { n[$c]++ } END { for (i = 0; i < 10; i++) printf "%d%s", n[i], i < 9 ? " " : "\n" }' >want
  for n in 1 3; do
    run -0 --separate-stderr "$NN_SRC/share/examples/count.sh" "$NN_SRC/share/data/digits.csv.gz" "$column" $n
    [ "${#lines[@]}" = 4 ]
    [ "${lines[3]}" = "$(cat want)" ]
    [ -z "$stderr" ]
  done
}
