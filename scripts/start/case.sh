#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The case of the guest of `npm start`: shows that the driver has bound, lets traffic flow for
# SECONDS_OF_TRAFFIC, and prints the totals. Lines that begin with "@" are for main.ts; the script
# waits for it on a port of its own before the traffic ends.

# Warnings of the kernel go to the console, where the host looks for them.
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
