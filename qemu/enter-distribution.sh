#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Enters the root file system of Debian's user space: the EROFS image of the disk below an overlay
# in memory, with the files of /for-distribution on top. Runs prepare-distribution.sh there, then
# the program given as arguments, or a login shell. It stays in a chroot, so that init.sh reports
# and powers off as in every guest. distribution-guest.ts packs it.

root=/distribution

mkdir -p /lower /upper $root
until [ -b /dev/vda ]; do usleep 10000; done
mount -t erofs -o ro /dev/vda /lower || exit 125
mount -t tmpfs -o size=75% upper /upper
mkdir /upper/data /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work overlay $root || exit 125
for folder in dev proc sys; do mount -o rbind /$folder $root/$folder; done
mount -t tmpfs run $root/run
cp -a /for-distribution/. $root/

# The kernel loads modules on demand from the new root.
echo /modprobe-in-distribution.sh >/proc/sys/kernel/modprobe

# Here because a program of the static busybox starts several times as fast as Debian's.
ip link set lo up

export PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 USER=root
chroot $root /bin/sh /etc/vuhca/prepare-distribution.sh
[ $# -gt 0 ] || set -- /bin/bash --login
exec chroot $root /bin/sh -c 'cd; exec "$@"' sh "$@"
