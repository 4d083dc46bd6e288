#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Runs commands in a machine with KVM and Debian's user space. The second disk has clone and cache
# of the host at the paths that they have there; /etc/vuhca/folders names both, and each gets an
# overlay in memory. Each line of /etc/vuhca/commands is a command, which runs in the folder $CLONE.
# Their output is between "@kvm begin NUMBER" and "@kvm end NUMBER STATUS". kvm-machine.ts packs
# this script and reads its output.

mkdir /run/host /run/changes
mount -t erofs -o ro /dev/vdb /run/host || exit
while read -r folder; do
  mkdir -p "/run/changes$folder/data" "/run/changes$folder/work" "$folder"
  layers="lowerdir=/run/host$folder,upperdir=/run/changes$folder/data,workdir=/run/changes$folder/work"
  mount -t overlay -o "$layers" overlay "$folder" || exit
done </etc/vuhca/folders

. /etc/vuhca/settings
export XDG_CACHE_HOME VUHCA_ACCEL=kvm
cd "$CLONE" || exit
number=0
while read -r command; do
  echo "@kvm begin $number"
  sh -c "$command" 2>&1 </dev/null
  echo "@kvm end $number $?"
  number=$((number + 1))
done </etc/vuhca/commands
