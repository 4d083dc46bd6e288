// SPDX-License-Identifier: Apache-2.0
/**
 * Settings of the trace of one QP (IPCOM000010133D par. 1), from the management command or the
 * host.
 */
export interface TraceSettings {
  /** log2 of the number of command blocks. */
  readonly blocksLog2: number;
  /** Payload bytes kept per message. */
  readonly snapLength: number;
  /** Begin no block behind the first failed message. */
  readonly stopOnError: boolean;
  /** The guest enabled the trace, and gets an event when it stops. */
  readonly byGuest: boolean;
  /** The host observes the QP: the guest cannot see the trace, nor can a recording. */
  readonly hidden?: boolean;
}

/** Adapter time in ns. */
export interface TraceClock {
  now(): number;
}
