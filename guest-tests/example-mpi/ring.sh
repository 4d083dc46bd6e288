#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles ring.c in the guest and runs it with two ranks. They may use only reliable connections of
# InfiniBand (and memory within a rank), so it ends with an error when there are none.

set -e
mpicc -Wall -Werror -o ring ring.c
export UCX_TLS=rc_v,self UCX_LOG_LEVEL=warn
mpirun --allow-run-as-root --oversubscribe -n 2 --mca pml ucx ./ring
