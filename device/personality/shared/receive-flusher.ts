// SPDX-License-Identifier: Apache-2.0
/**
 * Flushes receives that software posts to a QP in ERR (IBTA 10.3.1): drivers wait for such a flush
 * to know that a queue is empty. There is no receive doorbell, so the doorbell records of these QPs
 * are read from time to time, ever more rarely while nothing comes. It stands before the life cycle
 * of the transport, to learn which QPs have failed.
 */
import { type FaultKind, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair, QueuePairLife } from '../../hca/queues/queue-pair.ts';
import type { AdapterClock } from '../../host.ts';

/** First and longest time between two looks. */
const FIRST_NS = 100_000;
const LONGEST_NS = 100_000_000;

interface Watch {
  nextNs: number;
  intervalNs: number;
}

export class ReceiveFlusher implements QueuePairLife {
  readonly #life: QueuePairLife;
  readonly #clock: AdapterClock;
  readonly #watched = new Map<QueuePair, Watch>();

  constructor(life: QueuePairLife, clock: AdapterClock) {
    this.#life = life;
    this.#clock = clock;
  }

  /** A QP may be in ERR. Those of an SRQ have nothing to flush. */
  watch(qp: QueuePair): void {
    if (qp.state !== QpState.ERR || qp.srq !== undefined || this.#watched.has(qp)) return;
    this.#watched.set(qp, { nextNs: this.#clock.now() + FIRST_NS, intervalNs: FIRST_NS });
  }

  forget(qp: QueuePair): void {
    this.#watched.delete(qp);
  }

  /** Looks at the QPs whose time has come, and sets the alarm of the next one. */
  run(): void {
    if (this.#watched.size === 0) return;
    const now = this.#clock.now();
    let nextNs = Number.POSITIVE_INFINITY;
    for (const [qp, watch] of this.#watched) {
      if (watch.nextNs <= now) this.#look(qp, watch, now);
      nextNs = Math.min(nextNs, watch.nextNs);
    }
    this.#clock.setAlarm(nextNs);
  }

  noteFailure(qp: QueuePair): void {
    this.#life.noteFailure(qp);
  }

  changeState(qp: QueuePair, next: QpState, notifyWhenDrained: boolean): void {
    this.#life.changeState(qp, next, notifyWhenDrained);
    this.watch(qp);
  }

  moveToError(qp: QueuePair): void {
    this.#life.moveToError(qp);
    this.watch(qp);
  }

  failSends(qp: QueuePair): void {
    this.#life.failSends(qp);
    this.watch(qp);
  }

  fail(qp: QueuePair, fault: FaultKind): void {
    this.#life.fail(qp, fault);
    this.watch(qp);
  }

  flushReceives(qp: QueuePair): void {
    this.#life.flushReceives(qp);
  }

  noteDrained(qp: QueuePair): void {
    this.#life.noteDrained(qp);
  }

  destroy(qp: QueuePair): void {
    this.forget(qp);
    this.#life.destroy(qp);
  }

  #look(qp: QueuePair, watch: Watch, now: number): void {
    const { head } = qp.receiveSource;
    this.#life.flushReceives(qp);
    watch.intervalNs = qp.receiveSource.head === head ? Math.min(watch.intervalNs * 2, LONGEST_NS) : FIRST_NS;
    watch.nextNs = now + watch.intervalNs;
  }
}
