#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A stock driver under stress, in Debian's user space: removed and loaded again, programs killed in
# the middle of traffic, links that go down and up under IPoIB, fatal errors of the device under
# IPoIB, and, where a process can reach its queues, one that writes at random into them. Where the
# ports are those of two functions, one function ends while the other has traffic. After each part
# nothing may be left, neither objects in the device nor resources in the kernel.
# mthca-stress.long.ts and mlx5-stress.long.ts run it, with the driver and the number of rounds of
# each part in /etc/vuhca/stress.

. /etc/vuhca/stress

# MODULES in the order of removal; STARTED: the message of a driver that begins with a device;
# FIRST and SECOND: words that name the two ports to the host.
case $DRIVER in
  mthca)
    DEVICE=mthca0 MODULES=ib_mthca STARTED='ib_mthca: Initializing'
    FIRST=port=1 SECOND=port=2
    ;;
  mlx5)
    DEVICE=mlx5_0 PEER_DEVICE=mlx5_1 PEER_PORT=1 MODULES="mlx5_ib mlx5_core"
    STARTED='mlx5_core .*firmware version'
    ADAPTERS="card card/1" FIRST="adapter=card port=1" SECOND="adapter=card/1 port=1"
    ;;
esac
. /etc/vuhca/stress-library.sh

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
# pingpong N: N messages between the ports.
pingpong() {
  common="ibv_rc_pingpong -s 5000 -c -n $1"
  $common -d $DEVICE -i 1 >/tmp/server 2>&1 &
  server=$!
  until_true listens || return 1
  $common -d $PEER_DEVICE -i $PEER_PORT localhost >/tmp/client 2>&1 && wait $server && return 0
  sed 's/^/# /' /tmp/client /tmp/server
  kill $server 2>/dev/null
  return 1
}
# mlx5_ib makes a queue pair and a CQ of its own when the first program registers memory: they are
# made before objects are counted. mlx5_ib makes its spare keys after it has started; a key that a
# program takes meanwhile is replaced, and stays.
has_spare_keys() { [ $DRIVER != mlx5 ] || ! all_objects | grep -qv keys=6124; }
begin_traffic() {
  until_true all_active && start_ipoib && until_true ping_once && PAUSE=1 until_true has_spare_keys && pingpong 10
}

# The driver allows its first command by event 100 ms, and then gives up: a busy host may miss that
# (bind-again.sh). A restart that misses it leaves the driver bound, without a device.
last_miss() { dmesg | grep 'NOP command failed to generate interrupt' | tail -n 1; }
has_missed() { [ "$(last_miss)" != "$missed" ]; }
reload_driver() {
  rmmod ib_ipoib $MODULES || return 1
  [ ! -e $IB ] || return 1
  if all_objects | grep '=[1-9]'; then return 1; fi
  modprobe -a $MODULES ib_ipoib && sh /etc/vuhca/bind-again.sh && [ -e $IB ]
}
# The driver is removed when the subnet manager has done its work: ib_core answers datagrams by
# agents that it frees, which is a race of its own (docs/verbs/PERSONALITIES.md).
reloads() {
  round=0
  while [ $round -lt "$RELOADS" ]; do
    until_true all_active && reload_driver || return 1
    next_round
  done
  begin_traffic
}

# flap ROUND PORT WORDS: WORDS name the port to the host.
is_down() { read -r port_state <"$1/state" && [ "${port_state#*: }" = DOWN ]; }
flap() {
  if [ $(($1 % 5)) = 1 ]; then
    adapter inject link-down $3 >/dev/null && until_true is_down "$2" || return 1
    adapter inject link-up $3 >/dev/null
  else
    adapter inject link-flap $3 >/dev/null
  fi
}
flap_one() {
  if [ $(($1 % 2)) = 0 ]; then flap $1 $IB/ports/1 "$FIRST"; else flap $1 $FAR_PORT "$SECOND"; fi
}
flaps() {
  round=0
  while [ $round -lt "$FLAPS" ]; do
    flap_one $round && until_true all_active && until_true ping_once || return 1
    next_round
  done
}

# The driver polls the state of the device every few seconds, and restarts it.
last_start() { dmesg | grep "$STARTED" | tail -n 1; }
has_started() { [ "$(last_start)" != "$started" ] && [ -e $IB/ports/1 ] && [ -e $FAR_PORT ]; }
has_restarted() { has_started || has_missed; }
failures() {
  for cause in $CAUSES; do
    started=$(last_start) missed=$(last_miss)
    ping -q -i 0.05 10.1.0.2 >/dev/null 2>&1 &
    traffic=$!
    adapter inject fatal ${FIRST%port=*} cause="$cause" >/dev/null || return 1
    PAUSE=0.5 until_true has_restarted
    restarted=$?
    kill $traffic
    wait $traffic 2>/dev/null
    if has_missed; then until_true [ ! -e $IB ] && reload_driver || return 1; fi
    [ $restarted = 0 ] && begin_traffic || return 1
  done
}

# allow_recoveries: mlx5_core recovers a device only once a minute, unless told otherwise.
allow_recoveries() {
  [ $DRIVER = mlx5 ] || return 0
  for slot in /sys/bus/pci/drivers/mlx5_core/0000:*; do
    devlink health set pci/${slot##*/} reporter fw_fatal grace_period 0 auto_recover true || return 1
  done
}

# A process that writes at random into its queues, records and its page of the device, until it is
# killed, costs no other process a byte or its connection.
has_begun() { grep -q begins /tmp/hostile || ! kill -0 $hostile; }
hostility() {
  round=0
  while [ $round -lt "$HOSTILE" ]; do
    /etc/vuhca/hostile $DEVICE 1 $((SEED + round)) >/tmp/hostile 2>&1 &
    hostile=$!
    until_true has_begun && pingpong 500 && kill $hostile
    status=$?
    wait $hostile 2>/dev/null
    [ $status = 0 ] || { echo "# seed $((SEED + round))"; sed 's/^/# hostile: /' /tmp/hostile; return 1; }
    next_round
  done
  until_true ping_once
}

# The two devices are functions of one slot and of one system.
slot_of() { basename "$(readlink -f /sys/class/infiniband/$1/device)"; }
guid_of() { cat /sys/class/infiniband/$1/$2; }
is_one_card() {
  slot=$(slot_of $PEER_DEVICE)
  [ "$(slot_of $DEVICE)" = "${slot%.*}.0" ] && [ "$slot" = "${slot%.*}.1" ] &&
    [ "$(guid_of $DEVICE sys_image_guid)" = "$(guid_of $PEER_DEVICE sys_image_guid)" ] &&
    [ "$(guid_of $DEVICE node_guid)" != "$(guid_of $PEER_DEVICE node_guid)" ]
}
# A connection within function 0, whose packets never leave its port. The PSN of its sends shows
# that it goes on. It has traffic a tenth of the time: otherwise the two programs would take most of
# the processors for minutes.
psn() { rdma resource show qp link $DEVICE/1 | sed -n "s/.* sq-psn \([0-9]*\) .* pid $client .*/\1/p"; }
has_moved() { [ "$(psn)" != "$noted" ] || ! kill -0 $client; }
goes_on() {
  noted=$(psn)
  PAUSE=0.2 until_true has_moved && kill -0 $client
}
start_neighbour() {
  common="ibv_rc_pingpong -e -p 18516 -d $DEVICE -i 1 -n 1000000000"
  $common >/tmp/server 2>&1 &
  server=$!
  until_true listens || return 1
  $common localhost >/tmp/client 2>&1 &
  client=$!
  goes_on || return 1
  while kill -STOP $client && sleep 0.3 && kill -CONT $client; do sleep 0.03; done 2>/dev/null &
  pacer=$!
  goes_on
}
# Function 1 is taken from its driver, reset, given back, and fails under IPoIB. The driver of
# function 0 must not report that.
pci=/sys/bus/pci
said_of() { dmesg | grep -c "mlx5_core $1"; }
end_and_start() {
  echo $slot >$pci/drivers/mlx5_core/unbind && goes_on || return 1
  if adapter objects "adapter=${ADAPTERS#* }" | grep '=[1-9]'; then return 1; fi
  echo flr >$pci/devices/$slot/reset_method && echo 1 >$pci/devices/$slot/reset && goes_on || return 1
  echo $slot >$pci/drivers/mlx5_core/bind && until_true all_active && goes_on || return 1
  start_ipoib && until_true ping_once || return 1
  started=$(last_start) missed=$(last_miss)
  ping -q -i 0.05 10.1.0.2 >/dev/null 2>&1 &
  traffic=$!
  adapter inject fatal ${SECOND%port=*} cause=internal >/dev/null &&
    PAUSE=0.5 until_true has_restarted && until_true all_active && goes_on
  status=$?
  kill $traffic
  wait $traffic 2>/dev/null
  return $status
}
neighbours() {
  is_one_card && start_neighbour || return 1
  said=$(said_of ${slot%.*}.0)
  end_and_start
  status=$?
  kill $pacer
  end_pair $client $server
  [ $status = 0 ] && [ "$(said_of ${slot%.*}.0)" = "$said" ] && begin_traffic
}

# The kernel releases pages of a process after its end.
is_settled() { [ "$(pins)" = 0 ] && has_spare_keys; }

echo "KTAP version 1"
checks=5
[ "$RELOADS" = 0 ] || checks=$((checks + 2))
[ -z "$CAUSES" ] || checks=$((checks + 2))
[ "$HOSTILE" = 0 ] || checks=$((checks + 2))
[ $DRIVER != mlx5 ] || checks=$((checks + 2))
echo "1..$checks"
begin_traffic
report $? ports-active
echo "# ports active after $(cut -d ' ' -f 1 /proc/uptime) s"
until_true is_settled && note_objects
[ "$RELOADS" = 0 ] || phase reloads removed-and-loaded-again reloads
phase kills processes-killed-in-traffic processes
phase flaps links-flap-under-ipoib flaps
allow_recoveries
[ -z "$CAUSES" ] || phase failures fatal-errors-under-ipoib failures
[ $DRIVER != mlx5 ] || phase neighbours one-of-two-functions-ends neighbours
[ "$HOSTILE" = 0 ] || phase hostility a-hostile-process hostility
