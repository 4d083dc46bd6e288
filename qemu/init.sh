#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The guest's first process: mounts the usual file systems, runs /boot-modules.sh, names the
# virtio-serial ports, loads the modules of /etc/modules in their order, runs /case, reports and
# powers off. The output of /case goes to the port vuhca.report, between lines that begin with
# "@vuhca": "init", "module NAME failed", "exit STATUS". The kernel's log goes to the port
# vuhca.log; the host answers with a line when all of it has arrived. initramfs.ts packs this
# script.

export PATH=/bin HOME=/ TERM=dumb

mount -t proc proc /proc
mount -t sysfs sysfs /sys
# The kernel may have booted with one processor (guest-options.ts).
for processor in /sys/devices/system/cpu/cpu[1-9]*/online; do
  [ -e "$processor" ] && echo 1 >"$processor"
done
mount -t devtmpfs dev /dev
mkdir -p /dev/virtio-ports /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts

if [ -e /boot-modules.sh ]; then . /boot-modules.sh; fi

for port in /sys/class/virtio-ports/*; do
  [ -e "$port/name" ] || continue
  read -r name <"$port/name"
  ln -s "/dev/${port##*/}" "/dev/virtio-ports/$name"
done

# Otherwise the kernel drops what is written to /dev/kmsg often.
echo on >/proc/sys/kernel/printk_devkmsg
log=/dev/virtio-ports/vuhca.log
if [ -e "$log" ]; then
  exec 4<>"$log"
  # A reader that is overtaken by the log ends; the next one begins with the oldest record.
  while :; do cat /dev/kmsg; done >&4 2>/dev/null &
fi

report=/dev/virtio-ports/vuhca.report
[ -e "$report" ] || report=/dev/console
exec 3>"$report"
read -r uptime _ </proc/uptime
echo "@vuhca init $uptime" >&3

status=0
while read -r name parameters; do
  # shellcheck disable=SC2086
  if ! insmod "/modules/$name.ko" $parameters 2>/tmp/insmod; then
    echo "@vuhca module $name failed: $(cat /tmp/insmod)" >&3
    status=125
  fi
done </etc/modules

if [ "$status" = 0 ]; then
  /case </dev/null >&3 2>&1
  status=$?
fi
echo "@vuhca exit $status" >&3
exec 3>&-
if [ -e "$log" ]; then
  echo "<6>@vuhca log ends" >/dev/kmsg
  # The shell's own "read" polls, and a poll takes back the buffers that the host has emptied. The
  # port's driver (Linux 6.12, virtio_console.c) does not wake the writer of the log that waits for
  # them then, so the guest would never end.
  head -n 1 <&4 >/dev/null
fi
poweroff -f
