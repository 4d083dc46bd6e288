#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The stock driver ib_mthca under stress, in Debian's user space: removed and loaded again, programs
# killed in the middle of traffic, links that go down and up under IPoIB, fatal errors of the device
# under IPoIB. After each part nothing is left: objects in the device, resources in the kernel.
# mthca-stress.long.ts runs it, with the number of rounds of each part in /etc/vuhca/stress.

. /etc/vuhca/stress

IB=/sys/class/infiniband/mthca0
number=0

report() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

# until_true COMMAND...: with a wide bound, because the machine may be busy.
seconds() { cut -d . -f 1 /proc/uptime; }
until_true() {
  deadline=$(($(seconds) + 300))
  until "$@"; do
    [ "$(seconds)" -lt $deadline ] || { echo "# in vain: $*"; return 1; }
    sleep 0.05
  done
}

all_active() {
  for port in 1 2; do grep -q ACTIVE "$IB/ports/$port/state" 2>/dev/null || return 1; done
}
is_down() { grep -q DOWN "$IB/ports/$1/state"; }

# Objects of the device. Groups follow those of IPoIB, which change with time.
objects() { adapter objects | sed 's/ groups=.*//'; }
resources() { rdma resource show | sed 's/^[0-9]*: //'; }
same_objects() { [ "$(objects)" = "$before" ]; }

# As before all parts, at last: the kernel frees some resources late.
nothing_left() {
  until_true same_objects && [ "$(resources)" = "$held" ] && return 0
  echo "# objects: $before; now $(objects)"
  echo "# resources: $held; now $(resources)"
  return 1
}

# IPoIB between the ports, the second one in a name space of its own.
start_ipoib() {
  until_true [ -e /sys/class/net/ib0 ] && until_true [ -e /sys/class/net/ib1 ] || return 1
  ip netns add far 2>/dev/null
  ip link set ib1 netns far
  ip address add 10.1.0.1/24 dev ib0 2>/dev/null
  ip link set ib0 up
  ip -n far address add 10.1.0.2/24 dev ib1
  ip -n far link set ib1 up
}
ping_once() { ping -q -c 1 -W 2 10.1.0.2 >/dev/null 2>&1; }

reload_driver() {
  rmmod ib_ipoib ib_mthca || return 1
  [ ! -e $IB ] || return 1
  case $(adapter objects) in qps=0\ *\ icmPages=0) ;; *) adapter objects; return 1 ;; esac
  modprobe -a ib_mthca ib_ipoib && [ -e $IB ]
}
reloads() {
  round=0
  while [ $round -lt "$RELOADS" ]; do
    reload_driver || return 1
    round=$((round + 1))
  done
  until_true all_active && start_ipoib && until_true ping_once
}

# Two programs with traffic between the ports; one of them is killed, and then the other one.
listens() { [ -n "$(ss -Hltn)" ]; }
sent() { cat $IB/ports/1/counters/port_xmit_packets; }
flows() { [ "$(sent)" -gt $((sent_before + 100)) ] || ! kill -0 $client; }
kill_pair() {
  case $(($1 % 3)) in 0) program=ib_write_bw ;; 1) program=ib_send_bw ;; 2) program=ib_read_bw ;; esac
  sent_before=$(sent)
  $program -d mthca0 -i 1 -D 1000 >/tmp/server 2>&1 &
  server=$!
  until_true listens || return 1
  $program -d mthca0 -i 2 -D 1000 localhost >/tmp/client 2>&1 &
  client=$!
  until_true flows && kill -0 $client || { sed 's/^/# /' /tmp/client /tmp/server; return 1; }
  if [ $(($1 % 2)) = 0 ]; then kill -9 $client $server; else kill -9 $server $client; fi
  wait $client $server 2>/dev/null
  return 0
}
kills() {
  round=0
  while [ $round -lt "$KILLS" ]; do
    kill_pair $round || return 1
    round=$((round + 1))
  done
}

flap() {
  if [ $(($1 % 5)) = 4 ]; then
    adapter inject link-down port="$2" >/dev/null && until_true is_down "$2" || return 1
    adapter inject link-up port="$2" >/dev/null
  else
    adapter inject link-flap port="$2" >/dev/null
  fi
}
flaps() {
  round=0
  while [ $round -lt "$FLAPS" ]; do
    flap $round $((round % 2 + 1)) && until_true all_active && until_true ping_once || return 1
    round=$((round + 1))
  done
}

# The driver polls the error buffer every 5 s, and starts the device anew.
count_starts() { dmesg | grep -c 'ib_mthca: Initializing'; }
has_restarted() { [ "$(count_starts)" -gt "$starts" ] && [ -e $IB/ports/2 ]; }
failures() {
  for cause in $CAUSES; do
    starts=$(count_starts)
    ping -q -i 0.05 10.1.0.2 >/dev/null 2>&1 &
    traffic=$!
    adapter inject fatal cause="$cause" >/dev/null || return 1
    until_true has_restarted
    restarted=$?
    kill $traffic
    wait $traffic 2>/dev/null
    [ $restarted = 0 ] && until_true all_active && start_ipoib && until_true ping_once || return 1
  done
}

echo "KTAP version 1"
echo "1..9"
until_true all_active && start_ipoib && until_true ping_once
report $? ports-active
echo "# ports active after $(cut -d ' ' -f 1 /proc/uptime) s"
before=$(objects) held=$(resources)
reloads
report $? removed-and-loaded-again
nothing_left
report $? nothing-left-by-reloads
kills
report $? processes-killed-in-traffic
nothing_left
report $? nothing-left-by-processes
flaps
report $? links-flap-under-ipoib
nothing_left
report $? nothing-left-by-flaps
failures
report $? fatal-errors-under-ipoib
nothing_left
report $? nothing-left-by-failures
