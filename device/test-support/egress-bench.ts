// SPDX-License-Identifier: Apache-2.0
/**
 * Send contexts of two functions with a port alone (US 2015/0378953 claim 1): packets are written
 * by blocks, and the test takes them out of the rings of the port. Used by tests of `pio/`.
 */
import { mtuCode } from '../../protocol/infiniband/mtu.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../protocol/infiniband/packet.ts';
import type { PacketFields } from '../../protocol/infiniband/packet-fields.ts';
import {
  SEND_BLOCK_BYTES,
  SEND_CONTEXT_WINDOW_BYTES,
  SEND_MEMORY_BLOCKS_MAX,
  SEND_START_OF_PACKET_OFFSET,
} from '../../protocol/layout/gen/constants.gen.ts';
import {
  encodeSendControl,
  newSendControl,
  SEND_CONTROL_SIZE,
  type SendControl,
} from '../../protocol/layout/gen/send-control.gen.ts';
import { type FaultKind, PortState } from '../../protocol/layout/gen/values.gen.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { SendContext } from '../pio/send-context.ts';
import { SendContexts } from '../pio/send-contexts.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { newPort } from './port-pair.ts';
import { composeDatagram } from './send-context-fixture.ts';

const BLOCKS = 32;
/** Packets that each ring of the port holds. */
export const RING_PACKETS = 4;
export const QPN = 20;
export const FOREIGN_QPN = 21;
/** What the LRH of a packet of 64 payload bytes has where the source QP of no DETH would be. */
const LENGTH_QPN = 0x1600;
export const PACKET_COST = 2048;

/** A packet: payload, fields, control word, and a last change of its bytes. */
export interface Sent {
  readonly bytes?: number;
  readonly fields?: Partial<PacketFields>;
  readonly control?: Partial<SendControl>;
  readonly change?: (packet: DataView) => void;
}

/** Contexts of two functions on a port with two data lanes; SL 3 has VL 1. */
export class EgressBench {
  readonly port = newPort(1, 2, RING_PACKETS);
  readonly owners: UnderlyingFunction[];
  readonly contexts: SendContexts;
  readonly charges: number[][] = [];
  readonly faults: number[][] = [];
  /** Functions in the order in which they are served. */
  readonly served: number[] = [];
  /** Credit words written, and whether their memory can be written. */
  creditWords = 0;
  isWritable = true;
  /** Functions must wait for the next pass. */
  mustWait = false;
  readonly #next = new Map<SendContext, number>();

  constructor(egressSeed?: number) {
    this.port.state = PortState.ACTIVE;
    this.port.activeMtuCode = mtuCode(256);
    this.port.transmitQueues.mapServiceLevel(3, 1);
    const publish = (): boolean => {
      this.creditWords++;
      return this.isWritable;
    };
    const dma = { at: () => dma, publish };
    this.owners = [0, 1].map((number) => {
      const faults = {
        report: (kind: FaultKind) => this.faults.push([number, kind]),
        duringWrite: () => faults,
        endAccess: () => {},
      };
      const owner = { number, portBase: 0, dma, faults, msix: { request: () => {} }, postAsynchronous: () => {} };
      return owner as unknown as UnderlyingFunction;
    });
    const owned = new Map([
      [QPN, { owner: this.owners[0] }],
      [FOREIGN_QPN, { owner: this.owners[1] }],
      [LENGTH_QPN, { owner: this.owners[0] }],
    ]);
    this.contexts = new SendContexts({
      ports: [this.port],
      queuePairs: { get: (number: number) => owned.get(number) } as unknown as ObjectTable<QueuePair>,
      functionCount: 2,
      blockCount: SEND_MEMORY_BLOCKS_MAX,
      turns: {
        chooseFunction: (waiting, last) => {
          if (this.mustWait) return -1;
          const number = [1 - last, last].find((one) => waiting[one] > 0) ?? -1;
          if (number >= 0) this.served.push(number);
          return number;
        },
        chargeFunction: (number, bytes) => this.charges.push([number, bytes]),
      },
      packetCostBytes: PACKET_COST,
      egressSeed,
    });
  }

  add(owner = 0, blocks = BLOCKS): SendContext {
    const context = this.contexts.add(this.owners[owner], blocks);
    Object.assign(context, { virtualLanes: 0b11 | (1 << 15), threshold: 0 });
    context.enable();
    return context;
  }

  /** Writes a packet to the next blocks of the context. Its PSN is its first block. */
  fill(context: SendContext, { bytes = 64, fields = {}, control = {}, change }: Sent = {}): void {
    const { count } = context.blocks;
    const block = this.#next.get(context) ?? 0;
    const srcQpn = context.owner.number === 0 ? QPN : FOREIGN_QPN;
    const payload = new Uint8Array(bytes).fill(block);
    const packet = composeDatagram(payload, { slid: 1, dlid: 9, destQpn: 50, srcQpn, psn: block, ...fields });
    change?.(new DataView(packet.buffer));
    const blocks = Math.ceil((SEND_CONTROL_SIZE + packet.length) / SEND_BLOCK_BYTES);
    const all = new Uint8Array(blocks * SEND_BLOCK_BYTES);
    const view = new DataView(all.buffer);
    const lengthDwords = (SEND_CONTROL_SIZE + packet.length) / 4;
    encodeSendControl(view, 0, { ...newSendControl(), lengthDwords, ...control });
    all.set(packet, SEND_CONTROL_SIZE);
    const window = context.number * SEND_CONTEXT_WINDOW_BYTES;
    for (let at = 0; at < all.length; at += 8) {
      const alias = at < SEND_BLOCK_BYTES ? SEND_START_OF_PACKET_OFFSET : 0;
      const offset = ((block + Math.floor(at / SEND_BLOCK_BYTES)) % count) * SEND_BLOCK_BYTES + (at % SEND_BLOCK_BYTES);
      this.contexts.write(
        context.owner,
        alias + window + offset,
        8,
        view.getInt32(at, true),
        view.getInt32(at + 4, true),
      );
    }
    this.#next.set(context, (block + blocks) % count);
  }

  /** PSNs of the packets that leave a ring, and whether their CRCs are right. */
  take(ring: PacketRing): { psn: number; error: number; length: number }[] {
    const taken: { psn: number; error: number; length: number }[] = [];
    const parsed = newParsedPacket();
    while (ring.count > 0) {
      const error = parsePacket(ring.view, ring.readOffset, ring.readLength, parsed, PacketCheck.ICRC);
      taken.push({ psn: parsed.psn, error, length: ring.readLength });
      ring.shift();
    }
    return taken;
  }

  get rings(): readonly PacketRing[] {
    return this.port.transmitQueues.rings;
  }

  /** PSNs in the ring of a virtual lane. */
  psns(virtualLane = 0): number[] {
    return this.take(this.rings[virtualLane]).map(({ psn }) => psn);
  }
}
