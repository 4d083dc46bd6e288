#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The case of the default guest of `vuhca run`: loads the modules listed in /etc/vuhca/modules and
# opens a shell on the serial console. Leaving the shell, or `poweroff -f`, ends the guest.
# guest-image.ts packs it.

exec </dev/console >/dev/console 2>&1
export TERM=linux PS1='guest:\w# '
mount -t debugfs debugfs /sys/kernel/debug

# Shows warnings of the kernel on the console.
echo 5 >/proc/sys/kernel/printk

echo
echo "Linux $(uname -r), $(nproc) processors."
while read -r kind name parameters; do
  # shellcheck disable=SC2086
  insmod "/modules/$name.ko" $parameters && loaded="is loaded" || loaded="did not load"
  [ "$kind" = stock ] || echo "Module $name $loaded."
  [ "$name" != ib_mthca ] || sh /bind-again.sh
  [ "$kind" = driver ] || continue
  bound=
  for device in /sys/bus/pci/devices/*; do
    module=$(readlink "$device/driver/module")
    [ "${module##*/}" = "$name" ] && bound="$bound ${device##*/}"
  done
  if [ -n "$bound" ]; then echo "It has bound$bound."; else echo "It has bound nothing!"; fi
done </etc/vuhca/modules
if [ -e /etc/symbols ]; then
  echo 'Tell gdb:'
  while read -r name path; do
    text=/sys/module/$name/sections/.text
    [ -e "$text" ] && echo "  add-symbol-file $path $(cat "$text")"
  done </etc/symbols
fi
if [ -d /sys/kernel/debug/vuhca ]; then
  echo 'Traffic flows after     insmod /modules/vuhca_traffic.ko'
  echo 'The driver counts in    /sys/kernel/debug/vuhca/*/counters'
  echo '  and says in           /sys/kernel/debug/vuhca/*/status how it posts'
fi
echo 'On the host, `vuhca status` and `vuhca capture` look into the adapter. Leave with `exit`, or Ctrl-A x.'
echo
if [ -e /enter-distribution.sh ]; then
  setsid cttyhack sh /enter-distribution.sh
else
  setsid cttyhack sh
fi
