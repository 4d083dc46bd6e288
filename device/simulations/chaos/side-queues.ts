// SPDX-License-Identifier: Apache-2.0
/**
 * What the endpoints of one side may share: one CQ for everything, and one receive queue. Completions go to the endpoint whose QP they name; each entry of
 * the shared queue completes once, and none that the device has taken is lost.
 */
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import type { DriverCompletionQueue } from '../../hosts/in-process/driver/completion-queue.ts';
import type { DriverSharedReceiveQueue } from '../../hosts/in-process/driver/shared-receive-queue.ts';
import type { AdapterFixture, Buffer } from '../../test-support/adapter-fixture.ts';
import type { Plan } from './plan.ts';

export const GRH_BYTES = 40;
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

export class SideQueues {
  readonly cq: DriverCompletionQueue | undefined;
  readonly srq: SharedEntries | undefined;
  readonly #ends = new Map<number, CompletingEnd>();

  constructor(fixture: AdapterFixture, { sharedCq, sharedReceives, connections }: Plan) {
    this.cq = sharedCq ? fixture.createCompletionQueue({ entriesLog2: SHARED_CQ_LOG2 }) : undefined;
    const bytes = Math.max(...connections.map(({ largest }) => largest)) + GRH_BYTES;
    this.srq = sharedReceives ? new SharedEntries(fixture, bytes) : undefined;
  }

  add(end: CompletingEnd): void {
    this.#ends.set(end.qp.qpn, end);
  }

  /** Takes every completion there is. */
  reap(cq: DriverCompletionQueue): void {
    for (let entry = cq.poll(); entry !== undefined; entry = cq.poll()) {
      const end = this.#ends.get(entry.qpn);
      if (end === undefined) throw new Error(`A completion names QP ${entry.qpn}, which does not complete here`);
      if (entry.receive) end.receiver.reap(entry);
      else end.sender.reap(entry);
    }
  }

  /** When nothing goes on any more: a sentence about an entry that was taken and has not completed. */
  findLost(): string | undefined {
    const isCertain = [...this.#ends.values()].every(({ mayOverflow, isGone }) => !mayOverflow && !isGone);
    return isCertain ? this.srq?.findLost() : undefined;
  }
}

/**
 * A shared receive queue and what was posted to it. The device takes entries in order and reads each when it takes it, QPs complete them in any order: an
 * unreliable QP that lost the rest of a message may keep its entry for as long as no other message comes (IBTA 9.8.2.2), and must not stop the queue. So
 * every slot up to the newest entry that has completed may be filled again; a buffer, when its own entry has completed.
 */
export class SharedEntries {
  readonly queue: DriverSharedReceiveQueue;
  readonly #fixture: AdapterFixture;
  readonly #bytes: number;
  /** Buffer of each entry, until it completes, and buffers that no entry names. */
  readonly #posted: (Buffer | undefined)[] = [];
  readonly #free: Buffer[] = [];
  /** Entries known to have been taken, and those that have completed. */
  #taken = 0;
  #over = 0;

  constructor(fixture: AdapterFixture, bytes: number) {
    this.#fixture = fixture;
    this.#bytes = bytes;
    this.queue = fixture.driver.createSharedReceiveQueue({ pd: fixture.pd, entriesLog2: ENTRIES_LOG2 });
  }

  post(depth: number): void {
    while (this.#posted.length - this.#over < depth && this.#posted.length - this.#taken < ENTRIES) {
      const buffer = this.#free.pop() ?? this.#fixture.createBuffer(this.#bytes);
      buffer.bytes.fill(0);
      this.queue.postReceive([this.#fixture.sge(buffer)]);
      this.#posted.push(buffer);
    }
  }

  /** The buffer of an entry that completes; undefined when it was not posted or has completed before. Good until the next `post`. */
  complete(number: number): Buffer | undefined {
    const buffer = this.#posted[number];
    if (buffer === undefined) return undefined;
    this.#posted[number] = undefined;
    this.#free.push(buffer);
    this.#taken = Math.max(this.#taken, number + 1);
    this.#over++;
    return buffer;
  }

  findLost(): string | undefined {
    const { tables } = this.#fixture.machine.device;
    const taken = tables.sharedReceiveQueues.get(this.queue.srqn)?.ring.head;
    if (taken === this.#taken && taken === this.#over) return undefined;
    return `${taken} entries of the shared queue were taken, ${this.#over} completed, the last of them ${this.#taken - 1}`;
  }
}
