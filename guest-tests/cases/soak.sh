#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Our verbs for minutes: Debian's programs in turns, beside traffic by IP between both ports.
# Afterwards nothing may be left in the adapter or in the kernel. soak.long.ts runs it, with the
# time in /etc/vuhca/stress.

. /etc/vuhca/stress

DEVICE=vuhca0
. /etc/vuhca/stress-library.sh

# answers: succeeds when the far port answers by IP.
answers() { ping -c 1 -W 5 10.1.0.2 >/dev/null; }
has_interfaces() { [ -e /sys/class/net/ib0 ] && [ -e /sys/class/net/ib1 ]; }
serves() { ip netns exec far ss -Hltn | grep -q 5201; }
start_ip() {
  until_true has_interfaces || return 1
  ip netns add far && ip link set ib1 netns far || return 1
  ip address replace 10.1.0.1/24 dev ib0 && ip -n far address replace 10.1.0.2/24 dev ib1 || return 1
  ip link set ib0 up && ip -n far link set ib1 up || return 1
  until_true answers || return 1
  ip netns exec far iperf3 -s >/dev/null 2>&1 &
  far=$!
  until_true serves || return 1
  iperf3 -c 10.1.0.2 -t 0 >/tmp/iperf 2>&1 &
  near=$!
}
end_ip() {
  if ! kill -0 $near; then
    sed 's/^/# /' /tmp/iperf
    return 1
  fi
  kill $near $far
  wait $near $far 2>/dev/null
  answers
}

# run_pair PROGRAM OPTION...: runs server and client between the ports; both must succeed.
run_pair() {
  "$@" -d $DEVICE -i 1 >/tmp/server 2>&1 &
  server=$!
  until_true listens || return 1
  if "$@" -d $DEVICE -i 2 localhost >/tmp/client 2>&1 && wait $server; then return 0; fi
  echo "# $*"
  sed 's/^/# /' /tmp/client /tmp/server
  kill $server 2>/dev/null
  return 1
}
PROGRAMS=8
run_next() {
  case $((round % PROGRAMS)) in
    0) run_pair ib_write_bw -F -s 65536 -n 1000 ;;
    1) run_pair ibv_rc_pingpong -n 3000 -e ;;
    2) run_pair ib_send_bw -F -s 4096 -n 1000 -q 4 ;;
    3) run_pair ibv_ud_pingpong -n 3000 ;;
    4) run_pair ib_read_lat -F -s 4096 -n 1000 ;;
    5) run_pair ibv_srq_pingpong -n 1000 ;;
    6) run_pair ib_atomic_bw -F -n 2000 ;;
    7) run_pair ibv_uc_pingpong -n 3000 ;;
  esac
}
soak() {
  round=0
  note_time
  end=$((seconds + MINUTES * 60))
  start_ip || return 1
  # Each program runs at least once, however short the time is.
  while [ "$seconds" -lt $end ] || [ $round -lt $PROGRAMS ]; do
    run_next || return 1
    round=$((round + 1))
    note_time
    echo "# round $round, $((end - seconds)) s to go"
  done
  end_ip
}

echo "KTAP version 1"
echo "1..3"
until_true all_active
report $? ports-active
note_objects
phase soak minutes-of-traffic traffic
