#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Functions for stress of an adapter by software in Debian's user space: programs that are killed in
# the middle of traffic, and checks that they leave nothing behind. Traffic flows from port
# $PEER_PORT of $PEER_DEVICE, by default the second one of the same device, to port 1 of $DEVICE.
# $ADAPTERS has the names of the adapters if the guest has several. Sourced by
# stock-driver-stress.sh and process-stress.sh.

PEER_DEVICE=${PEER_DEVICE:-$DEVICE}
PEER_PORT=${PEER_PORT:-2}
IB=/sys/class/infiniband/$DEVICE
FAR_PORT=/sys/class/infiniband/$PEER_DEVICE/ports/$PEER_PORT
number=0

report() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

# until_true COMMAND...: repeats it until it succeeds, with a wide bound, because the machine may be
# busy. Functions that are called often start no program: on an emulated processor each takes long.
# PAUSE, in seconds, is longer for those that start some.
note_time() { IFS=. read -r seconds _ </proc/uptime; }
until_true() {
  note_time
  deadline=$((seconds + ${BOUND_SECONDS:-900}))
  until "$@"; do
    note_time
    [ "$seconds" -lt $deadline ] || { echo "# in vain: $*"; return 1; }
    sleep ${PAUSE:-0.05}
  done
}

all_active() {
  for port in $IB/ports/1 $FAR_PORT; do
    read -r port_state 2>/dev/null <"$port/state" && [ "${port_state#*: }" = ACTIVE ] || return 1
  done
}

# Objects of each adapter. Groups follow those of IPoIB, which change with time.
all_objects() {
  if [ -z "$ADAPTERS" ]; then adapter objects; else
    for one in $ADAPTERS; do adapter objects "adapter=$one"; done
  fi
}
objects() { all_objects | sed 's/ groups=.*//'; }
resources() { rdma resource show | sed 's,^[0-9]*: ,,' | sort; }
same_objects() { [ "$(objects)" = "$before" ]; }
# Number of pages that are pinned now.
pins() { awk '/^nr_foll_pin_/ { pages = $2 - pages } END { print -pages }' /proc/vmstat; }
same_pins() { [ "$(pins)" = "$pinned" ]; }
same_resources() { [ "$(resources)" = "$held" ]; }

# note_objects: notes the objects that exist before all parts.
note_objects() { before=$(objects) held=$(resources) pinned=$(pins); }

# At the end all counts must be as before all parts; the kernel frees some resources late.
nothing_left() {
  until_true same_objects && until_true same_pins && until_true same_resources && return 0
  echo "# objects: $before; now $(objects)"
  echo "# resources: $held; now $(resources)"
  echo "# pinned pages: $pinned; now $(pins)"
  return 1
}

# start_pair PROGRAM: two programs with traffic between the ports, as processes $server and $client.
# State 0A of a socket is LISTEN.
listens() {
  while read -r _ _ _ state _; do [ "$state" != 0A ] || return 0; done </proc/net/tcp
  while read -r _ _ _ state _; do [ "$state" != 0A ] || return 0; done </proc/net/tcp6
  return 1
}
note_sent() { read -r sent <$IB/ports/1/counters/port_xmit_packets; }
flows() {
  note_sent
  [ "$sent" -gt $((sent_before + 100)) ] || ! kill -0 $client
}
start_pair() {
  case $1 in ibv_*) endless="-n 1000000000" ;; *) endless="-D 1000" ;; esac
  note_sent
  sent_before=$sent
  $1 -d $DEVICE -i 1 $endless >/tmp/server 2>&1 &
  server=$!
  until_true listens || return 1
  $1 -d $PEER_DEVICE -i $PEER_PORT $endless localhost >/tmp/client 2>&1 &
  client=$!
  until_true flows && kill -0 $client || { sed 's/^/# /' /tmp/client /tmp/server; return 1; }
}
# end_pair FIRST SECOND: kills both, in this order.
end_pair() {
  kill -9 $1 $2
  wait $1 $2 2>/dev/null
  return 0
}
kill_pair() {
  case $(($1 % 6)) in
    0) program=ib_write_bw ;;
    1) program=ibv_ud_pingpong ;;
    2) program=ib_send_bw ;;
    3) program=ibv_srq_pingpong ;;
    4) program=ib_read_bw ;;
    5) program=ibv_uc_pingpong ;;
  esac
  start_pair $program || return 1
  if [ $(($1 / 6 % 2)) = 0 ]; then end_pair $client $server; else end_pair $server $client; fi
}
# The host ends a guest that is silent for long.
next_round() {
  round=$((round + 1))
  note_time
  [ $((round % 10)) != 0 ] || echo "# round $round after $seconds s"
}
kills() {
  round=0
  while [ $round -lt "$KILLS" ]; do
    kill_pair $round || return 1
    next_round
  done
}

# phase COMMAND NAME CAUSE: stresses the driver, and looks for anything left behind.
phase() {
  $1
  report $? $2
  nothing_left
  report $? nothing-left-by-$3
}
