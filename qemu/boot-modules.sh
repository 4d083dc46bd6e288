#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Loads the modules of /etc/boot-modules in their order and waits for the virtio-serial ports, for
# kernels that have virtio as modules. A port has its name some time after it exists; all exist
# before the first one has its name. initramfs.ts packs this script, and the guest's first process
# runs it, when there are such modules.

have_ports() {
  for port in /sys/class/virtio-ports/*; do
    [ -e "$port/name" ] || return 1
  done
}

while read -r name; do
  insmod "/modules/boot/$name.ko" || echo "init: module $name did not load" >/dev/console
done </etc/boot-modules

tries=0
until have_ports || [ "$tries" = 600 ]; do
  tries=$((tries + 1))
  usleep 100000
done
