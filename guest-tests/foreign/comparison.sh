#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# `npm run demo -- verbs`: the same programs on all adapters of two guests, in turns. A line
# `# figure NAME ADAPTER VALUE` has each value; scripts/demo/verbs reads them. run.sh reads this
# file.

ROUNDS=3
[ -z "$SHORT" ] || ROUNDS=1

# print_value NAME EXPRESSION FILE: prints the text that the expression for sed finds.
print_value() {
  value=$(sed -nE "$2" "$3" | tail -n 1)
  [ -z "$value" ] || echo "  # figure $1 $adapter $value"
}

# measure NAME COLUMN PROGRAM OPTION...: prints the column of the last row of perftest's table.
measure() {
  figure=$1 column=$2
  shift 2
  common="$* -F -d $DEVICE -i $PORT $PERFTEST_GID"
  pair "$figure-$adapter-$round" "$common" "$common $FAR"
  print_figure "$figure" $adapter "$column"
}

# posts: prints how many commands the near adapter took from collect pages, and how many doorbells.
posts() {
  ask_host posts | tail -n 1
}

# Each request goes by a collect page of the process, so no doorbell rings.
post_by_collect_page() {
  before=$(posts)
  common="env VUHCA_POST=collect ib_send_lat -s 64 -n $1 -F -d $DEVICE -i $PORT"
  pair "collect-$adapter" "$common" "$common $FAR"
  after=$(posts)
  echo "  # figure collected $adapter $((${after% *} - ${before% *}))"
  echo "  # figure doorbells $adapter $((${after#* } - ${before#* }))"
}

round=0
while [ $round -lt $ROUNDS ]; do
  round=$((round + 1))
  for adapter in $ADAPTERS; do
    use_adapter $adapter
    echo "# comparing $adapter, round $round of $ROUNDS"
    check "ping-$adapter-$round" "ping -c 10 -i 0.2 -W 60 $FAR" " 0% packet loss"
    print_value ping 's|^rtt .* = [0-9.]+/([0-9.]+)/.*|\1|p' $WORK/output
    common="ibv_rc_pingpong -d $DEVICE -i $PORT $GID -s 64 -n 500"
    pair "pingpong-$adapter-$round" "$common" "$common $FAR"
    print_value pingpong 's|.* = ([0-9.]+) usec/iter.*|\1|p' $WORK/client
    measure latency-64 5 ib_send_lat -s 64 -n 300
    measure bandwidth-65536 4 ib_write_bw -s 65536 -t 16 -Q 4 -n 200
  done
done
case " $ADAPTERS " in
  *" vuhca "*)
    adapter=vuhca
    use_adapter vuhca
    post_by_collect_page 300
    ;;
esac
use_adapter $ADAPTER
