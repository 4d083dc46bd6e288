// SPDX-License-Identifier: Apache-2.0
/**
 * What a driver has posted and not seen completed, by QP, queue and sequence number: completions of several QPs come in any order, and an adapter in trouble may report
 * one twice (real-hardware 5.3, hazard 35), so each is looked up here and counts once.
 */
import type { CompletionEntry } from '../../../../protocol/layout/gen/completion-entry.gen.ts';

/** Which piece of work a completion is about. */
type WorkName = Pick<CompletionEntry, 'qpn' | 'receive' | 'queueSequence'>;

export class OutstandingWork<T> {
  /** Completions of nothing that is outstanding. */
  unknown = 0;
  protected readonly work = new Map<string, T>();

  get size(): number {
    return this.work.size;
  }

  add(name: WorkName, item: T): void {
    this.work.set(keyOf(name), item);
  }

  /** The work a completion is about, which is over with it; undefined, and counted, when there is none. */
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
