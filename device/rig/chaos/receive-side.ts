// SPDX-License-Identifier: Apache-2.0
/**
 * The receiving half of an endpoint: posts receive entries, and checks each completion against the
 * messages of the other end: in order and once on a reliable connection (IBTA 9.7), whole
 * otherwise (IBTA 9.8). Called by `Endpoint` and `SideQueues`.
 */
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { RECEIVE_ENTRY_SEQUENCE_MASK } from '../../../protocol/layout/gen/receive-entry.gen.ts';
import {
  CompletionStatus,
  completionStatusNames,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { AdapterFixture, Buffer } from '../fixtures/adapter-fixture.ts';
import type { EndState } from './end-state.ts';
import { findDifference } from './find-difference.ts';
import type { Operation } from './operation.ts';
import type { SharedEntries } from './side-queues.ts';
import type { Trace } from './trace.ts';

const { SUCCESS, FLUSHED, LOCAL_LENGTH_ERROR } = CompletionStatus;

/** The end to which the receiving half belongs. */
export interface ReceivingEnd extends EndState {
  readonly side: { readonly fixture: AdapterFixture };
  /** The end that sends. */
  readonly other: { readonly mayFail: boolean; readonly sender: { readonly messages: readonly Operation[] } };
}

/** Receive entries of an end and their completions. */
export class ReceiveSide {
  /** Messages received without error. */
  received = 0;
  /** Entries completed, in success or error. */
  completed = 0;
  readonly #end: ReceivingEnd;
  readonly #shared: SharedEntries | undefined;
  readonly #entries: number;
  readonly #trace: Trace;
  readonly #posted: Buffer[] = [];
  /** Number of the last shared entry: a QP takes them in order. */
  #last = -1;

  constructor(end: ReceivingEnd, entriesLog2: number, shared: SharedEntries | undefined, trace: Trace) {
    this.#end = end;
    this.#shared = shared;
    this.#entries = 1 << entriesLog2;
    this.#trace = trace;
  }

  /** Outstanding entries of the QP's own receive queue. */
  get pending(): number {
    return this.#shared === undefined ? this.#posted.length - this.completed : 0;
  }

  /** After RESET: the QP's own entries are gone, and their numbers restart at 0. */
  restart(): void {
    this.received = 0;
    if (this.#shared !== undefined) return;
    this.completed = 0;
    this.#posted.length = 0;
  }

  /**
   * Posts entries until `depth` are outstanding. They complete in order, so the queue needs only as
   * many buffers as it has slots.
   */
  post(depth: number): void {
    if (this.#shared !== undefined) return this.#shared.post(depth);
    const end = this.#end;
    const { fixture } = end.side;
    while (this.pending < Math.min(depth, this.#entries)) {
      const number = this.#posted.length;
      const buffer = this.#posted[number - this.#entries] ?? fixture.createBuffer(end.plan.largest + GRH_SIZE);
      buffer.bytes.fill(0);
      end.qp.postReceive([fixture.sge(buffer)]);
      this.#posted.push(buffer);
      this.#trace.add(end.nowNs, `${end.name} posts receive`, number);
    }
  }

  /** Checks one completion. */
  reap(entry: CompletionEntry): void {
    const end = this.#end;
    const { status, queueSequence: number } = entry;
    this.#trace.add(end.nowNs, `${end.name} receive ${completionStatusNames[status]}`, number);
    const buffer = this.#take(number);
    if (buffer === undefined) return end.fail(`completion of receive ${number}, which was not posted`);
    if (status !== SUCCESS) {
      end.expect(status !== LOCAL_LENGTH_ERROR, 'a receive entry was too short');
      // RESET flushes the entry of a message in progress back to the shared queue (IBTA 10.2.9).
      const isReturned = end.isDead && status === FLUSHED && this.#shared !== undefined;
      const mayFail = end.failed || end.mayFail || end.mayOverflow || end.other.mayFail || isReturned;
      return end.expect(mayFail, `receive ${number} ends with ${completionStatusNames[status]}`);
    }
    end.expect(this.#matches(entry, buffer), `receive ${number} is wrong`);
    this.received++;
  }

  #take(number: number): Buffer | undefined {
    const end = this.#end;
    const expected = this.completed++;
    if (this.#shared !== undefined) {
      end.expect(number > this.#last, `completion of receive ${number} behind ${this.#last}`);
      this.#last = number;
      return this.#shared.complete(number);
    }
    end.expect((expected & RECEIVE_ENTRY_SEQUENCE_MASK) === number, `completion of receive ${number}, not ${expected}`);
    return this.#posted[expected];
  }

  /** Reliable: the next message. Unreliable: any message that was sent. */
  #matches(entry: CompletionEntry, buffer: Buffer): boolean {
    const { other, isReliable, plan } = this.#end;
    const { messages } = other.sender;
    const next = messages[this.received];
    if (isReliable) return next !== undefined && matches(next, entry, buffer.bytes, 0);
    const skip = plan.serviceType === ServiceType.UD ? GRH_SIZE : 0;
    return messages.some((message) => matches(message, entry, buffer.bytes, skip));
  }
}

/** The completion and the buffer, after its first `skip` bytes, are those of `message`. */
function matches(message: Operation, entry: CompletionEntry, bytes: Uint8Array, skip: number): boolean {
  const { payload, immediate, invalidates, request } = message;
  if (payload === undefined || entry.byteLength !== payload.length + skip) return false;
  if (entry.hasImmediate !== Number(immediate !== undefined)) return false;
  if (entry.hasInvalidate !== Number(invalidates !== undefined)) return false;
  const carried = immediate ?? invalidates;
  if (carried !== undefined && entry.immediate !== carried) return false;
  if (request.opcode === SendOpcode.RDMA_WRITE_IMMEDIATE) return true;
  return findDifference(bytes, payload, skip) < 0;
}
