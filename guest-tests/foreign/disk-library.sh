#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Functions for tests with disks behind a target: the disk in memory of the target, the kernel's
# target of NVMe over RDMA, and the disk that comes at the initiator. storage.sh and figures.sh read
# it.

DISK=/dev/ram0
NQN=nqn.2026-11.vuhca:disk
# Commands for the guest that has the target.
PREPARE_DISK="modprobe -a brd configfs && { mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config; } && [ -b $DISK ]"
EXPORT_DISK="cd /sys/kernel/config/nvmet && mkdir subsystems/$NQN subsystems/$NQN/namespaces/1 ports/1 &&
  echo 1 >subsystems/$NQN/attr_allow_any_host && echo $DISK >subsystems/$NQN/namespaces/1/device_path &&
  echo 1 >subsystems/$NQN/namespaces/1/enable && cd ports/1"
BEGIN_NVME_TARGET="modprobe nvmet_rdma && $EXPORT_DISK && echo rdma >addr_trtype && echo ipv4 >addr_adrfam &&
  echo $FAR >addr_traddr && echo 4420 >addr_trsvcid && ln -s ../../subsystems/$NQN subsystems/"
# The same disk in the same guest, without a fabric.
BEGIN_NVME_LOOP="modprobe nvme_loop && $EXPORT_DISK && echo loop >addr_trtype && ln -s ../../subsystems/$NQN subsystems/"
# Also removes the parts of a target that did not start.
END_NVME_TARGET="cd /sys/kernel/config/nvmet && rm -f ports/1/subsystems/$NQN && rmdir ports/1 subsystems/$NQN/namespaces/1 subsystems/$NQN"
CONNECT_NVME_LOOP="nvme connect -t loop -n $NQN --nr-io-queues=1"
CONNECT_NVME="nvme connect -t rdma -a $FAR -s 4420 -n $NQN --nr-io-queues=1"

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
  while [ $polls -lt 3000 ]; do
    list_disks >$WORK/disks
    new_disk=$(comm -13 $WORK/disks-before $WORK/disks | head -n 1)
    [ -n "$new_disk" ] && [ -b /dev/$new_disk ] && return 0
    sleep 0.1
    polls=$((polls + 1))
  done
  return 1
}
