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
skip udpong "its server shows no listener to wait for"
pair cmtime "cmtime -c 20" "cmtime -s $ADDRESS -c 20"
pair rstream "rstream" "rstream -s $ADDRESS -S 4096 -C 20"
pair rstream-all "rstream -S all -C 2" "rstream -s $ADDRESS -S all -C 2"
pair riostream "riostream -S 4096 -C 20" "riostream -s $ADDRESS -S 4096 -C 20"
serve rcopy "rcopy" "rcopy /usr/bin/rcopy $ADDRESS:$WORK/copy"
