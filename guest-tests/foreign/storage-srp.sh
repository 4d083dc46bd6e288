#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# SRP: the kernel's target by configfs, and its initiator, which is told about the target by
# srptools (ibsrpdm asks the device manager of each port), or, over RoCE, by its IP address.
# storage.sh reads it.

SRP_SERVICE=5555
listen=true
[ $LINK = InfiniBand ] || listen="mkdir -p $TARGET/srpt && echo $SRP_SERVICE >$TARGET/srpt/discovery_auth/rdma_cm_port"
# The name of a port's target is the GID of the port.
$far run "modprobe ib_srpt && $LIO && $listen && target=0x\$(tr -d : </sys/class/infiniband/$FAR_DEVICE/ports/1/gids/0) &&
  mkdir -p $TARGET/srpt/\$target/\$target/lun/lun_0 && cd $TARGET/srpt/\$target/\$target &&
  ln -s $TARGET/core/iblock_0/disk lun/lun_0/disk && cat /sys/module/ib_srpt/parameters/srpt_service_guid && echo \$target" >$WORK/output 2>&1
srp_status=$?
target=$(tail -n 1 $WORK/output)
service=$(tail -n 2 $WORK/output | sed -n 's/^0x//p' | head -n 1)
if [ $srp_status = 0 ]; then pass srp-target; else fail srp-target $WORK/output; fi
# The initiator may use the disk. A target named by a GID knows the initiator by its port
# identifier, here the GUID of its port; over RoCE by its address.
initiator=$FAR
[ $LINK = Ethernet ] || initiator=0x0000000000000000$(cut -d : -f 5- /sys/class/infiniband/$DEVICE/ports/1/gids/0 | tr -d :)
$far run "cd $TARGET/srpt/$target/$target && mkdir -p acls/$initiator/lun_0 &&
  ln -s $TARGET/srpt/$target/$target/lun/lun_0 acls/$initiator/lun_0/lun && echo 1 >enable" >$WORK/output 2>&1 || fail srp-enable $WORK/output

modprobe ib_srp
list_disks >$WORK/disks-before
add=/sys/class/infiniband_srp/srp-$DEVICE-1/add_target
if [ $LINK = InfiniBand ]; then
  umad=$(for one in /sys/class/infiniband_mad/umad*; do [ "$(cat $one/ibdev)$(cat $one/port)" = ${DEVICE}1 ] && echo /dev/infiniband/${one##*/}; done)
  check srp-discover "until ibsrpdm -c -d $umad | grep ioc_guid=; do sleep 1; done" "ioc_guid="
  words=$(grep -m1 ioc_guid= $WORK/output)
else
  words="id_ext=$service,ioc_guid=$service,dest=$FAR:$SRP_SERVICE"
fi
mark_log
ask_host capture >$WORK/host
if run_limited "echo '$words' >$add" >$WORK/output 2>&1 && wait_for_disk; then
  pass srp-connect
  check srp-read "dd if=/dev/$new_disk of=/dev/null bs=64k count=4 iflag=direct"
  # tshark does not know SRP, but the data arrive by RDMA WRITE of the target.
  check_capture srp-in-tshark "infiniband.bth.opcode == 6 || infiniband.bth.opcode == 10"
  verify srp
  check srp-disconnect "for port in /sys/class/srp_remote_ports/*; do echo 1 >\$port/delete; done; while [ -e /sys/block/$new_disk ]; do sleep 0.1; done"
else
  echo "$words" >>$WORK/output
  dmesg | tail >>$WORK/output
  $far run "dmesg | tail" >>$WORK/output
  fail srp-connect $WORK/output
fi
$far run "cd $TARGET/srpt/$target/$target && echo 0 >enable" >/dev/null
