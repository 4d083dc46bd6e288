// SPDX-License-Identifier: Apache-2.0
/** Words between a command that starts the supervisor of a cluster and that process. */

/** The first word of the command line; the folder of the cluster follows. */
export const SUPERVISOR_PROCESS = 'cluster-supervisor';
/** What it prints when it listens. */
export const SUPERVISOR_READY = 'listening';
