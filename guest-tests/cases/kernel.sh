#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Runs the in-kernel tests as the case of init: loads driver and test module, runs each suite of the
# test module by reading its file, and ends with the cases that need user space. Standard output is
# KTAP. kernel-cases.ts writes /etc/vuhca-test.

# SUITES (a list, or empty for all), WITHOUT (suites to leave out), ONLY (one case), COUNT, SEED,
# DRIVER_PARAMETERS
. /etc/vuhca-test
. /cases/rebind.sh
. /cases/shares.sh

tests=/sys/kernel/debug/vuhca-test/suites

load() {
  insmod /modules/vuhca.ko $DRIVER_PARAMETERS &&
    insmod /modules/vuhca_test.ko count="$COUNT" seed="$SEED" ${ONLY:+only="$ONLY"}
}

# Prints one suite; succeeds when all of it passed.
run_suite() {
  case $1 in
    rebind) run_rebind ;;
    share_files) run_share_files ;;
    *) cat "$tests/$1" ;;
  esac | tee /tmp/suite
  ! grep -q '^  not ok' /tmp/suite && grep -q '^  ok' /tmp/suite
}

if ! load 2>/tmp/load; then
  echo "Bail out! the modules do not load: $(cat /tmp/load)"
  exit 1
fi
if [ -z "$(ls /sys/bus/pci/drivers/vuhca | grep 0000:)" ]; then
  echo "Bail out! the driver found no device"
  exit 1
fi

all_suites="identity management dedicated refusal datagram collect collect_errors parallel events interrupt
  overrun isolation ports faults flush connected connected_bulk connected_errors connected_breaks
  connected_keys shared_receive xrc windows device_memory drain global shares stop overflow overload waiting once
  pipeline share_requests share_allocation lane_table share_files timers polling resize pio pio_halts mad
  trace reset rebind"
chosen=
for suite in ${SUITES:-$all_suites}; do
  case " $WITHOUT " in
    *" $suite "*) ;;
    *) chosen="$chosen $suite" ;;
  esac
done
set -- $chosen
echo "KTAP version 1"
echo "1..$#"
number=0
status=0
for suite; do
  number=$((number + 1))
  if run_suite "$suite"; then
    echo "ok $number $suite"
  else
    echo "not ok $number $suite"
    status=1
  fi
done
cat /sys/kernel/debug/vuhca/*/counters | sed 's/^/# /'
if ! rmmod vuhca_test vuhca 2>/tmp/unload; then
  echo "Bail out! the modules do not unload: $(cat /tmp/unload)"
  exit 1
fi
exit $status
