// SPDX-License-Identifier: Apache-2.0
/**
 * The request packet that a responder checks and executes, in one reused record (IBTA 9.7.4).
 * Shared by responder, execution and refusals.
 */
import { getRethVirtualAddressHigh, getRethVirtualAddressLow } from '../../../../protocol/infiniband/gen/reth.gen.ts';
import type { ParsedPacket } from '../../../../protocol/infiniband/packet.ts';
import { joinDwords } from '../../../../protocol/layout/dwords.ts';
import { type EventType, type FaultKind, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { KeyLookup, RegionPort } from '../../protection/key-lookup.ts';
import { foldHigh } from '../../protection/virtual-address.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { ResponderState } from '../state/responder-state.ts';

/**
 * Fails the QP: flushes it and posts `event`, which is undefined when a completion reports the
 * failure. `detail` is the detail of the fault.
 */
export type FailResponder = (qp: QueuePair, event: EventType | undefined, fault: FaultKind, detail: number) => void;

/** QP, state, port and packet under work; `Responder.receive` sets them. */
export class ResponderRequest {
  qp!: QueuePair;
  state!: ResponderState;
  port!: Port;
  ring!: PacketRing;
  packet!: Readonly<ParsedPacket>;
  /** Region of a WRITE, after the key check of the packet. */
  region: RegionPort | undefined = undefined;

  /** True when the requests are acknowledged. */
  get reliable(): boolean {
    return this.qp.serviceType !== ServiceType.UC;
  }

  /** Sets the key check to the address in the RETH. */
  takeAddress(keys: KeyLookup): KeyLookup {
    const { ring, packet } = this;
    const at = packet.rethOffset;
    return keys.at(
      joinDwords(getRethVirtualAddressLow(ring.view, at), foldHigh(getRethVirtualAddressHigh(ring.view, at))),
    );
  }
}
