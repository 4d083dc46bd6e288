// SPDX-License-Identifier: Apache-2.0
/**
 * A request for an attribute on its way through an agent, and how an agent knows what it has (IBTA
 * 13.4.5 to 13.4.7). A handler reads or writes the attribute in place and returns the status of the
 * response.
 */
import type { MadStatus } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ATTRIBUTE_OFFSET } from '../../../protocol/infiniband/mad/mad-headers.ts';
import type { EndPort } from '../port/end-port.ts';
import type { LinkEnd } from '../port/link.ts';
import { endPortOf, isSwitch, type ManagedNode } from './managed-node.ts';
import type { NoticeQueues } from './notice-queue.ts';

/** Offset of the attribute in a datagram. */
export const DATA = ATTRIBUTE_OFFSET;
/** Bytes of the attribute of a subnet management packet. */
const SUBNET_DATA_BYTES = 64;

export interface AttributeRequest {
  readonly node: ManagedNode;
  /** Port by which the request came in; 0: from the software of a switch. */
  readonly arrivalPort: number;
  /** The datagram. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly notices: NoticeQueues;
  /** Attribute modifier. */
  readonly modifier: number;
}

/** Writes the attribute into the datagram; returns the status. */
type GetAttribute = (request: AttributeRequest) => MadStatus;

/**
 * Carries out what the datagram asks for, or nothing of it; returns the status. `get` then writes
 * the attribute as it is now.
 */
type SetAttribute = (request: AttributeRequest) => MadStatus;

export interface AttributeHandler {
  readonly get: GetAttribute;
  readonly set?: SetAttribute;
  /** The attribute belongs to switches only, or to end ports only. */
  readonly switchOnly?: boolean;
}

/** A port that a request names. */
export interface NamedPort {
  readonly number: number;
  /** Undefined for port 0 of a switch. */
  readonly end: LinkEnd | undefined;
  /** Undefined for an external port of a switch. */
  readonly endPort: EndPort | undefined;
}

/**
 * The port whose number is `number`; 0 is the port of arrival for an adapter, and port 0 for a
 * switch. Undefined: there is no such port.
 */
export function namedPort({ node, arrivalPort }: AttributeRequest, number: number): NamedPort | undefined {
  const isOfSwitch = isSwitch(node);
  const actual = number === 0 && !isOfSwitch ? arrivalPort : number;
  if (actual > node.ports.length) return undefined;
  const hasAddress = !isOfSwitch || actual === 0;
  return {
    number: actual,
    end: actual === 0 ? undefined : node.ports[actual - 1],
    endPort: hasAddress ? endPortOf(node, actual) : undefined,
  };
}

/** The attribute of a subnet management packet as bytes. */
export function subnetData({ bytes }: AttributeRequest): Uint8Array {
  return bytes.subarray(DATA, DATA + SUBNET_DATA_BYTES);
}
