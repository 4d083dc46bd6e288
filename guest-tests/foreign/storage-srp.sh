#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# SRP: the kernel's target by configfs, and its initiator, which is told about the target by
# srptools (ibsrpdm asks the device manager of each port), or, over RoCE, by its IP address.
# storage.sh reads it.

SRP_SERVICE=5555
listen=true
[ $LINK = InfiniBand ] || listen="mkdir -p $TARGET/srpt && echo $SRP_SERVICE >$TARGET/srpt/discovery_auth/rdma_cm_port"
# The target of a port is called by the port's GUID; an initiator by its GID or its address.
$far run "modprobe ib_srpt && $LIO && $listen &&
  guid=0x\$(cut -d : -f 5- /sys/class/infiniband/$DEVICE/ports/1/gids/0 | tr -d :) &&
  mkdir -p $TARGET/srpt/\$guid/\$guid/lun/lun_0 && cd $TARGET/srpt/\$guid/\$guid &&
  ln -s $TARGET/core/iblock_0/disk lun/lun_0/disk && echo \$guid" >$WORK/output 2>&1
srp_status=$?
target=$(tail -n 1 $WORK/output)
if [ $srp_status = 0 ]; then pass srp-target; else fail srp-target $WORK/output; fi
# allow NAME: the initiator of that name may use the disk.
allow() {
  $far run "cd $TARGET/srpt/$target/$target && mkdir -p acls/$1/lun_0 && ln -s $TARGET/srpt/$target/$target/lun/lun_0 acls/$1/lun_0/lun"
}
own_gid=$(cat /sys/class/infiniband/$DEVICE/ports/1/gids/0)
if [ $LINK = InfiniBand ]; then allow "$own_gid"; else allow "$ADDRESS"; fi >$WORK/output 2>&1 || fail srp-permission $WORK/output
$far run "echo 1 >$TARGET/srpt/$target/$target/enable" >$WORK/output 2>&1 || fail srp-enable $WORK/output

modprobe ib_srp
list_disks >$WORK/disks-before
add=/sys/class/infiniband_srp/srp-$DEVICE-1/add_target
if [ $LINK = InfiniBand ]; then
  umad=$(for one in /sys/class/infiniband_mad/umad*; do [ "$(cat $one/ibdev)$(cat $one/port)" = ${DEVICE}1 ] && echo /dev/infiniband/${one##*/}; done)
  check srp-discover "ibsrpdm -c -d $umad" "ioc_guid="
  words=$(grep -m1 ioc_guid= $WORK/output)
else
  words="id_ext=${target#0x},ioc_guid=${target#0x},dest=$FAR:$SRP_SERVICE"
fi
mark_log
if run_limited "echo '$words' >$add" >$WORK/output 2>&1 && wait_for_disk; then
  pass srp-connect
  verify srp
  check srp-disconnect "for port in /sys/class/srp_remote_ports/*; do echo 1 >\$port/delete; done; while [ -e /sys/block/$new_disk ]; do sleep 0.1; done"
else
  echo "$words" >>$WORK/output
  dmesg | tail >>$WORK/output
  $far run "dmesg | tail" >>$WORK/output
  fail srp-connect $WORK/output
fi
$far run "cd $TARGET/srpt/$target/$target && echo 0 >enable" >/dev/null
