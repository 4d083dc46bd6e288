// SPDX-License-Identifier: Apache-2.0
/**
 * Decides what takes a datagram for a node: an agent, or software (IBTA 13.4, 14.2, 16.1).
 * `ManagementInterface` calls it for each datagram that has reached its node.
 */
import type { AdapterClock } from '../host.ts';
import type { MadAddress } from './mad-packet.ts';
import type { ManagedNode } from './managed-node.ts';

/**
 * `answered`: the datagram has become the response. `software`: it is for the doors. `dropped`: it
 * has no answer.
 */
export type Taken = 'answered' | 'software' | 'dropped';

export class Agents {
  readonly node: ManagedNode;
  readonly clock: AdapterClock;

  constructor(node: ManagedNode, clock: AdapterClock) {
    this.node = node;
    this.clock = clock;
  }

  /** Takes a datagram; `isHeard`: software listens at the port. */
  take(_portNumber: number, _address: Readonly<MadAddress>, _mad: Uint8Array, _isHeard: boolean): Taken {
    return 'software';
  }
}
