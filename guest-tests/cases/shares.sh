# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The files of debugfs: the table of shares, requests and the messages of refused ones, and how the
# status says that requests are posted, on a physical function that is alone. Sourced by kernel.sh;
# uses report() and works() of rebind.sh.

# Prints a number of the table: function 0, column $1.
share() {
  awk -v column="$1" '$1 == "0" { print $column }' "$device/resources"
}

unallocated_pcbs() {
  awk '/^unallocated/ { print $5 }' "$device/resources"
}

# Expects that request $1 is accepted.
accepted() {
  echo "$1" >"$device/resources" 2>/tmp/asked && [ "$(cat "$device/last-error")" = none ]
}

# Succeeds when request $1 is refused with a message that matches $2, and changes no share.
refused() {
  cat "$device/resources" >/tmp/before
  echo "$1" >"$device/resources" 2>/tmp/asked && return 1
  grep -q "$2" "$device/last-error" || { echo "  # $1: $(cat "$device/last-error")"; return 1; }
  cat "$device/resources" | cmp -s - /tmp/before
}

# Expects that the status tells how a lone request is posted under collect=$1, and why.
posted() {
  echo "$1" >/sys/module/vuhca/parameters/collect || return 1
  line=$(grep "^posting: " "$device/status")
  copy=$(echo "$line" | sed 's/.*64 bytes took \([0-9]*\) ns.*/\1/')
  doorbell=$(echo "$line" | sed 's/.*a doorbell \([0-9]*\) ns$/\1/')
  [ "$copy" -gt 0 ] && [ "$doorbell" -gt 0 ] || return 1
  way=doorbell
  case $1 in
  always) way="collect buffer" ;;
  auto) [ "$copy" -le "$doorbell" ] && way="collect buffer" ;;
  esac
  reason="a copy of 64 bytes took $copy ns, a doorbell $doorbell ns"
  [ "$line" = "posting: a lone request goes by $way (collect=$1); $reason" ]
}

run_share_files() {
  device=$(echo /sys/kernel/debug/vuhca/*)
  result_number=0
  vcbs=$(share 3)
  pcbs=$(share 6)
  low=$(share 7)
  high=$(share 8)
  echo "  KTAP version 1"
  echo "  # Subtest: share_files"
  echo "  1..13"
  [ "$vcbs" -gt 0 ] && [ "$pcbs" -gt 0 ]
  report $? "shown"
  accepted "level 1 pcbs 1; level 0 pcbs 2" && [ "$(share 7)/$(share 8)" = 2/1 ]
  report $? "levels"
  accepted "level 0 pcbs $low; level 1 pcbs $high" && [ "$(share 7)/$(share 8)" = "$low/$high" ]
  report $? "levels-as-before"
  accepted "function 0 vcbs 8; level 1 vcbs 3" && [ "$(share 3)/$(share 4)" = 8/3 ] && works
  report $? "fewer-vcbs"
  accepted "function 0 vcbs $vcbs; level 1 vcbs $((vcbs / 4))" && [ "$(share 3)" = "$vcbs" ] &&
    works
  report $? "vcbs-as-before"
  accepted "function 0 lanes 0-3,9" && grep -q "^   9 allocated" "$device/lanes" && works &&
    accepted "function 0 lanes none; lane 9 weight 3 list 50" && works
  report $? "lanes"
  refused "function 0 pcbs 1; level 0 pcbs 5000" \
    "change 2, level 0 pcbs 5000: .* limit 0)" &&
    refused "function 7 pcbs 1" "change 1, function 7 pcbs 1: no such" &&
    refused "function 0 pcbs 4000000000" "limit $(($(share 6) + $(unallocated_pcbs))))"
  report $? "refused"
  refused "function 0 cpus 1" "cpus: unknown word for function" &&
    refused "level x pcbs 1" "level x: not a valid" &&
    refused "function 0 pcbs" "pcbs: the number is missing" &&
    refused "function 0 lanes 5-3" "lanes 5-3: neither" &&
    refused "adapter disable 2" "disable 2: neither 0 nor 1" &&
    refused "function 0 pcbs 1; adapter lend 1" "the only group" &&
    refused "" "request is empty"
  report $? "misspelt"
  accepted "function 0 policy 2 link-check 1 adaptive 1 low 3 high 5" &&
    grep -q "^doorbells: policy 2 link-check 1 adaptive 1 low 3 high 5" "$device/resources" && works &&
    refused "function 0 low 5" "change 1, function 0 low 5: out of range .* limit 4)" &&
    refused "function 0 policy 3" "limit 2)" &&
    accepted "function 0 policy 1 link-check 0 adaptive 0" && works &&
    accepted "function 0 host-queue 1 spill-buffered 1 spill-commands 1" &&
    grep -q "^doorbells: .* host-queue 1 spill-buffered 1 spill-commands 1" "$device/resources" && works &&
    accepted "function 0 host-queue 0 spill-buffered 0 spill-commands 0" && works
  report $? "doorbells"
  accepted "adapter freeze 1" && grep -q "adapter control 0x8 " "$device/resources" && accepted "adapter freeze 0"
  report $? "freeze"
  accepted "adapter lend 1 return 1" && grep -q "adapter control 0x6 " "$device/resources" && works &&
    accepted "adapter lend 0 return 0" && grep -q "adapter control 0x0 " "$device/resources"
  report $? "lend-and-return"
  accepted "adapter disable 1" && grep -q "disabled 1" "$device/resources" &&
    accepted "adapter disable 0" && works
  report $? "adapter"
  posted always && works && posted never && works && posted auto && works &&
    ! echo sometimes 2>/dev/null >/sys/module/vuhca/parameters/collect && posted auto
  report $? "posting"
}
