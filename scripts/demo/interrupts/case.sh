#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The case of the guest of `npm run demo -- interrupts`: each load in each way, in several rounds.
# Lines of JSON are results, lines that begin with "@" are progress. run.ts replaces ROUNDS, MS and
# MEASUREMENTS, each of which is a rate and the number of a way.

echo 5 >/proc/sys/kernel/printk
mount -t debugfs debugfs /sys/kernel/debug
insmod /modules/vuhca_interrupts.ko || { echo "@fault the load module does not load"; exit 1; }
run=/sys/kernel/debug/vuhca-interrupts/run
for round in ROUNDS; do
  for measurement in MEASUREMENTS; do
    rate=${measurement%:*} way=${measurement#*:}
    echo "@begin $way $rate $round"
    echo "$way $rate MS" >"$run" || { echo "@fault the load does not run"; exit 1; }
    cat "$run"
  done
done
rmmod vuhca_interrupts && rmmod vuhca && echo "@unloaded"
