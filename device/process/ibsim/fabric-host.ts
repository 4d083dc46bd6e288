// SPDX-License-Identifier: Apache-2.0
/**
 * A port of a node of this process as a host of the host door: the attributes come from the node's
 * own agents, so clients see what the subnet manager sees. `HostDirectory` makes one for each port
 * that clients use.
 */

import { DIRECTED_ROUTE_SMP_M_KEY_OFFSET } from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import {
  MadClass,
  MadMethod,
  PortCapability,
  SubnetAttribute,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { beginMad } from '../../../protocol/infiniband/mad/mad-head.ts';
import { ATTRIBUTE_BYTES, ATTRIBUTE_OFFSET, MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import type { MadInterface } from '../../fabric/agents/mad-interface.ts';
import { subnetAddress } from '../../fabric/agents/mad-packet.ts';
import { endPortOf, type ManagedNode } from '../../fabric/agents/managed-node.ts';
import { readGuid } from '../../fabric/subnet-manager/guid.ts';
import type { SubnetManager } from '../../fabric/subnet-manager/manager/subnet-manager.ts';
import { MadExchange } from './mad-exchange.ts';
import type { SoftwareHost } from './software-host.ts';

export class FabricHost implements SoftwareHost {
  readonly name: string;
  readonly node: ManagedNode;
  readonly exchange: MadExchange;
  readonly #mads: MadInterface;
  readonly #portNumber: number;
  /** The built-in subnet manager of this very port. */
  readonly #resident: SubnetManager | undefined;
  #managers = 0;

  /** `portNumber`: 0 for a switch. `managers`: those of the process. */
  constructor(name: string, mads: MadInterface, portNumber: number, managers: readonly SubnetManager[] = []) {
    this.name = name;
    this.#mads = mads;
    this.node = mads.node;
    this.#portNumber = portNumber;
    const guid = readGuid(viewOf(endPortOf(mads.node, portNumber).guid), 0);
    this.#resident = managers.find((manager) => manager.guid === guid);
    this.exchange = new MadExchange(mads.openPort(portNumber));
  }

  /** A client is a subnet manager. */
  get isManager(): boolean {
    return this.#managers > 0;
  }

  get isActive(): boolean {
    // Port 0 of a switch is up as long as the switch is; its LID is what clients wait for.
    if (this.#portNumber === 0) return this.exchange.port.lid !== 0;
    return this.node.ports[this.#portNumber - 1].active;
  }

  writeNodeInfo(into: Uint8Array): void {
    this.#read(SubnetAttribute.NODE_INFO, 0, into);
  }

  writePortInfo(into: Uint8Array, portNumber: number): void {
    const isOther = portNumber > 0 && portNumber <= this.node.ports.length;
    this.#read(SubnetAttribute.PORT_INFO, isOther ? portNumber : this.#portNumber, into);
  }

  writePKeys(into: Uint8Array): void {
    this.#read(SubnetAttribute.P_KEY_TABLE, 0, into);
  }

  setManager(isManager: boolean): void {
    const before = this.#managers;
    this.#managers += isManager ? 1 : -1;
    // A port has one subnet manager: the built-in one sleeps meanwhile.
    if (this.#resident !== undefined) {
      if (before === 0) this.#resident.sleep();
      else if (this.#managers === 0) this.#resident.wake();
      return;
    }
    const { subnet } = endPortOf(this.node, this.#portNumber);
    if (this.#managers > 0) subnet.capabilityMask |= PortCapability.IS_SM;
    else subnet.capabilityMask &= ~PortCapability.IS_SM;
  }

  /** Asks the agent of the node, with its own management key. */
  #read(attribute: SubnetAttribute, modifier: number, into: Uint8Array): void {
    const mad = new Uint8Array(MAD_BYTES);
    beginMad(mad, { managementClass: MadClass.SUBNET, method: MadMethod.GET, attributeId: attribute, modifier });
    const { lid, subnet } = endPortOf(this.node, this.#portNumber);
    mad.set(subnet.mKey, DIRECTED_ROUTE_SMP_M_KEY_OFFSET);
    this.#mads.agents.take(this.#portNumber, subnetAddress(lid, lid), mad, false);
    into.set(mad.subarray(ATTRIBUTE_OFFSET, ATTRIBUTE_OFFSET + ATTRIBUTE_BYTES));
  }
}
