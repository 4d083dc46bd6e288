#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `npm start`: sets everything up and shows a guest with the adapter.
exec node "$(dirname "$0")/bootstrap.mjs" scripts/first-light.ts "$@"
