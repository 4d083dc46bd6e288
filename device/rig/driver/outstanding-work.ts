// SPDX-License-Identifier: Apache-2.0
/**
 * The outstanding work of a driver, by QP, queue and sequence number. CQEs of several QPs arrive in
 * any order, and a faulty adapter may repeat one (docs/HAZARDS.md, hazard 35): each is looked up
 * here and counts once.
 */
import type { CompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';

/** The fields of a CQE that identify a work request. */
type WorkName = Pick<CompletionEntry, 'qpn' | 'receive' | 'queueSequence'>;

/** Outstanding work requests with an item each. */
export class OutstandingWork<T> {
  /** CQEs without an outstanding work request. */
  unknown = 0;
  protected readonly work = new Map<string, T>();

  get size(): number {
    return this.work.size;
  }

  add(name: WorkName, item: T): void {
    this.work.set(keyOf(name), item);
  }

  /** Removes and returns the work of a CQE; undefined, and counted, if there is none. */
  take(name: WorkName): T | undefined {
    const key = keyOf(name);
    const item = this.work.get(key);
    if (item === undefined) this.unknown++;
    else this.work.delete(key);
    return item;
  }
}

function keyOf({ qpn, receive, queueSequence }: WorkName): string {
  return `${qpn}:${receive}:${queueSequence}`;
}
