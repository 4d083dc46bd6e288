#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Debian's RDMA programs under valgrind's memcheck, with the provider of our adapter: no access to
# memory that is missing or not initialised, and no leak, in the provider's files (vu_*.c). Findings
# elsewhere are not ours; they are only counted. provider-valgrind.long.ts runs it.

. /etc/vuhca/stress

DEVICE=vuhca0
. /etc/vuhca/stress-library.sh
# Under valgrind, on an emulated processor of a busy machine, a program needs minutes to start.
BOUND_SECONDS=1800
LOGS=/tmp/valgrind
LIBRARY=libvuhca-rdmav34.so

# checked COMMAND...: under memcheck, a log for each process. Python's own allocator hides blocks.
checked() {
  PYTHONMALLOC=malloc valgrind --log-file=$LOGS/%p --leak-check=full --show-leak-kinds=definite \
    --num-callers=30 -v "$@"
}

# Output of valgrind without its own marks. A record is a paragraph with a trace.
said() { sed -n 's/^==[0-9]*== \{0,1\}//p' $LOGS/*; }
count_records() { said | awk -v RS= '/\n +(at|by) 0x/ { count++ } END { print count + 0 }'; }
# Records with a frame in the provider.
ours() { said | awk -v RS= -v ORS='\n\n' '/\n +(at|by) 0x.*\(vu_[a-z_]+\.c:[0-9]+\)/'; }

# judge NAME STATUS PROCESSES: passes when each process had our library and succeeded, and valgrind
# blames no file of ours.
judge() {
  with=$(grep -l "Reading syms from .*$LIBRARY" $LOGS/* | wc -l)
  [ "$2" = 0 ] && [ "$with" = "$3" ] && [ -z "$(ours)" ]
  status=$?
  if [ $status = 0 ]; then
    echo "# $1: $with processes, $(count_records) records about other software"
  else
    echo "# $1: status $2, $with of $3 processes with $LIBRARY"
    { ours; cat /tmp/server /tmp/client; } 2>/dev/null | head -n 60 | sed 's/^/# /'
  fi
  report $status "$1"
  rm -rf $LOGS
  mkdir $LOGS
}

# pair NAME PROGRAM OPTIONS...: both ends, one on each port.
pair() {
  name=$1 program=$2
  shift 2
  checked "$program" -d $DEVICE -i 1 "$@" >/tmp/server 2>&1 &
  server=$!
  until_true listens_or_ended
  checked "$program" -d $DEVICE -i 2 "$@" localhost >/tmp/client 2>&1
  client_status=$?
  # A server whose client has failed may poll forever.
  [ $client_status = 0 ] || kill $server
  wait $server
  judge "$name" $((client_status + $?)) 2
}
listens_or_ended() { listens || ! kill -0 $server 2>/dev/null; }

# pyverbs FILES: runs only those test files, in one process, because Python takes long to start. It
# may end in a fault after tests that were skipped, although all others passed.
pyverbs() {
  cp -r /usr/share/doc/rdma-core/tests /tmp/tests
  mkdir /tmp/chosen
  for file in $1; do mv /tmp/tests/$file.py /tmp/chosen; done
  rm /tmp/tests/test_*.py
  mv /tmp/chosen/* /tmp/tests
  (cd /tmp && checked python3 -W ignore tests/run_tests.py --dev $DEVICE --port 1 -v) >/tmp/server 2>&1
  grep -E '^(Ran|OK|FAILED)' /tmp/server | sed 's/^/# /'
  grep -q '^OK' /tmp/server
  judge pyverbs $? 1
}

# Resets the function while a program polls; its requests then complete as flushed.
ready_or_ended() { grep -q ready /tmp/server || ! kill -0 $server 2>/dev/null; }
dead_device() {
  checked python3 /etc/vuhca/dead-device.py $DEVICE >/tmp/server 2>&1 &
  server=$!
  until_true ready_or_ended && echo 1 >"$(readlink -f $IB/device)/reset"
  wait $server
  judge dead-device $? 1
}

mkdir $LOGS
echo "KTAP version 1"
echo "1..10"
until_true all_active
report $? ports-active
pair rc-pingpong ibv_rc_pingpong -n 50
pair rc-pingpong-by-events ibv_rc_pingpong -n 50 -e
pair rc-pingpong-by-calls ibv_rc_pingpong -n 50 -t -N
pair uc-pingpong ibv_uc_pingpong -n 50
pair ud-pingpong ibv_ud_pingpong -n 50
pair srq-pingpong ibv_srq_pingpong -n 50
pair xsrq-pingpong ibv_xsrq_pingpong -n 50
pyverbs "$TESTS"
dead_device
