#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Measures adapters beside soft-RoCE in one guest, in turns, so that all have the same machine:
# latency and rate of messages of 64 bytes, bandwidth of 64 KiB, requests to a disk of 4 KiB by
# NVMe over RDMA, and messages over 1,000 queue pairs of a process. run.sh reads this file.

if [ $ADAPTER = rxe ]; then
  skip figures "the others are compared with it"
  return 0
fi

. /foreign/figures-library.sh
MODE=
case " $ADAPTERS " in
  *" rxe "*) ;;
  *) (prepare_rxe) >$WORK/output 2>&1 || {
    fail soft-roce $WORK/output
    return 0
  } ;;
esac
round=0
while [ $round -lt 3 ]; do
  round=$((round + 1))
  for adapter in ${ADAPTERS% rxe} rxe; do
    use_adapter $adapter
    measure latency-64 5 ib_send_lat -s 64 -n 20000
    # Soft-RoCE needs seconds for the requests of a deep queue.
    measure bandwidth-65536 4 ib_write_bw -s 65536 -t 16 -Q 4 -D 6 -f 1
    measure rate-64 5 ib_write_bw -s 64 -D 4 -f 1
    measure_nvme
    measure_stream
    [ $adapter = vuhca ] || continue
    # The same with a doorbell for each request.
    set_tails N
    measure latency-64-rung 5 ib_send_lat -s 64 -n 5000
    measure rate-64-rung 5 ib_write_bw -s 64 -D 4 -f 1
    measure_stream -rung
    set_tails Y
  done
  adapter=loop
  measure_nvme
done
for adapter in ${ADAPTERS% rxe} rxe; do
  use_adapter $adapter
  measure_pairs pairs 41 1000 64 64
  # Each queue pair is as busy as the single one.
  measure_pairs busy-pairs 7 32000 16 16000
done
use_adapter $ADAPTER
