// SPDX-License-Identifier: Apache-2.0
/**
 * What the endpoints of one side may share: one CQ for everything, and one receive queue. Completions go to the endpoint whose QP they name; each entry of
 * the shared queue completes once, and none that the device has taken is lost.
 */
import type { Adapter } from '../../adapter.ts';
import type { DriverCompletionQueue } from '../../hosts/in-process/driver/completion-queue.ts';
import type { DriverSharedReceiveQueue } from '../../hosts/in-process/driver/shared-receive-queue.ts';
import type { Bench, Buffer } from '../bench.ts';
import type { Endpoint } from './endpoint.ts';
import type { Plan } from './plan.ts';

export const GRH_BYTES = 40;
const SHARED_CQ_LOG2 = 9;
const ENTRIES_LOG2 = 4;
const ENTRIES = 1 << ENTRIES_LOG2;

export class SideQueues {
  readonly cq: DriverCompletionQueue | undefined;
  readonly srq: SharedEntries | undefined;
  readonly #ends = new Map<number, Endpoint>();

  constructor(bench: Bench, { sharedCq, sharedReceives, connections }: Plan) {
    this.cq = sharedCq ? bench.createCompletionQueue({ entriesLog2: SHARED_CQ_LOG2 }) : undefined;
    const bytes = Math.max(...connections.map(({ largest }) => largest)) + GRH_BYTES;
    this.srq = sharedReceives ? new SharedEntries(bench, bytes) : undefined;
  }

  add(end: Endpoint): void {
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
    const isCertain = [...this.#ends.values()].every(({ isCramped, isGone }) => !isCramped && !isGone);
    return isCertain ? this.srq?.findLost() : undefined;
  }
}

/** A shared receive queue and what was posted to it. */
export class SharedEntries {
  readonly queue: DriverSharedReceiveQueue;
  readonly #bench: Bench;
  readonly #bytes: number;
  readonly #posted: Buffer[] = [];
  readonly #over: boolean[] = [];
  /** Number of the oldest entry that has not completed; its slot is in use. */
  #oldest = 0;
  #overCount = 0;

  constructor(bench: Bench, bytes: number) {
    this.#bench = bench;
    this.#bytes = bytes;
    this.queue = bench.driver.createSharedReceiveQueue({ pd: bench.pd, entriesLog2: ENTRIES_LOG2 });
  }

  post(depth: number): void {
    while (this.#posted.length - this.#overCount < depth && this.#posted.length - this.#oldest < ENTRIES) {
      const buffer = this.#posted[this.#posted.length - ENTRIES] ?? this.#bench.createBuffer(this.#bytes);
      buffer.bytes.fill(0);
      this.queue.postReceive([this.#bench.sge(buffer)]);
      this.#posted.push(buffer);
    }
  }

  /** The buffer of an entry that completes; undefined when it was not posted or has completed before. */
  complete(number: number): Buffer | undefined {
    if (this.#over[number]) return undefined;
    this.#over[number] = true;
    this.#overCount++;
    while (this.#over[this.#oldest]) this.#oldest++;
    return this.#posted[number];
  }

  findLost(): string | undefined {
    const { resources } = this.#bench.machine.core as Adapter;
    const taken = resources.sharedReceiveQueues.get(this.queue.srqn)?.ring.head;
    if (taken === this.#oldest && taken === this.#overCount) return undefined;
    return `${taken} entries of the shared queue were taken, ${this.#overCount} completed, the first ${this.#oldest} without a gap`;
  }
}
