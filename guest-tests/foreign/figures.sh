#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Measures the adapter beside soft-RoCE in one guest, in turns, so that both have the same machine:
# latency and rate of messages of 64 bytes, bandwidth of 64 KiB. A line `# figure NAME ADAPTER
# VALUE` has each value; scripts/foreign/figures.ts reads them. run.sh reads this file.

if [ $ADAPTER = rxe ]; then
  skip figures "the others are compared with it"
  return 0
fi

# turn_to ADAPTER: the programs then use this adapter.
turn_to() {
  turn=$1
  case $turn in
    rxe) DEVICE=rxe0 PORT=1 PEER_PORT=1 PERFTEST_GID="-x 1" ;;
    *) DEVICE=$own_device PORT=$own_port PEER_PORT=$own_peer PERFTEST_GID=$own_gid ;;
  esac
}

# measure NAME COLUMN PROGRAM OPTION...: the column of the last row of perftest's table.
measure() {
  figure=$1 column=$2
  shift 2
  wanted "$figure-$turn-$round" || return 0
  common="$* -F -d $DEVICE $PERFTEST_GID"
  pair "$figure-$turn-$round" "$common -i $PORT" "$common -i $PEER_PORT localhost"
  awk -v column="$column" -v head="  # figure $figure $turn" '
    /^ *[0-9]+ +[0-9]+ +[0-9.]+ / { value = $column }
    END { if (value != "") print head, value }' $WORK/client
}

own_device=$DEVICE own_port=$PORT own_peer=$PEER_PORT own_gid=$PERFTEST_GID
(prepare_rxe) >$WORK/output 2>&1 || {
  fail soft-roce $WORK/output
  return 0
}
round=0
while [ $round -lt 3 ]; do
  round=$((round + 1))
  for adapter in $ADAPTER rxe; do
    turn_to $adapter
    measure latency-64 5 ib_send_lat -s 64 -n 500
    # Soft-RoCE needs seconds for what a deep queue holds.
    measure bandwidth-65536 4 ib_write_bw -s 65536 -t 16 -Q 4 -D 6 -f 1
    measure rate-64 5 ib_write_bw -s 64 -D 4 -f 1
  done
done
turn_to $ADAPTER
