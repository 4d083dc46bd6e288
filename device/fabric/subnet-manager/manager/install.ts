// SPDX-License-Identifier: Apache-2.0
/**
 * Puts the built-in subnet manager on a node: at port 0 of a switch, or at a port of an adapter
 * (IBTA 14.2.5.6, IsSM). Builders of fabrics and fixtures call it; the node's owner runs the
 * manager.
 */
import { PortCapability } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { AdapterClock } from '../../../host.ts';
import type { MadInterface } from '../../agents/mad-interface.ts';
import { endPortOf } from '../../agents/managed-node.ts';
import type { SubnetManagerOptions } from '../options.ts';
import { SubnetManager } from './subnet-manager.ts';

export function installManager(
  mads: MadInterface,
  portNumber: number,
  clock: AdapterClock,
  options: Partial<SubnetManagerOptions> = {},
): SubnetManager {
  endPortOf(mads.node, portNumber).subnet.capabilityMask |= PortCapability.IS_SM;
  return new SubnetManager(mads.openPort(portNumber), clock, options);
}
