# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Unbinds and binds the driver through sysfs, and unloads and loads its module. After each the
# device works, and the kernel's tables have no leftovers. Sourced by kernel.sh; uses its
# load().

DRIVER=/sys/bus/pci/drivers/vuhca
# Runs the full number of rounds when the bulk tests have their full size, fewer otherwise.
if [ "$COUNT" -ge 1000 ]; then
  REBINDS=50
  RELOADS=5
else
  REBINDS=10
  RELOADS=2
fi
# Memory that the rounds may use without a leak, for caches of the kernel. Other activity may take
# more meanwhile, but not in each of several series, as a leak does.
LEAK_KIB=4096
LEAK_SERIES=3

result_number=0

report() {
  result_number=$((result_number + 1))
  if [ "$1" = 0 ]; then echo "  ok $result_number $2"; else echo "  not ok $result_number $2"; fi
}

# Sends datagrams in all directions, by a case of the test module.
works() {
  echo all-ways >/sys/module/vuhca_test/parameters/only
  cat /sys/kernel/debug/vuhca-test/suites/ports >/tmp/works
  echo "" >/sys/module/vuhca_test/parameters/only
  grep -q '^  ok 1 all-ways' /tmp/works && return 0
  sed 's/^ */  # /' /tmp/works
  return 1
}

free_kib() {
  sync
  echo 3 >/proc/sys/vm/drop_caches
  awk '/^MemFree:/ { print $2 }' /proc/meminfo
}

vector_count() {
  grep -c vuhca /proc/interrupts
}

rebind_once() {
  echo "$1" >$DRIVER/unbind || return 1
  [ "$(vector_count)" = 0 ] || return 1
  ! grep -q vuhca /proc/iomem || return 1
  echo "$1" >$DRIVER/bind
}

rebind_rounds() {
  rounds=$2
  while [ "$rounds" -gt 0 ]; do
    if ! rebind_once "$1"; then
      echo "  # $rounds rounds before the end"
      return 1
    fi
    rounds=$((rounds - 1))
  done
}

reload_rounds() {
  rounds=$RELOADS
  while [ "$rounds" -gt 0 ]; do
    rmmod vuhca_test vuhca && load || return 1
    rounds=$((rounds - 1))
  done
}

# Unbinds and binds in series until one has lost no memory, or a round has failed.
rebind_series() {
  lost=1
  series=0
  while [ $lost = 1 ] && [ $series -lt $LEAK_SERIES ]; do
    series=$((series + 1))
    before=$(free_kib)
    rebind_rounds "$1" $REBINDS || return 1
    after=$(free_kib)
    echo "  # $((before - after)) KiB less memory free"
    [ $((before - after)) -ge $LEAK_KIB ] || lost=0
  done
}

run_rebind() {
  device=$(ls $DRIVER | grep 0000:)
  vectors=$(vector_count)
  echo "  KTAP version 1"
  echo "  # Subtest: rebind"
  echo "  1..5"
  rebind_rounds "$device" 3
  rebind_series "$device"
  report $? "unbind-bind-$REBINDS-times"
  report $lost "no-memory-lost"
  [ "$(vector_count)" = "$vectors" ]
  report $? "same-vectors"
  works
  report $? "works-after-rebinding"
  reload_rounds && works
  report $? "works-after-reloading"
}
