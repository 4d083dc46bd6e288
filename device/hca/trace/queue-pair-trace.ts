// SPDX-License-Identifier: Apache-2.0
/**
 * The trace of one QP: hooks that the transport calls for each message and packet (IPCOM000010133D
 * par. 1, 4). A hook only writes to the QP's ring of command blocks. It neither accesses guest
 * memory nor waits, so tracing has no effect on the traffic. A message is traced from its beginning
 * or not at all, so tracing may begin at any time.
 */
import { getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import { OpcodeFlag } from '../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../protocol/infiniband/packet.ts';
import { MSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { getSendCommandOpcode } from '../../../protocol/layout/gen/send-command.gen.ts';
import { CompletionStatus, EventType, FaultKind, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../fabric/port/packet-ring.ts';
import { PacketMove } from '../function/timeline-values.ts';
import { describeCommand, describeReceived, describeRecord, messageOpcodes, NO_MESSAGE } from './block-fields.ts';
import { noteAnswer, noteDatagram, noteEnd, notePacket, type PacketName } from './message-notes.ts';
import { Field, type PacketBytes, type TraceClock, TraceRing } from './trace-ring.ts';
import type { TracedAnswer, TracedCommand, TracedQueuePair, TracedRequest, TracedRequester } from './traced.ts';

/** Settings of the trace of one QP, from the management command or the host. */
export interface TraceSettings {
  /** log2 of the number of command blocks. */
  readonly blocksLog2: number;
  /** Payload bytes kept per message. */
  readonly snapLength: number;
  /** Begin no block behind the first failed message. */
  readonly stopOnError: boolean;
  /** The guest enabled the trace, and gets an event when it stops. */
  readonly byGuest: boolean;
  /** The host observes the QP: the guest cannot see the trace, nor can a recording. */
  readonly hidden?: boolean;
}

type Packet = Readonly<ParsedPacket>;

const NO_BLOCK = -1;
/** Block of a record that was not traced from its first packet on. */
const UNTRACED = -2;
const ATOMIC_BYTES = 8;
const { FIRST, ONLY, ATOMIC_WRITE } = OpcodeFlag;
const { SUCCESS, FLUSHED } = CompletionStatus;

const { UC } = ServiceType;
const { OPCODE, RECEIVE, SEQUENCE, LAST_PSN, REMOTE_QPN, LENGTH, PACKETS, RETRIES, ANSWERS } = Field;
const { SENT, SENT_AGAIN, RECEIVED } = PacketMove;

/** An answer while it is sent for the first time. */
type AnswerInTrace = TracedAnswer & { trace: QueuePairTrace | undefined };

export class QueuePairTrace {
  readonly settings: TraceSettings;
  readonly ring: TraceRing;
  stopped = false;
  #failed = false;
  readonly qp: TracedQueuePair;
  readonly #clock: TraceClock;
  readonly #onRelease: () => void;
  /**
   * Block and launch time of the command that ends within its launch; block of the message being
   * received.
   */
  #command = NO_BLOCK;
  #launchedNs = 0;
  #message = NO_BLOCK;

  constructor(qp: TracedQueuePair, settings: TraceSettings, clock: TraceClock, onRelease: () => void) {
    this.settings = settings;
    this.ring = new TraceRing(settings.blocksLog2, settings.snapLength, clock);
    this.qp = qp;
    this.#clock = clock;
    this.#onRelease = onRelease;
  }

  /** Ends tracing. Blocks of messages in flight are written to this object only. */
  release(): void {
    this.#onRelease();
  }

  /** Begins no blocks until `resume`. Messages under way go on. */
  pause(): void {
    this.stopped = true;
  }

  resume(): void {
    this.stopped = this.#failed;
  }

  /** The QP was reset: the message being received never ends. */
  reset(): void {
    this.endMessage(CompletionStatus.FLUSHED, FaultKind.NONE);
  }

  /** A command of a connected QP was launched. */
  launch(record: TracedCommand): void {
    record.traceBlock = NO_BLOCK;
    record.launchedNs = this.#clock.now();
  }

  /**
   * Packet number `packet` of the record was sent: headers at `offset` of `from`, then `payload`
   * bytes. The first one begins the block; `state` counts the message by then.
   */
  sendPacket(
    state: TracedRequester,
    record: TracedCommand,
    packet: number,
    name: PacketName,
    from: PacketBytes,
    offset: number,
    headers: number,
    payload: number,
  ): void {
    const { ring } = this;
    const index = record.traceBlock;
    if (index === NO_BLOCK) {
      if (packet > 0 || this.stopped) {
        record.traceBlock = UNTRACED;
        return;
      }
      notePacket(this.qp, ring.head, name, payload, SENT);
      const begun = ring.openWithPacket(record.launchedNs, this.#clock.now(), 1, from, offset, headers, payload);
      return this.#describe(state, record, begun, (state.sendSequence - 2) & MSN_MASK);
    }
    if (!ring.has(index)) return;
    const { words } = ring;
    const at = ring.slotOf(index);
    const isAgain = packet < words[at + PACKETS];
    notePacket(this.qp, index, name, payload, isAgain ? SENT_AGAIN : SENT);
    if (isAgain) {
      words[at + RETRIES]++;
      return;
    }
    words[at + PACKETS] = packet + 1;
    ring.keep(at, packet * this.qp.pathMtuBytes, from, offset, headers, payload);
  }

  /**
   * The record completed or was flushed. Without a sent packet its block has no PSNs and no MSN.
   * `withLast`: at the same time as the record before, by one acknowledgement.
   */
  endRecord(
    state: TracedRequester,
    record: TracedCommand,
    status: CompletionStatus,
    fault: FaultKind,
    withLast = false,
  ): void {
    if (record.traceBlock === NO_BLOCK && !this.stopped)
      this.#describe(state, record, this.ring.open(record.launchedNs), NO_MESSAGE);
    this.#end(record.traceBlock, status, fault, this.qp.serviceType === UC, withLast);
  }

  /**
   * A datagram, or a command to be flushed, was launched: it ends within this call of the pipeline.
   */
  beginCommand(): void {
    this.#command = NO_BLOCK;
    this.#launchedNs = this.#clock.now();
  }

  /** Its datagram was sent: headers at `offset`, then `payload` bytes. */
  sendDatagram(
    command: DataView,
    psn: number,
    qpn: number,
    lid: number,
    from: PacketBytes,
    offset: number,
    headers: number,
    payload: number,
  ): void {
    if (this.stopped) return;
    noteDatagram(this.qp, this.ring.head, getSendCommandOpcode(command, 0), psn, payload);
    const nowNs = this.#clock.now();
    const index = this.ring.openWithPacket(this.#launchedNs, nowNs, 1, from, offset, headers, payload);
    describeCommand(this.ring.words, this.ring.slotOf(index), command, psn, qpn, lid);
    this.#command = index;
  }

  /** The command ended, with or without a packet. */
  endCommand(command: DataView, status: CompletionStatus, fault: FaultKind): void {
    const { ring } = this;
    if (this.#command === NO_BLOCK && !this.stopped) {
      this.#command = ring.open(this.#launchedNs);
      describeCommand(ring.words, ring.slotOf(this.#command), command, 0, 0, 0);
    }
    this.#end(this.#command, status, fault, true);
  }

  /** `msn` is NO_MESSAGE for a command without packets, whose PSNs and MSN are 0. */
  #describe(state: TracedRequester, record: TracedCommand, index: number, msn: number): void {
    const { ring } = this;
    describeRecord(ring.words, ring.slotOf(index), record, this.qp.attributes.remoteQpn, state.path.dlid, msn);
    record.traceBlock = index;
  }

  /** A datagram was delivered to receive WQE `number`, or could not be. */
  receiveDatagram(packet: Packet, from: PacketRing, number: number, status: number, fault: number): void {
    const index = this.#beginReceive(packet, from, number, 0, 1);
    if (index === NO_BLOCK) return;
    this.ring.words[this.ring.slotOf(index) + REMOTE_QPN] = getDethSrcQpn(from.view, packet.dethOffset);
    this.#end(index, status as CompletionStatus, fault as FaultKind, true);
  }

  /** A packet of a SEND or WRITE was placed; `state` does not count its bytes yet. */
  placePacket(request: TracedRequest): void {
    const { state, packet, ring: from } = request;
    if (packet.flags & (FIRST | ONLY)) {
      // An unreliable message that was never completed ends where the next one begins.
      this.endMessage(CompletionStatus.FLUSHED, FaultKind.NONE);
      this.#message = this.#beginReceive(packet, from, state.wqeNumber, state.msn, 1);
    } else this.#placeNext(request);
  }

  /** The message being received, if there is one, has ended. */
  endMessage(status: CompletionStatus, fault: FaultKind): void {
    const index = this.#message;
    if (index === NO_BLOCK) return;
    this.#message = NO_BLOCK;
    this.#end(index, status, fault, true);
  }

  /** A request is refused: the message that it continues fails, or the one that it begins. */
  refuse({ state, packet, ring: from }: TracedRequest, status: CompletionStatus, fault: FaultKind): void {
    if (this.#message === NO_BLOCK || packet.flags & (FIRST | ONLY))
      this.#message = this.#beginReceive(packet, from, state.wqeNumber, state.msn, 0);
    this.endMessage(status, fault);
  }

  /** A request is answered with `resource`, whose MSN counts the request already. */
  beginAnswer({ packet, ring: from }: TracedRequest, resource: AnswerInTrace): void {
    const index = this.#beginReceive(packet, from, 0, (resource.msn - 1) & MSN_MASK, 1);
    resource.trace = this;
    resource.traceBlock = index;
    if (index === NO_BLOCK) return;
    const { words } = this.ring;
    const at = this.ring.slotOf(index);
    words[at + LAST_PSN] = resource.lastPsn;
    const isOperand = resource.isAtomic || (packet.flags & ATOMIC_WRITE) !== 0;
    words[at + LENGTH] = isOperand ? ATOMIC_BYTES : resource.lengthBytes;
  }

  /**
   * A packet of an answer arrived or was sent: headers at `offset` of `from`, and at `startsAt`
   * `bytes` of the answer, from its byte `done` on. `index`: block of the command or of the answer.
   */
  keepAnswer(
    index: number,
    done: number,
    name: PacketName,
    from: PacketBytes,
    offset: number,
    startsAt: number,
    bytes: number,
  ): void {
    const { ring } = this;
    if (!ring.has(index)) return;
    const { words } = ring;
    const at = ring.slotOf(index);
    const number = done / this.qp.pathMtuBytes;
    const isNew = number >= words[at + ANSWERS];
    const move = words[at + RECEIVE] === 0 ? RECEIVED : isNew ? SENT : SENT_AGAIN;
    noteAnswer(this.qp, index, name, bytes, move);
    if (isNew) words[at + ANSWERS] = number + 1;
    ring.keep(at, done, from, offset, startsAt - offset, bytes);
  }

  endAnswer(resource: AnswerInTrace, status: CompletionStatus, fault: FaultKind): void {
    resource.trace = undefined;
    this.#end(resource.traceBlock, status, fault);
  }

  /** The message begins with this packet. `packets`: 1, or 0 when the packet is refused. */
  #beginReceive(packet: Packet, from: PacketRing, number: number, msn: number, packets: number): number {
    if (this.stopped) return NO_BLOCK;
    const { ring } = this;
    const { lrhOffset, payloadOffset, payloadLengthBytes: length } = packet;
    const nowNs = this.#clock.now();
    if (packets > 0) notePacket(this.qp, ring.head, packet, length, RECEIVED);
    const index = ring.openWithPacket(nowNs, nowNs, packets, from, lrhOffset, payloadOffset - lrhOffset, length);
    describeReceived(ring.words, ring.slotOf(index), packet, number, msn, this.qp.attributes.remoteQpn);
    return index;
  }

  /** A packet behind the first one. Only the last one shows whether there is immediate data. */
  #placeNext({ state, packet, ring: from }: TracedRequest): void {
    const index = this.#message;
    const { ring } = this;
    if (!ring.has(index)) return;
    const { words } = ring;
    const at = ring.slotOf(index);
    const { lrhOffset, payloadOffset, payloadLengthBytes } = packet;
    const done = state.messageBytes;
    notePacket(this.qp, index, packet, payloadLengthBytes, RECEIVED);
    words[at + OPCODE] = messageOpcodes[packet.opcode];
    words[at + SEQUENCE] = state.wqeNumber;
    words[at + LAST_PSN] = packet.psn;
    words[at + PACKETS]++;
    words[at + LENGTH] = done + payloadLengthBytes;
    ring.keep(at, done, from, lrhOffset, payloadOffset - lrhOffset, payloadLengthBytes);
  }

  /**
   * `withPacket`: the message ended with its last packet, not now. `withLast`: it ends at the same
   * time as the one before.
   */
  #end(index: number, status: CompletionStatus, fault: FaultKind, withPacket = false, withLast = false): void {
    const { ring } = this;
    if (!withLast) ring.beginEnd();
    if (ring.has(index)) {
      if (withPacket) ring.endWithPacket(index, status, fault);
      else ring.end(index, status, fault);
      noteEnd(this.qp, index, status);
    }
    if (status === SUCCESS || status === FLUSHED) return;
    if (!this.settings.stopOnError || this.stopped) return;
    this.stopped = true;
    this.#failed = true;
    if (this.settings.byGuest) this.qp.owner.postAsynchronous(EventType.TRACE_STOPPED, this.qp, fault);
  }
}
