#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Storage between two guests: the far one is the target with a disk in memory, the near one the
# initiator, where fio writes, reads back and compares. NVMe over RDMA, iSER and SRP, all with the
# kernel's own targets. Without fast registration the initiators of NVMe and iSER refuse a device;
# then the kernel's message is the reason to skip. run.sh reads it.

DISK=/dev/ram0
TARGET=/sys/kernel/config/target
NQN=nqn.2026-11.vuhca:disk
IQN=iqn.2026-11.vuhca:disk

# kernel_says PATTERN: the last line of the kernel's log since `mark_log` with the pattern.
mark_log() { log_lines=$(dmesg | wc -l); }
kernel_says() {
  dmesg | tail -n +$((log_lines + 1)) | grep -E "$1" | tail -n 1 | sed 's/^\[[^]]*\] *//; s/#//g'
}

# wait_for_disk: sets new_disk, the block device that has come since $WORK/disks-before was written.
# A path of NVMe (nvme0c0n1) is no disk.
list_disks() { ls /sys/block | grep -E '^(sd[a-z]+|nvme[0-9]+n[0-9]+)$' | sort; }
wait_for_disk() {
  polls=0
  while [ $polls -lt 300 ]; do
    list_disks >$WORK/disks
    new_disk=$(comm -13 $WORK/disks-before $WORK/disks | head -n 1)
    [ -n "$new_disk" ] && [ -b /dev/$new_disk ] && return 0
    sleep 0.1
    polls=$((polls + 1))
  done
  return 1
}

# verify NAME: writes, reads and compares, with short and long requests, one or many at a time.
verify() {
  on="--filename=/dev/$new_disk --ioengine=libaio --direct=1 --verify=crc32c --verify_fatal=1 --do_verify=1 --minimal"
  check "$1-verify-4-KiB" "fio --name=short --rw=randwrite --bs=4k --iodepth=16 --size=4M $on"
  [ -z "$SHORT" ] || return 0
  check "$1-verify-512-KiB" "fio --name=long --rw=write --bs=512k --iodepth=4 --size=16M $on"
  check "$1-verify-mixed" "fio --name=mixed --rw=randrw --bsrange=512-64k --iodepth=8 --size=4M $on"
  check "$1-file-system" "mkfs.ext4 -q -F /dev/$new_disk && mount /dev/$new_disk /mnt && cp /usr/bin/python3* /mnt && sync &&
    echo 3 >/proc/sys/vm/drop_caches && cmp /usr/bin/python3.13 /mnt/python3.13 && umount /mnt"
}

# A block device of LIO, `$1`: the disk in memory.
LIO="mkdir -p $TARGET/core/iblock_0/disk && cd $TARGET/core/iblock_0/disk && { [ \$(cat enable) = 1 ] ||
  { echo udev_path=$DISK >control && echo 1 >enable; }; }"

modprobe sd_mod
# Initiators give address resolution a second or two, which a busy machine may need for itself.
run_limited "until ping -c 1 -W 5 $FAR; do :; done" >/dev/null
$far run "modprobe -a brd configfs && { mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config; }
  [ -b $DISK ]" >$WORK/output || fail target-disk $WORK/output

. /foreign/storage-nvme.sh
. /foreign/storage-srp.sh
. /foreign/storage-iser.sh
