#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Storage between two guests: the far one is the target with a disk in memory, the near one the
# initiator, where fio writes, reads back and compares. NVMe over RDMA, iSER, SRP and NFS, all with
# the kernel's own targets. Without fast registration the initiators of all but SRP refuse a device;
# the kernel's message is then the reason to skip. run.sh reads it.

TARGET=/sys/kernel/config/target
IQN=iqn.2026-11.vuhca:disk

. /foreign/disk-library.sh

# verify_on NAME FILE: writes, reads and compares, with short and long requests, one or many at a
# time. FILE is an option of fio.
verify_on() {
  on="$2 --ioengine=libaio --direct=1 --verify=crc32c --verify_fatal=1 --do_verify=1 --minimal"
  [ -n "$SHORT" ] && size=1M || size=4M
  check "$1-verify-4-KiB" "fio --name=short --rw=randwrite --bs=4k --iodepth=16 --size=$size $on"
  [ -z "$SHORT" ] || return 0
  check "$1-verify-512-KiB" "fio --name=long --rw=write --bs=512k --iodepth=4 --size=16M $on"
  check "$1-verify-mixed" "fio --name=mixed --rw=randrw --bsrange=512-64k --iodepth=8 --size=4M $on"
}

# verify NAME: does so on the new disk, and then in a file system on it.
verify() {
  verify_on "$1" "--filename=/dev/$new_disk"
  [ -z "$SHORT" ] || return 0
  check "$1-file-system" "mkfs.ext4 -q -F /dev/$new_disk && mount /dev/$new_disk /mnt && cp /usr/bin/python3* /mnt && sync &&
    echo 3 >/proc/sys/vm/drop_caches && cmp /usr/bin/python3.13 /mnt/python3.13 && umount /mnt"
}

# A block device of LIO, `$1`: the disk in memory.
LIO="mkdir -p $TARGET/core/iblock_0/disk && cd $TARGET/core/iblock_0/disk && { [ \$(cat enable) = 1 ] ||
  { echo udev_path=$DISK >control && echo 1 >enable; }; }"

modprobe sd_mod
# Initiators allow address resolution a second or two, which may be too short on a busy machine.
run_limited "until ping -c 1 -W 5 $FAR; do :; done" >/dev/null
$far run "$PREPARE_DISK" >$WORK/output || fail target-disk $WORK/output

# An expression for names of tests that names no storage protocol runs them all.
for protocol in nvme srp iser nfs; do
  case $TESTS in
    *nvme* | *srp* | *iser* | *nfs*) echo "$TESTS" | grep -q $protocol || continue ;;
  esac
  . /foreign/storage-$protocol.sh
done
