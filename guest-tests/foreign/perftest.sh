#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# perftest: latency and bandwidth of all verbs over RC, UC and UD, all sizes from 2 bytes to 8 MiB,
# by events, with several queue pairs, with a shared receive queue, and connected by the connection
# manager. Figures are not judged here, only that each run ends well. run.sh reads it.

[ -z "$GID_INDEX" ] || PERFTEST_GID="-x $GID_INDEX"

# perf NAME PROGRAM OPTION...
perf() {
  name=$1
  shift
  common="$* -F -d $DEVICE $PERFTEST_GID"
  pair "$name" "$common -i $PORT" "$common -i $PEER_PORT localhost"
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
if [ -z "$SHORT" ]; then
  for verb in send write read; do perf rc-$verb-bw-all-sizes ib_${verb}_bw -a -n 10; done
  for verb in send write read; do perf rc-$verb-lat-all-sizes ib_${verb}_lat -a -n 10; done
  perf uc-send-lat ib_send_lat $few -c UC
  perf uc-send-bw-all-sizes ib_send_bw -a -n 10 -c UC
  perf uc-write-lat ib_write_lat $few -c UC
  perf uc-write-bw-all-sizes ib_write_bw -a -n 10 -c UC
  perf ud-send-bw ib_send_bw $few -c UD
  perf ud-send-bw-all-sizes ib_send_bw -a -n 10 -c UD
  perf rc-send-lat-events ib_send_lat $few -e
  perf rc-send-bw-events ib_send_bw $few -e
  perf ud-send-lat-events ib_send_lat $few -c UD -e
  perf rc-write-bw-16-queue-pairs ib_write_bw $few -q 16
  perf rc-send-bw-4-queue-pairs-shared-receive-queue ib_send_bw $few -q 4 --use-srq
  perf rc-write-bw-lists-of-32 ib_write_bw -n 64 -l 32
  perf rc-send-bw-both-ways ib_send_bw $few -b
  perf rc-read-bw-both-ways ib_read_bw $few -b
  perf rc-atomic-fetch-add ib_atomic_bw $few -A FETCH_AND_ADD
  perf rc-write-with-immediate ib_write_bw $few --write_with_imm
  perf_managed rc-send-lat-managed ib_send_lat $few
  perf_managed rc-write-bw-managed ib_write_bw $few
  perf_managed ud-send-bw-managed ib_send_bw $few -c UD
fi
