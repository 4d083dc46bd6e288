// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands with which software changes what a port and the node offer: bits of the
 * capability mask, the counter of Q_Key violations, the node description (IBTA 11.2.1.3, 14.2.5.2).
 * A subnet manager hears of them by trap 144. They are for functions that manage their ports: the
 * physical function, and all functions with the embedded switch.
 */

import {
  ADAPTER_CHANGES_NODE_DESCRIPTION_BYTES,
  ADAPTER_CHANGES_NODE_DESCRIPTION_OFFSET,
} from '../../../protocol/layout/gen/adapter-changes.gen.ts';
import {
  decodePortChanges,
  newPortChanges,
  PORT_CHANGES_CAPABILITIES_CLEAR_OFFSET,
  PORT_CHANGES_CAPABILITIES_SET_OFFSET,
} from '../../../protocol/layout/gen/port-changes.gen.ts';
import { EventType, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { nodeDescription } from '../../fabric/agents/managed-node.ts';
import { SOFTWARE_CAPABILITIES } from '../../fabric/port/end-port.ts';
import type { Port } from '../../fabric/port/port.ts';
import { findPort } from './adapter-commands.ts';
import type { CommandContext } from './command-context.ts';
import type { ChannelAdapter, ManagedFunction } from './managed-adapter.ts';

const changes = newPortChanges();

/** MODIFY_PORT: changes capability bits of software, and resets the counter of Q_Key violations. */
export function modifyPort(context: CommandContext): ManagementStatus {
  const port = findPort(context);
  if (port === undefined) return ManagementStatus.BAD_FIELD;
  // The opcode, at offset 0, is at fault.
  if (!context.managed.managesPorts) return ManagementStatus.NOT_PERMITTED;
  const { capabilitiesSet, capabilitiesClear, resetQkeyCounter } = decodePortChanges(
    context.command,
    context.payload,
    changes,
  );
  if (capabilitiesSet & ~SOFTWARE_CAPABILITIES)
    return context.badField(PORT_CHANGES_CAPABILITIES_SET_OFFSET, SOFTWARE_CAPABILITIES);
  if (capabilitiesClear & ~SOFTWARE_CAPABILITIES)
    return context.badField(PORT_CHANGES_CAPABILITIES_CLEAR_OFFSET, SOFTWARE_CAPABILITIES);
  if (resetQkeyCounter === 1) port.badQkeys = 0;
  setCapabilities(context.managed, port, (port.subnet.capabilityMask & ~capabilitiesClear) | capabilitiesSet);
  return ManagementStatus.OK;
}

/** MODIFY_ADAPTER: changes the text of the node. */
export function modifyAdapter(context: CommandContext): ManagementStatus {
  const { managed, command, payload } = context;
  if (!managed.managesPorts) return ManagementStatus.NOT_PERMITTED;
  const { buffer, byteOffset } = command;
  const at = byteOffset + payload + ADAPTER_CHANGES_NODE_DESCRIPTION_OFFSET;
  describe(managed, new Uint8Array(buffer, at, ADAPTER_CHANGES_NODE_DESCRIPTION_BYTES));
  return ManagementStatus.OK;
}

/** The software that managed the ports is gone, with what it offered and its description. */
export function forgetSoftware(channel: ChannelAdapter): void {
  for (const port of channel.ports) setCapabilities(channel, port, port.subnet.capabilityMask & ~SOFTWARE_CAPABILITIES);
  describe(channel, nodeDescription(channel.description));
}

/** Removes the GIDs that software added to the ports; all their functions get an event. */
export function clearGids({ ports }: ChannelAdapter, functions: readonly ManagedFunction[]): void {
  for (const port of ports)
    if (port.clearGids())
      for (const { underlying } of functions)
        if (port.serves(underlying.number)) underlying.postPortEvent(EventType.GID_CHANGE, port.number);
}

function setCapabilities({ mads }: ChannelAdapter, port: Port, mask: number): void {
  const previous = port.subnet.capabilityMask;
  port.subnet.capabilityMask = mask >>> 0;
  if (port.subnet.capabilityMask !== previous) mads.traps.raiseLocalChange(port.number);
}

function describe({ mads, ports }: ChannelAdapter, text: Uint8Array): void {
  const { description } = mads.node;
  if (text.every((byte, at) => byte === description[at])) return;
  description.set(text);
  for (const port of ports) mads.traps.raiseLocalChange(port.number, true);
}
