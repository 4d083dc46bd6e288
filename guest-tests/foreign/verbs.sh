#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The example programs of libibverbs: attributes of the device, and ping-pong of all services, with
# polling and with events, and with a check of the data. run.sh reads it.

# ping_pong SERVICE NAME OPTION...
ping_pong() {
  service=$1 name=$2
  shift 2
  common="ibv_${service}_pingpong $GID -n 50 $*"
  pair "$name" "$common -d $DEVICE -i $PORT" "$common -d $PEER_DEVICE -i $PEER_PORT localhost"
}

check devices "ibv_devices" "$DEVICE"
check devinfo "ibv_devinfo -v -d $DEVICE" "PORT_ACTIVE"
for service in rc uc ud srq; do
  [ $service = srq ] && shared="-q 4" || shared=
  ping_pong $service $service-pingpong "-c $shared"
  [ -n "$SHORT" ] || ping_pong $service $service-pingpong-events "-c -e $shared"
done
if has_capability XRC; then
  ping_pong xsrq xsrq-pingpong
  [ -n "$SHORT" ] || ping_pong xsrq xsrq-pingpong-events -e
else
  skip xsrq-pingpong "the device has no XRC"
fi

# Programs of ours, not of libibverbs: attributes that its manual pages call ignored, limits,
# counters, pages of device memory that a process can map, and moderated events.
if [ "$ADAPTER" = vuhca ]; then
  check ignored-attributes "python3 -W ignore /foreign/ignored-attributes.py $DEVICE"
  [ -n "$SHORT" ] || check limits-as-told "python3 -W ignore /foreign/limits.py $DEVICE"
  check device-memory "python3 -W ignore /foreign/device-memory.py $DEVICE && echo kept" kept
  check counters "python3 -W ignore /foreign/counters.py $DEVICE"
  check moderated-events "/foreign/moderated $DEVICE $PORT $PEER_PORT"
fi
