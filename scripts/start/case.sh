#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the guest of `npm start` does: shows that the driver has bound, lets traffic flow for SECONDS, and says how it went.
# Lines that begin with "@" are for main.ts, which waits on a port of its own before the traffic ends.

# Warnings of the kernel belong on the console, where the host looks for them.
echo 5 >/proc/sys/kernel/printk
mount -t debugfs debugfs /sys/kernel/debug
echo "@system $(uname -r) $(nproc)"
[ -n "$(ls /sys/bus/pci/drivers/vuhca | grep 0000:)" ] || { echo "@fault the driver found no adapter"; exit 1; }
dmesg | sed -n 's/^\[ *[0-9.]*\] vuhca /@driver /p'

insmod /modules/vuhca_traffic.ko || { echo "@fault the traffic module does not load"; exit 1; }
counters=/sys/kernel/debug/vuhca-traffic/counters
second=0
while [ "$second" -lt "$SECONDS_OF_TRAFFIC" ]; do
  sleep 1
  second=$((second + 1))
  sed "s/^/@traffic $second /" "$counters"
done
echo "@steady"
read -r _ </dev/virtio-ports/vuhca.first-light
sed "s/^/@total /" "$counters"
grep vuhca /proc/interrupts | sed 's/^ */@interrupts /'
rmmod vuhca_traffic && rmmod vuhca && echo "@unloaded"
