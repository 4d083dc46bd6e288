#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Debian's subnet tools in the guest, on the fabric of the adapter: the state of ports, the subnet
# as its management datagrams show it, queries of the subnet administration, counters, ibping,
# osmtest, and opensm as the master in place of the built-in subnet manager, and back. run.sh reads
# it.

if [ $LINK != InfiniBand ]; then
  skip subnet "RoCE has no subnet management"
  return 0
fi
lid() { echo $(($(cat /sys/class/infiniband/$1/ports/$2/lid))); }
on="-C $DEVICE -P $PORT"
own=$(lid $DEVICE $PORT)
other=$(lid $PEER_DEVICE $PEER_PORT)

check ibstat "ibstat $DEVICE" "State: Active"
check ibstatus "ibstatus $DEVICE" "ACTIVE"
check sminfo "sminfo $on" "sm lid"
check ibnetdiscover "ibnetdiscover $on" "^Ca"
check iblinkinfo "iblinkinfo $on" "Active"
check saquery-nodes "saquery $on NR" "NodeRecord"
[ -z "$SHORT" ] || return 0
check ibhosts "ibhosts $on" "Ca"
# Traffic of suites before this one has waited for credits, which is no error.
check ibqueryerrors "ibqueryerrors $on -s PortXmitWait" "Summary"
for query in nodeinfo nodedesc portinfo pkeys sl2vl vlarb guidinfo; do
  check smpquery-$query "smpquery $on $query $own $PORT"
done
check smpquery-direct "smpquery $on -D nodeinfo 0" "NodeType"
check perfquery "perfquery $on $own $PORT" "PortXmitData"
check perfquery-extended "perfquery $on -x $own $PORT" "PortXmitData"
check perfquery-reset "perfquery $on -R $own $PORT"
check ibtracert "ibtracert $on $own $other"
check ibaddr "ibaddr $on" "GID"
check ibportstate "ibportstate $on $own $PORT query" "LinkUp"
check saquery-ports "saquery $on PIR" "PortInfoRecord"
check saquery-paths "saquery $on -p" "PathRecord"
check saquery-groups "saquery $on -g" "MCMemberRecord"
check saquery-links "saquery $on LR"
check saquery-managers "saquery $on SMIR" "SMInfoRecord"
check saquery-class "saquery $on CPI" "ClassPortInfo"
# ibdiagnet allows each answer 100 ms and takes three late ones for a bad link; a busy machine needs
# longer.
sed 's/^package require.*/rename ibis_set_transaction_timeout set_timeout\
proc ibis_set_transaction_timeout args {set_timeout 5000}\
&/' /usr/bin/ibdiagnet >$WORK/ibdiagnet
check ibdiagnet "sh -f $WORK/ibdiagnet -i 1 -p $PORT -o $WORK" "Done"
check osmtest-inventory "cd $WORK && osmtest -f c -g \$(ibstat $DEVICE $PORT | sed -n 's/.*Port GUID: //p')" "PASS"

start_server "ibping $on -S"
from="ibping -C $PEER_DEVICE -P $PEER_PORT"
check ibping "until $from -c 1 $own >/dev/null; do sleep 0.1; done; $from -c 10 $own" " 0% packet loss"
kill $server
wait $server 2>/dev/null

# The LID of the master, as the port knows it.
master() { cat /sys/class/infiniband/$DEVICE/ports/$PORT/sm_lid; }
before=$(master)
opensm -g "$(ibstat $DEVICE $PORT | sed -n 's/.*Port GUID: //p')" -f $WORK/opensm.log >$WORK/server 2>&1 </dev/null &
manager=$!
# Asks the master itself, whose log is written late.
check opensm-is-master "until sminfo $on | grep 'sm lid $own .*MASTER'; do kill -0 $manager || { cat $WORK/server; exit 1; }; sleep 0.2; done" "MASTER"
check opensm-traffic "ibv_devinfo -d $DEVICE" "PORT_ACTIVE"
kill $manager
wait $manager 2>/dev/null
if [ "$((before))" = "$own" ] || [ "$((before))" = 0 ]; then
  skip built-in-manager-again "the fabric has no manager of its own"
else
  check built-in-manager-again "until [ \$(cat /sys/class/infiniband/$DEVICE/ports/$PORT/sm_lid) = $before ]; do sleep 0.2; done; sminfo $on" MASTER
fi
