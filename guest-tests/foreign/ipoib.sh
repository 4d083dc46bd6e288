#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# IP over InfiniBand between two ports of the guest, each in a network namespace of its own:
# datagram and connected mode, with ping, broadcast of neighbours, multicast and iperf3. run.sh
# reads it.

if [ $LINK != InfiniBand ]; then
  skip ipoib "RoCE has no IP over InfiniBand"
  return 0
fi
if [ $PEER_DEVICE/$PEER_PORT = $DEVICE/$PORT ]; then
  skip ipoib "the adapter has one port"
  return 0
fi

ip netns add far
ip link set ib1 netns far
ip -n far link set lo up
ip -n far address add 10.1.0.2/24 dev ib1
ip -n far link set ib1 up

check ping "ping -c 3 -W 60 10.1.0.2" " 0% packet loss"
check ping-large "ping -c 3 -s 8000 -W 60 10.1.0.2" " 0% packet loss"
check neighbour "ip neighbour show 10.1.0.2" "lladdr"
[ -n "$SHORT" ] || {
  check ping-ipv6 "ping -c 3 -W 60 \$(ip -n far -6 address show dev ib1 | sed -n 's/.*inet6 \\(fe80[^/]*\\).*/\\1/p')%ib0" " 0% packet loss"
  check multicast "ping -c 2 -W 60 -I ib0 ff02::1%ib0" "bytes from"
}
# iperf NAME OPTION...
iperf() {
  name=$1
  shift
  pair "$name" "ip netns exec far iperf3 -s -1" "iperf3 -c 10.1.0.2 -n 4M $*"
}
# The server listens in the other namespace.
with_namespace far
iperf iperf3-datagram
if [ -z "$SHORT" ]; then
  iperf iperf3-datagram-udp -u -b 0
  echo connected >/sys/class/net/ib0/mode && ip netns exec far sh -c 'echo connected >/sys/class/net/ib1/mode'
  ip link set ib0 mtu 65520 && ip -n far link set ib1 mtu 65520
  check ping-connected "ping -c 3 -s 30000 -W 60 10.1.0.2" " 0% packet loss"
  iperf iperf3-connected
  echo datagram >/sys/class/net/ib0/mode
fi
without_namespace
# A suite after this one may want the interface, or have another one with its address.
ip -n far link set ib1 netns 1
ip neighbour flush dev ib0
ip netns delete far
