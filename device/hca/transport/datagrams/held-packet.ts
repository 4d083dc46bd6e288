// SPDX-License-Identifier: Apache-2.0
/**
 * A packet that waits for its receive WQE: a copy in a slot of its own, so that its port goes on.
 * `ReceiveStage` has as many as were ever held at the same time.
 */
import { newParsedPacket, PacketCheck, parsePacket } from '../../../../protocol/infiniband/packet.ts';
import { copyPacket, PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { PendingReads } from '../../function/timed-reads.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';

/** What the packet waits for: software's tail, or the WQE. */
export const HeldRead = { NONE: 0, TAIL: 1, ENTRY: 2 } as const;
export type HeldRead = (typeof HeldRead)[keyof typeof HeldRead];

export class HeldPacket implements PendingReads {
  readonly active = true;
  readsLeft = 0;
  readsOutstanding = 0;
  readRound = 0;
  read: HeldRead = HeldRead.NONE;
  qp!: QueuePair;
  port!: Port;
  pkeyIndex = 0;
  readonly ring = new PacketRing(1);
  readonly packet = newParsedPacket();

  /** Copies the oldest packet of `ring`, whose CRCs are checked. */
  take(qp: QueuePair, port: Port, ring: PacketRing, pkeyIndex: number): void {
    this.qp = qp;
    this.port = port;
    this.pkeyIndex = pkeyIndex;
    this.read = HeldRead.NONE;
    const own = this.ring;
    copyPacket(ring, own);
    own.push(ring.readLength);
    parsePacket(own.view, own.readOffset, own.readLength, this.packet, PacketCheck.NONE);
  }

  release(): void {
    this.ring.shift();
  }
}
