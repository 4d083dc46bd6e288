#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# NVMe over RDMA: the kernel's target by configfs, nvme-cli as the initiator. storage.sh reads it.

$far run "$BEGIN_NVME_TARGET" >$WORK/output 2>&1 && pass nvme-target || fail nvme-target $WORK/output

modprobe nvme_rdma
list_disks >$WORK/disks-before
mark_log
ask_host capture >$WORK/host
if run_limited "$CONNECT_NVME" >$WORK/output 2>&1; then
  pass nvme-connect
  if wait_for_disk; then
    check nvme-read "dd if=/dev/$new_disk of=/dev/null bs=64k count=4 iflag=direct"
    check_capture nvme-in-tshark "nvme.cmd.opc == 0x02"
    verify nvme
    [ -n "$SHORT" ] || check nvme-verify-for-a-minute "fio --name=minute --rw=randwrite --bs=4k --iodepth=16 --size=4M --verify_backlog=256 --time_based --runtime=60 $on"
    check nvme-list "nvme list" "$new_disk"
  else
    dmesg | tail >$WORK/output
    fail nvme-disk $WORK/output
  fi
  check nvme-disconnect "nvme disconnect -n $NQN" "disconnected 1"
else
  reason=$(kernel_says 'emory registrations')
  if [ -n "$reason" ]; then
    skip nvme-connect "$reason"
  else
    dmesg | tail >>$WORK/output
    fail nvme-connect $WORK/output
  fi
fi
$far run "$END_NVME_TARGET" >/dev/null
