#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Measurements of $adapter in round $round. Each value has a line `# figure NAME ADAPTER$MODE
# VALUE`, which scripts/foreign/figures.ts reads. figures.sh and turns.sh read this file.

# measure NAME COLUMN PROGRAM OPTION...: prints the column of the last row of perftest's table.
measure() {
  figure=$1 column=$2
  shift 2
  wanted "$figure-$adapter-$round" || return 0
  common="$* -F $PERFTEST_GID"
  pair "$figure-$adapter-$round" "$common -d $DEVICE -i $PORT" "$common -d $PEER_DEVICE -i $PEER_PORT localhost"
  print_figure "$figure" $adapter$MODE "$column"
}

# measure_pairs NAME ROUNDS MESSAGES ONE ALL: measures times of a message of a process over one
# queue pair with ONE messages outstanding, and over 1,000 in turn with ALL, and their ratio, round
# by round: in short rounds both have the same machine.
measure_pairs() {
  wanted "$1-1000-$adapter" || return 0
  gid_index=${GID#-g }
  check "$1-1000-$adapter" "/foreign/many-pairs $DEVICE ${gid_index:--1} $PORT $PEER_PORT 1000 $2 $3 $4 $5"
  awk -v head="  # figure $1" -v adapter="$adapter$MODE" 'NF == 2 {
    print head "-one", adapter, $1 / 1000
    print head "-1000", adapter, $2 / 1000
    print head "-ratio", adapter, $2 / $1
  }' $WORK/output
}

# measure_stream [SUFFIX]: measures the cost of posting to a process in a stream of messages of 64
# bytes: times of a call and of a message, and doorbells for each where the driver counts them.
measure_stream() {
  wanted "stream-64$1-$adapter-$round" || return 0
  gid_index=${GID#-g } counter=/sys/class/infiniband/$DEVICE/hw_counters/doorbells
  [ ! -e $counter ] || before=$(cat $counter)
  check "stream-64$1-$adapter-$round" "/foreign/stream $DEVICE ${gid_index:--1} $PORT $PEER_PORT 1000 64"
  awk -v head="  # figure stream-64" -v tail="$1 $adapter$MODE" 'NF == 3 {
    print head "-post-fast" tail, $1 / 1000
    print head "-post" tail, $2 / 1000
    print head tail, $3 / 1000
  }' $WORK/output
  [ -e $counter ] || return 0
  # The kernel reads the counters of a device at most every 10 ms.
  sleep 0.1
  awk -v rung=$(($(cat $counter) - before)) "BEGIN { print \"  # figure stream-64-doorbells$1 $adapter$MODE\", rung / 32000 }"
}

# measure_fio KIND FIELD: requests in a second, which fio prints in this field of its line.
measure_fio() {
  wanted "nvme-$1-4096-$adapter-$round" || return 0
  check "nvme-$1-4096-$adapter-$round" "fio --name=$1 --filename=/dev/$new_disk --ioengine=libaio --direct=1 --rw=rand$1 --bs=4k --iodepth=16 --size=4M --time_based --runtime=5 --minimal"
  awk -F ';' -v field="$2" -v head="  # figure nvme-$1-4096 $adapter$MODE" '/^3;fio/ { print head, $field }' $WORK/output
}

# Target and initiator are the same guest; with `loop` there is no fabric between them, which shows
# what the guest itself allows.
measure_nvme() {
  wanted "nvme-read-4096-$adapter-$round" || wanted "nvme-write-4096-$adapter-$round" || return 0
  . /foreign/disk-library.sh
  if [ $adapter = loop ]; then
    begin=$BEGIN_NVME_LOOP connect=$CONNECT_NVME_LOOP
  else
    begin=$BEGIN_NVME_TARGET connect=$CONNECT_NVME
    modprobe nvme_rdma
  fi
  mark_log
  sh -c "$PREPARE_DISK && $begin" >$WORK/output 2>&1 || fail nvme-target $WORK/output
  list_disks >$WORK/disks-before
  if run_limited "$connect" >$WORK/output 2>&1 && wait_for_disk; then
    measure_fio read 8
    measure_fio write 49
    run_limited "nvme disconnect -n $NQN" >/dev/null
  elif reason=$(kernel_says 'emory registrations') && [ -n "$reason" ]; then
    skip nvme-4096-$adapter-$round "$reason"
  else
    dmesg | tail >>$WORK/output
    fail nvme-4096-$adapter-$round $WORK/output
  fi
  sh -c "$END_NVME_TARGET"
}
