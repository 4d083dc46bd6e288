#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Programs of others for measurements, path look-ups, services and monitoring, each judged by its
# own verdict: qperf, the XRC client of librdmacm, sockets that a preloaded library carries over
# RDMA, fio's own RDMA engine, NetPIPE on MPICH, HPC Challenge on Open MPI, tgt with libiscsi,
# ibacm, node_exporter. run.sh reads it.

# The server of qperf serves forever. Tests that begin with `ver_` check the data.
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

# fio's own engine. The job that writes is the client, whatever its verb is: READ and WRITE use
# memory whose address the server has sent.
fio="fio --ioengine=rdma --port=18000 --bs=16k --size=1m --eta=never"
for verb in write read; do
  pair fio-rdma-$verb "$fio --iodepth=4 --name=receiver --rw=read" \
    "$fio --iodepth=4 --name=sender --rw=write --verb=$verb --hostname=$ADDRESS"
done
# A receiver that is not ready ends the connection, as fio asks for no retry: so all receives are
# posted at once.
pair fio-rdma-send "$fio --iodepth=64 --name=receiver --rw=read" \
  "$fio --iodepth=4 --name=sender --rw=write --verb=send --hostname=$ADDRESS"

# NetPIPE compares the returned data, size by size; without shared memory all of it goes by RDMA.
check mpich-netpipe "UCX_TLS=rc_v,self UCX_NET_DEVICES=$DEVICE:$PORT mpiexec.mpich -n 2 NPmpich2 -i -u 4096 -o $WORK/netpipe" \
  "Integrity check passed"

# Linear algebra, sums of all ranks, transposition and random access, each checked by the program.
# UCX takes the ports of a PCI function for one device, so it gets one port.
mkdir -p $WORK/hpcc
cat >$WORK/hpcc/hpccinf.txt <<'END'
HPLinpack benchmark input file
HPC Challenge
HPL.out output file name
8 device out
1 problem sizes
200 N
1 block sizes
40 NB
0 row-major process mapping
1 process grids
1 P
2 Q
16.0 threshold
1 panel factorizations
2 Crout
1 recursive stopping criteria
4 NBMIN
1 panels in recursion
2 NDIV
1 recursive panel factorizations
1 Crout
1 broadcasts
1 1ringM
1 lookahead depths
1 DEPTH
2 mix
64 swapping threshold
0 L1 transposed
0 U transposed
1 equilibration
8 alignment
0 further sizes for PTRANS
1200
0 further block sizes for PTRANS
40
END
# No package is configured, so nothing links libblas.so.3 to this folder.
check hpcc "cd $WORK/hpcc && LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/blas mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 --mca pml ucx -x UCX_TLS=rc_v,self \
  -x UCX_NET_DEVICES=$DEVICE:$PORT hpcc && cat hpccoutf.txt" "^Success=1"

# Target and initiator of iSER, both in user space. tgt accepts an initiator when it is bound by its
# address and by its name, and answers "target not found" to all others.
IQN=iqn.2026-11.vuhca:tgt INITIATOR=iqn.2026-11.vuhca:libiscsi
truncate -s 8M $WORK/tgt-disk
tgtd -f >$WORK/tgtd 2>&1 </dev/null &
tgtd=$!
target="tgtadm --lld iser --tid 1 --mode"
check tgt-target "until $target target --op new -T $IQN; do [ -d /proc/$tgtd ] || exit 1; sleep 0.2; done &&
  $target logicalunit --op new --lun 1 -b $WORK/tgt-disk &&
  $target target --op bind -I ALL && $target target --op bind -Q $INITIATOR"
disk="-i $INITIATOR iser://$ADDRESS/$IQN/1"
check libiscsi-inquiry "iscsi-inq $disk" "Peripheral Device Type:DIRECT_ACCESS"
check libiscsi-capacity "iscsi-readcapacity16 $disk" "Total size:8388608"
for operation in Write Read; do
  check libiscsi-$operation "iscsi-test-cu --dataloss --test=SCSI.${operation}10.Simple $disk" \
    "asserts +[0-9]{3,} +[0-9]+ +[0-9]+ +0 "
done
kill $tgtd

# Datagrams of subnet administration become paths of a cache, asked by name of the interface.
if [ $LINK = InfiniBand ]; then
  ib_acme -A -O -D /etc/rdma >$WORK/output 2>&1
  ibacm -P >$WORK/ibacm 2>&1 </dev/null &
  check ibacm "until ib_acme -f i -s $ADDRESS -d $ADDRESS -v; do [ -d /proc/$! ] || exit 1; sleep 0.2; done" "success"
  kill $!
else
  skip ibacm "paths over Ethernet are not those of subnet administration"
fi

# This version expects counters of the hardware from each device whose name begins with mlx5_, and
# otherwise finds no device at all.
if [ $ADAPTER = mlx5 ] && [ ! -d /sys/class/infiniband/$DEVICE/ports/$PORT/hw_counters ]; then
  skip node-exporter "the device has no hw_counters, without which this version reads none of mlx5"
else
  prometheus-node-exporter --collector.disable-defaults --collector.infiniband \
    --web.listen-address=127.0.0.1:9100 >$WORK/exporter 2>&1 </dev/null &
  metrics="python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:9100/metrics\").read().decode())'"
  check node-exporter "until $metrics; do [ -d /proc/$! ] || exit 1; sleep 0.2; done" \
    "node_infiniband_port_data_transmitted_bytes_total\\{device=\"$DEVICE\",port=\"1\"\\} [1-9]"
  kill $!
fi
