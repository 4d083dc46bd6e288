#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# perftest: latency and bandwidth of all verbs over RC, UC and UD, all sizes from 2 bytes to 8 MiB,
# by events, with several queue pairs, with a shared receive queue, and connected by the connection
# manager. Only the success of each run is judged here, not its figures. run.sh reads it.

# perf NAME PROGRAM OPTION...
perf() {
  name=$1
  shift
  common="$* -F $PERFTEST_GID"
  pair "$name" "$common -d $DEVICE -i $PORT" "$common -d $PEER_DEVICE -i $PEER_PORT localhost"
}

# By the connection manager, both ends have the address of one port.
perf_managed() {
  name=$1
  shift
  pair "$name" "$* -F -d $DEVICE -R" "$* -F -d $DEVICE -R $ADDRESS"
}

few="-n 20"
for verb in send write read atomic; do
  perf rc-$verb-lat ib_${verb}_lat $few
  perf rc-$verb-bw ib_${verb}_bw $few
done
perf ud-send-lat ib_send_lat $few -c UD
perf uc-write-bw ib_write_bw $few -c UC
[ -z "$SHORT" ] || return 0

for verb in send write read; do
  perf rc-$verb-bw-all-sizes ib_${verb}_bw -a -n 5
  perf rc-$verb-lat-all-sizes ib_${verb}_lat -a -n 5
done
for verb in send write; do
  perf uc-$verb-lat ib_${verb}_lat $few -c UC
  perf uc-$verb-bw-all-sizes ib_${verb}_bw -a -n 5 -c UC
  perf uc-$verb-lat-all-sizes ib_${verb}_lat -a -n 5 -c UC
done
perf ud-send-bw ib_send_bw $few -c UD
perf ud-send-bw-all-sizes ib_send_bw -a -n 5 -c UD
perf ud-send-lat-all-sizes ib_send_lat -a -n 5 -c UD

# perftest arms a completion queue before it polls it, so an event may belong to an entry that it
# then takes. It goes on when the next poll finds nothing, and a queue of one request is full.
events="$few -e -t 16"
for service in RC UC UD; do
  prefix=$(echo $service | tr A-Z a-z)
  perf $prefix-send-lat-events ib_send_lat $events -c $service
  perf $prefix-send-bw-events ib_send_bw $events -c $service
done
for verb in read atomic; do
  perf rc-$verb-lat-events ib_${verb}_lat $events
  perf rc-$verb-bw-events ib_${verb}_bw $events
done

for verb in send write read atomic; do
  perf_managed rc-$verb-lat-managed ib_${verb}_lat $few
  perf_managed rc-$verb-bw-managed ib_${verb}_bw $few
done
perf_managed ud-send-lat-managed ib_send_lat $few -c UD
perf_managed ud-send-bw-managed ib_send_bw $few -c UD

perf rc-write-bw-16-queue-pairs ib_write_bw $few -q 16
perf rc-send-bw-4-queue-pairs-shared-receive-queue ib_send_bw $few -q 4 --use-srq
perf ud-send-bw-4-queue-pairs ib_send_bw $few -q 4 -c UD
perf rc-write-bw-lists-of-32 ib_write_bw -n 64 -l 32
perf rc-send-bw-both-ways ib_send_bw $few -b
perf rc-write-bw-both-ways ib_write_bw $few -b
perf rc-read-bw-both-ways ib_read_bw $few -b
perf rc-atomic-fetch-add ib_atomic_bw $few -A FETCH_AND_ADD
perf rc-write-with-immediate ib_write_bw $few --write_with_imm
perf rc-send-lat-inline ib_send_lat $few -s 64 -I 64
# By ibv_post_send, where the program would build requests by ibv_wr_start and so on.
perf rc-send-bw-old-calls ib_send_bw $few --use_old_post_send
perf rc-write-bw-mtu-256 ib_write_bw $few -m 256
if has_capability "active_mtu:.*4096"; then
  for verb in send write read; do perf rc-$verb-bw-mtu-4096 ib_${verb}_bw $few -m 4096; done
  perf ud-send-bw-mtu-4096 ib_send_bw $few -c UD -s 4096
else
  skip bw-mtu-4096 "the largest MTU of the device is smaller"
fi
perf rc-write-bw-service-level-3 ib_write_bw $few -S 3
perf rc-write-bw-one-second ib_write_bw -D 1
# Memory that is not pinned: the adapter asks for each page when a message comes to it.
if has_capability ODP_SUPPORT; then
  for verb in send write read atomic; do
    perf rc-$verb-bw-on-demand ib_${verb}_bw $few --odp
  done
else
  skip rc-bw-on-demand "the device has no on-demand paging"
fi
if [ $PEER_PORT = $PORT ]; then
  skip rc-write-bw-both-ports "the adapter has one port"
else
  pair rc-write-bw-both-ports "ib_write_bw $few -F -d $DEVICE -O" "ib_write_bw $few -F -d $DEVICE -O localhost"
fi
if has_capability XRC; then
  for verb in send write read; do perf xrc-$verb-bw ib_${verb}_bw $few -c XRC; done
  perf xrc-send-lat ib_send_lat $few -c XRC
  perf xrc-send-bw-4-queue-pairs ib_send_bw $few -c XRC -q 4
else
  skip xrc-send-bw "the device has no XRC"
fi
