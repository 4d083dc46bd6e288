// SPDX-License-Identifier: Apache-2.0
/**
 * A link as its ports and their adapters see it (IBTA chapter 7). The `run` of an adapter calls
 * `carry` on the links of its ports and then takes the packets that have arrived; no other code
 * moves packets. The links themselves are in `device/fabric`.
 */
import type { PacketRing } from './packet-ring.ts';

/** An end of a link, as the link sees it: a port. */
export interface LinkEnd {
  readonly number: number;
}

/** A link between two ports. */
export interface Link {
  /**
   * True when nothing between the two ports can change a packet: the sender need not seal its VCRC,
   * and the receiver need not check CRCs.
   */
  readonly trusted: boolean;
  /**
   * True when the link moves packets by itself, so `carry` must be called. False for a cable: the
   * receiver takes packets directly from the sender's transmit queues.
   */
  readonly active: boolean;
  /**
   * Time of the next work for `carry` if no port does anything: ns of the adapters' clock, Infinity
   * for never.
   */
  readonly nextNs: number;
  /**
   * Moves the packets that may move at `nowNs`, at most `limit` in each direction. Returns the
   * number of packets moved and of state changes.
   */
  carry(nowNs: number, limit: number): number;
  /**
   * Returns the ring whose oldest packet is the next to arrive at `port`, or undefined. The caller
   * takes that packet.
   */
  arrival(port: LinkEnd): PacketRing | undefined;
  /** The adapter of `port` has run: wakes the adapter at the other end if there is work for it. */
  settle(port: LinkEnd): void;
  /** The port leaves the link. */
  detach(port: LinkEnd): void;
}
