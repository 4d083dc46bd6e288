#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# NFS over RDMA: the kernel's server with a file system in memory, and its client, by NFS 4.2 on
# port 20049. storage.sh reads it.

EXPORT=/srv/export
# Without a record of earlier clients no client reclaims state, so the grace period may end.
$far run "modprobe -a nfsd rpcrdma && mkdir -p $EXPORT /var/lib/nfs/v4recovery /run/rpc_pipefs && touch /var/lib/nfs/etab /var/lib/nfs/rmtab /etc/exports &&
  mount -t tmpfs tmpfs $EXPORT && { mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd; } &&
  exportfs -o rw,fsid=0,no_root_squash,no_subtree_check,insecure '*:$EXPORT' && rpc.mountd --no-nfs-version 3 &&
  rpc.nfsd --no-nfs-version 3 --grace-time 10 --rdma=20049 2 && grep 'rdma 20049' /proc/fs/nfsd/portlist &&
  echo Y >/proc/fs/nfsd/v4_end_grace" >$WORK/output 2>&1 &&
  pass nfs-server || { $far run "dmesg | tail" >>$WORK/output; fail nfs-server $WORK/output; }

modprobe -a nfsv4 rpcrdma
mark_log
ask_host capture >$WORK/host
if run_limited "mount -v -t nfs4 -o vers=4.2,proto=rdma,port=20049 $FAR:/ /mnt" >$WORK/output 2>&1 && grep -q ' /mnt nfs4 .*proto=rdma' /proc/mounts; then
  pass nfs-mount
  check nfs-write-and-read "dd if=/dev/urandom of=/tmp/random bs=64k count=4 && cp /tmp/random /mnt && cmp /tmp/random /mnt/random"
  check_capture nfs-in-tshark "rpcordma && nfs"
  verify_on nfs "--filename=/mnt/file"
  check nfs-copy "cp /usr/bin/python3.13 /mnt && sync && echo 3 >/proc/sys/vm/drop_caches && cmp /usr/bin/python3.13 /mnt/python3.13"
  check nfs-unmount "umount /mnt"
else
  reason=$(kernel_says 'frwr')
  if [ -n "$reason" ]; then
    skip nfs-mount "$reason"
  else
    dmesg | tail >>$WORK/output
    $far run "dmesg | tail" >>$WORK/output
    fail nfs-mount $WORK/output
  fi
fi
$far run "rpc.nfsd 0; exportfs -ua; pkill -x rpc.mountd; umount $EXPORT" >/dev/null
