#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The InfiniBand device of the driver in Debian's user space: its attributes in Debian's tools, and
# IPoIB between its ports, each in a network namespace. Under traffic the driver is unbound, the
# function reset and the module removed (PART=life): each time the users of the device must leave it
# without a complaint of the kernel, and work again. With PART=loss programs that take long use the
# device, and then the adapter is killed under a program that polls, which gets its requests back,
# and under IPoIB, with traffic if TRAFFIC is set. With PART=asleep the system sleeps under traffic.
# verbs-run.ts packs it, with both words in /etc/verbs.

. /etc/verbs

FUNCTION=0000:01:00.0
DEVICE=/sys/class/infiniband/vuhca0
BOUND_SECONDS=600
SAY_SECONDS=30
number=0

report() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then echo "  ok $number $2"; else echo "  not ok $number $2"; fi
}

# eventually COMMAND: repeats it until it succeeds, at most for the bound, and prints what it waits
# for.
eventually() {
  end=$(($(now) + BOUND_SECONDS))
  say=$(($(now) + SAY_SECONDS))
  until eval "$1" >/tmp/said 2>&1; do
    if [ $(now) -ge $say ]; then
      say=$((say + SAY_SECONDS))
      echo "  # waits for: $1"
      sed 's/^/  # /' /tmp/said
    fi
    [ $(now) -lt $end ] || return 1
    sleep 0.2
  done
}
now() { IFS=. read -r uptime _ </proc/uptime && echo $uptime; }

all_active() {
  for port in $DEVICE/ports/*/state; do grep -q ACTIVE "$port" || return 1; done
}

# arrange MODE: addresses for both interfaces, ib1 in the namespace `far`.
arrange() {
  eventually "all_active && [ -e /sys/class/net/ib0 ] && [ -e /sys/class/net/ib1 ]" || return 1
  ip link set ib1 netns far
  for side in "ip" "ip -n far"; do
    if [ "$side" = ip ]; then name=ib0 host=1; else name=ib1 host=2; fi
    $side address replace 10.1.0.$host/24 dev $name
  done
  echo "$1" >/sys/class/net/ib0/mode
  ip netns exec far sh -c "echo $1 >/sys/class/net/ib1/mode"
  ip link set ib0 up && ip -n far link set ib1 up
  eventually "ping -c 1 -W 5 10.1.0.2"
}

# A program of guest-tests/foreign or of this folder, which prints what is wrong.
check_program() {
  python3 /root/$1 vuhca0 >/tmp/said 2>&1
  ended=$?
  [ $ended = 0 ] || sed 's/^/  # /' /tmp/said
  report $ended "${1%.py}"
}

# Shows all queues again and again: they may be destroyed while they are shown.
show_queues() {
  while rdma -dd resource show qp >/dev/null && rdma -dd resource show cq >/dev/null; do sleep 0.1; done
}

# Traffic until the interfaces are removed.
load() {
  show_queues 2>/dev/null &
  watcher=$!
  ip netns exec far iperf3 -s >/tmp/server 2>&1 &
  server=$!
  eventually '[ -n "$(ip netns exec far ss -Hltn)" ]'
  keep_sending >/tmp/client 2>&1 &
  client=$!
  before=$(sent)
  eventually '[ $(sent) -gt $((before + 200)) ]'
}
# A client whose connection fails on a busy machine begins again.
keep_sending() {
  while :; do
    iperf3 -c 10.1.0.2 -t 0
    sleep 0.2
  done
}
sent() { cat /sys/class/net/ib0/statistics/tx_packets; }

unload() {
  # At TERM iperf3 waits for its threads, which may wait in a send to a far end that is gone.
  kill -9 $client $server $watcher 2>/dev/null
  pkill -9 iperf3
  wait $client $server $watcher 2>/dev/null
}

# Goes back to datagrams, until no connected QP is left. Otherwise an orderly removal fails now
# and then: IPoIB of the kernel destroys its CQs without waiting for the work that destroys its
# connected QPs, and that work waits up to 5 s for sends to a far end that is gone.
disconnect() {
  echo datagram >/sys/class/net/ib0/mode
  ip netns exec far sh -c "echo datagram >/sys/class/net/ib1/mode"
  eventually "$NO_CONNECTION"
}
NO_CONNECTION="! rdma resource show qp | grep -q 'type RC'"

# Output of Debian's tools, and three ways to lose the device and get it back.
life() {
  eventually all_active
  ibstat vuhca0 >/tmp/ibstat
  grep -q "CA type: vuhca physical function" /tmp/ibstat && grep -q "Link layer: InfiniBand" /tmp/ibstat
  report $? ibstat
  insmod /root/vuhca_verbs_test.ko && rmmod vuhca_verbs_test
  report $? kernel-verbs
  check_program ignored-attributes.py
  check_program on-demand.py
  arrange datagram
  report $? datagram
  load
  rdma -dd resource show qp | grep -q "sq_entries"
  report $? resources
  rdma statistic show link vuhca0/1 | grep -q "transmit_packets [1-9]" && grep -q "[1-9]" $DEVICE/hw_counters/commands
  report $? counters
  echo $FUNCTION >/sys/bus/pci/drivers/vuhca/unbind && [ ! -e $DEVICE ]
  report $? unbind-under-load
  unload
  bind 0 && arrange connected
  report $? connected-after-unbind

  load
  unload
  disconnect
  report $? connected-under-load

  load
  echo 1 >/sys/bus/pci/devices/$FUNCTION/reset
  report $? reset-under-load
  unload
  arrange datagram
  report $? datagram-after-reset

  load
  rmmod vuhca_ib && [ ! -e $DEVICE ]
  report $? remove-under-load
  unload
  insmod /root/vuhca_ib.ko && arrange connected && disconnect
  report $? connected-after-removal
}

# A program that polls for requests without an answer. It prints `flushed` when all were flushed.
start_program() {
  python3 /root/dead-device.py vuhca0 >/tmp/program 2>&1 &
  program=$!
  eventually "grep -q ready /tmp/program || has_ended $program"
}
has_ended() { ! kill -0 $1 2>/dev/null; }
was_flushed() {
  eventually "has_ended $program" && grep -q flushed /tmp/program && return 0
  sed 's/^/  # /' /tmp/program
  kill -9 $program
  return 1
}

# bind TAILS: whether the driver watches tails of send queues is read when a function comes into
# service.
bind() {
  echo $1 >/sys/module/vuhca/parameters/shadow_tails
  echo $FUNCTION >/sys/bus/pci/drivers/vuhca/bind
}

# exchange COMMAND: between both ports. State 0A is LISTEN.
exchange() {
  $1 -d vuhca0 -i 1 >/tmp/server 2>&1 &
  server=$!
  eventually "grep -q ' 0A ' /proc/net/tcp /proc/net/tcp6"
  eventually "$1 -d vuhca0 -i 2 localhost" && wait $server
}

# Messages of processes, one at a time and in streams.
post() {
  exchange "ibv_rc_pingpong -c -n 200" && exchange "ibv_ud_pingpong -c -n 200" &&
    exchange "ib_write_bw -F -s 64 -n 500" && /root/stream vuhca0 -1 1 2 200 64 >/tmp/stream
}

# Programs that take long: one makes every object in the largest size that is reported, one tries
# each counter, and others post, with shadow tails and with a doorbell for each request.
programs() {
  eventually all_active
  check_program limits.py
  check_program counters.py
  post
  report $? posting-with-tails
  echo $FUNCTION >/sys/bus/pci/drivers/vuhca/unbind
  bind 0 && eventually all_active && post && grep -qx 0 $DEVICE/hw_counters/tails_found
  report $? posting-without-tails
}

# sleep_under_load NAME COMMAND: a sleep ends all objects of the device, as a reset does; then
# everything works again.
# The program begins first: under the load it would take many times as long to start.
sleep_under_load() {
  start_program
  load
  eval "$2"
  report $? "$1"
  unload
  was_flushed
  report $? "$1-flushes-requests"
  arrange datagram
  report $? "$1-works-again"
}

asleep() {
  arrange datagram
  report $? datagram
  # A busy machine may need longer.
  echo 600000 >/sys/power/pm_freeze_timeout
  sleep_under_load memory "adapter wake memory && echo mem >/sys/power/state"
  mkswap /dev/vdb >/dev/null && swapon /dev/vdb && echo test_resume >/sys/power/disk
  sleep_under_load hibernation "echo disk >/sys/power/state"
  rmmod vuhca_ib && rmmod vuhca
  report $? unload
}

loss() {
  programs
  echo $FUNCTION >/sys/bus/pci/drivers/vuhca/unbind
  bind 1 && arrange connected
  [ -z "$TRAFFIC" ] || load
  start_program
  echo "# host: kill the device"
  eventually "dmesg | grep -q 'the device is gone'"
  report $? loss-is-noticed
  was_flushed
  report $? requests-are-flushed
  [ -z "$TRAFFIC" ] || unload
  # A far end that is gone takes no connection down; stopped interfaces destroy theirs.
  ip link set ib0 down && ip -n far link set ib1 down
  eventually "$NO_CONNECTION" && rmmod vuhca_ib && rmmod vuhca
  report $? remove-after-loss
}

echo "KTAP version 1"
echo "  KTAP version 1"
echo "  # Subtest: $PART"
ip netns add far
$PART
echo "  1..$number"
echo "ok 1 $PART"
echo "1..1"
