#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Two processes that the host traces: ibv_rc_pingpong at both ports, stopped before it opens the
# device. The script tells the host the processes, and then the queue pair number that the client
# prints. scripts/cli/trace/trace-process.long.ts packs it.

DEVICE=vuhca0
. /etc/vuhca/stress-library.sh
export VUHCA_POST=collect

# begin NAME ARGUMENT...: a process that waits to be continued.
begin() {
  output=/tmp/$1
  shift
  sh -c 'kill -STOP $$; exec ibv_rc_pingpong "$@"' sh -d $DEVICE -n 5 "$@" >$output 2>&1 &
}
is_stopped() { grep -q '^State:.*T' "/proc/$1/status"; }

echo "KTAP version 1"
echo "1..4"
until_true all_active
report $? ports-active
begin server -i 2
server=$!
begin client -i 1 localhost
client=$!
until_true is_stopped $server && until_true is_stopped $client && adapter trace $client $server
report $? traced
kill -CONT $server
until_true listens
kill -CONT $client
wait $client && wait $server
status=$?
report $status pingpong
[ $status = 0 ] || sed 's/^/# /' /tmp/client /tmp/server
adapter story $client "$(sed -n 's/.*local address:.*QPN 0x\([0-9a-f]*\),.*/\1/p' /tmp/client)"
report $? story
