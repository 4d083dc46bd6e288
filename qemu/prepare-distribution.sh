#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the services of a Debian machine do at its start, as far as RDMA needs it: names, drivers of
# PCI devices and of their auxiliary devices by aliases, the RDMA modules that rdma-core loads when
# there is an InfiniBand device, and an address for each IPoIB interface. NODE, a word of the
# kernel's command line, numbers the guests of a subnet. It starts few programs: each costs tens of
# milliseconds under TCG. enter-distribution.sh runs it in the new root.

node=${NODE:-1}
echo "guest$node" >/proc/sys/kernel/hostname
cd /root || exit
[ ! -e /etc/vuhca/start-packages.sh ] || sh /etc/vuhca/start-packages.sh

# shellcheck disable=SC2046
modprobe -abq $(cat /sys/bus/pci/devices/*/modalias)
# A driver may leave parts of its device to other modules: mlx5_core has mlx5_ib serve the verbs.
set -- /sys/bus/auxiliary/devices/*/uevent
# shellcheck disable=SC2046
[ ! -e "$1" ] || modprobe -abq $(sed -n 's/^MODALIAS=//p' "$@")
sh /etc/vuhca/bind-again.sh
for device in /sys/class/infiniband/*; do
  [ -e "$device" ] && modprobe -a ib_umad ib_uverbs rdma_ucm ib_ipoib && break
done
# Ports of one subnet hear the same requests for addresses: only the interface that has the address
# answers, or the connection manager would be called at the wrong port.
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
addresses=$(for interface in /sys/class/net/ib*; do
  [ -e "$interface" ] || continue
  name=${interface##*/}
  echo "address add 10.1.${name#ib}.$node/24 dev $name"
  echo "link set $name up"
done)
[ -z "$addresses" ] || echo "$addresses" | ip -force -batch -
