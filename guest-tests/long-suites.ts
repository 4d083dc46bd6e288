// SPDX-License-Identifier: Apache-2.0
/**
 * Suites that `npm test` leaves to the long tests, because they take longest: guest.long.ts runs
 * these, guest.test.ts all others, on the same kernel.
 */
export const LONG_SUITES = [
  ...['pipeline', 'overload', 'connected_breaks', 'share_files', 'once', 'polling'],
  ...['faults', 'shares', 'parallel', 'refusal', 'share_requests'],
] as const;

/** Suites that send as many datagrams or messages as the count of a run says. */
export const BULK_SUITES = ['datagram', 'connected_bulk', 'once'] as const;
