#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The programs of librdmacm over an IP address of the adapter: connections, datagrams, multicast,
# and sockets over RDMA. run.sh reads it.

pair rping "rping -s -C 20 -v" "rping -c -a $ADDRESS -C 20 -v"
[ -z "$SHORT" ] || return 0
pair rping-8-KiB "rping -s -C 20 -S 8192 -V" "rping -c -a $ADDRESS -C 20 -S 8192 -V"
pair ucmatose "ucmatose" "ucmatose -s $ADDRESS"
pair ucmatose-many "ucmatose -c 10 -C 20 -S 4096" "ucmatose -s $ADDRESS -c 10 -C 20 -S 4096"
pair udaddy "udaddy" "udaddy -s $ADDRESS"
pair udaddy-many "udaddy -c 4 -C 20" "udaddy -s $ADDRESS -c 4 -C 20"

# A multicast receiver reports that it has joined, and listens on no port. Datagrams may get lost,
# so more are sent than it waits for.
listens() { alive $server && grep -q "joined dgid" $WORK/server; }
ordinary_limit=$LIMIT
# A receiver of soft-RoCE may wait in vain.
[ $LINK = InfiniBand ] && datagram=2000 || datagram=1000 LIMIT=60
group="mckey -m 239.0.0.5 -b $ADDRESS"
pair mckey "stdbuf -oL $group -C 10" "$group -C 40 -s"
pair mckey-large "stdbuf -oL $group -C 10 -S $datagram" "$group -C 40 -S $datagram -s"
LIMIT=$ordinary_limit
# A server of datagrams has bound a UDP port.
listens() { [ -n "$(ss -Hlun sport = :7174)" ]; }
if [ $LINK = InfiniBand ]; then
  serve udpong "udpong -b $ADDRESS -S 1000 -C 20" "udpong -s $ADDRESS -S 1000 -C 20"
else
  skip udpong "its library finds no path to an address of Ethernet"
fi
listens() { stream_listens; }

# Without queue pairs it counts their numbers itself. Each number occurs once in a node.
pair cmtime "cmtime -c 20 -q 1000" "cmtime -s $ADDRESS -c 20 -q 2000"
for sockets in rstream riostream; do
  pair $sockets "$sockets -S 4096 -C 20" "$sockets -s $ADDRESS -S 4096 -C 20"
  pair $sockets-1-MiB "$sockets -S 1048576 -C 4" "$sockets -s $ADDRESS -S 1048576 -C 4"
  pair $sockets-verify "$sockets -S 1000 -C 20 -T v" "$sockets -s $ADDRESS -S 1000 -C 20 -T v"
done
pair rstream-many-turns "rstream -S 64 -C 1 -I 200" "rstream -s $ADDRESS -S 64 -C 1 -I 200"
pair rstream-blocking "rstream -S 4096 -C 20 -T b" "rstream -s $ADDRESS -S 4096 -C 20 -T b"
serve rcopy "rcopy" "rcopy /usr/bin/rcopy $ADDRESS:$WORK/copy"
check rcopy-is-equal "cmp /usr/bin/rcopy $WORK/copy"
