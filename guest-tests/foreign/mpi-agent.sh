#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Agent of mpirun in place of ssh: mpi-agent.sh HOST COMMAND... starts a daemon in the far guest.
# mpirun closes all its files, so the command goes through a pipe to a process of libraries.sh that
# can ask the far guest. A daemon calls a function of its own launcher, which it has only if it
# finds the agent: this file is in both guests.

shift
echo "$*" >/tmp/foreign/launch
