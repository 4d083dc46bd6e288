#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Kills the device process under the driver, which has the effect of a surprise removal: reads
# return all ones. The driver must notice it, refuse work without waiting for an answer, and unload
# cleanly. The suites of kernel.sh run before. Standard output is KTAP.

# SUITES
. /etc/vuhca-test

# VUHCA_BOUND_MS of the driver: the longest wait for the device.
BOUND_SECONDS=60

number=0

report() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

# Waits for a word in the kernel log, at most the driver's bound.
logged() {
  tries=$((BOUND_SECONDS * 10))
  while [ $tries -gt 0 ]; do
    dmesg | grep -q "$1" && return 0
    usleep 100000
    tries=$((tries - 1))
  done
  return 1
}

seconds() {
  cut -d. -f1 /proc/uptime
}

tests=/sys/kernel/debug/vuhca-test/suites

echo "KTAP version 1"
insmod /modules/vuhca.ko && insmod /modules/vuhca_test.ko
for suite in $SUITES; do
  cat "$tests/$suite" | tee /tmp/suite
  ! grep -q '^  not ok' /tmp/suite && grep -q '^  ok' /tmp/suite
  report $? "$suite"
done
echo pd >/sys/module/vuhca_test/parameters/only
cat $tests/management | grep -q '^  ok 1 pd'
report $? "works-before"
echo "# host: kill the device"
logged 'the device is gone'
report $? "noticed"
cat $tests/management >/tmp/suite
grep -q '^  not ok 1 pd' /tmp/suite && grep -q ' timeouts 0 ' /sys/kernel/debug/vuhca/*/counters
report $? "refuses-work-at-once"
# The end of the driver has no counter. Each command that waited would take as long as the bound.
before=$(seconds)
rmmod vuhca_test vuhca && [ $(($(seconds) - before)) -lt $BOUND_SECONDS ]
report $? "unloads"
echo "1..$number"
