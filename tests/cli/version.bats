#!/usr/bin/env bats
# What every tool answers before any work.
bats_require_minimum_version 1.5.0

@test "nn-predict --version names tool, package and version on one line of stdout" {
  run -0 --separate-stderr nn-predict --version
  [[ $output == "nn-predict (nntools) "[0-9]* ]]
  [ "${#lines[@]}" -eq 1 ]
  [ -z "$stderr" ]
}

@test "nn-predict --help goes to stdout with status 0" {
  run -0 --separate-stderr nn-predict --help
  [[ $output == "Usage: nn-predict"* ]]
  [ -z "$stderr" ]
}
