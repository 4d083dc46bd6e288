// SPDX-License-Identifier: Apache-2.0
/**
 * The fixture of tests of send contexts (US 2015/0378953): a context on port 1, a datagram QP on
 * port 2 that receives, and packets composed by software. Used by the tests of `pio/` and others.
 */
import { BthOpcode } from '../../protocol/infiniband/gen/values.gen.ts';
import { PacketCheck } from '../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../protocol/infiniband/packet-builder.ts';
import { newPacketFields, type PacketFields } from '../../protocol/infiniband/packet-fields.ts';
import {
  decodeSendContextAttributes,
  newSendContextAttributes,
  type SendContextAttributes,
} from '../../protocol/layout/gen/send-context-attributes.gen.ts';
import { CompletionStatus, ManagementOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import type { DriverSendContext } from '../hosts/in-process/driver/send-context.ts';
import { AdapterFixture, type AdapterFixtureOptions } from './adapter-fixture.ts';

const GRH_AREA = 40;
const CRC_BYTES = 6;
const LARGEST_PACKET = 4400;
/** Interrupt vector of credit returns. */
export const CREDIT_VECTOR = 30;

/** An adapter with one enabled send context. */
export class SendContextFixture {
  readonly adapterFixture: AdapterFixture;
  readonly context: DriverSendContext;
  readonly sender: DriverQueuePair;
  readonly receiver: DriverQueuePair;
  #psn = 0;

  constructor(attributes: Partial<SendContextAttributes> = {}, options: AdapterFixtureOptions = {}) {
    this.adapterFixture = new AdapterFixture(options);
    const sendCq = this.adapterFixture.createCompletionQueue({ entriesLog2: 9 });
    const { sender, receiver } = this.adapterFixture.createPair({ receiver: { receiveEntriesLog2: 8, sendCq } });
    this.sender = sender;
    this.receiver = receiver;
    this.context = this.adapterFixture.driver.createSendContext({ vector: CREDIT_VECTOR, ...attributes });
    this.context.enable();
  }

  get interrupts(): number {
    return this.adapterFixture.host.raised[CREDIT_VECTOR] ?? 0;
  }

  /** A datagram for the receiver, from LRH to payload, without CRCs. */
  packet(payload: Uint8Array, change: Partial<PacketFields> = {}): Uint8Array {
    return composeDatagram(payload, {
      slid: this.adapterFixture.lidOf(1),
      dlid: this.adapterFixture.lidOf(2),
      destQpn: this.receiver.qpn,
      srcQpn: this.sender.qpn,
      qKey: this.receiver.qkey,
      psn: this.#psn++,
      ...change,
    });
  }

  /** Posts a receive buffer; its bytes. */
  postReceive(lengthBytes = 4096): Uint8Array {
    return this.adapterFixture.postReceive(this.receiver, GRH_AREA + lengthBytes).bytes;
  }

  /** Payload of the next message received into `buffer`; undefined if there is none. */
  received(buffer: Uint8Array): Uint8Array | undefined {
    const entry = this.receiver.parts.receiveCq.poll();
    if (entry === undefined || entry.status !== CompletionStatus.SUCCESS) return undefined;
    return buffer.slice(GRH_AREA, entry.byteLength);
  }

  settle(): void {
    this.adapterFixture.settle();
  }

  /** Attributes and counters of the context, by management command. */
  query() {
    const { management } = this.adapterFixture.driver;
    const objectNumber = this.context.number;
    const { payload } = management.perform({ opcode: ManagementOpcode.QUERY_SEND_CONTEXT, objectNumber });
    return decodeSendContextAttributes(payload, 0, newSendContextAttributes());
  }

  finish(): void {
    this.adapterFixture.finish();
  }
}

/** A datagram composed by software, from LRH to payload, without CRCs. */
export function composeDatagram(payload: Uint8Array, given: Partial<PacketFields>): Uint8Array {
  const opcode = BthOpcode.UD_SEND_ONLY;
  const fields = { ...newPacketFields(), opcode, payloadLengthBytes: payload.length, ...given };
  const bytes = new Uint8Array(LARGEST_PACKET);
  bytes.set(payload, payloadStart(fields.opcode, fields.hasGrh));
  const length = buildPacket(new DataView(bytes.buffer), 0, fields, PacketCheck.NONE);
  return bytes.slice(0, length - CRC_BYTES);
}
