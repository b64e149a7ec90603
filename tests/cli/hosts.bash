# Two hosts, played by network namespaces nnA$ID and nnB$ID with a cable between them.
# shellcheck shell=bash

# Why hosts cannot be played here, or nothing.
lacking_hosts() {
  [ "$(id -u)" = 0 ] || echo "not root"
  command -v ip >/dev/null || echo "no ip"
  ip netns add nnX$$ 2>/dev/null && ip netns del nnX$$ || echo "no network namespaces"
}

# cable NET: hosts with the addresses NET.1 and NET.2
cable() {
  local side
  export ID=$$
  ip netns add "nnA$ID" && ip netns add "nnB$ID" && ip link add "vA$ID" netns "nnA$ID" type veth peer name "vB$ID" netns "nnB$ID" || return
  ip -n "nnA$ID" addr add "$1.1/24" dev "vA$ID"
  ip -n "nnB$ID" addr add "$1.2/24" dev "vB$ID"
  for side in A B; do
    ip -n "nn$side$ID" link set lo up
    ip -n "nn$side$ID" link set "v$side$ID" up
  done
}

uncable() {
  local side
  for side in A B; do
    ip netns del "nn$side$ID"
  done
}
