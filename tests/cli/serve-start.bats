#!/usr/bin/env bats
# nn-serve: how it starts, what a command line alone is told, and the examples of nn-serve(1).
# shellcheck disable=SC2154,SC2016
bats_require_minimum_version 1.5.0
load serve.bash

setup_file() {
  begin_serve || return 0
  . "$NN_SRC/tests/cli/train-data.sh"
  make_words 200 >words.csv
  nn-train -q --target=kind --epochs=3 -m 'dense 8, tanh, dense ?' -o words.st words.csv
}

# wrong TEXT ARGUMENT...: status 2 with a line that says it, and nothing served
wrong() {
  run -2 --separate-stderr timeout 20 nn-serve "${@:2}" </dev/null
  [ -z "$output" ] && [ "${#stderr_lines[@]}" -eq 1 ] && [[ $stderr == "nn-serve: $1"* ]] || { echo "$stderr"; return 1; }
}

@test "serve: --dry-run tells what is wrong with an address and with the names of models" {
  wrong '--listen=:8080: expected HOST:PORT' --dry-run --listen=:8080 words.st
  wrong '--listen=8080: expected HOST:PORT' --dry-run --listen=8080 words.st
  wrong '--listen=127.0.0.1:99999: expected' --dry-run --listen=127.0.0.1:99999 words.st
  wrong '--listen=::1:0: expected' --dry-run --listen=::1:0 words.st
  wrong '--listen=unix:: the path of a Unix socket has 0 bytes' --dry-run --listen=unix: words.st
  long=$(printf 's%.0s' {1..108})
  wrong '--listen=unix:sss' --dry-run --listen=unix:"$long" words.st
  for products in precision=tf32 reproducible=no; do
    wrong "--$products: a served row's answer must not depend on the rows beside it" --dry-run --$products words.st
  done
  wrong '--precision=bf16: is a type of model files' --dry-run --device=cpu --precision=bf16 words.st
  wrong '"a b" is not a name' --dry-run 'a b=words.st'
  wrong '"": expected [NAME=]MODEL' ''
  wrong '"": expected [NAME=]MODEL' --dry-run words.st ''
  wrong 'a=: no path' --dry-run a=
  for listen in '[::1]:0' localhost:8080 unix:"${long#s}" '*:80'; do
    nn-serve --dry-run --listen="$listen" words.st
  done
}

# first_answer: $took, the microseconds from exec to a first answer, and $resident, the server's kB then
first_answer() {
  local body='{"instances":[{"a":0.5,"b":1,"c":2}]}' begun=${EPOCHREALTIME/./} line
  exec 5< <(exec nn-serve --device=cpu --listen=127.0.0.1:0 words.st 3>&-)
  server=$!
  read -r url <&5
  exec 6<>"/dev/tcp/127.0.0.1/${url##*:}"
  printf 'POST /v1/models/words:predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s' ${#body} "$body" >&6
  read -r line <&6
  took=$((${EPOCHREALTIME/./} - begun))
  resident=$(awk '/^VmRSS/ { print $2 }' "/proc/$server/status")
  kill "$server"
  exec 5<&- 6<&-
  [[ $line == 'HTTP/1.1 200 '* ]] || { echo "$line"; return 1; }
}

@test "serve: the first answer comes within 50 ms of exec, and the server takes 12 MB beside a small model" {
  [[ ${KIND_CFLAGS-} != *-fsanitize=* ]] || skip "a sanitizer takes time and memory of its own"
  for _ in {1..40}; do              # others may be at work on this machine
    first_answer
    [ "$took" -gt 50000 ] || break
  done
  echo "$took us, $resident kB"
  [ "$took" -le 50000 ]
  [ "$resident" -le 12288 ]
}

@test "serve: no log is written over a model or over the keys" {
  cp words.st served.st
  echo 'secret predict' >keys
  chmod 600 keys
  wrong '--log=served.st: is an input' --listen=127.0.0.1:0 --log=served.st served.st
  wrong '--access-log=./served.st: is an input' --listen=127.0.0.1:0 --access-log=./served.st name=served.st
  wrong '--log=keys: is the file of --key-file' --listen=127.0.0.1:0 --log=keys --key-file=keys served.st
  wrong '--log=log: this is where --access-log goes' --listen=127.0.0.1:0 --log=log --access-log=log served.st
  cmp served.st words.st
  [ "$(cat keys)" = 'secret predict' ]
}

@test "serve: the access log does not go to stdout, where the address stands alone" {
  for file in - /dev/stdout; do
    run -2 --separate-stderr timeout 20 nn-serve --listen=127.0.0.1:0 --access-log=$file words.st
    [ "$stderr" = "nn-serve: --access-log=$file: stdout is for the address; log to a file" ]
    [ -z "$output" ] && [ ! -e ./- ]
  done
}

@test "serve: no log is written into a directory of models" {
  mkdir -p served/1 && cp words.st served/1/
  for log in served/log.json served/1/words.st served/1/more; do
    run -2 --separate-stderr nn-serve --dry-run "--log=$log" served
    [[ $stderr == "nn-serve: --log=$log: lies in a directory of models that is served" ]]
    run -2 --separate-stderr nn-serve --dry-run "--access-log=$log" served
    [[ $stderr == "nn-serve: --access-log=$log: lies in a directory of models that is served" ]]
  done
  run -0 nn-serve --dry-run --log=served.json --access-log=/dev/null served
}

@test "serve: there is no --output, for answers go to clients" {
  run -2 --separate-stderr nn-serve -o x --dry-run words.st
  [[ $stderr == *"unknown option"* ]]
  run -0 nn-serve --help=all
  [[ $output != *--output* ]]
}

@test "serve: a reader of the address that has left ends it silently with status 141" {
  mkfifo gone
  exec 5<>gone 6>gone
  exec 5<&- # nobody reads it any more
  status=0
  timeout 20 nn-serve -q --listen=127.0.0.1:0 words.st >&6 2>err </dev/null || status=$?
  exec 6>&-
  [ "$status" -eq 141 ] && [ ! -s err ] || { echo "$status"; cat err; false; }
}

@test "serve: an address that cannot be written is one line and status 1" {
  [ -w /dev/full ] || skip "no /dev/full"
  status=0
  timeout 20 nn-serve -q --listen=127.0.0.1:0 words.st >/dev/full 2>err </dev/null || status=$?
  [ "$status" -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep '^nn-serve: stdout: cannot write: ' err
}

@test "serve: a socket that systemd passed takes the place of --listen" {
  command -v python3 >/dev/null || skip "no python3"
  : >out
  python3 - <<'P' >out 2>err 3>&- &
import os, socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
port = s.getsockname()[1]
if s.fileno() == 3:
    os.set_inheritable(3, True)
else:
    os.dup2(s.fileno(), 3)
open("port", "w").write(str(port))
os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), "1"
os.execvp("nn-serve", ["nn-serve", "--listen=192.0.2.1:80", "words.st"])
P
  server=$!
  for _ in {1..500}; do
    [ ! -s out ] || break
    sleep 0.02
  done
  [ "$(cat out)" = "http://127.0.0.1:$(cat port)" ] || { cat out err; false; }
  url=$(cat out)
  ask 200 /v2/health/ready
  stop
}

@test "serve: a model may come from stdin, once, from a file or a pipe" {
  local from rest
  for from in words.st <(cat words.st); do
    : >out
    nn-serve --listen=127.0.0.1:0 --watch from=- <"$from" >out 2>err 3>&- &
    server=$!
    for _ in {1..1000}; do
      ! read -r url <out || break
      kill -0 "$server" || { cat err; return 1; }
      sleep 0.02
    done
    kill -HUP "$server"
    ask 200 /v2/models/from/ready
    nn-predict words.st words.csv >wanted
    ask 200 /predict/from --data-binary @words.csv
    cmp wanted answer
    stop
    ! grep -v AddressSanitizer err || return 1
  done
  for rest in 'a=- b=-' '--ranks=2 -' '--workers=2 -'; do
    # shellcheck disable=SC2086 # words
    wrong '-: stdin ' --listen=127.0.0.1:0 $rest
  done
}

@test "serve: limits are what the manual says; who listens wider without keys is warned" {
  nn-serve --help=all >help
  for limit in max-body=64M max-line=8K max-headers=32K,100 max-chunks=65536 max-depth=100 header-timeout=10 min-rate=1K max-connections=1024 drain=30; do
    grep -A3 -- "--${limit%%=*}=" help | tr -s '\n ' '  ' | sed 's/\((default: [^)]*)\).*/\1/' | grep -qF "(default: ${limit#*=})" || { echo "$limit"; return 1; }
  done
  serve words.st
  [[ $url == http://127.0.0.1:* ]]
  stop
  run ! grep beyond err
  : >out
  nn-serve --listen=0.0.0.0:0 words.st >out 2>err 3>&- &
  server=$!
  for _ in {1..500}; do [ ! -s out ] || break; sleep 0.02; done
  grep -q 'nn-serve: warning: listens beyond this machine without keys' err
  stop
}

@test "serve: models share one pool of threads" {
  threads() {
    find "/proc/$server/task" -mindepth 1 -maxdepth 1 | wc -l
  }
  serve --threads=2 words.st
  local one
  one=$(threads)
  stop
  for i in 1 2 3 4; do cp words.st "w$i.st"; done
  serve --threads=2 words.st w1.st w2.st w3.st w4.st
  [ "$(threads)" -eq "$one" ]
  stop
}

@test "serve: in CSV and .npy what is no number is 400" {
  { printf '\x93NUMPY\x1\x0\x76\x0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4), }"; head -c 16 /dev/zero; } >good.npy
  { head -c 136 good.npy; printf '\0\0\xc0\x7f'; head -c 4 /dev/zero; } >nan.npy
  { head -c 136 good.npy; printf '\0\0\x80\x7f'; head -c 4 /dev/zero; } >inf.npy
  cp good.npy x.npy
  nn-train -q --loss=mse -m 'input 4, dense 4' --epochs=1 -o net.st x.npy good.npy
  serve net.st
  ask 200 /predict/net --data-binary @good.npy
  ask 400 /predict/net --data-binary @nan.npy
  ask 400 /predict/net --data-binary @inf.npy
  printf '1,2,nan,4\n' >nan.csv
  ask 400 /predict/net --data-binary @nan.csv
  printf '1,2,1e39,4\n' >big.csv
  ask 400 /predict/net --data-binary @big.csv
  stop
}

@test "serve: the last inference is the last that computed rows" {
  serve words.st
  last() {
    ask 200 /v2/models/words/stats
    tr ',' '\n' <answer | sed -n 's/"last_inference"://p'
  }
  ask 200 /v2/models/words
  [ "$(last)" = 0 ]
  ask 200 /predict/words --data-binary @words.csv
  [ "$(last)" -gt 0 ]
  stop
}

@test "serve: with --drain=0 a server that has nothing to answer ends with status 0" {
  for _ in {1..10}; do
    serve --drain=0 words.st
    stop
  done
}

@test "nn-serve(1): every example is answered" {
  printf 'size,colour,price\n40,red,9.5\n55,blue,12.5\n60,red,14.5\n48,blue,10.5\n' >shirts.csv
  printf 'size,colour\n42,red\n51,blue\n' >new.csv
  nn-train -q --target=price -m 'dense 4, relu, dense 1' --epochs=20 -o shirts.st shirts.csv
  { printf '\x93NUMPY\x1\x0\x76\x0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }"; head -c 32 /dev/zero; } >rows.npy
  cp rows.npy x.npy
  nn-train -q --loss=mse -m 'input 4, dense 4' --epochs=1 -o net.st x.npy rows.npy
  n=0
  curl() { command curl -sS -f -m 60 "$@"; }
  while read -r line; do
    case $line in
    nn-serve*)
      line=${line%&}
      eval "serve ${line#nn-serve}"
      ;;
    kill*)
      kill -HUP "$server"
      ;;
    *)
      eval "${line//http:\/\/127.0.0.1:8080/$url}" >answer 2>err.line </dev/null || { echo "$line"; cat answer err.line; false; }
      [ -s answer ] || [ -s answers.npy ] || { echo "$line"; false; }
      ;;
    esac
    n=$((n + 1))
  done < <(sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' "$NN_SRC/man/nn-serve.1.in" | sed -n '/^\.RS$/,/^\.RE$/p' | grep -v '^\.' | sed 's/\\-/-/g')
  [ "$n" -ge 9 ]
  stop
  [ "$(head -c 6 answers.npy | tail -c 5)" = NUMPY ]
}

@test "serve: --device=cpu,cuda divides batches between both, with nn-predict's bytes" {
  export NN_MODULE_PATH=$NN_BUILD/tests/device/${NN_TEST_MODULE:-apart}/.libs
  local net='dense 500, relu, dense 500, relu, dense ?' name
  nn-train -q --target=kind --epochs=1 -m "$net" -o wide.st words.csv
  nn-train -q --target=kind --epochs=1 --precision=int8 -m "$net" -o small.st words.csv
  for _ in {1..20}; do sed 1d words.csv; done >rows.many
  { head -n 1 words.csv; cat rows.many; } >many.csv
  nn-predict wide.st many.csv >wide.want
  nn-predict --precision=f32 small.st many.csv >small.want
  serve --device=cpu,cuda wide.st small.st
  for name in wide small; do
    for _ in {1..50}; do # until both had rows, which on a busy machine may not be
      ask 200 "/predict/$name" --data-binary @many.csv
      cmp answer "$name.want"
      ask 200 /metrics
      [ "$(grep -Ec "^nn_device_rows_total\{model=\"$name\",device=\"(cpu|cuda)\"\} [0-9]+$" answer)" -eq 2 ]
      [ "$(grep -Ec "^nn_device_rows_total\{model=\"$name\",device=\"(cpu|cuda)\"\} [1-9]" answer)" -lt 2 ] || break
    done
  done
  ask 200 /v2/models/wide/explain
  [[ $answer == *"% of the rows on cpu, "*"% of the rows on cuda"* ]]
  ask 200 /v1/models/wide:null:predict -d '{"instances": [{"a": 0.5, "b": 1, "c": 2}]}'
  stop
  for name in cpu,cpu cpu,auto 'cpu,' cpu,cuda,cuda:1,cuda:2,cuda:3; do
    run -2 --separate-stderr nn-serve --device="$name" words.st
    [[ $stderr == "nn-serve: --device="* ]] || { echo "$name: $stderr"; return 1; }
  done
  run -2 --separate-stderr nn-serve --device=cpu,cuda --ranks=2 words.st
  [[ $stderr == *"--ranks"* ]]
}
