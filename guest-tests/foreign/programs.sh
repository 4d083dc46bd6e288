#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Programs that other people measure, look up paths, serve and watch with, each judged by its own
# verdict: qperf, the XRC client of librdmacm, sockets that a preloaded library carries over RDMA,
# fio's own RDMA engine, NetPIPE on MPICH, ibacm, node_exporter. run.sh reads it.

# The server of qperf serves for ever. Tests that begin with `ver_` check the data.
for test in rc_lat rc_bi_bw uc_bw ud_lat rc_rdma_write_poll_lat rc_rdma_read_bw ver_rc_compare_swap ver_rc_fetch_add; do
  serve qperf-$test "qperf" "qperf $ADDRESS -t 1 -i $DEVICE:$PORT -ri $DEVICE:$PORT $test"
  [ -z "$SHORT" ] || break
done
serve qperf-managed "qperf" "qperf $ADDRESS -t 1 -cm 1 rc_bw"
[ -z "$SHORT" ] || return 0

pair rdma-xclient "rdma_xserver" "rdma_xclient -s $ADDRESS"
if has_capability XRC; then
  pair rdma-xclient-xrc "rdma_xserver -c x" "rdma_xclient -s $ADDRESS -c x"
else
  skip rdma-xclient-xrc "the device has no XRC"
fi

# Sockets of a program that knows nothing of RDMA.
preload="env LD_PRELOAD=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"
serve rsockets-iperf "$preload iperf -s" "$preload iperf -c $ADDRESS -n 1M"

# fio's own engine: the client writes to memory that the server has told it.
fio="fio --ioengine=rdma --port=18000 --bs=16k --size=1m --iodepth=4 --eta=never"
pair fio-rdma-write "$fio --name=receiver --rw=read" "$fio --name=sender --rw=write --verb=write --hostname=$ADDRESS"

# NetPIPE compares what comes back, size by size; without shared memory all of it is RDMA.
check mpich-netpipe "UCX_TLS=rc_v,self UCX_NET_DEVICES=$DEVICE:$PORT mpiexec.mpich -n 2 NPmpich2 -i -u 4096 -o $WORK/netpipe" \
  "Integrity check passed"

# Datagrams of subnet administration become paths of a cache, asked by name of the interface.
if [ $LINK = InfiniBand ]; then
  ib_acme -A -O -D /etc/rdma >$WORK/output 2>&1
  ibacm -P >$WORK/ibacm 2>&1 </dev/null &
  check ibacm "until ib_acme -f i -s $ADDRESS -d $ADDRESS -v; do [ -d /proc/$! ] || exit 1; sleep 0.2; done" "success"
  kill $!
else
  skip ibacm "paths over Ethernet are not those of subnet administration"
fi

prometheus-node-exporter --collector.disable-defaults --collector.infiniband \
  --web.listen-address=127.0.0.1:9100 >$WORK/exporter 2>&1 </dev/null &
metrics="python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:9100/metrics\").read().decode())'"
check node-exporter "until $metrics; do [ -d /proc/$! ] || exit 1; sleep 0.2; done" \
  "node_infiniband_port_data_transmitted_bytes_total\\{device=\"$DEVICE\",port=\"1\"\\} [1-9]"
kill $!
