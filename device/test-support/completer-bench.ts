// SPDX-License-Identifier: Apache-2.0
/**
 * The completer alone, with a connection whose records were all sent. Its parts note what they are
 * told; tests give it acknowledgements, NAKs and responses (IBTA 9.7.5.1).
 */
import { setAethMsn, setAethSyndromeKind, setAethSyndromeValue } from '../../protocol/infiniband/gen/aeth.gen.ts';
import { AethKind, BthOpcode, NakCode } from '../../protocol/infiniband/gen/values.gen.ts';
import { opcodeFlags } from '../../protocol/infiniband/opcodes.ts';
import { newParsedPacket } from '../../protocol/infiniband/packet.ts';
import { CREDITS_UNLIMITED } from '../../protocol/infiniband/syndrome.ts';
import type { WordBlock } from '../host.ts';
import { PacketRing } from '../port/packet-ring.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { Completer } from '../transport/completer.ts';
import type { Requester } from '../transport/requester.ts';
import { RequestKind } from '../transport/requester-opcodes.ts';
import type { RequesterPages } from '../transport/requester-pages.ts';
import { RequesterState } from '../transport/requester-state.ts';
import type { RetryTimers } from '../transport/retry-timers.ts';
import { SendRecord } from '../transport/send-record.ts';

export const MTU_BYTES = 256;
const NOW_NS = 1_000_000;
export const TIMEOUT = 10;
export const ATOMIC_OFFSET = 16;

/** A connection whose records were all sent, from PSN 0 on. */
export class CompleterBench {
  readonly state: RequesterState;
  readonly completer: Completer;
  readonly qp: QueuePair;
  readonly records: SendRecord[];
  /** Calls of the parts, in order; times of the timer. */
  readonly calls: string[] = [];
  readonly failures: number[][] = [];
  readonly deadlines: number[] = [];
  /** Bytes of responses, by their place in the message, and the bytes of the last one. */
  readonly scattered: number[][] = [];
  source: Uint8Array = new Uint8Array(0);
  isWritable = true;
  /** Payload of packets that are sent again is not here yet. */
  isReading = false;
  /** Called by `completeDone`. */
  onDone = (): void => {};
  readonly ring = new PacketRing(1);

  constructor(kinds: readonly (readonly [RequestKind, number])[], retryCount = 2) {
    const attributes = { timeout: TIMEOUT, retryCount, rnrRetry: 1 };
    const qp = { number: 1, owner: {}, isRequesting: true, destroyed: false, pathMtuBytes: MTU_BYTES, attributes };
    this.qp = qp as unknown as QueuePair;
    this.state = new RequesterState(this.qp);
    this.state.start(0);
    this.records = kinds.map(([kind, psns]) => this.#add(kind, psns));
    this.state.cursor = undefined;
    const timers = {
      deadlineNs: 0,
      set: () => this.deadlines.push(timers.deadlineNs - NOW_NS),
      turnOff: () => this.calls.push('off'),
    };
    this.completer = new Completer({
      requester: {
        wake: () => this.calls.push('wake'),
        rewind: (state: RequesterState, psn: number) => state.rewind(psn),
        defersTimeout: () => this.isReading,
      } as unknown as Requester,
      timers: timers as unknown as RetryTimers,
      now: () => NOW_NS,
      completeDone: () => {
        while (this.state.oldest?.done) this.state.shift();
        this.onDone();
      },
      failOldest: (_qp, status, fault, psn = -1) => this.failures.push([status, fault, psn]),
      resume: () => this.calls.push('resume'),
      returnUnbegun: () => this.calls.push('return'),
      pages: { awaitResponse: () => false } as unknown as RequesterPages,
    });
  }

  #add(kind: RequestKind, psns: number): SendRecord {
    const { state } = this;
    const record = new SendRecord();
    const scatter = (_qp: QueuePair, done: number, from: WordBlock, at: number, length: number): boolean => {
      this.scattered.push([done, length]);
      this.source = from.bytes.subarray(at, at + length);
      return this.isWritable;
    };
    const messageLength = kind === RequestKind.ATOMIC ? 8 : psns * MTU_BYTES - 6;
    Object.assign(record, { kind, messageLength, list: { scatter } });
    state.append(record);
    record.number(state.nextPsn, psns);
    record.packetsSent = psns;
    state.nextPsn += psns;
    state.sendSequence++;
    if (record.isFetch) state.readsOutstanding++;
    state.noteSent(record.firstPsn, record.lastPsn);
    return record;
  }

  #receive(opcode: BthOpcode, psn: number, aethOffset: number, payloadLengthBytes: number): boolean {
    const packet = { ...newParsedPacket(), opcode, flags: opcodeFlags[opcode], psn, aethOffset, payloadLengthBytes };
    return this.completer.receive(this.state, this.ring, { ...packet, atomicAckEthOffset: ATOMIC_OFFSET });
  }

  /** An acknowledgement with a syndrome. Returns whether it was taken. */
  answer(psn: number, kind: number, value: number, msn = 0): boolean {
    setAethSyndromeKind(this.ring.view, 0, kind);
    setAethSyndromeValue(this.ring.view, 0, value);
    setAethMsn(this.ring.view, 0, msn);
    return this.#receive(BthOpcode.RC_ACKNOWLEDGE, psn, 0, 0);
  }

  ack(psn: number, value: number = CREDITS_UNLIMITED, msn = 0): boolean {
    return this.answer(psn, AethKind.ACK, value, msn);
  }

  nak(psn: number, code: NakCode = NakCode.PSN_SEQUENCE_ERROR): boolean {
    return this.answer(psn, AethKind.NAK, code);
  }

  rnr(psn: number, timer = 5): boolean {
    return this.answer(psn, AethKind.RNR_NAK, timer);
  }

  /** A READ response or an atomic result; MIDDLE carries no AETH. */
  respond(opcode: BthOpcode, psn: number, lengthBytes = MTU_BYTES, syndrome: number = AethKind.ACK): boolean {
    setAethSyndromeKind(this.ring.view, 0, syndrome);
    setAethSyndromeValue(this.ring.view, 0, 3);
    return this.#receive(opcode, psn, opcode === BthOpcode.RC_RDMA_READ_RESPONSE_MIDDLE ? -1 : 0, lengthBytes);
  }

  get done(): boolean[] {
    return this.records.map(({ done }) => done);
  }
}
