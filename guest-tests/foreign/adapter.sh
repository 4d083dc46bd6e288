#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The adapters that suites can use, by the names in $ADAPTERS. `use_adapter NAME` sets DEVICE and
# PORT (of servers), PEER_DEVICE and PEER_PORT (of clients), GID and PERFTEST_GID (the options for
# a GID index, or nothing), LINK (InfiniBand or Ethernet), NETDEV and ADDRESS (of the port, for the
# connection manager), FAR (that address of the far one of two guests) and FAR_DEVICE (its device,
# of another adapter if $FAR_ADAPTER says so). Clients have the second port of the device; of
# devices with one port, the second device. Suites find the first adapter, $ADAPTER, in use. run.sh
# reads it.

ADAPTER=${ADAPTERS%% *}

# name_device ADAPTER: sets DEVICE to the first one, as its driver calls it.
name_device() {
  case $1 in
    mlx5) DEVICE=mlx5_0 ;;
    *) DEVICE=${1}0 ;;
  esac
}

use_adapter() {
  name_device ${FAR_ADAPTER:-$1}
  FAR_DEVICE=$DEVICE
  name_device $1
  PORT=1 PEER_DEVICE=$DEVICE PEER_PORT=1 GID= PERFTEST_GID=
  case $1 in
    rxe)
      LINK=Ethernet ADDRESS=10.2.0.${NODE:-1} GID="-g 1" PERFTEST_GID="-x 1"
      [ -n "$SIDE" ] && NETDEV=eth0 || NETDEV=dummy0
      ;;
    *)
      LINK=InfiniBand NETDEV=$(first_interface $DEVICE)
      ADDRESS=10.1.${NETDEV#ib}.${NODE:-1}
      if [ -e /sys/class/infiniband/$DEVICE/ports/2 ]; then
        PEER_PORT=2
      elif [ -e /sys/class/infiniband/${DEVICE%0}1 ]; then
        PEER_DEVICE=${DEVICE%0}1
      fi
      ;;
  esac
  FAR=${ADDRESS%.*}.1
}

# first_interface DEVICE: of IP over InfiniBand, at its first port.
first_interface() {
  for interface in /sys/class/infiniband/"$1"/device/net/*; do
    [ "$(cat "$interface/dev_port")" != 0 ] || echo "${interface##*/}"
  done
}

# Soft-RoCE on an interface that leads nowhere, so that it delivers to itself, or on one to the
# other guest.
prepare_rxe() {
  use_adapter rxe
  modprobe -a dummy rdma_rxe rdma_ucm ib_uverbs ib_umad
  if [ -z "$SIDE" ]; then ip link add $NETDEV type dummy 2>/dev/null; else modprobe virtio_net; fi
  ip address add $ADDRESS/24 dev $NETDEV
  ip link set $NETDEV multicast on up
  rdma link add $DEVICE type rxe netdev $NETDEV
}

# wait_active: waits for all ports of $DEVICE and of devices like it. The bound ends only waits that
# would never end.
wait_active() {
  tries=4000
  until all_active || [ $tries = 0 ]; do
    sleep 0.1
    tries=$((tries - 1))
  done
  all_active
}

all_active() {
  for port in /sys/class/infiniband/"${DEVICE%0}"*/ports/*/state; do
    grep -q ACTIVE "$port" || return 1
  done
}

# Ports become ACTIVE when the subnet manager has swept.
prepare_adapters() {
  for adapter in $ADAPTERS; do
    if [ $adapter = rxe ]; then prepare_rxe; else name_device $adapter && wait_active; fi
    [ -e /sys/class/infiniband/$DEVICE ] || return 1
  done
  use_adapter $ADAPTER
}

# set_tails Y|N: whether adapter vuhca watches tails of send queues by itself. Its driver reads the
# parameter when a function comes into service. The interface that comes with it has no address yet.
set_tails() {
  function=$(basename "$(readlink /sys/class/infiniband/vuhca0/device)")
  echo $1 >/sys/module/vuhca/parameters/shadow_tails
  echo $function >/sys/bus/pci/drivers/vuhca/unbind
  echo $function >/sys/bus/pci/drivers/vuhca/bind
  wait_active
  use_adapter vuhca
  ip address add $ADDRESS/24 dev $NETDEV
  ip link set $NETDEV up
}

# Succeeds when ibv_devinfo shows the word, which names a capability of the device.
has_capability() {
  ibv_devinfo -v -d $DEVICE | grep -q "$1"
}
