// SPDX-License-Identifier: Apache-2.0
/**
 * The door for software that manages the subnet through one port (IBTA 13.5.1: the subnet and the
 * general services interface). A subnet manager, QP0 and QP1 of a guest and the host's tools use
 * it; `MadInterface` implements it. One port may have several doors.
 */
import type { MadAddress } from './mad-packet.ts';

export interface MadPort {
  /** GUID of the port, 8 bytes. */
  readonly portGuid: Uint8Array;
  /** Number of the port; 0 is the management port of a switch. */
  readonly portNumber: number;
  /** Base LID of the port; 0 while it has none. */
  readonly lid: number;
  /**
   * Sends a datagram of 256 bytes. A packet with a directed route begins with hop pointer 0; the
   * interface advances it. A datagram to this node itself arrives in the next run of the node.
   * Returns false when the port has no room for it or is down: the sender tries again later.
   */
  send(address: Readonly<MadAddress>, mad: Uint8Array): boolean;
  /**
   * Takes a datagram that no agent of the node answers: responses, traps, SMInfo and classes of
   * software. Undefined: no software listens. Both arguments are valid during the call only.
   */
  onMad: ((address: Readonly<MadAddress>, mad: Uint8Array) => void) | undefined;
  /**
   * True for a request that this software alone answers: other doors at the port do not get it, or
   * their software would answer that nothing serves its class. Undefined: it claims none.
   */
  claims?: ((mad: Uint8Array) => boolean) | undefined;
}
