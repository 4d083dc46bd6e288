#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The far one of two guests, in place of a suite: it serves the near one, which asks by
# ask-far.sh until it says `end`. run.sh reads it.
#
# run TEXT    runs a command; its status is the answer
# start TEXT  starts a server, and answers when it listens or has ended
# begin TEXT  starts a server that shows no listener, and answers at once
# wait        answers when the server has ended, with its status and what it printed
# kill        ends the server first

# answer TAG STATUS [FILE]
answer() {
  [ -z "$3" ] || sed "s/^/$1 | /" "$3" >&5
  echo "$1 = $2" >&5
}

while read -r verb tag line <&5; do
  text=$(printf '%s' "$line" | tr '\t' '\n')
  # The host ends a guest that reports nothing for long.
  echo "  # $verb"
  case $verb in
    run)
      run_limited "$text" >$WORK/output 2>&1 </dev/null 5<&-
      answer "$tag" $? $WORK/output
      ;;
    start | begin)
      start_server "$text" 5<&-
      [ "$verb" = begin ] || while ! listens && kill -0 $server 2>/dev/null; do sleep 0.05; done
      answer "$tag" 0
      ;;
    wait | kill)
      [ "$verb" = wait ] || kill $server 2>/dev/null
      wait $server
      answer "$tag" $? $WORK/server
      ;;
    end) break ;;
  esac
done
pass served
