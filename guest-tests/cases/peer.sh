#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# One of two guests that run the suite "peer" against each other. The words of the other guest
# arrive on the virtio port vuhca.peer and go into the test module; the words of this one are lines
# of the suite's output that begin with @peer. The host carries them (peer-run.ts).

# ONLY (one case), SEED, SIDE
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

echo "KTAP version 1"
echo "1..1"
cat $tests/suites/peer | tee /tmp/suite
if ! grep -q '^  not ok' /tmp/suite && grep -q '^  ok' /tmp/suite; then
  echo "ok 1 peer"
else
  echo "not ok 1 peer"
fi
cat /sys/kernel/debug/vuhca/*/counters | sed 's/^/# /'
kill $relay
if ! rmmod vuhca_test vuhca 2>/tmp/unload; then
  echo "Bail out! the modules do not unload: $(cat /tmp/unload)"
  exit 1
fi
