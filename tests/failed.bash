# What bash reads before the programs of bats (BASH_ENV; set by tests/run). Bats looks up where it is before each command of a
# test, a fifth of a millisecond each time, to tell the place of one that fails. Here it looks when one fails. Nor does it start
# programs before and after each test that make a folder which is there, say the time or remove a file of the folder that goes.
# shellcheck shell=bash disable=SC2064
case $0 in
*/bats-exec-test | */bats-exec-file)
  [[ $0 == */bats-exec-file ]] || unset BASH_ENV # what tests start is as without bats

  trap() {
    case $* in
    bats_debug_trap*DEBUG) ;;
    'bats_error_trap ERR') builtin trap nn_failed ERR ;;
    *) builtin trap "$@" ;;
    esac
  }

  nn_failed() {
    local status=$?
    bats_capture_stack_trace
    (exit "$status") || bats_error_trap
  }

  mkdir() {
    [[ $# == 2 && $1 == -p && -d $2 ]] || command mkdir "$@"
  }

  date() {
    if [[ ${FUNCNAME[1]} == get_mills_since_epoch ]]; then
      echo "${EPOCHREALTIME/./}000"
    else
      command date "$@"
    fi
  }

  rm() {
    if [[ ${FUNCNAME[1]} == bats_exit_trap ]]; then
      : >"${!#}"
    else
      command rm "$@"
    fi
  }
  ;;
esac
