#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The basic programs between two guests on one fabric: ping-pongs, perftest, the connection manager,
# multicast, and IP over InfiniBand with ping and iperf3. run.sh reads it.

for service in rc uc ud srq; do
  common="ibv_${service}_pingpong -i $PORT $GID -n 100"
  [ $service = srq ] && common="$common -q 4"
  pair $service-pingpong "$common -c -d $FAR_DEVICE" "$common -c -d $DEVICE $FAR"
done

# perf NAME PROGRAM OPTION...
perf() {
  name=$1
  shift
  common="$* -F -i $PORT $PERFTEST_GID"
  pair "$name" "$common -d $FAR_DEVICE" "$common -d $DEVICE $FAR"
}
perf rc-write-bw ib_write_bw -n 50
perf rc-send-lat ib_send_lat -n 50
pair rping "rping -s -C 20 -v" "rping -c -a $FAR -C 20 -v"
if [ -z "$SHORT" ]; then
  perf rc-write-bw-all-sizes ib_write_bw -a -n 5
  perf rc-read-bw ib_read_bw -n 50
  perf rc-atomic-bw ib_atomic_bw -n 50
  perf uc-write-bw ib_write_bw -n 50 -c UC
  perf ud-send-bw ib_send_bw -n 50 -c UD
  perf rc-write-bw-16-queue-pairs ib_write_bw -n 50 -q 16
  pair rc-write-bw-managed "ib_write_bw -F -n 50 -R" "ib_write_bw -F -n 50 -R $FAR"
  pair ucmatose "ucmatose" "ucmatose -s $FAR"
  pair udaddy "udaddy" "udaddy -s $FAR"
  pair rstream "rstream -S 4096 -C 20" "rstream -s $FAR -S 4096 -C 20"
fi

# The sender repeats, because a receiver prints nothing before its first message.
if [ $LINK = InfiniBand ]; then
  $far begin "mckey -m 239.1.1.1 -b $FAR -C 1"
  check multicast-mckey "while $far run 'pgrep -x mckey' && ! mckey -m 239.1.1.1 -b $ADDRESS -s -C 1; do sleep 0.2; done; $far wait" "receiving"
  $far kill >$WORK/server
else
  skip multicast-mckey "its multicast over RoCE needs a router"
fi

# rds NAME: a test of rds-pair.py. The server reports when it is bound.
rds() {
  wanted "rds-$1" || return 0
  $far begin "python3 /foreign/rds-pair.py serve $FAR"
  $far run "until grep -q serves $WORK/server; do pgrep -f '[r]ds-pair' || exit; sleep 0.05; done" >$WORK/host
  run_limited "exec python3 /foreign/rds-pair.py $1 $ADDRESS $FAR" >$WORK/client 2>&1
  rds_status=$?
  $far kill >$WORK/server
  if [ $rds_status = 0 ]; then pass "rds-$1"; else fail "rds-$1" $WORK/server $WORK/client; fi
}
if has_capability MEM_MGT_EXTENSIONS && $far run "ibv_devinfo -v -d $FAR_DEVICE | grep MEM_MGT_EXTENSIONS" >/dev/null; then
  modprobe rds_rdma && $far run "modprobe rds_rdma"
  for test in messages order write read; do rds $test; done
  # Its listener would be taken for that of a server.
  unload="modprobe -r rds_rdma"
  check rds-unload "$unload && $far run '$unload'"
else
  skip rds "rds_rdma needs registration of memory by requests, which the driver does not have"
fi

check ping "ping -c 3 -W 60 $FAR" " 0% packet loss"
if [ $LINK != InfiniBand ]; then
  skip ipoib "RoCE has no IP over InfiniBand"
  return 0
fi
ask_host capture >$WORK/host
check ping-captured "ping -c 3 -W 60 $FAR" " 0% packet loss"
# The link type that tshark calls ipoib is a capture of the interface, without InfiniBand headers.
check_capture ping-in-tshark "infiniband && icmp"
check ping-large "ping -c 3 -s 8000 -W 60 $FAR" " 0% packet loss"
iperf() {
  name=$1
  shift
  pair "$name" "iperf3 -s -1" "iperf3 -c $FAR -n 4M $*"
}
iperf iperf3-datagram
[ -z "$SHORT" ] || return 0
iperf iperf3-datagram-udp -u -b 0
# connect MODE MTU: in both guests.
connect() {
  command="echo $1 >/sys/class/net/$NETDEV/mode && ip link set $NETDEV mtu $2"
  sh -c "$command" && $far run "$command"
}
connect connected 65520
check ping-connected "ping -c 3 -s 30000 -W 60 $FAR" " 0% packet loss"
iperf iperf3-connected
connect datagram 2044

# A manager in this guest in place of the built-in one: the far guest learns of it, and connections
# are made while it manages and afterwards. LIDs are as sysfs shows them.
port=/sys/class/infiniband/$DEVICE/ports/$PORT
far_port=/sys/class/infiniband/$FAR_DEVICE/ports/$PORT
far_manager="$far run 'cat $far_port/sm_lid'"
pingpong="ibv_rc_pingpong -i $PORT $GID -n 100 -c"
own=$(cat $port/lid)
before=$(sh -c "$far_manager")
if [ "$before" = "$own" ] || [ "$((before))" = 0 ]; then
  skip opensm-manages-both "the fabric has no manager of its own"
  return 0
fi
guid=$(ibstat $DEVICE $PORT | sed -n 's/.*Port GUID: //p')
printf 'Default=0x7fff, ipoib : ALL=full;\nSecond=0x0001 : ALL=full;\n' >$WORK/partitions
opensm -P $WORK/partitions -g "$guid" -f $WORK/opensm.log >$WORK/opensm 2>&1 </dev/null 5<&- &
manager=$!
check opensm-manages-both "until [ \"\$($far_manager)\" = $own ]; do kill -0 $manager || { cat $WORK/opensm; exit 1; }; sleep 0.2; done"
# The second partition comes and goes in the tables of both.
has_key="grep -qx 0x8001 $port/pkeys/*" far_has_key="$far run 'grep -qx 0x8001 $far_port/pkeys/*'"
check opensm-partition-in-both "until $has_key && $far_has_key; do sleep 0.2; done"
pair rc-pingpong-under-opensm "$pingpong -d $FAR_DEVICE" "$pingpong -d $DEVICE $FAR"
kill $manager
wait $manager 2>/dev/null
check built-in-manager-manages-both "until [ \"\$($far_manager)\" = $before ]; do sleep 0.2; done"
check opensm-partition-gone "while $has_key || $far_has_key; do sleep 0.2; done"
pair rc-pingpong-after-opensm "$pingpong -d $FAR_DEVICE" "$pingpong -d $DEVICE $FAR"
