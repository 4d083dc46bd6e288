#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Libraries of message passing on the verbs, between two guests: UCX, libfabric, and Open MPI by
# mpi4py, whose daemon in the far guest the host starts. run.sh reads it.

# Debian's ucx_perftest must be started by mpirun unless its input is a terminal.
TERMINAL=/dev/ttyS0
# ucx NAME TRANSPORT OPTION...: protocols of UCX over a transport; `rc_v` has ud_verbs to connect.
ucx() {
  name=$1
  use="env UCX_TLS=$2,self" program="ucx_perftest -p 13337"
  shift 2
  pair "$name" "$use UCX_NET_DEVICES=$FAR_DEVICE:$PORT $program <$TERMINAL" \
    "$use UCX_NET_DEVICES=$DEVICE:$PORT $program $FAR -w 5 -n 50 $* <$TERMINAL"
}
ucx ucx-rc-tag-latency rc_v -t tag_lat
ucx ucx-ud-tag-latency ud_v -t tag_lat
if [ -z "$SHORT" ]; then
  ucx ucx-rc-tag-bandwidth-1-MiB rc_v -t tag_bw -s 1048576
  ucx ucx-rc-put rc_v -t ucp_put_lat
  ucx ucx-rc-get rc_v -t ucp_get -s 65536
  ucx ucx-rc-atomic rc_v -t ucp_add -s 8
  ucx ucx-rc-stream rc_v -t stream_lat
  ucx ucx-ud-tag-bandwidth ud_v -t tag_bw -s 65536
  # The transports by themselves, without the protocols above.
  uct() {
    name=$1
    shift
    use="ucx_perftest -p 13337"
    pair "$name" "$use -d $FAR_DEVICE:$PORT <$TERMINAL" "$use -d $DEVICE:$PORT $FAR -w 5 -n 50 $* <$TERMINAL"
  }
  uct uct-rc-am -x rc_verbs -t am_lat
  uct uct-rc-put -x rc_verbs -t put_lat
  uct uct-ud-am -x ud_verbs -t am_lat
fi

# A CQ of ofi_rxm has room for the requests of this many processes. The 256 of its default are too
# many for mthca: fi_pingpong goes on without the CQ, and ends with EINVAL and a fault.
# fabric NAME OPTION...: pairs end by themselves. $variables: further variables of the environment.
variables=
fabric() {
  name=$1
  shift
  use="env FI_UNIVERSE_SIZE=2 $variables fi_pingpong $* -I 50"
  pair "$name" "$use -s $FAR" "$use -s $ADDRESS $FAR"
}
fabric libfabric-messages "-p verbs -e msg"
[ -n "$SHORT" ] || fabric libfabric-messages-checked "-p verbs -e msg -S 65536 -c"
fabric libfabric-datagrams-reliable "-p 'verbs;ofi_rxm' -e rdm"
[ -n "$SHORT" ] || fabric libfabric-datagrams-checked "-p 'verbs;ofi_rxm' -e rdm -c -S 65536"

variables="FI_OFI_RXM_USE_SRX=1"
[ -n "$SHORT" ] || fabric libfabric-shared-receives "-p 'verbs;ofi_rxm' -e rdm -c -S 4096"
variables=

# mpirun starts its daemon by an agent in place of ssh, and the daemon looks for the agent, too.
# mpirun knows its own node by name only.
[ -p $WORK/launch ] || mkfifo $WORK/launch
devices=$DEVICE:$PORT
[ $FAR_DEVICE = $DEVICE ] || devices=$devices,$FAR_DEVICE:$PORT
# mpi NAME PATTERN ARGUMENT...: of mpi4py's own benchmarks.
mpi() {
  wanted "$1" || return 0
  name=$1 pattern=$2
  shift 2
  { read -r line <$WORK/launch && $far run "$line" >$WORK/daemon; } &
  launcher=$!
  check "$name" "exec mpirun.openmpi --allow-run-as-root -n 2 --host $(hostname):1,$FAR:1 --map-by node \
    --prtemca plm_ssh_agent /foreign/mpi-agent.sh \
    --mca pml ucx -x UCX_TLS=rc_v,self -x UCX_NET_DEVICES=$devices python3 -m mpi4py.bench $*" "$pattern"
  # The daemon ends with its job; without a request the launcher waits forever.
  [ $check_status = 0 ] || { kill $launcher; sed 's/^/  # daemon: /' $WORK/daemon; } 2>/dev/null
  wait $launcher
}
mpi mpi-hello "process 1 of 2 on guest1" helloworld
mpi mpi-ring "time for" ringtest -n 1024 -l 5
[ -n "$SHORT" ] || mpi mpi-ring-1-MiB "time for" ringtest -n 1048576 -l 2
