#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# `npm run demo -- verbs --habits`: habits of software for RoCE, and the ways that InfiniBand
# requires instead (docs/verbs/ROCE-HABITS.md), which habits.py tries on each adapter. A test is the
# way that its fabric requires; a line `# habit NAME WAY ADAPTER RESULT` has each result. run.sh
# reads this file.

for adapter in $ADAPTERS; do
  use_adapter $adapter
  # The GID at index 0 of soft-RoCE is that of its link-local address.
  [ $LINK = Ethernet ] && gid=1 wanted_way=habit || gid=0 wanted_way=instead
  echo "# trying $adapter"
  run_limited "python3 /foreign/habits.py $DEVICE $PORT $gid" >$WORK/habits 2>$WORK/output
  status=$?
  while IFS='|' read -r name way said; do
    echo "  # habit $name $way $adapter $said"
    [ $way = $wanted_way ] || continue
    case $said in
      works) pass $name-$adapter ;;
      *) echo "$said" >$WORK/said && fail $name-$adapter $WORK/said ;;
    esac
  done <$WORK/habits
  [ $status = 0 ] || fail habits-$adapter $WORK/output
done
use_adapter $ADAPTER
