#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Two adapters in one guest, behind one switch: verbs between the devices, the connection manager
# and IP over InfiniBand between their interfaces, of which those of the second adapter are in a
# network namespace of their own; finally a bond of the two ports of the first. run.sh reads it.

if [ $LINK != InfiniBand ]; then
  skip adapters "the guest has one network interface for soft-RoCE"
  return 0
fi
first=$DEVICE second=${DEVICE%0}1
if [ ! -e /sys/class/infiniband/$second ]; then
  echo "there is no $second, only $(ls /sys/class/infiniband)" >$WORK/output
  fail devices $WORK/output
  return 0
fi
DEVICE=$second wait_active || fail active
lid() { echo $(($(cat /sys/class/infiniband/$1/ports/$2/lid))); }

check devices "ibv_devices | grep -c -e $first -e $second" "^2$"
check ibhosts "ibhosts | wc -l" "^2$"
check ibnetdiscover "ibnetdiscover | grep -c ^Ca" "^2$"
check ibtracert "ibtracert -C $first $(lid $first 1) $(lid $second 1)" "To ca"
for service in rc uc ud srq; do
  common="ibv_${service}_pingpong -i 1 -n 100"
  [ $service = srq ] && common="$common -q 4"
  pair $service-pingpong "$common -c -d $first" "$common -c -d $second localhost"
done
for verb in send write read atomic; do
  common="ib_${verb}_bw -F -n 20 -i 1"
  pair rc-$verb-bw "$common -d $first" "$common -d $second localhost"
done
common="ib_send_bw -F -n 20 -i 1 -c UD"
pair ud-send-bw "$common -d $first" "$common -d $second localhost"

# The interfaces of the second adapter come after those of the first.
interface=$(ls /sys/class/infiniband/$second/device/net | head -n 1)
ip netns add far
ip link set $interface netns far
ip -n far link set lo up
ip -n far address flush dev $interface
ip -n far address add 10.1.0.2/24 dev $interface
ip -n far link set $interface up

check ping "ping -c 3 -W 60 10.1.0.2" " 0% packet loss"
with_namespace far
pair iperf3 "ip netns exec far iperf3 -s -1" "iperf3 -c 10.1.0.2 -n 4M"
pair rping "ip netns exec far rping -s -C 20 -v" "rping -c -a 10.1.0.2 -C 20 -v"
pair ucmatose "ip netns exec far ucmatose -b 10.1.0.2" "ucmatose -s 10.1.0.2"
pair udaddy "ip netns exec far udaddy -b 10.1.0.2" "udaddy -s 10.1.0.2"
# Queue pair numbers are those of two nodes here.
pair cmtime "ip netns exec far cmtime -c 20" "cmtime -s 10.1.0.2 -c 20"
pair rstream "ip netns exec far rstream -S 4096 -C 20" "rstream -s 10.1.0.2 -S 4096 -C 20"
pair rc-write-bw-managed "ip netns exec far ib_write_bw -F -n 20 -R" "ib_write_bw -F -n 20 -R 10.1.0.2"
without_namespace

# One interface of two ports: one carries traffic while the other one waits for its failure. Port N
# of the switch is at port N of the first adapter.
if [ -e /sys/class/infiniband/$first/ports/2 ]; then
  set -- $(ls /sys/class/infiniband/$first/device/net)
  switch=$(ibswitches -C $second -P 1 | sed -n 's/.* lid \([0-9]*\) .*/\1/p')
  state="ibportstate -C $second -P 1 $switch" active=/sys/class/net/bonded/bonding/active_slave
  answers="until ping -c 1 -W 5 10.1.9.2; do :; done && ping -c 3 -W 60 10.1.9.2"
  modprobe bonding max_bonds=0
  ip link add bonded type bond mode active-backup miimon 100
  for port_interface; do
    ip link set $port_interface down
    ip link set $port_interface master bonded
  done
  ip address add 10.1.9.1/24 dev bonded
  ip link set bonded up
  ip -n far address add 10.1.9.2/24 dev $interface
  # wait_up INTERFACE: the command that waits until the bond sees its link up.
  wait_up() { echo "until grep -qx up /sys/class/net/$1/bonding_slave/mii_status; do sleep 0.1; done"; }
  # The bond starts with the interface whose link comes up first, which may be either one.
  check bond-ping "$(wait_up $1) && echo $1 >$active && grep -qx $1 $active && $answers" " 0% packet loss"
  # fails_over NAME PORT FROM TO: also waits until the port is back, which the next failure needs.
  fails_over() {
    repaired="$state $2 enable && $(wait_up $3)"
    check $1 "$state $2 disable && until grep -qx $4 $active; do sleep 0.1; done && $answers && $repaired" " 0% packet loss"
  }
  fails_over bond-fail-over 1 $1 $2
  fails_over bond-fail-back 2 $2 $1
  ip link delete bonded
else
  skip bond "the adapter has one port"
fi
ip netns delete far
