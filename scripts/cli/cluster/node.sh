#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A node of a cluster, in Debian's user space: takes its name, its addresses and its keys from the
# port vuhca.node (node-words.ts writes them), serves ssh on the port vuhca.ssh for the host and on
# its interface ib0 for other nodes, and says on the report what it has reached. It ends when the
# host says so. prepare-distribution.sh has run before.

exec 4<>/dev/virtio-ports/vuhca.node
echo "@node hello"
read -r length <&4
head -c "$length" <&4 >/run/node-words
. /run/node-words

# A connection at a time: the next server begins when the one before has lost its client.
(
  exec 4>&- 5<>/dev/virtio-ports/vuhca.ssh
  while :; do
    echo >&5
    /usr/sbin/sshd -i -e -f /etc/ssh/node_config <&5 >&5 2>>/run/sshd.log
    sleep 1
  done
) &
echo "@node serves"

interface=/sys/class/net/ib0
if [ -e $interface ]; then
  printf 'address flush dev ib0\naddress add %s dev ib0\nlink set ib0 up\n' "$NODE_ADDRESS" | ip -force -batch -
  /usr/sbin/sshd -f /etc/ssh/node_config
  # The interface has its carrier when the port is active and its multicast group is joined.
  (
    carrier=0
    until [ "$carrier" = 1 ]; do
      sleep 0.2
      read -r carrier <$interface/carrier
    done 2>/dev/null
    echo "@node up"
  ) &
else
  echo "@node lacks ib0: no driver has bound its adapter"
fi

read -r word <&4
exit 0
