#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Tests skeleton.ko in the guest, where it is loaded and has bound a function, or several. Prints
# KTAP; without KTAP, the exit status alone would be the result.

number=0

check() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

set -- /sys/bus/pci/drivers/skeleton/0000:*
echo "KTAP version 1"
echo "1..$((2 * $#))"
for device; do
  first=$(cat "$device/local_time")
  second=$(cat "$device/local_time")
  echo "# local time $first, then $second"
  [ "$second" -gt "$first" ]
  check $? "local-time-goes-on"

  echo 0x1234abcd >"$device/scratch"
  [ "$(cat "$device/scratch")" = 0x1234abcd ]
  check $? "scratch-keeps-what-is-written"
done
