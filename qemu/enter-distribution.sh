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
# Only the files: folders such as /bin are links there, and each file goes to where its path leads.
folders=$(cd /for-distribution && find . -type f | while read -r file; do [ ! -d "$root/$file" ] || echo "${file#.}"; done)
if [ -n "$folders" ]; then
  echo "--files names $folders, which is a folder of Debian's file system: name a file in it"
  exit 125
fi
if ! (cd /for-distribution && find . -type f -exec tar -c -f - {} +) |
  chroot $root /usr/bin/tar --ignore-zeros -x -C / -f - 2>/tmp/said; then
  echo "a file does not fit into Debian's file system: $(head -n 1 /tmp/said); choose another path in --files"
  exit 125
fi

# The kernel loads modules on demand from the new root.
echo /modprobe-in-distribution.sh >/proc/sys/kernel/modprobe

# Here because a program of the static busybox starts several times as fast as Debian's.
ip link set lo up

export PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 USER=root
chroot $root /bin/sh /etc/vuhca/prepare-distribution.sh
[ $# -gt 0 ] || exec chroot $root /bin/sh -c 'cd; exec /bin/bash --login'
chroot $root /bin/sh -c 'cd; exec "$@"' sh "$@"
status=$?
read -r first <"$root$1"
interpreter=$(echo "$first" | sed -n 's/^#! *\([^ ]*\).*/\1/p')
if [ $status -ge 126 ] && [ -n "$interpreter" ] && ! chroot $root /usr/bin/test -x "$interpreter"; then
  echo "the interpreter $interpreter is not in Debian's user space: bring it along by --files HOST:$interpreter"
fi
exit $status
