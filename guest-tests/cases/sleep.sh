#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Lets the system sleep in every way that Linux has, with the driver under traffic of vuhca_traffic,
# then unloads both. Standard output is KTAP. suspend.long.ts packs it.

TRAFFIC=/sys/kernel/debug/vuhca-traffic/counters
number=0

report() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

# Datagrams and errors of each direction.
arrived() {
  awk '{ print $8, $14 }' $TRAFFIC
}

# Datagrams of both directions arrive, and none is wrong.
flows() {
  arrived >/tmp/before
  tries=3000
  while [ $tries -gt 0 ]; do
    arrived | paste - /tmp/before | awk '$1 > $3 && $2 == 0 { ports++ } END { exit ports != 2 }' && return 0
    usleep 100000
    tries=$((tries - 1))
  done
  sed 's/^/# /' $TRAFFIC
  return 1
}

# Resets of the function.
generation() {
  sed -n 's/.* generation //p' /sys/kernel/debug/vuhca/*/counters
}

# Sleeps by writing $2 to the file of states, with the self test of the kernel up to level $3.
sleep_as() {
  before=$(generation)
  echo "${3:-none}" >/sys/power/pm_test
  echo "$2" >/sys/power/state && [ "$(generation)" -gt "$before" ] && flows
  report $? "$1"
}

echo "KTAP version 1"
insmod /modules/vuhca.ko && insmod /modules/vuhca_traffic.ko
report $? load
# A busy machine takes its time.
echo 600000 >/sys/power/pm_freeze_timeout
flows
report $? works
echo freezer >/sys/power/pm_test
echo mem >/sys/power/state && flows
report $? freezer
for level in devices platform processors core; do
  sleep_as $level mem $level
done
# The host ends this sleep, and the next.
adapter wake idle
sleep_as idle freeze
adapter wake memory
sleep_as memory mem
mkswap /dev/vda >/dev/null && swapon /dev/vda
sleep_as image disk core
echo test_resume >/sys/power/disk
sleep_as hibernation disk
rmmod vuhca_traffic vuhca
report $? unload
echo "1..$number"
