// SPDX-License-Identifier: Apache-2.0
/**
 * A machine whose adapters are observed, for stories of `vuhca trace show`: every QP is traced, and
 * time advances with every read of the clock. Used by trace-stories.test.ts.
 */

import { Fabric } from '../../../device/fabric/link/fabric.ts';
import type { Adapter } from '../../../device/hca/adapter/adapter.ts';
import { TraceObserver } from '../../../device/process/trace/trace-observer.ts';
import type { InProcessMachine } from '../../../device/rig/machine/machine.ts';
import { renderMessage } from '../trace/trace-screen.ts';

const TICK_NS = 10;
const SETTINGS = { blocksLog2: 4, snapLength: 8, stopOnError: false };

export class StoryStage {
  readonly observers: readonly TraceObserver[];
  readonly #cores: readonly Adapter[];

  constructor({ core, clock }: InProcessMachine) {
    this.#cores = core instanceof Fabric ? (core.nodes as Adapter[]) : [core as Adapter];
    this.observers = this.#cores.map(
      (adapter) =>
        new TraceObserver(adapter, () => {
          clock.advance(TICK_NS);
          return clock.now();
        }),
    );
  }

  /** Traces all existing QPs, except `untraced`, and begins the timelines. */
  begin(untraced: readonly number[] = []): void {
    for (const [place, observer] of this.observers.entries()) {
      this.#cores[place]?.tables.queuePairs.forEach((qp) => {
        if (!untraced.includes(qp.number)) observer.observe(qp, SETTINGS);
      });
      observer.startTimeline();
    }
  }

  /** The story of a block of QP `qpn` on the adapter with this index. */
  tell(qpn: number, index = 0, place = 0): string {
    const all = this.observers.map((observer, number) => observer.read(`adapter${number}`, 0));
    const [adapter] = all.slice(place);
    const message = adapter?.messages.find(({ block }) => block.qpn === qpn && block.index === index);
    if (adapter === undefined || message === undefined) throw new Error(`QP ${qpn} has no block ${index}`);
    return renderMessage({ adapter, message }, all);
  }
}
