// SPDX-License-Identifier: Apache-2.0
/**
 * Builds the request packets of connected QPs in the port's ring and transmits them (IBTA 9.2 to
 * 9.4): a packet of a SEND, WRITE or ATOMIC WRITE; the request of a READ, from the first missing
 * response on; the request of an atomic or a FLUSH. Called by the requester.
 */
import { PacketCheck } from '../../../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../../../protocol/infiniband/packet-fields.ts';
import { addPsn } from '../../../../protocol/infiniband/psn.ts';
import { highDword, lowDword } from '../../../../protocol/layout/dwords.ts';
import { SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { LOAN_MIN_BYTES, type PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { QueuePairTrace } from '../../trace/queue-pair-trace.ts';
import { requestOpcode } from '../requester-opcodes.ts';
import type { RequesterState } from '../state/requester-state.ts';
import type { SendRecord } from '../state/send-record.ts';

/** Interval of acknowledge requests in a long message, so that the window moves. */
const ACK_INTERVAL = 64;

export class RequesterPackets {
  readonly #fields = newPacketFields();
  /** Place of the packet built last. */
  #ring!: PacketRing;
  #offset = 0;

  /**
   * Sends the next packet of a SEND, WRITE or ATOMIC WRITE. Returns false when its payload cannot
   * be read.
   */
  sendPayload(state: RequesterState, record: SendRecord, port: Port): boolean {
    const { qp } = state;
    const mtuBytes = qp.pathMtuBytes;
    const fields = this.#fields;
    const done = record.packetsSent * mtuBytes;
    const length = Math.min(record.messageLength - done, mtuBytes);
    const last = done + length >= record.messageLength;
    this.#head(state, record, port, record.packetsSent, last || (record.packetsSent + 1) % ACK_INTERVAL === 0);
    fields.opcode = requestOpcode(qp.transport, record.opcode, record.packetsSent === 0, last);
    fields.solicited = last ? record.solicited : 0;
    fields.virtualAddressHigh = record.remoteAddressHigh;
    fields.virtualAddressLow = record.remoteAddressLow;
    fields.rKey = record.rkey;
    fields.dmaLength = record.messageLength;
    fields.immediate = record.immediate;
    fields.invalidateRKey = record.immediate;
    fields.payloadLengthBytes = length;
    const ring = port.ringFor(fields.dlid, fields.serviceLevel);
    const offset = ring.writeOffset;
    const payload = offset + payloadStart(fields.opcode, fields.hasGrh);
    if (record.inline) copyInline(record, done, length, ring.bytes, payload);
    else {
      ring.loanBytes = length >= LOAN_MIN_BYTES && mayBorrow(state, record) && port.lendsTo(ring) ? length : 0;
      const isRead = record.list.gatherPart(qp, done, length, ring, payload);
      ring.loanBytes = 0;
      if (!isRead) return false;
    }
    this.#ring = ring;
    this.#offset = offset;
    port.transmit(ring, buildPacket(ring.view, offset, fields, PacketCheck.NONE));
    record.packetsSent++;
    return true;
  }

  /** Passes the packet built last to the trace of its message. */
  tracePacket(state: RequesterState, record: SendRecord, trace: QueuePairTrace): void {
    const { opcode, hasGrh, payloadLengthBytes: payload } = this.#fields;
    const headers = payloadStart(opcode, hasGrh);
    trace.sendPacket(state, record, record.packetsSent - 1, this.#fields, this.#ring, this.#offset, headers, payload);
  }

  /** Payload of the packet built last. */
  get payloadLengthBytes(): number {
    return this.#fields.payloadLengthBytes;
  }

  /**
   * Requests the missing responses of a READ: with their first PSN, address and length (IBTA
   * 9.7.5.1.9).
   */
  sendRead(state: RequesterState, record: SendRecord, port: Port): void {
    const fields = this.#fields;
    const skipped = record.responsesReceived * state.qp.pathMtuBytes;
    this.#head(state, record, port, record.responsesReceived, true);
    this.#remote(state, record, skipped);
    fields.dmaLength = record.messageLength - skipped;
    this.#emit(port);
    record.packetsSent = 1;
    record.requestedFrom = record.responsesReceived;
  }

  /**
   * Requests an atomic. The operand of FETCH_ADD is in the field of the swap value (IBTA 9.2.8).
   */
  sendAtomic(state: RequesterState, record: SendRecord, port: Port): void {
    const fields = this.#fields;
    const swaps = record.opcode === SendOpcode.COMPARE_SWAP;
    this.#head(state, record, port, 0, true);
    this.#remote(state, record, 0);
    fields.swapOrAddHigh = record.swapOrAddHigh;
    fields.swapOrAddLow = record.swapOrAddLow;
    fields.compareHigh = swaps ? record.compareHigh : 0;
    fields.compareLow = swaps ? record.compareLow : 0;
    this.#emit(port);
    record.packetsSent = 1;
  }

  /** Requests a FLUSH. Address and length of one of a whole region do not count. */
  sendFlush(state: RequesterState, record: SendRecord, port: Port): void {
    const fields = this.#fields;
    this.#head(state, record, port, 0, true);
    this.#remote(state, record, 0);
    fields.dmaLength = record.messageLength;
    fields.placementType = record.placementType;
    fields.selectivity = record.selectivity;
    this.#emit(port);
    record.packetsSent = 1;
  }

  #remote(state: RequesterState, record: SendRecord, skippedBytes: number): void {
    const fields = this.#fields;
    const low = record.remoteAddressLow + skippedBytes;
    fields.opcode = requestOpcode(state.qp.transport, record.opcode, true, true);
    fields.solicited = 0;
    fields.virtualAddressLow = lowDword(low);
    fields.virtualAddressHigh = record.remoteAddressHigh + highDword(low);
    fields.rKey = record.rkey;
    fields.payloadLengthBytes = 0;
  }

  #emit(port: Port): void {
    const ring = port.ringFor(this.#fields.dlid, this.#fields.serviceLevel);
    this.#ring = ring;
    this.#offset = ring.writeOffset;
    port.transmit(ring, buildPacket(ring.view, this.#offset, this.#fields, PacketCheck.NONE));
  }

  #head(state: RequesterState, record: SendRecord, port: Port, packetIndex: number, ackRequest: boolean): void {
    const fields = this.#fields;
    const { qp } = state;
    state.path.apply(fields, port);
    fields.pKey = port.pkeys[qp.attributes.pkeyIndex];
    fields.destQpn = qp.attributes.remoteQpn;
    fields.xrcSrqn = record.xrcSrqn;
    fields.ackRequest = ackRequest && qp.serviceType !== ServiceType.UC ? 1 : 0;
    fields.psn = addPsn(record.firstPsn, packetIndex);
  }
}

/**
 * The payload of a reliable message stays as it is until it has arrived and is acknowledged, so it
 * may stay in guest memory until then; a trace keeps bytes of what is sent.
 */
function mayBorrow({ qp }: RequesterState, { trace }: SendRecord): boolean {
  return qp.serviceType !== ServiceType.UC && trace === undefined;
}

function copyInline(record: SendRecord, from: number, length: number, target: Uint8Array, at: number): void {
  for (let index = 0; index < length; index++) target[at + index] = record.inlineBytes[from + index];
}
