#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Measures our verbs in a guest whose processors take turns on one thread of QEMU. A machine with
# two CPUs then has one for the adapter. A process that polls must give way by PAUSE, as our
# provider does: that of soft-RoCE does not, so each of its messages waits for a timer interrupt.
# run.sh reads this file for vuhca only.

. /foreign/figures-library.sh
MODE=-single

# typical_latency ADAPTER MESSAGES: measures the latency, and sets $typical to it in us, or to
# nothing. A client that measures the frequency of a processor out of turn prints `inf`.
typical_latency() {
  adapter=$1 typical= tries=3
  use_adapter $adapter
  while [ -z "$typical" ] && [ $tries -gt 0 ]; do
    : >$WORK/client
    measure latency-64 5 ib_send_lat -s 64 -n $2
    typical=$(awk '$1 == 64 && $5 ~ /^[0-9.]+$/ { print $5 }' $WORK/client)
    tries=$((tries - 1))
  done
}

(prepare_rxe) >$WORK/output 2>&1 || {
  fail soft-roce $WORK/output
  return 0
}
round=1
typical_latency rxe 200
without_pause=$typical
typical_latency vuhca 20000
echo "$without_pause $typical" >$WORK/output
if ! wanted latency-64-rxe-1 || ! wanted latency-64-vuhca-1; then
  : # There is nothing to compare.
elif awk 'NF != 2 || !($2 > 0 && $2 < $1 / 2) { exit 1 }' $WORK/output; then
  pass gives-way
else
  fail gives-way $WORK/output
fi
[ -z "$SHORT" ] || return 0
round=0
while [ $round -lt 3 ]; do
  round=$((round + 1))
  adapter=vuhca
  [ $round = 1 ] || measure latency-64 5 ib_send_lat -s 64 -n 20000
  measure bandwidth-65536 4 ib_write_bw -s 65536 -t 16 -Q 4 -D 6 -f 1
  measure rate-64 5 ib_write_bw -s 64 -D 4 -f 1
  measure_nvme
  measure_stream
  adapter=loop
  measure_nvme
done
