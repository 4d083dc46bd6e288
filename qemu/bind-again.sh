#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The stock driver ib_mthca waits 100 ms for the interrupt of its first command by event, a NOP, and
# gives the device up then. A busy host may take longer to bring an interrupt to the guest, and no
# device can help that. This binds the driver again to a device that it has given up so, with a word
# on standard output and in the kernel's log. Run after the driver was loaded, by steps.sh and
# shell-case.sh, by prepare-distribution.sh, and by tests that load the driver themselves.

DRIVER=/sys/bus/pci/drivers/ib_mthca
WORD="ib_mthca got the interrupt of its first command too late on this busy machine and is bound again"

# missed SLOT: what the driver has said since it began with this device last.
missed() {
  dmesg | awk -v slot="$1" 'index($0, slot) && /ib_mthca: Initializing/ { missed = 0 }
    index($0, slot) && /NOP command failed to generate interrupt/ { missed = 1 }
    END { exit !missed }'
}

[ -e $DRIVER ] || exit 0
tries=100
for device in /sys/bus/pci/devices/*; do
  read -r vendor <"$device/vendor"
  read -r id <"$device/device"
  case $vendor:$id in 0x15b3:0x6274 | 0x15b3:0x6282) ;; *) continue ;; esac
  while [ ! -e "$device/driver" ] && [ $tries -gt 0 ] && missed "${device##*/}"; do
    tries=$((tries - 1))
    echo "# $WORD"
    echo "<5>vuhca: $WORD" >/dev/kmsg
    echo "${device##*/}" >$DRIVER/bind 2>/dev/null
  done
done
exit 0
