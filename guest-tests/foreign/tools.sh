#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The tools that show users a device: rdma, ip, ethtool, devlink, lspci. The output of each is
# compared with sysfs or with another tool. run.sh reads it.

if [ $LINK != InfiniBand ]; then
  skip tools "soft-RoCE is no PCI device"
  return 0
fi
sys=/sys/class/infiniband/$DEVICE
read_sys() { cat "$sys/$1"; }
slot=$(basename "$(readlink -f $sys/device)")
driver=$(basename "$(readlink -f $sys/device/driver)")

check rdma-dev "rdma dev show $DEVICE" "node_type ca .*fw $(read_sys fw_ver) node_guid $(read_sys node_guid)"
check rdma-link "rdma link show $DEVICE/$PORT" "state ACTIVE physical_state LINK_UP"
# rdma prints a LID as a number.
check rdma-link-lid "rdma -d link show $DEVICE/$PORT" "lid $(($(read_sys ports/$PORT/lid))) "
check rdma-system "rdma system show" "netns"
[ -z "$SHORT" ] || return 0

# shows_queue_pair SERVER_OUTPUT: rdma lists the queue pair whose number the program printed.
shows_queue_pair() {
  qpn=$((0x$(sed -n 's/.*local address:.*QPN 0x\([0-9a-f]*\).*/\1/p' "$1")))
  rdma resource show qp link $DEVICE/$PORT lqpn $qpn
}
count_queue_pairs() { rdma resource show $DEVICE | sed -n 's/.* qp \([0-9]*\) .*/\1/p'; }
if wanted rdma-resource-qp; then
  before=$(count_queue_pairs)
  start_server "stdbuf -oL ibv_rc_pingpong -d $DEVICE -i $PORT"
  until listens || ! alive $server; do sleep 0.05; done
  { shows_queue_pair $WORK/server; echo "$before before, $(count_queue_pairs) now"; } >$WORK/output 2>&1
  kill $server
  wait $server
  if grep -q "type RC state INIT" $WORK/output && grep -q "^$before before, $((before + 1)) now" $WORK/output; then
    pass rdma-resource-qp
  else
    fail rdma-resource-qp $WORK/output $WORK/server
  fi
  check rdma-resource-gone "[ \$(rdma resource show $DEVICE | sed -n 's/.* qp \\([0-9]*\\) .*/\\1/p') = $before ]"
fi

check ibstat-agrees "ibstat $DEVICE $PORT" "Base lid: $(($(read_sys ports/$PORT/lid)))"
check devinfo-board "ibv_devinfo -d $DEVICE" "board_id:[[:space:]]*$(read_sys board_id)"
# The address of an interface ends with the GID of its port.
check ip-link-address "ip link show $NETDEV" "link/infiniband [0-9a-f:]*$(read_sys ports/$PORT/gids/0 | tr -d : | sed 's/../:&/g') "
check ethtool-driver "ethtool -i $NETDEV" "^bus-info: $slot"
check ethtool-speed "ethtool $NETDEV" "Speed: $(($(read_sys ports/$PORT/rate | sed 's/[. ].*//') * 1000))Mb/s"
check ethtool-statistics "ethtool -S $NETDEV" "rx_packets"
check lspci-driver "lspci -k -s $slot" "Kernel driver in use: $driver"
check lspci-class "lspci -n -s $slot" " 0c06:| 0207:"
check lspci-interrupts "lspci -v -s $slot" "MSI-X: Enable\\+"
if [ -n "$(devlink dev show 2>/dev/null)" ]; then
  check devlink-dev "devlink dev show pci/$slot" "pci/$slot"
  check devlink-health "devlink health show pci/$slot reporter fw_fatal" "state healthy"
else
  skip devlink "the driver has no devlink instance"
fi
