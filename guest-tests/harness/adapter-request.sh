#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The program `adapter` in a guest: sends a request about the adapter to the host, and prints its
# answer. `adapter inject link-flap port=1` plants a fault, `adapter objects` counts the objects of
# the device. host-requests.ts packs it and answers.

exec 9<>/dev/virtio-ports/vuhca.request || exit 1
echo "$*" >&9
read -r status text <&9
echo "$text"
exit "$status"
