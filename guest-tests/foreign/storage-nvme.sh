#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# NVMe over RDMA: the kernel's target by configfs, nvme-cli as the initiator. storage.sh reads it.

$far run "modprobe nvmet_rdma && cd /sys/kernel/config/nvmet && mkdir subsystems/$NQN subsystems/$NQN/namespaces/1 ports/1 &&
  echo 1 >subsystems/$NQN/attr_allow_any_host && echo $DISK >subsystems/$NQN/namespaces/1/device_path &&
  echo 1 >subsystems/$NQN/namespaces/1/enable && cd ports/1 && echo rdma >addr_trtype && echo ipv4 >addr_adrfam &&
  echo $FAR >addr_traddr && echo 4420 >addr_trsvcid && ln -s ../../subsystems/$NQN subsystems/" >$WORK/output 2>&1 &&
  pass nvme-target || fail nvme-target $WORK/output

modprobe nvme_rdma
list_disks >$WORK/disks-before
mark_log
ask_host capture >$WORK/host
if run_limited "nvme connect -t rdma -a $FAR -s 4420 -n $NQN --nr-io-queues=1" >$WORK/output 2>&1; then
  pass nvme-connect
  if wait_for_disk; then
    check nvme-read "dd if=/dev/$new_disk of=/dev/null bs=64k count=4 iflag=direct"
    check_capture nvme-in-tshark "nvme.cmd.opc == 0x02"
    verify nvme
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
$far run "cd /sys/kernel/config/nvmet && rm ports/1/subsystems/$NQN && rmdir ports/1 subsystems/$NQN/namespaces/1 subsystems/$NQN" >/dev/null
