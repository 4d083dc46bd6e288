// SPDX-License-Identifier: Apache-2.0
/**
 * The queues that the endpoints of one side may share: one CQ, and one shared receive queue (IBTA
 * 10.2.9). Completions go to the endpoint whose QP they name. Each entry of the shared queue
 * completes once, and no entry that the adapter has taken is lost. Built by `run.ts`.
 */
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import type { DriverCompletionQueue } from '../driver/completion-queue.ts';
import type { DriverSharedReceiveQueue } from '../driver/shared-receive-queue.ts';
import type { AdapterFixture, Buffer } from '../fixtures/adapter-fixture.ts';
import type { Plan } from './plan.ts';

const SHARED_CQ_LOG2 = 9;
const ENTRIES_LOG2 = 4;
const ENTRIES = 1 << ENTRIES_LOG2;

/** An end whose completions arrive in a CQ of this side. */
export interface CompletingEnd {
  readonly qp: { readonly qpn: number };
  readonly mayOverflow: boolean;
  readonly isGone: boolean;
  readonly sender: { reap(entry: CompletionEntry): void };
  readonly receiver: { reap(entry: CompletionEntry): void };
}

/** The shared queues of one side. */
export class SideQueues {
  readonly cq: DriverCompletionQueue | undefined;
  readonly srq: SharedEntries | undefined;
  readonly #ends = new Map<number, CompletingEnd>();

  constructor(fixture: AdapterFixture, { sharedCq, sharedReceives, connections }: Plan) {
    this.cq = sharedCq ? fixture.createCompletionQueue({ entriesLog2: SHARED_CQ_LOG2 }) : undefined;
    const bytes = Math.max(...connections.map(({ largest }) => largest)) + GRH_SIZE;
    this.srq = sharedReceives ? new SharedEntries(fixture, bytes) : undefined;
  }

  add(end: CompletingEnd): void {
    this.#ends.set(end.qp.qpn, end);
  }

  /** Takes all completions, and hands each to its endpoint. */
  reap(cq: DriverCompletionQueue): void {
    for (let entry = cq.poll(); entry !== undefined; entry = cq.poll()) {
      const end = this.#ends.get(entry.qpn);
      if (end === undefined) throw new Error(`A completion names QP ${entry.qpn}, which does not complete here`);
      if (entry.receive) end.receiver.reap(entry);
      else end.sender.reap(entry);
    }
  }

  /** At rest: describes an entry that was taken and has not completed; undefined if none. */
  findLost(): string | undefined {
    const isCertain = [...this.#ends.values()].every(({ mayOverflow, isGone }) => !mayOverflow && !isGone);
    return isCertain ? this.srq?.findLost() : undefined;
  }
}

/**
 * A shared receive queue and the entries posted to it. The adapter takes and reads entries in
 * order; QPs complete them in any order. An unreliable QP that lost the rest of a message may keep
 * its entry until another message arrives (IBTA 9.8.2.2), and must not stop the queue. So software
 * may fill every slot up to the newest completed entry again, but reuse a buffer only when its own
 * entry has completed.
 */
export class SharedEntries {
  readonly queue: DriverSharedReceiveQueue;
  readonly #fixture: AdapterFixture;
  readonly #bytes: number;
  /** Buffer of each entry until it completes. */
  readonly #posted: (Buffer | undefined)[] = [];
  readonly #free: Buffer[] = [];
  /** Entries known to be taken. */
  #taken = 0;
  #completed = 0;

  constructor(fixture: AdapterFixture, bytes: number) {
    this.#fixture = fixture;
    this.#bytes = bytes;
    this.queue = fixture.driver.createSharedReceiveQueue({ pd: fixture.pd, entriesLog2: ENTRIES_LOG2 });
  }

  /** Posts entries until `depth` are outstanding or the queue is full. */
  post(depth: number): void {
    while (this.#posted.length - this.#completed < depth && this.#posted.length - this.#taken < ENTRIES) {
      const buffer = this.#free.pop() ?? this.#fixture.createBuffer(this.#bytes);
      buffer.bytes.fill(0);
      this.queue.postReceive([this.#fixture.sge(buffer)]);
      this.#posted.push(buffer);
    }
  }

  /**
   * Notes that an entry completes. Returns its buffer, valid until the next `post`; undefined if
   * the entry was not posted or has completed before.
   */
  complete(number: number): Buffer | undefined {
    const buffer = this.#posted[number];
    if (buffer === undefined) return undefined;
    this.#posted[number] = undefined;
    this.#free.push(buffer);
    this.#taken = Math.max(this.#taken, number + 1);
    this.#completed++;
    return buffer;
  }

  /** Describes entries that the adapter took and that did not complete; undefined if none. */
  findLost(): string | undefined {
    const { tables } = this.#fixture.machine.device;
    const taken = tables.sharedReceiveQueues.get(this.queue.srqn)?.ring.head;
    if (taken === this.#taken && taken === this.#completed) return undefined;
    return `${taken} entries of the shared queue were taken, ${this.#completed} completed, the last of them ${this.#taken - 1}`;
  }
}
