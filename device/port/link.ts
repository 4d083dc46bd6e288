// SPDX-License-Identifier: Apache-2.0
/**
 * What a port and its adapter see of a link (IBTA chapter 7). An adapter's `run` lets the links of its ports carry, then takes what has arrived; nothing
 * else moves packets. The links themselves are in `device/fabric`.
 */
import type { PacketRing } from './packet-ring.ts';

/** An end of a link, as the link knows it: a port. */
export interface LinkEnd {
  readonly number: number;
}

export interface Link {
  /**
   * Nothing between the two ports can change a packet: the sender need not seal its VCRC and the receiver need not check CRCs.
   */
  readonly trusted: boolean;
  /** It works by itself, so `carry` must be called; false for a cable, where the receiver takes packets straight from the sender's lanes. */
  readonly active: boolean;
  /** When `carry` has something to do next although no port does anything: ns of the adapters' clock, Infinity for never. */
  readonly nextNs: number;
  /** Moves what may move at `nowNs`, at most `limit` packets each way; returns how many things moved or changed. */
  carry(nowNs: number, limit: number): number;
  /** The ring whose oldest packet is the next to arrive at `port`; the caller takes it. Undefined when nothing has arrived. */
  arrival(port: LinkEnd): PacketRing | undefined;
  /** The adapter of `port` has run: tells the adapter at the other end when there is something for it to do. */
  settle(port: LinkEnd): void;
  /** The port leaves the link. */
  detach(port: LinkEnd): void;
}
