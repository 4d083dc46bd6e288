// SPDX-License-Identifier: Apache-2.0
/**
 * Runs of suites with delayed writes or combined stores, drawn by a seed: one seed each in
 * guest-variants.long.ts, more in seeds.long.ts.
 */
import type { CaseOptions } from './harness/kernel-cases.ts';

/**
 * Suites that check everything the adapter writes: entries, events, summary bytes, credits,
 * answers, payload.
 */
const ORDERED = ['events', 'overrun', 'flush', 'connected_bulk', 'timers', 'polling', 'resize', 'pio', 'pio_halts'];

/**
 * Suites that post by collect buffer and do not check buffers before the stores have reached them.
 */
const COMBINED = ['datagram', 'once', 'connected', 'connected_bulk'];
/** Datagrams of the bulk tests. */
const ORDERED_COUNT = 500;
const COMBINED_COUNT = 200;

/**
 * Memory in which writes of the adapter appear late and out of order, and send contexts whose
 * packets leave in any order.
 */
export function orderedRun(seed: number): CaseOptions {
  const deviceArguments = ['--ordering', `adversarial:${seed}`, '--egress-seed', `${seed}`];
  return { suites: ORDERED, count: ORDERED_COUNT, seed, deviceArguments };
}

/**
 * Collect pages on which stores are combined, split and repeated; and a doorbell for each request
 * that does not go by such a page.
 */
export function combinedRun(seed: number): CaseOptions {
  const deviceArguments = ['--write-combining', `${seed}`];
  return { suites: COMBINED, count: COMBINED_COUNT, seed, driverParameters: 'shadow_tails=0', deviceArguments };
}
