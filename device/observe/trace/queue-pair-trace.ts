// SPDX-License-Identifier: Apache-2.0
/**
 * The trace of one QP: what the transport calls while it works on a message (IPCOM000010133D). Every hook only writes into the QP's ring of command blocks; nothing is
 * read from or written to guest memory, nothing waits. A message is traced from its beginning or not at all, so tracing may begin at any time.
 */

import { getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag } from '../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../protocol/infiniband/packet.ts';
import {
  getSendCommandMessageLength,
  getSendCommandOpcode,
  getSendCommandSequence,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { CompletionStatus, EventType, FaultKind, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import type { AdapterClock } from '../../host.ts';
import type { PacketRing } from '../../port/packet-ring.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { RequestInHand } from '../../transport/request-in-hand.ts';
import type { RequesterState } from '../../transport/requester-state.ts';
import type { ResponderResource } from '../../transport/responder-state.ts';
import type { SendRecord } from '../../transport/send-record.ts';
import { Field, type PacketBytes, type TracedQueuePair, TraceRing } from './trace-ring.ts';

const SEQUENCE_MASK = 0xffffff;
const NO_BLOCK = -1;
const { FIRST, ONLY, SEND, WRITE, READ_REQUEST, ATOMIC, IMMEDIATE, INVALIDATE } = OpcodeFlag;

/** How a QP is traced. */
export interface TraceSettings {
  /** log2 of the command blocks. */
  readonly blocksLog2: number;
  /** Payload bytes kept of a message. */
  readonly snapLength: number;
  /** No block is begun behind the first message that failed. */
  readonly stopOnError: boolean;
  /** The guest asked for it, and hears of it when it stops. */
  readonly byGuest: boolean;
}

export class QueuePairTrace {
  readonly settings: TraceSettings;
  readonly ring: TraceRing;
  stopped = false;
  readonly #qp: QueuePair;
  readonly #clock: AdapterClock;
  readonly #onRelease: () => void;
  /** Block of the datagram being sent, and of the message being received. */
  #command = NO_BLOCK;
  #message = NO_BLOCK;

  constructor(qp: QueuePair, settings: TraceSettings, clock: AdapterClock, onRelease: () => void) {
    this.settings = settings;
    this.ring = new TraceRing(settings.blocksLog2, settings.snapLength);
    this.#qp = qp;
    this.#clock = clock;
    this.#onRelease = onRelease;
  }

  /** What all blocks have in common. */
  get subject(): TracedQueuePair {
    const { number, serviceType, attributes } = this.#qp;
    return { qpn: number, serviceType, port: attributes.port };
  }

  /** Tracing ends. Blocks of messages under way are written to no more than this object. */
  release(): void {
    this.#onRelease();
  }

  /** The QP was reset: a message being received never ends. */
  reset(): void {
    this.endMessage(CompletionStatus.FLUSHED, FaultKind.NONE);
  }

  // Commands of connected QPs, as records.

  /** A command was launched. */
  launch(record: SendRecord): void {
    record.traceBlock = NO_BLOCK;
    record.launchedNs = this.#clock.now();
  }

  /** Its message begins, with its PSNs assigned; `state` does not count it yet. */
  beginRecord(state: RequesterState, record: SendRecord): void {
    const index = this.#begin(record.launchedNs);
    record.traceBlock = index;
    if (index === NO_BLOCK) return;
    const { fields } = this.ring;
    const at = this.ring.slotOf(index);
    fields[at + Field.OPCODE] = record.opcode;
    fields[at + Field.SEQUENCE] = record.sequence;
    fields[at + Field.FIRST_PSN] = record.firstPsn;
    fields[at + Field.LAST_PSN] = record.lastPsn;
    fields[at + Field.LENGTH] = record.messageLength;
    fields[at + Field.MSN] = (state.sendSequence - 1) & SEQUENCE_MASK;
    fields[at + Field.REMOTE_QPN] = this.#qp.attributes.remoteQpn;
    fields[at + Field.REMOTE_LID] = state.path.dlid;
  }

  /** A packet of it was sent: number `packet` of the message, its headers at `offset`, `lengthBytes` of payload at `payload`. */
  sendPacket(
    record: SendRecord,
    packet: number,
    from: PacketBytes,
    offset: number,
    payload: number,
    lengthBytes: number,
  ): void {
    const index = record.traceBlock;
    const { ring } = this;
    if (!ring.has(index)) return;
    const { fields } = ring;
    const at = ring.slotOf(index);
    if (packet < fields[at + Field.PACKETS]) {
      fields[at + Field.RETRIES]++;
      return;
    }
    fields[at + Field.PACKETS] = packet + 1;
    if (packet === 0) ring.keepHeaders(index, from, offset, payload - offset);
    if (lengthBytes > 0) ring.keep(index, packet * this.#qp.pathMtuBytes, from, payload, lengthBytes);
  }

  /** A response brought `lengthBytes` of what it fetches, from byte `done` on. */
  takeResponse(record: SendRecord, done: number, from: PacketBytes, offset: number, lengthBytes: number): void {
    if (this.ring.has(record.traceBlock)) this.ring.keep(record.traceBlock, done, from, offset, lengthBytes);
  }

  /** It is complete, or flushed before it was begun. */
  endRecord(state: RequesterState, record: SendRecord, status: CompletionStatus, fault: FaultKind): void {
    if (!record.numbered) this.beginRecord(state, record);
    this.#end(record.traceBlock, status, fault);
  }

  // Commands that are done at once: datagrams, and whatever is flushed.

  beginCommand(buffer: PhysicalCollectBuffer): void {
    const { view } = buffer;
    const index = this.#begin(this.#clock.now());
    this.#command = index;
    if (index === NO_BLOCK) return;
    const { fields } = this.ring;
    const at = this.ring.slotOf(index);
    fields[at + Field.OPCODE] = getSendCommandOpcode(view, 0);
    fields[at + Field.SEQUENCE] = getSendCommandSequence(view, 0);
    fields[at + Field.LENGTH] = getSendCommandMessageLength(view, 0);
  }

  /** Its datagram was sent: headers at `offset`, payload at `payload`. */
  sendDatagram(psn: number, qpn: number, lid: number, from: PacketBytes, offset: number, payload: number): void {
    const index = this.#command;
    if (index === NO_BLOCK) return;
    const { ring } = this;
    const { fields } = ring;
    const at = ring.slotOf(index);
    fields[at + Field.PACKETS] = 1;
    fields[at + Field.FIRST_PSN] = psn;
    fields[at + Field.LAST_PSN] = psn;
    fields[at + Field.REMOTE_QPN] = qpn;
    fields[at + Field.REMOTE_LID] = lid;
    ring.keepHeaders(index, from, offset, payload - offset);
    ring.keep(index, 0, from, payload, fields[at + Field.LENGTH]);
  }

  endCommand(status: CompletionStatus, fault: FaultKind): void {
    this.#end(this.#command, status, fault);
    this.#command = NO_BLOCK;
  }

  // Messages received.

  /** A datagram was delivered to receive entry `number`, or could not be. */
  receiveDatagram(
    packet: Readonly<ParsedPacket>,
    from: PacketRing,
    number: number,
    status: number,
    fault: number,
  ): void {
    const index = this.#beginReceive(packet, from, number);
    if (index === NO_BLOCK) return;
    this.ring.fields[this.ring.slotOf(index) + Field.REMOTE_QPN] = getDethSrcQpn(from.view, packet.dethOffset);
    this.ring.keep(index, 0, from, packet.payloadOffset, packet.payloadLengthBytes);
    this.#end(index, status as CompletionStatus, fault as FaultKind);
  }

  /** A packet of a SEND or WRITE was placed; `state` does not count its bytes yet. */
  placePacket({ state, packet, ring: from }: RequestInHand): void {
    if (packet.flags & (FIRST | ONLY)) {
      // An unreliable message that was never finished ends where the next one begins.
      this.endMessage(CompletionStatus.FLUSHED, FaultKind.NONE);
      this.#message = this.#beginReceive(packet, from, state.entryNumber, state.msn);
    }
    const index = this.#message;
    const { ring } = this;
    if (!ring.has(index)) return;
    const done = state.messageBytes;
    const { fields } = ring;
    const at = ring.slotOf(index);
    fields[at + Field.OPCODE] = opcodeOf(packet);
    fields[at + Field.SEQUENCE] = state.entryNumber;
    fields[at + Field.LAST_PSN] = packet.psn;
    fields[at + Field.PACKETS]++;
    fields[at + Field.LENGTH] = done + packet.payloadLengthBytes;
    ring.keep(index, done, from, packet.payloadOffset, packet.payloadLengthBytes);
  }

  /** The message being received, if there is one, has ended. */
  endMessage(status: CompletionStatus, fault: FaultKind): void {
    const index = this.#message;
    if (index === NO_BLOCK) return;
    this.#message = NO_BLOCK;
    this.#end(index, status, fault);
  }

  /** A request is refused: the message it continues, or one of its own, fails. */
  refuse({ state, packet, ring: from }: RequestInHand, status: CompletionStatus, fault: FaultKind): void {
    if (this.#message === NO_BLOCK || packet.flags & (FIRST | ONLY))
      this.#message = this.#beginReceive(packet, from, state.entryNumber, state.msn);
    this.endMessage(status, fault);
  }

  /** A READ or atomic is answered with `resource`, which counts it already. */
  beginAnswer({ packet, ring: from }: RequestInHand, resource: ResponderResource): void {
    const index = this.#beginReceive(packet, from, 0, (resource.msn - 1) & SEQUENCE_MASK);
    resource.trace = this;
    resource.traceBlock = index;
    if (index === NO_BLOCK) return;
    const { fields } = this.ring;
    const at = this.ring.slotOf(index);
    fields[at + Field.LAST_PSN] = resource.lastPsn;
    fields[at + Field.LENGTH] = resource.isAtomic ? 8 : resource.lengthBytes;
  }

  /** `lengthBytes` of the answer, from byte `done` on, were sent. */
  sendAnswer(resource: ResponderResource, done: number, from: PacketBytes, offset: number, lengthBytes: number): void {
    if (this.ring.has(resource.traceBlock)) this.ring.keep(resource.traceBlock, done, from, offset, lengthBytes);
  }

  endAnswer(resource: ResponderResource, status: CompletionStatus, fault: FaultKind): void {
    resource.trace = undefined;
    this.#end(resource.traceBlock, status, fault);
  }

  #begin(timeNs: number): number {
    return this.stopped ? NO_BLOCK : this.ring.begin(timeNs);
  }

  #beginReceive(packet: Readonly<ParsedPacket>, from: PacketRing, number: number, msn = 0): number {
    const index = this.#begin(this.#clock.now());
    if (index === NO_BLOCK) return index;
    const { fields } = this.ring;
    const at = this.ring.slotOf(index);
    const { lrhOffset, payloadOffset } = packet;
    fields[at + Field.RECEIVE] = 1;
    fields[at + Field.OPCODE] = opcodeOf(packet);
    fields[at + Field.SEQUENCE] = number;
    fields[at + Field.FIRST_PSN] = packet.psn;
    fields[at + Field.LAST_PSN] = packet.psn;
    fields[at + Field.PACKETS] = packet.flags & (SEND | WRITE) && packet.dethOffset < 0 ? 0 : 1;
    fields[at + Field.LENGTH] = packet.payloadLengthBytes;
    fields[at + Field.MSN] = msn;
    fields[at + Field.REMOTE_QPN] = this.#qp.attributes.remoteQpn;
    fields[at + Field.REMOTE_LID] = packet.slid;
    this.ring.keepHeaders(index, from, lrhOffset, payloadOffset - lrhOffset);
    return index;
  }

  #end(index: number, status: CompletionStatus, fault: FaultKind): void {
    if (this.ring.has(index)) this.ring.end(index, this.#clock.now(), status, fault);
    if (status === CompletionStatus.SUCCESS || status === CompletionStatus.FLUSHED) return;
    if (!this.settings.stopOnError || this.stopped) return;
    this.stopped = true;
    if (this.settings.byGuest) this.#qp.owner.postAsynchronous(EventType.TRACE_STOPPED, this.#qp, fault);
  }
}

/** Operation of a message by the flags of a packet; whether it has an immediate value only its last packet says. */
function opcodeOf({ flags, opcode }: Readonly<ParsedPacket>): SendOpcode {
  if (flags & READ_REQUEST) return SendOpcode.RDMA_READ;
  if (flags & WRITE) return flags & IMMEDIATE ? SendOpcode.RDMA_WRITE_IMMEDIATE : SendOpcode.RDMA_WRITE;
  if (flags & ATOMIC) return opcode === BthOpcode.RC_COMPARE_SWAP ? SendOpcode.COMPARE_SWAP : SendOpcode.FETCH_ADD;
  if (flags & INVALIDATE) return SendOpcode.SEND_INVALIDATE;
  return flags & IMMEDIATE ? SendOpcode.SEND_IMMEDIATE : SendOpcode.SEND;
}
