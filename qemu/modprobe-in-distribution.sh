#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the kernel calls to load a module in a guest with Debian's user space (/proc/sys/kernel/
# modprobe): modules lie in the root file system of the distribution, which is not that of the
# kernel. distribution-guest.ts packs it.

exec chroot /distribution /sbin/modprobe "$@"
