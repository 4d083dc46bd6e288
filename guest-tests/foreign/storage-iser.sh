#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# iSER: LIO's target by configfs, open-iscsi as the initiator. storage.sh reads it.

$far run "modprobe -a iscsi_target_mod ib_isert && $LIO && group=$TARGET/iscsi/$IQN/tpgt_1 && mkdir -p \$group/lun/lun_0 \$group/np/$FAR:3260 &&
  echo 1 >\$group/np/$FAR:3260/iser && cd \$group/attrib && echo 0 >authentication && echo 0 >demo_mode_write_protect &&
  echo 1 >generate_node_acls && cd .. && ln -s $TARGET/core/iblock_0/disk lun/lun_0/disk && echo 1 >enable" >$WORK/output 2>&1 &&
  pass iser-target || { $far run "dmesg | tail" >>$WORK/output; fail iser-target $WORK/output; }

modprobe -a ib_iser sd_mod
mkdir -p /run/lock/iscsi /etc/iscsi /var/lib/iscsi
echo "InitiatorName=iqn.2026-11.vuhca:near" >/etc/iscsi/initiatorname.iscsi
iscsid >$WORK/output 2>&1
list_disks >$WORK/disks-before
mark_log
ask_host capture >$WORK/host
record="iscsiadm -m node -T $IQN -p $FAR:3260,1 -I iser"
run_limited "iscsiadm -m iface -I iser --op new; $record --op new && $record --op update -n node.conn[0].timeo.login_timeout -v 60 &&
  $record --op update -n node.session.initial_login_retry_max -v 1 && $record --login" >$WORK/output 2>&1
if [ $? = 0 ] && wait_for_disk; then
  pass iser-connect
  check iser-read "dd if=/dev/$new_disk of=/dev/null bs=64k count=4 iflag=direct"
  check_capture iser-in-tshark "iser"
  verify iser
  check iser-disconnect "$record --logout" "successful"
else
  reason=$(kernel_says 'emory registrations')
  if [ -n "$reason" ]; then
    skip iser-connect "$reason"
  else
    dmesg | tail >>$WORK/output
    $far run "dmesg | tail" >>$WORK/output
    fail iser-connect $WORK/output
  fi
fi
iscsiadm -k 0 2>/dev/null
