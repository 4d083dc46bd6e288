#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# One of several guests on functions of one adapter. The host writes commands, a line each, to the
# virtio port vuhca.peer, and the guest reports when each is done (tenant-guest.ts):
#   run SUITE...     runs suites
#   helped SUITE...  runs suites that may ask the host to disable the adapter
#   flood, calm      starts and ends the suite "flood"
#   ask TEXT         requests resources
#   moved            checks that the function's share has changed
#   load N M         keeps N WRITEs of QoS level 0 and M of level 1 under way
#   loaded           prints the counters of the WRITEs
#   end
# A module is needed only for the commands that use it.

# COUNT, SEED
. /etc/vuhca-test

tests=/sys/kernel/debug/vuhca-test/suites
flag=/sys/module/vuhca_test/parameters/flood
load_file=/sys/kernel/debug/vuhca-tenant/load
number=0

insert_tests() {
  [ ! -e /modules/vuhca_test.ko ] || insmod /modules/vuhca_test.ko count="$COUNT" seed="$SEED"
}

if ! { insmod /modules/vuhca.ko && insert_tests; } 2>/tmp/load; then
  echo "Bail out! the modules do not load: $(cat /tmp/load)"
  exit 1
fi
device=$(echo /sys/kernel/debug/vuhca/*)

report() {
  number=$((number + 1))
  if [ "$1" = 0 ]; then echo "ok $number $2"; else echo "not ok $number $2"; fi
}

passed() {
  ! grep -q '^  not ok' "$1" && grep -q '^  ok' "$1"
}

run() {
  for suite; do
    cat "$tests/$suite" | tee /tmp/suite
    passed /tmp/suite
    report $? "$suite"
  done
}

# With this, the physical function stops the adapter when a suite asks the host for it.
helped() {
  echo Y >/sys/module/vuhca_test/parameters/helped
  run "$@"
  echo N >/sys/module/vuhca_test/parameters/helped
}

flood() {
  echo Y >$flag
  cat $tests/flood | tee /tmp/flood &
  flooding=$!
}

calm() {
  echo N >$flag
  wait $flooding
  passed /tmp/flood
  report $? flood
}

# Writes the whole line at once: the file takes each write as one request.
ask() {
  echo "$*" >"$device/resources" 2>/tmp/ask
  status=$?
  [ $status = 0 ] || echo "# $(cat "$device/last-error")"
  report $status "ask $*"
}

# Succeeds when the driver has noticed that its share changed.
moved() {
  ! grep -q '^share changed 0$' "$device/counters"
  report $? "its share changed"
}

# The module is loaded only when it is needed: its queue pairs would not survive the resets of the
# suites. Long messages let slow guests keep the adapter busy.
load() {
  { [ -e $load_file ] || insmod /modules/vuhca_tenant.ko message_bytes=131072; } &&
    echo "$*" >$load_file
  report $? "load $*"
}

loaded() {
  sed 's/^/# /' $load_file
  ! grep -q 'errors [1-9]' $load_file
  report $? loaded
}

echo "KTAP version 1"
echo "# host: ready"
while read -r verb rest; do
  [ "$verb" = end ] && break
  $verb $rest
  echo "# host: done"
done </dev/virtio-ports/vuhca.peer
echo "1..$number"
sed 's/^/# /' "$device/counters" "$device/resources"
loaded_modules=$(lsmod | awk '/^vuhca_/ { print $1 }')
if ! rmmod $loaded_modules vuhca 2>/tmp/unload; then
  echo "Bail out! the modules do not unload: $(cat /tmp/unload)"
  exit 1
fi
