// SPDX-License-Identifier: Apache-2.0
/**
 * The last queue pairs of an adapter that failed, as they were when they did (IBTA 10.3.1), for
 * `vuhca explain`: a program that has failed ends soon, and its queue pairs with it. They are the
 * host's: neither a guest nor a recording notices them. `ControlCommands` answers with them.
 */
import { qpStateName } from '../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import { FAILURES_KEPT } from '../../hca/queues/queue-pair-failure.ts';
import type { AnyAdapter } from '../../topology/node-kinds.ts';
import { type QueuePairReport, reportQueuePair } from './queue-pair-report.ts';

/** A queue pair when it failed; `state` is the one that it left. */
export interface FailedQueuePair extends QueuePairReport {
  readonly failure: NonNullable<QueuePairReport['failure']>;
  /** Time since its failure, ns. */
  readonly agoNs: number;
  /** State of the queue pair with this number today; absent when there is none. */
  readonly stateToday?: string;
}

type Kept = Omit<FailedQueuePair, 'agoNs' | 'stateToday'> & { readonly failedNs: number };

export class FailedQueuePairs {
  readonly #core: Pick<AnyAdapter, 'engine' | 'tables'>;
  readonly #nowNs: () => number;
  /** Oldest first. */
  readonly #kept: Kept[] = [];

  /** `nowNs`: the host's own clock, whose readings are in no recording. */
  constructor(core: Pick<AnyAdapter, 'engine' | 'tables'>, nowNs: () => number) {
    this.#core = core;
    this.#nowNs = nowNs;
    core.engine.life.onFailure = (qp) => this.#keep(qp);
  }

  /** Newest first. */
  list(): FailedQueuePair[] {
    const nowNs = this.#nowNs();
    return this.#kept.toReversed().map(({ failedNs, ...report }) => {
      const today = this.#core.tables.queuePairs.get(report.number);
      return { ...report, agoNs: nowNs - failedNs, ...(today && { stateToday: qpStateName(today.state) }) };
    });
  }

  #keep(qp: QueuePair): void {
    const report = reportQueuePair(qp);
    if (report.failure === undefined) return;
    this.#kept.push({ ...report, failure: report.failure, failedNs: this.#nowNs() });
    if (this.#kept.length > FAILURES_KEPT) this.#kept.splice(this.#kept.indexOf(this.#findNeedless()), 1);
  }

  /**
   * One of the function with most of them, so that no function can take the places of another.
   * Connections that software ends give way to those that failed.
   */
  #findNeedless(): Kept {
    const counts = new Map<number, number>();
    for (const { function: owner } of this.#kept) counts.set(owner, (counts.get(owner) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const crowded = this.#kept.filter(({ function: owner }) => counts.get(owner) === most);
    return (crowded.find(({ failure }) => failure.cause === 'software') ?? crowded[0]) as Kept;
  }
}
