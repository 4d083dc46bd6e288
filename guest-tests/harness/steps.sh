#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The case of every test guest: loads the modules of /etc/vuhca/modules in their order (a line has
# KIND NAME PARAMETERS; KIND is `stock`, `driver` or `module`), checks that each driver has bound a
# function of an adapter, runs /etc/vuhca/script, and unloads in the opposite order. The report and
# the kernel's log both get "@vuhca step KIND NAME" and "@vuhca done STATUS TEXT" around each step.
# guest-image.ts packs it; guest-session.ts reads its output.

mount -t debugfs debugfs /sys/kernel/debug

say() {
  echo "<6>@vuhca $*" >/dev/kmsg
  echo "@vuhca $*"
}

# Functions of adapters: vendor and device as `vuhca device` has them, by personality.
functions() {
  for device in /sys/bus/pci/devices/*; do
    read -r vendor <"$device/vendor"
    read -r id <"$device/device"
    case $vendor:$id in 0x1af4:0x10f[56] | 0x15b3:0x6274 | 0x15b3:0x6282 | 0x15b3:0x1017) echo "${device##*/}" ;; esac
  done
}

# Functions that the driver of module $1 has bound.
bound() {
  for function in $(functions); do
    module=$(readlink "/sys/bus/pci/devices/$function/driver/module")
    [ "${module##*/}" = "$1" ] && echo "$function"
  done
}

# A driver may probe after insmod has returned. The loop counts tries, not seconds: on a busy
# machine each takes longer.
bind() {
  tries=50
  while [ $tries -gt 0 ]; do
    found=$(bound "$1" | tr '\n' ' ')
    [ -n "$found" ] && break
    usleep 100000
    tries=$((tries - 1))
  done
  say step bind "$1"
  if [ -n "$found" ]; then say "done 0 $found"; else say "done 1 it bound none of: $(functions | tr '\n' ' ')"; fi
  [ -n "$found" ]
}

load() {
  [ "$1" = stock ] || say step load "$2"
  insmod "/modules/$2.ko" $3 2>/tmp/said
  status=$?
  if [ "$1" != stock ]; then say "done $status $(cat /tmp/said)"; elif [ $status != 0 ]; then
    grep -q "^$2 " /proc/modules || say "stock $2: $(cat /tmp/said)"
    status=0
  fi
  [ $status = 0 ] || return 1
  [ "$2" != ib_mthca ] || sh /bind-again.sh
  [ "$1" = stock ] || loaded="$2 $loaded"
  [ "$1" != driver ] || bind "$2"
}

loaded=
ready=yes
while read -r kind name parameters; do
  load "$kind" "$name" "$parameters" || { ready=no; break; }
done </etc/vuhca/modules
if [ $ready = yes ] && [ -e /etc/vuhca/script ]; then
  say step script "$(cat /etc/vuhca/script-name)"
  /etc/vuhca/script
  say "done $?"
fi
for name in $loaded; do
  # A script may have unloaded it, or loaded others that use it.
  grep -q "^$name " /proc/modules || continue
  for user in $(awk -v name="$name" '$1 == name { gsub(",", " ", $4); print $4 }' /proc/modules); do
    [ "$user" = - ] || rmmod "$user"
  done
  say step unload "$name"
  rmmod "$name" 2>/tmp/said
  say "done $? $(cat /tmp/said)"
done
