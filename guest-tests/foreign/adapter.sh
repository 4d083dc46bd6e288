#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The adapters that suites can use, by the name in $ADAPTER. Sets DEVICE, PORT and PEER_PORT (of
# servers and of clients), GID (the options for a GID index, or nothing), ADDRESS (of the port, for
# the connection manager) and LINK (InfiniBand or Ethernet). run.sh reads it.

PORT=1
PEER_PORT=1
GID=
GID_INDEX=

# Soft-RoCE on an interface that leads nowhere, so it delivers to itself, or to the other guest.
prepare_rxe() {
  DEVICE=rxe0 LINK=Ethernet ADDRESS=10.2.0.${NODE:-1} NETDEV=dummy0
  GID="-g 1" GID_INDEX=1
  modprobe -a dummy rdma_rxe rdma_ucm ib_uverbs ib_umad
  if [ -z "$SIDE" ]; then ip link add $NETDEV type dummy 2>/dev/null; else
    modprobe virtio_net
    NETDEV=eth0
  fi
  ip address add $ADDRESS/24 dev $NETDEV
  ip link set $NETDEV multicast on up
  rdma link add $DEVICE type rxe netdev $NETDEV
}

# Ports become ACTIVE when the subnet manager has swept.
prepare_infiniband() {
  DEVICE=$1 LINK=InfiniBand ADDRESS=10.1.0.${NODE:-1} NETDEV=ib0
  wait_active
  [ -e /sys/class/infiniband/$DEVICE/ports/2 ] && PEER_PORT=2
}

# wait_active: for all ports of $DEVICE.
wait_active() {
  tries=600
  until all_active || [ $tries = 0 ]; do
    sleep 0.1
    tries=$((tries - 1))
  done
  all_active
}

all_active() {
  for port in /sys/class/infiniband/"$DEVICE"/ports/*/state; do
    grep -q ACTIVE "$port" || return 1
  done
}

prepare_adapter() {
  case $ADAPTER in
    rxe) prepare_rxe ;;
    mthca | vuhca) prepare_infiniband "${ADAPTER}0" ;;
  esac
  [ -e "/sys/class/infiniband/$DEVICE" ]
}

# Whether ibv_devinfo shows the word: a capability of the device.
has_capability() {
  ibv_devinfo -v -d $DEVICE | grep -q "$1"
}
