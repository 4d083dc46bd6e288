#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Makes the system sleep with a driver. /etc/vuhca-sleep has MODULES, which are loaded in their
# order, and RUN: `ways` sleeps in every way that Linux has under traffic of vuhca_traffic, `again`
# sleeps twice in memory with vuhca_test, `stock` does so with mlx5_core, and `other` sleeps with a
# driver that has no power management: it may fail or wait for a long time, but the adapter goes on.
# Standard output is KTAP. suspend.long.ts packs it.

. /etc/vuhca-sleep

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

# Expects that datagrams of both directions arrive, and none is wrong.
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

# Number of resets of the function.
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

sleep_in_memory() {
  adapter wake memory && echo mem >/sys/power/state
}

run_ways() {
  flows
  report $? works
  echo freezer >/sys/power/pm_test
  echo mem >/sys/power/state && flows
  report $? freezer
  for level in devices platform processors core; do
    sleep_as $level mem $level
  done
  # The host ends this sleep and the next one.
  adapter wake idle
  sleep_as idle freeze
  adapter wake memory
  sleep_as memory mem
  mkswap /dev/vda >/dev/null && swapon /dev/vda
  # Makes an image of memory, wakes up to write it, and goes on from it.
  echo test_resume >/sys/power/disk
  sleep_as hibernation disk
}

# Datagrams between all ports, by the tests of kernel.sh.
works() {
  cat /sys/kernel/debug/vuhca-test/suites/ports >/tmp/works
  grep -q '^  ok' /tmp/works && ! grep -q '^  not ok' /tmp/works && return 0
  sed 's/^/# /' /tmp/works
  return 1
}

run_again() {
  works
  report $? works
  for round in 1 2; do
    sleep_in_memory && works
    report $? "works-after-sleep-$round"
  done
}

# Waits until the stock driver has its device and the port is up. The bound ends only waits that
# would never end.
is_active() {
  tries=3000
  until grep -q ACTIVE /sys/class/infiniband/mlx5_0/ports/1/state; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    usleep 100000
  done
}

run_stock() {
  is_active
  report $? works
  for round in 1 2; do
    sleep_in_memory && is_active
    report $? "works-after-sleep-$round"
  done
}

# Queries the adapter again and again while process $1 removes the driver.
adapter_answers() {
  questions=20
  while [ $questions -gt 0 ] && kill -0 "$1" 2>/dev/null; do
    adapter answers || return 1
    usleep 500000
    questions=$((questions - 1))
  done
  adapter answers
}

# The driver waits for answers that never come and holds its device, so its removal takes minutes.
run_other() {
  sh /bind-again.sh
  [ -e /sys/class/infiniband/mthca0 ]
  report $? bound
  sleep_in_memory
  report $? wakes-up
  rmmod ib_mthca &
  adapter_answers $!
  report $? the-adapter-answers
}

echo "KTAP version 1"
# A busy machine may need longer.
echo 600000 >/sys/power/pm_freeze_timeout
for name in $MODULES; do
  insmod "/modules/$name.ko" || break
done
report $? load
"run_$RUN"
if [ "$RUN" != other ]; then
  # The driver was loaded first.
  rmmod $(echo "$MODULES" | awk '{ for (i = NF; i > 0; i--) print $i }')
  report $? unload
fi
echo "1..$number"
