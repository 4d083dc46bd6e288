#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles write-imm.c in the guest, and runs it between two ports as between two machines: the
# second interface of IP over InfiniBand gets a network namespace of its own. The last write goes
# beyond the memory of the server, whose key refuses it.

set -e
cc -Wall -Werror -o write-imm write-imm.c -lrdmacm -libverbs
ip netns add peer
ip link set ib1 netns peer
ip -n peer address add 10.1.0.2/24 dev ib1
ip -n peer link set ib1 up

write() {
  ./write-imm &
  until ip netns exec peer ./write-imm 10.1.0.1 "$@" 2>said || grep 'request failed' said; do sleep 1; done
  wait $!
}
write hello
write hello 4096 || echo "the server failed, too"
