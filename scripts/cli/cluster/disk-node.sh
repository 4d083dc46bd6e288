#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes the system of a disk a node of a cluster: a service that disk-node.ts brings to its systemd,
# with this script, node.sh and bind-again.sh as credentials. Beside what prepare-distribution.sh
# does elsewhere, what the system has of its own makes room: its ssh server, its names of the
# interfaces, and its addresses for them.

for name in report log node ssh; do
  until [ -e "/dev/virtio-ports/vuhca.$name" ]; do sleep 0.2; done
done
exec </dev/null >/dev/virtio-ports/vuhca.report 2>&1
echo "@node begins"
while :; do cat /dev/kmsg; done >/dev/virtio-ports/vuhca.log 2>/dev/null &
# A panic ends QEMU.
echo -1 >/proc/sys/kernel/panic

if [ ! -x /usr/sbin/sshd ]; then
  echo "@node lacks OpenSSH's server: install it in the image"
  exit
fi
systemctl --quiet stop ssh.socket ssh.service sshd.socket sshd.service 2>/dev/null
# Without PAM, the ssh server lets no user in who is locked.
sed -i 's/^root:!/root:*/' /etc/shadow

udevadm settle --timeout=3600
sh "$CREDENTIALS_DIRECTORY/vuhca.bind-again"
modprobe -abq ib_umad ib_uverbs rdma_ucm ib_ipoib
udevadm settle --timeout=3600
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
# systemd-networkd takes away addresses that it has not given.
mkdir -p /run/systemd/network
printf '[Match]\nType=infiniband\n\n[Link]\nUnmanaged=yes\n' >/run/systemd/network/00-vuhca.network
! systemctl --quiet is-active systemd-networkd || networkctl reload

# The interface of the first port, by the place of the device and the number of the port.
first=$(for interface in /sys/class/net/*; do
  read -r type <"$interface/type"
  read -r port <"$interface/dev_port"
  [ "$type" != 32 ] || echo "$(readlink -f "$interface/device") $port ${interface##*/}"
done 2>/dev/null | sort | sed -n '1s/.* //p')
if [ -n "$first" ] && [ "$first" != ib0 ]; then
  ip link set dev "$first" down
  ip link set dev "$first" name ib0
fi

sh "$CREDENTIALS_DIRECTORY/vuhca.node"
systemctl poweroff
