#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Two tenants that are processes of one guest with Debian's user space: perftest's ib_write_bw,
# whose QoS level is in its environment, and the program `flood`, whose level is an attribute of
# its queue pair. Both keep RDMA WRITEs from port 1 to port 2 under way, and the host measures.
# Each line of /etc/vuhca/phases has the levels for a phase. scripts/demo/qos/processes.ts packs it.

. /etc/vuhca/tenants
DEVICE=vuhca0
. /etc/vuhca/stress-library.sh
export VUHCA_POST=collect
perftest="ib_write_bw -F -d $DEVICE -s $BYTES -t $DEPTH -Q 8 --run_infinitely -D 1"

# run_phase LEVEL LEVEL: of ib_write_bw and of flood.
run_phase() {
  $perftest -i 2 >/tmp/server 2>&1 &
  server=$!
  until_true listens || return 1
  VUHCA_QOS_LEVEL=$1 $perftest -i 1 localhost >/tmp/client 2>&1 &
  client=$!
  flood $DEVICE 1 2 $BYTES $DEPTH $2 >/tmp/flood 2>&1 &
  flood=$!
  adapter measure $client $flood
  measured=$?
  for process in $client $flood $server; do
    kill -0 $process || { echo "# a tenant ended by itself"; measured=1; }
  done
  [ $measured = 0 ] || sed 's/^/# /' /tmp/client /tmp/server /tmp/flood
  kill -9 $client $flood $server
  wait $client $flood $server 2>/dev/null
  return $measured
}

echo "KTAP version 1"
echo "1..$(wc -l </etc/vuhca/phases)"
until_true all_active
while read -r first second; do
  run_phase "$first" "$second" </dev/null
  report $? "levels-$first-$second"
done </etc/vuhca/phases
