# For tests of nn-serve: a server of one's own on a free port, and its end.
# shellcheck shell=bash disable=SC2034,SC2154

# The first thing of setup_file: begin_serve || return 0.
begin_serve() {
  LACKING=
  [ -x "$NN_BUILD/cmd/nn-serve" ] || LACKING="built without libmicrohttpd"
  command -v curl >/dev/null || LACKING=${LACKING:-no curl}
  export LACKING
  cd "$BATS_FILE_TMPDIR" || exit
  [ -z "$LACKING" ]
}

setup() {
  [ -z "$LACKING" ] || skip "$LACKING"
  cd "$BATS_FILE_TMPDIR" || return
  . "$NN_SRC/tests/cli/train-data.sh"
}

# serve ARGUMENT...: $url answers, $server is its process; what it says goes to out and err
serve() {
  : >out
  nn-serve --listen=127.0.0.1:0 "$@" >out 2>err 3>&- &
  server=$!
  local i
  for ((i = 0; i < 1000; i++)); do
    ! read -r url <out || return 0
    kill -0 "$server" 2>/dev/null || break
    sleep 0.02
  done
  cat err
  return 1
}

# said PATTERN: a line of it comes on the server's standard error
said() {
  local i
  for ((i = 0; i < 500; i++)); do
    ! grep "$1" err || return 0
    sleep 0.02
  done
  cat err
  return 1
}

# stop [SIGNAL]: the server ends, with status 0
stop() {
  kill "-${1:-TERM}" "$server"
  local status=0 ended=$server
  wait "$server" || status=$?
  server=
  [ "$status" -eq 0 ] || { echo "nn-serve ($ended): status $status"; cat err; return 1; }
}

teardown() {
  [ -z "${server-}" ] || kill -9 "$server" 2>/dev/null || true
}

# ask STATUS PATH [CURL-ARGUMENT]...: the body into $answer
ask() {
  local want=$1 path=$2 got
  shift 2
  got=$(curl -sS -m 60 -o answer -w '%{http_code}' "$@" "$url$path") || return
  answer=$(tr -d '\0' <answer)
  [ "$got" = "$want" ] || { echo "$path: status $got for $want: $answer"; return 1; }
}
