#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Debian's own InfiniBand drivers on their devices: a driver binds its device, its commands complete
# by event, ports can be queried and become ACTIVE, and it can be removed and loaded again.
# stock-driver-run.ts packs it, with the names of all modules in /etc/stock/modules, and a file of
# settings in /etc/stock/devices for each device.

# One more test where there is devlink.
CHECKS=10

report() {
  result_number=$((result_number + 1))
  [ "$1" = 0 ] || { echo "  not ok $result_number $2"; failed=yes; return; }
  echo "  ok $result_number $2"
}

# Loads the modules that are not loaded yet.
load() {
  while read -r name; do
    grep -q "^$name " /proc/modules || insmod "/modules/$name.ko" || return 1
  done </etc/stock/modules
  sh /bind-again.sh
}

# The modules of the driver come in loading order.
remove() {
  reversed=
  for name in $MODULES; do reversed="$name $reversed"; done
  for name in $reversed; do rmmod "$name" || return 1; done
}

# Succeeds when file $1 of the device holds $2.
holds() {
  read -r found <"$SYS/$1"
  [ "$found" = "$2" ] && return 0
  echo "  # $1: $found, not $2"
  return 1
}

# A port becomes ACTIVE when the other end of its link is enabled too. The bound ends only waits
# that would never end.
all_active() {
  tries=1200
  while [ $tries -gt 0 ]; do
    waiting=0
    for port in "$SYS"/ports/*; do
      read -r state <"$port/state"
      [ "$state" = "4: ACTIVE" ] || waiting=1
    done
    [ $waiting = 1 ] || return 0
    usleep 100000
    tries=$((tries - 1))
  done
  for port in "$SYS"/ports/*; do echo "  # ${port##*/}: $(cat "$port/state") $(cat "$port/phys_state")"; done
  return 1
}

is_bound() {
  module=$(readlink "$SYS/device/driver/module")
  [ "${module##*/}" = "${MODULES%% *}" ]
}

# devlink shows the firmware that runs, and the same one as stored: none waits to replace it.
devlink_agrees() {
  slot=$(readlink -f "$SYS/device")
  /usr/sbin/devlink dev info "pci/${slot##*/}" >/tmp/devlink 2>&1
  [ "$(grep -c "^ *fw $FIRMWARE\$" /tmp/devlink)" = 2 ] && grep -q "^ *fw.psid $BOARD\$" /tmp/devlink && return 0
  sed 's/^/  # /' /tmp/devlink
  return 1
}

# Interrupts of the device's vector of commands, on all processors.
command_interrupts() {
  slot=$(readlink -f "$SYS/device")
  awk -v vector="$COMMAND_VECTOR" -v slot="pci:${slot##*/}" '$0 ~ vector && index($0, slot) { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) sum += $i }
    END { print sum + 0 }' /proc/interrupts
}

# Devices of one driver go and come together.
reload() {
  case $reloaded in *" $MODULES "*) [ -e "$SYS" ]; return ;; esac
  reloaded="$reloaded $MODULES "
  remove && [ ! -e "$SYS" ] && load && [ -e "$SYS" ]
}

# The driver reports every command that fails. Reports after a late interrupt of ib_mthca are
# ignored (bind-again.sh).
no_complaint() {
  dmesg -r | awk -v complaint="$COMPLAINT" -v harmless="$HARMLESS" '/ib_mthca: Initializing/ { late = 0 }
    /NOP command failed to generate interrupt/ { late = 1 }
    !late && $0 ~ complaint && $0 !~ harmless { print "  # " $0 }' >/tmp/complaints
  cat /tmp/complaints
  [ ! -s /tmp/complaints ]
}

check_device() {
  echo "  KTAP version 1"
  echo "  # Subtest: $1"
  echo "  1..$((CHECKS + (${#DEVLINK} > 0)))"
  load
  report $? "insmod"
  [ -e "$SYS" ]
  report $? "the-device-appears"
  is_bound
  report $? "the-stock-driver-has-bound-it"
  [ "$(command_interrupts)" -gt 0 ]
  report $? "commands-complete-by-event"
  holds fw_ver "$FIRMWARE" && holds hca_type "$TYPE" && holds board_id "$BOARD"
  report $? "firmware-and-board"
  if [ -n "$DEVLINK" ]; then
    devlink_agrees
    report $? "devlink-shows-the-firmware"
  fi
  holds node_guid "$NODE_GUID" && holds node_type "1: CA"
  report $? "node-information"
  holds ports/1/lid "$LID" && holds ports/1/pkeys/0 0xffff && holds ports/1/gids/0 "$PORT_GID"
  report $? "port-query"
  all_active
  report $? "port-states"
  echo "  # time: $DEVICE is ACTIVE $(cut -d ' ' -f 1 /proc/uptime) s after the boot"
  reload && holds fw_ver "$FIRMWARE"
  report $? "removed-and-loaded-again"
  no_complaint
  report $? "no-complaint"
}

set -- /etc/stock/devices/*
device_number=0 reloaded=
echo "KTAP version 1"
echo "1..$#"
for settings; do
  . "$settings"
  SYS=/sys/class/infiniband/$DEVICE
  result_number=0 failed=
  device_number=$((device_number + 1))
  check_device "${settings##*/}"
  echo "${failed:+not }ok $device_number ${settings##*/}"
done
