#!/usr/bin/env bats
# The service of systemd: its files are right, and it is confined.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  [ -f "$NN_BUILD/share/systemd/nn-serve.service" ] || skip "nn-serve is not built"
  command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
  cd "$BATS_TEST_TMPDIR" || return 1
  cp "$NN_SRC/share/systemd/nn-serve.socket" .
  # what it runs is not installed, nor is its page
  sed -e 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' -e '/^Documentation=/d' "$NN_BUILD/share/systemd/nn-serve.service" >nn-serve.service
}

@test "systemd: the service starts the installed tool, with the models of /srv" {
  run -0 grep -c '^ExecStart=/.*/bin/nn-serve .* /srv/nn-serve$' "$NN_BUILD/share/systemd/nn-serve.service"
}

@test "systemd: service and socket have no line that systemd does not know" {
  run -0 systemd-analyze verify ./nn-serve.service ./nn-serve.socket
  [ -z "$output" ] || { echo "$output"; false; }
}

@test "systemd: the service is exposed by 1.5 of 10 at most" {
  systemd-analyze security --help | grep -q -- --offline || skip "systemd-analyze cannot judge files"
  run -0 systemd-analyze security --offline=true --no-pager --threshold=15 ./nn-serve.service
}
