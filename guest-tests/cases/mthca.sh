#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Debian's own InfiniBand driver on an mthca device: it binds, its commands complete by event, its
# ports can be queried and become ACTIVE, and it can be removed and loaded again. mthca.test.ts
# packs it, with the names of the modules in /etc/mthca/modules and settings in /etc/mthca/settings.

. /etc/mthca/settings

DEVICE=/sys/class/infiniband/mthca0
RELOADS=2
result_number=0

report() {
  result_number=$((result_number + 1))
  if [ "$1" = 0 ]; then echo "  ok $result_number $2"; else echo "  not ok $result_number $2"; fi
}

# Loads what is not loaded yet.
load() {
  while read -r name; do
    grep -q "^$name " /proc/modules || insmod "/modules/$name.ko" || return 1
  done </etc/mthca/modules
  sh /bind-again.sh
}

# Succeeds when file $1 of the device holds $2.
holds() {
  read -r found <"$DEVICE/$1"
  [ "$found" = "$2" ] && return 0
  echo "  # $1: $found, not $2"
  return 1
}

# A port becomes ACTIVE when the other end of its link is enabled too. The bound only ends what
# would never end.
all_active() {
  tries=1200
  while [ $tries -gt 0 ]; do
    waiting=0
    for port in "$DEVICE"/ports/*; do
      read -r state <"$port/state"
      [ "$state" = "4: ACTIVE" ] || waiting=1
    done
    [ $waiting = 1 ] || return 0
    usleep 100000
    tries=$((tries - 1))
  done
  for port in "$DEVICE"/ports/*; do echo "  # ${port##*/}: $(cat "$port/state") $(cat "$port/phys_state")"; done
  return 1
}

# Interrupts of the vector of commands, on all processors.
command_interrupts() {
  awk '/mthca-cmd/ { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) sum += $i } END { print sum + 0 }' /proc/interrupts
}

reload_rounds() {
  rounds=$RELOADS
  while [ "$rounds" -gt 0 ]; do
    rmmod ib_mthca || return 1
    [ ! -e "$DEVICE" ] || return 1
    load && [ -e "$DEVICE" ] || return 1
    rounds=$((rounds - 1))
  done
}

# The driver reports every command that fails. What follows a late interrupt is no complaint
# (bind-again.sh).
no_complaint() {
  dmesg | awk '/ib_mthca: Initializing/ { late = 0 }
    /NOP command failed to generate interrupt/ { late = 1 }
    !late && /mthca.*(fail|return|bogus|error|abort|[Uu]nhandled|old)/ { print "  # " $0 }' >/tmp/complaints
  cat /tmp/complaints
  [ ! -s /tmp/complaints ]
}

echo "  KTAP version 1"
echo "  # Subtest: mthca"
echo "  1..10"
load
report $? "insmod"
[ -e "$DEVICE" ]
report $? "the-device-appears"
module=$(readlink "$DEVICE/device/driver/module")
[ "${module##*/}" = ib_mthca ]
report $? "the-stock-driver-has-bound-it"
[ "$(command_interrupts)" -gt 0 ]
report $? "commands-complete-by-event"
holds fw_ver "$FIRMWARE" && holds hca_type "$TYPE" && holds board_id VUHCA-MTHCA
report $? "firmware-and-board"
holds node_guid "$NODE_GUID" && holds node_type "1: CA"
report $? "node-information"
holds ports/1/lid 0x1 && holds ports/1/pkeys/0 0xffff && holds ports/1/gids/0 "$PORT_GID"
report $? "port-query"
all_active
report $? "port-states"
reload_rounds && holds fw_ver "$FIRMWARE"
report $? "removed-and-loaded-again"
no_complaint
report $? "no-complaint"
rmmod ib_mthca
