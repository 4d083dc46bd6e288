#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `npm test`: sets everything up, runs the tests, ends with "N passed, N failed". Arguments go to tap.
exec node "$(dirname "$0")/bootstrap.mjs" scripts/test.ts "$@"
