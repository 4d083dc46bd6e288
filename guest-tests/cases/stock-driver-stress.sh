#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The stock driver ib_mthca under stress, in Debian's user space: removed and loaded again, programs
# killed in the middle of traffic, links that go down and up under IPoIB, fatal errors of the device
# under IPoIB. After each part nothing is left: objects in the device, resources in the kernel.
# mthca-stress.long.ts runs it, with the number of rounds of each part in /etc/vuhca/stress.

. /etc/vuhca/stress

DEVICE=mthca0
. /etc/vuhca/stress-library.sh

is_down() { grep -q DOWN "$IB/ports/$1/state"; }

# IPoIB between the ports, the second one in a name space of its own.
has_ipoib() { ip link show ib0 && { ip link show ib1 || ip -n far link show ib1; }; } >/dev/null 2>&1
start_ipoib() {
  until_true has_ipoib || return 1
  ip netns add far 2>/dev/null
  ip link set ib1 netns far 2>/dev/null
  ip address add 10.1.0.1/24 dev ib0 2>/dev/null
  ip link set ib0 up
  ip -n far address add 10.1.0.2/24 dev ib1 2>/dev/null
  ip -n far link set ib1 up
}
ping_once() { ping -q -c 1 -W 2 10.1.0.2 >/dev/null 2>&1; }

# The driver gives its first command by event 100 ms, and gives up then: a busy host may miss that
# (bind-again.sh). A restart that missed it leaves the driver bound, without a device.
last_miss() { dmesg | grep 'NOP command failed to generate interrupt' | tail -n 1; }
has_missed() { [ "$(last_miss)" != "$missed" ]; }
reload_driver() {
  rmmod ib_ipoib ib_mthca || return 1
  [ ! -e $IB ] || return 1
  case $(adapter objects) in qps=0\ *\ icmPages=0) ;; *) adapter objects; return 1 ;; esac
  modprobe -a ib_mthca ib_ipoib && sh /etc/vuhca/bind-again.sh && [ -e $IB ]
}
# The driver is removed when the subnet manager has done its work: ib_core answers datagrams by
# agents that it frees, which is a race of its own (docs/verbs/PERSONALITIES.md).
reloads() {
  round=0
  while [ $round -lt "$RELOADS" ]; do
    until_true all_active && reload_driver || return 1
    next_round
  done
  until_true all_active && start_ipoib && until_true ping_once
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
    next_round
  done
}

# The driver polls the error buffer every 5 s, and starts the device anew.
last_start() { dmesg | grep 'ib_mthca: Initializing' | tail -n 1; }
has_started() { [ "$(last_start)" != "$started" ] && [ -e $IB/ports/2 ]; }
has_restarted() { has_started || has_missed; }
failures() {
  for cause in $CAUSES; do
    started=$(last_start) missed=$(last_miss)
    ping -q -i 0.05 10.1.0.2 >/dev/null 2>&1 &
    traffic=$!
    adapter inject fatal cause="$cause" >/dev/null || return 1
    until_true has_restarted
    restarted=$?
    kill $traffic
    wait $traffic 2>/dev/null
    if has_missed; then until_true [ ! -e $IB ] && reload_driver || return 1; fi
    [ $restarted = 0 ] && until_true all_active && start_ipoib && until_true ping_once || return 1
  done
}

echo "KTAP version 1"
echo "1..9"
until_true all_active && start_ipoib && until_true ping_once
report $? ports-active
echo "# ports active after $(cut -d ' ' -f 1 /proc/uptime) s"
note_objects
phase reloads removed-and-loaded-again reloads
phase kills processes-killed-in-traffic processes
phase flaps links-flap-under-ipoib flaps
phase failures fatal-errors-under-ipoib failures
