#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# One of two guests that run the suite "peer" against each other. The words of the other guest
# arrive on the virtio port vuhca.peer and go into the test module; the words of this one are lines
# of the suite's output that begin with @peer. The host carries them (peer-run.ts). With mad among
# the SUITES, each guest also asks subnet administration by its QP1.

# SUITES, ONLY (one case of peer), SEED, SIDE
. /etc/vuhca-test

tests=/sys/kernel/debug/vuhca-test
load() {
  insmod /modules/vuhca.ko &&
    insmod /modules/vuhca_test.ko side="$SIDE" seed="$SEED" ${ONLY:+only="$ONLY"}
}

if ! load 2>/tmp/load; then
  echo "Bail out! the modules do not load: $(cat /tmp/load)"
  exit 1
fi

while read -r line; do
  echo "$line" >$tests/peer
done </dev/virtio-ports/vuhca.peer &
relay=$!

set -- $SUITES
echo "KTAP version 1"
echo "1..$#"
number=0
for suite; do
  number=$((number + 1))
  # The other cases use port 2, whose link loses packets.
  [ "$suite" != mad ] || echo administration >/sys/module/vuhca_test/parameters/only
  cat "$tests/suites/$suite" | tee /tmp/suite
  if ! grep -q '^  not ok' /tmp/suite && grep -q '^  ok' /tmp/suite; then
    echo "ok $number $suite"
  else
    echo "not ok $number $suite"
  fi
done
cat /sys/kernel/debug/vuhca/*/counters | sed 's/^/# /'
kill $relay
if ! rmmod vuhca_test vuhca 2>/tmp/unload; then
  echo "Bail out! the modules do not unload: $(cat /tmp/unload)"
  exit 1
fi
