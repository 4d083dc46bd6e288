#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Functions for suites between two guests: the near one judges, the far one (far.sh) has the
# servers. They take the place of those of run.sh, which reads this file when /foreign/settings has
# a SIDE.

exec 5<>/dev/virtio-ports/vuhca.peer
# For commands of `check`.
far="sh /foreign/ask-far.sh"
FAR=${ADDRESS%.*}.1

# wait_far: the far guest answers when its adapter is ready.
wait_far() {
  LIMIT=600 run_limited "$far run true"
}

# run_client SERVER CLIENT: the server runs in the far guest.
run_client() {
  $far start "$1"
  run_limited "exec $2" >$WORK/client 2>&1 </dev/null
  client_status=$?
}

# pair NAME SERVER CLIENT: passes when both end with 0.
pair() {
  wanted "$1" || return 0
  run_client "$2" "$3"
  # A server whose client has failed may wait for ever.
  [ $client_status = 0 ] && how=wait || how=kill
  $far $how >$WORK/server
  server_status=$?
  if [ $client_status = 0 ] && [ $server_status = 0 ]; then pass "$1"; return 0; fi
  echo "status $server_status" >>$WORK/server
  echo "status $client_status" >>$WORK/client
  fail "$1" $WORK/server $WORK/client
}

# serve NAME SERVER CLIENT: as `pair`, for a server that serves for ever: the client alone judges.
serve() {
  wanted "$1" || return 0
  run_client "$2" "$3"
  $far kill >$WORK/server
  if [ $client_status = 0 ]; then pass "$1"; return 0; fi
  echo "status $client_status" >>$WORK/client
  fail "$1" $WORK/server $WORK/client
}
