#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Functions for suites between two guests: the near one judges, the far one (far.sh) has the
# servers. They replace those of run.sh, which reads this file when /foreign/settings has a SIDE.

exec 5<>/dev/virtio-ports/vuhca.peer
# For commands of `check`.
far="sh /foreign/ask-far.sh"

# wait_far: waits for the far guest, which answers when its adapter is ready.
wait_far() {
  LIMIT=1200 run_limited "$far run true"
}

# run_client SERVER CLIENT: runs the client here and the server in the far guest.
run_client() {
  $far start "$1"
  run_limited "exec $2" >$WORK/client 2>&1 </dev/null
  client_status=$?
}

# pair NAME SERVER CLIENT: passes when both end with 0.
pair() {
  wanted "$1" || return 0
  run_client "$2" "$3"
  # A server whose client has failed may wait forever.
  [ $client_status = 0 ] && how=wait || how=kill
  $far $how >$WORK/server
  server_status=$?
  if [ $client_status = 0 ] && [ $server_status = 0 ]; then pass "$1"; return 0; fi
  echo "status $server_status" >>$WORK/server
  echo "status $client_status" >>$WORK/client
  fail "$1" $WORK/server $WORK/client
}

# serve NAME SERVER CLIENT: as `pair`, for a server that serves forever: the client alone decides.
serve() {
  wanted "$1" || return 0
  run_client "$2" "$3"
  $far kill >$WORK/server
  if [ $client_status = 0 ]; then pass "$1"; return 0; fi
  echo "status $client_status" >>$WORK/client
  fail "$1" $WORK/server $WORK/client
}

# ask_host REQUEST: makes a request of scripts/foreign/peer-host.ts to the host, and prints the
# answer.
exec 4>&1
ask_host() {
  echo "@host host $*" >&4
  while IFS= read -r line <&5; do
    case $line in
      "host | "*) printf '%s\n' "${line#* | }" ;;
      "host = "*) return "${line#* = }" ;;
    esac
  done
  return 125
}

# check_capture NAME FILTER: passes when packets since `ask_host capture` match FILTER of tshark.
check_capture() {
  wanted "$1" || return 0
  ask_host read "$2" >$WORK/host
  case $? in
    0) pass "$1" ;;
    4) skip "$1" "$(tail -n 1 $WORK/host)" ;;
    *) fail "$1" $WORK/host ;;
  esac
}
