#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Runs suites of foreign software in Debian's user space and reports them as KTAP: a subtest for
# each suite. /foreign/settings names the adapters and the suites; a suite is a file NAME.sh beside
# this one. scripts/foreign packs them all and reads the report.
#
# Functions for suites: `check` runs a command, `pair` a server and its client, `skip` tells why a
# test cannot run; `pass`, `fail` and `excused` report results that a suite has judged itself.
# Between two guests /foreign/settings has a SIDE, and peers-library.sh replaces some of these
# functions.

. /foreign/settings
. /foreign/adapter.sh

# A command that takes longer is stuck. The bound is wide, because a machine may be busy.
LIMIT=${LIMIT:-1200}
WORK=/tmp/foreign
mkdir -p $WORK

result() {
  number=$((number + 1))
  echo "  $1 $number $2"
}
pass() { result ok "$1"; }
skip() { ! wanted "$1" || result ok "$1 # SKIP $2"; }
# excused NAME REASON: the test failed for a reason, `driver: ...`, other than the adapter.
excused() { result "not ok" "$1 # XFAIL $2"; }
# fail NAME FILE...: the ends of the files show why.
fail() {
  failed_name=$1
  shift
  for file; do tail -n 12 "$file" | cut -c 1-200 | sed "s/^/  # ${file##*/}: /"; done
  result "not ok" "$failed_name"
}

# Succeeds when the test $1 is to run: all, or those whose names match the expression $TESTS.
wanted() {
  [ -z "$TESTS" ] || echo "$1" | grep -Eq -- "$TESTS"
}

# run_limited COMMAND: its status is 124 when it took too long.
run_limited() {
  timeout --kill-after=5 "$LIMIT" sh -c "$1"
}

# start_server COMMAND: starts it in the background, as process $server. `timeout` passes a signal
# on.
start_server() {
  list_streams
  streams_before="$streams " managed_before=$(managed)
  timeout --kill-after=5 "$LIMIT" sh -c "exec $1" >$WORK/server 2>&1 </dev/null &
  server=$!
}

# check NAME COMMAND [PATTERN]: passes when the command ends with 0 and prints the pattern.
check() {
  wanted "$1" || return 0
  run_limited "$2" >$WORK/output 2>&1 </dev/null
  check_status=$?
  if [ $check_status = 0 ] && { [ -z "$3" ] || grep -Eq "$3" $WORK/output; }; then
    pass "$1"
    return 0
  fi
  echo "status $check_status" >>$WORK/output
  fail "$1" $WORK/output
}

# Succeeds when a server waits for clients, on a TCP port or by the connection manager. Earlier
# targets of the kernel do not count. A socket is identified by its inode: a server may listen where
# the socket of an earlier one is still open. State 0A is LISTEN. The look at TCP starts no program:
# on an emulated processor each takes long, and servers are polled.
STREAM_TABLES="/proc/net/tcp /proc/net/tcp6"
list_streams() {
  streams=
  for stream_table in $STREAM_TABLES; do
    while read -r _ _ _ stream_state _ _ _ _ _ inode _; do
      [ "$stream_state" != 0A ] || streams="$streams $inode"
    done <$stream_table
  done
}
# with_namespace NAME: servers may be in this network namespace, too; without_namespace ends that.
with_namespace() {
  ip netns exec "$1" sleep infinity &
  holder=$!
  STREAM_TABLES="$STREAM_TABLES /proc/$holder/net/tcp /proc/$holder/net/tcp6"
}
without_namespace() {
  kill $holder
  wait $holder 2>/dev/null
  STREAM_TABLES=${STREAM_TABLES%% /proc/$holder/*}
}
managed() { rdma resource show cm_id 2>/dev/null | grep LISTEN; }
stream_listens() {
  list_streams
  for inode in $streams; do
    case $streams_before in *" $inode "*) ;; *) return 0 ;; esac
  done
  managed | grep -qvxF "$managed_before"
}
# Suites replace it for servers of other kinds.
listens() { stream_listens; }

# Succeeds while a process runs: one that has ended may not be reaped yet.
alive() {
  read -r _ _ process_state _ 2>/dev/null <"/proc/$1/stat" && [ "$process_state" != Z ]
}

# run_client SERVER CLIENT: the client starts when the server, process $server, listens.
run_client() {
  start_server "$1"
  until listens; do
    if ! alive $server; then
      echo "the server ended before it listened" >$WORK/client
      client_status=none
      return
    fi
    sleep 0.05
  done
  run_limited "exec $2" >$WORK/client 2>&1 </dev/null
  client_status=$?
}

# Children of a server may close its sockets after its end, and the next one could not listen there.
# A leftover listener must not stop all other tests.
wait_closed() {
  closed_polls=0
  while listens && [ $closed_polls -lt 200 ]; do
    sleep 0.05
    closed_polls=$((closed_polls + 1))
  done
}

# pair NAME SERVER CLIENT: passes when both end with 0.
pair() {
  wanted "$1" || return 0
  run_client "$2" "$3"
  # A server whose client has failed may wait forever.
  [ $client_status = 0 ] || kill $server 2>/dev/null
  wait $server
  server_status=$?
  wait_closed
  if [ $client_status = 0 ] && [ $server_status = 0 ]; then pass "$1"; return 0; fi
  echo "status $server_status" >>$WORK/server
  echo "status $client_status" >>$WORK/client
  fail "$1" $WORK/server $WORK/client
}

# serve NAME SERVER CLIENT: as `pair`, for a server that serves forever: the client alone decides.
serve() {
  wanted "$1" || return 0
  run_client "$2" "$3"
  kill $server 2>/dev/null
  wait $server
  wait_closed
  if [ $client_status = 0 ]; then pass "$1"; return 0; fi
  echo "status $client_status" >>$WORK/client
  fail "$1" $WORK/server $WORK/client
}

# print_figure NAME ADAPTER COLUMN: prints a value of the last row that the client of perftest
# printed.
print_figure() {
  awk -v column="$3" -v head="  # figure $1 $2" '
    /^ *[0-9]+ +[0-9]+ +[0-9.]+ / { value = $column }
    END { if (value != "") print head, value }' $WORK/client
}

echo "KTAP version 1"
suite_number=0
prepare_adapters >$WORK/output 2>&1 || {
  sed 's/^/# /' $WORK/output
  echo "Bail out! the adapter is not ready"
  exit 1
}
if [ -n "$SIDE" ]; then
  . /foreign/peers-library.sh
  [ $SIDE = far ] || wait_far || {
    echo "Bail out! the far guest is not ready"
    exit 1
  }
fi
for suite in $SUITES; do
  suite_number=$((suite_number + 1))
  echo "  KTAP version 1"
  echo "  # Subtest: $suite"
  number=0
  case " $SHORT_SUITES " in *" $suite "*) SHORT=1 ;; *) SHORT= ;; esac
  . "/foreign/$suite.sh"
  echo "  1..$number"
  echo "ok $suite_number $suite"
done
echo "1..$suite_number"
