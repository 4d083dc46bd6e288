// SPDX-License-Identifier: Apache-2.0
/**
 * The agents of a node: serves a datagram that `responsibilities.ts` gives to one of them, in place
 * (IBTA 13.4, 14.2, 16.1). `MadInterface` calls it for each datagram that has reached its
 * node.
 */
import {
  getMadHeaderAttributeId,
  getMadHeaderAttributeModifier,
  getMadHeaderBaseVersion,
  getMadHeaderClassVersion,
  getMadHeaderManagementClass,
  getMadHeaderMethod,
  setMadHeaderMethod,
  setMadHeaderStatus,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadMethod, MadStatus } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { AdapterClock } from '../../host.ts';
import type { AttributeRequest } from './attribute-request.ts';
import type { MadAddress } from './mad-packet.ts';
import { isSwitch, type ManagedNode } from './managed-node.ts';
import { PerformanceManagementAgent } from './performance-management-agent.ts';
import { responsibility } from './responsibilities.ts';
import { findLockedPort, serveAttribute, subnetHandlers } from './subnet-management-agent.ts';
import type { Traps } from './traps.ts';

/**
 * `answered`: the datagram has become the response. `software`: it is for the doors. `dropped`: it
 * has no answer.
 */
export type Taken = 'answered' | 'software' | 'dropped';

const VERSION = 1;

export class Agents {
  readonly node: ManagedNode;
  readonly performanceAgent: PerformanceManagementAgent;
  /**
   * Datagrams of classes and methods at the wrong door, and requests without the management key.
   */
  misplaced = 0;
  lockedOut = 0;
  readonly #clock: AdapterClock;
  readonly #traps: Traps;

  constructor(node: ManagedNode, clock: AdapterClock, traps: Traps) {
    this.node = node;
    this.#clock = clock;
    this.#traps = traps;
    this.performanceAgent = new PerformanceManagementAgent(node, clock);
  }

  /** Takes a datagram; `hasSoftware`: software listens at the port. */
  take(portNumber: number, address: Readonly<MadAddress>, bytes: Uint8Array, hasSoftware: boolean): Taken {
    const { node } = this;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { taker, status } = responsibility(
      address.isVl15 ? 'subnet' : 'general',
      getMadHeaderManagementClass(view, 0),
      getMadHeaderMethod(view, 0),
      getMadHeaderAttributeId(view, 0),
      isSwitch(node),
      hasSoftware,
    );
    if (taker === 'software') return 'software';
    if (taker === 'dropped') {
      this.misplaced++;
      return 'dropped';
    }
    const isOld = getMadHeaderBaseVersion(view, 0) !== VERSION || getMadHeaderClassVersion(view, 0) !== VERSION;
    if (isOld) return answer(view, MadStatus.BAD_VERSION);
    const request: AttributeRequest = {
      node,
      arrivalPort: portNumber,
      bytes,
      view,
      notices: this.#traps.notices,
      modifier: getMadHeaderAttributeModifier(view, 0),
    };
    if (!address.isVl15) return answer(view, taker === 'pma' ? this.performanceAgent.serve(request) : status);
    return this.#serveSubnet(request, address, taker === 'sma' ? undefined : status);
  }

  /** `refusal`: the agent has no such method or attribute. */
  #serveSubnet(request: AttributeRequest, address: Readonly<MadAddress>, refusal: MadStatus | undefined): Taken {
    const { view } = request;
    const locked = findLockedPort(request, this.#clock.now());
    if (locked !== undefined) {
      this.lockedOut++;
      this.#traps.raiseBadKey(locked, address, view);
      return 'dropped';
    }
    // Software of the node may have sent the trap, as opensm does when it starts.
    if (getMadHeaderMethod(view, 0) === MadMethod.TRAP_REPRESS)
      return this.#traps.repress(view) ? 'dropped' : 'software';
    if (refusal !== undefined) return answer(view, refusal);
    const handler = subnetHandlers.get(getMadHeaderAttributeId(view, 0));
    return answer(view, handler === undefined ? MadStatus.UNSUPPORTED_ATTRIBUTE : serveAttribute(handler, request));
  }
}

function answer(view: DataView, status: MadStatus): Taken {
  // TrapRepress has no response, whatever is wrong with it.
  if (getMadHeaderMethod(view, 0) === MadMethod.TRAP_REPRESS) return 'dropped';
  setMadHeaderMethod(view, 0, MadMethod.GET_RESPONSE);
  setMadHeaderStatus(view, 0, status);
  return 'answered';
}
