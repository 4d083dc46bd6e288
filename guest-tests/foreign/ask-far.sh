#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# ask-far.sh VERB TEXT: asks the other guest for something (far.sh lists the verbs), prints what it
# printed, and ends with its status. Words and answers cross the virtio port of peers, which is file
# descriptor 5 (peers-library.sh). An answer carries the tag of its question, because a question
# that took too long was given up.

verb=$1
shift
# A question is one line; far.sh turns tabs back into line ends. The host between the guests keeps
# no other character that is invisible.
text=$(printf '%s' "$*" | tr '\n' '\t')
printf '%s\n' "$verb $$ $text" >&5
while IFS= read -r line <&5; do
  case $line in
    "$$ | "*) printf '%s\n' "${line#* | }" ;;
    "$$ = "*) exit "${line#* = }" ;;
  esac
done
exit 125
