#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Our verbs under misbehaving processes, in Debian's user space: processes that are killed in the
# middle of traffic, random commands to the device file, forks, and a function reset or a removal of
# the driver under processes that poll and must end by themselves. After each part nothing may be
# left, neither objects in the adapter nor resources and pinned pages in the kernel.
# process-stress.long.ts runs it, with the number of rounds of each part in /etc/vuhca/stress.

. /etc/vuhca/stress

DEVICE=vuhca0
. /etc/vuhca/stress-library.sh
FUNCTION=$(basename "$(readlink -f $IB/device)")

fuzz() {
  [ "$FUZZ_SECONDS" != 0 ] || return 0
  python3 /etc/vuhca/uverbs-fuzz.py "$SEED" "$FUZZ_SECONDS" >/tmp/fuzz 2>&1
  status=$?
  tail -n 5 /tmp/fuzz | sed 's/^/# /'
  return $status
}

# start_pollers: a pair with traffic, and a program with requests that get no answer. Both poll.
is_ready() { grep -q ready /tmp/poller || ! kill -0 $poller; }
start_pollers() {
  case $((round % 4)) in
    0) program=ib_write_bw ;;
    1) program=ib_send_bw ;;
    2) program=ib_read_bw ;;
    3) program="ibv_rc_pingpong -e" ;;
  esac
  start_pair "$program" || return 1
  python3 /etc/vuhca/dead-device.py $DEVICE >/tmp/poller 2>&1 &
  poller=$!
  until_true is_ready && kill -0 $poller || { sed 's/^/# /' /tmp/poller; return 1; }
}
# await_pollers: waits until all pollers end by themselves, because their requests complete as
# flushed. A program that waits for an event gets an error of the system call.
has_ended() { ! kill -0 $1 2>/dev/null; }
# The other end may have ended so much earlier that the client has used up its retries (status 12).
were_flushed() {
  grep -q -E 'Failed status (5|12):|\((5|12)\) for wr_id|get cq_event' /tmp/client &&
    grep -q flushed /tmp/poller
}
await_pollers() {
  for process in $client $server $poller; do until_true has_ended $process || break; done
  has_ended $process && were_flushed && return 0
  echo "# $program, round $round"
  sed 's/^/# /' /tmp/client /tmp/server /tmp/poller
  kill -9 $client $server $poller
  return 1
}

resets() {
  round=0
  while [ $round -lt "$RESETS" ]; do
    start_pollers || return 1
    echo 1 >/sys/bus/pci/devices/"$FUNCTION"/reset || return 1
    await_pollers && until_true all_active || return 1
    next_round
  done
}
removals() {
  round=0
  while [ $round -lt "$RESETS" ]; do
    start_pollers || return 1
    echo "$FUNCTION" >/sys/bus/pci/drivers/vuhca/unbind && [ ! -e $IB ] || return 1
    await_pollers || return 1
    echo "$FUNCTION" >/sys/bus/pci/drivers/vuhca/bind && until_true all_active || return 1
    next_round
  done
}

echo "KTAP version 1"
echo "1..9"
until_true all_active
report $? ports-active
note_objects
phase kills processes-killed-in-traffic processes
phase fuzz commands-of-chance commands
phase resets resets-under-processes resets
phase removals removals-under-processes removals
