// SPDX-License-Identifier: Apache-2.0
/**
 * A queue pair as commands move it through its states and query it. It keeps its context as bytes,
 * because transitions take over single fields (queue-pair-parameters.ts). The data path is not
 * connected yet (docs/PERSONALITIES.md).
 */

import { FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import {
  getQpContextHasSrq,
  getQpContextReceiveCqn,
  getQpContextSendCqn,
  getQpContextSrqn,
  getQpContextState,
  QP_CONTEXT_SIZE,
  setQpContextLocalQpn,
  setQpContextState,
} from '../../../protocol/mthca/gen/qp-context.gen.ts';
import type { QpContextState } from '../../../protocol/mthca/gen/values.gen.ts';
import type { FaultSubject } from '../../function/fault-log.ts';
import type { CompletionQueue } from './completion-queue.ts';
import type { ContextTable } from './context-table.ts';
import type { SharedReceiveQueue } from './shared-receive-queue.ts';

const COUNTER_MASK = 0xffff;

/** Tables of the queues that a QP uses. */
export interface QueueTables {
  readonly completionQueues: ContextTable<CompletionQueue>;
  readonly sharedReceiveQueues: ContextTable<SharedReceiveQueue>;
}

/** Sends of one doorbell that are not done, and the size of the oldest in units of 16 bytes. */
export interface WaitingSends {
  left: number;
  size: number;
}

export class QueuePair implements FaultSubject {
  readonly faultObject = FaultObject.QP;
  readonly number: number;
  readonly context: Uint8Array;
  readonly view: DataView;
  /** Counters of 16 bits: sends that doorbells have named, sends that are done, receives taken. */
  posted = 0;
  sent = 0;
  received = 0;
  readonly doorbells: WaitingSends[] = [];

  /** Takes over a context, which is checked; `source` holds it at `offset`. */
  constructor(number: number, source: Uint8Array, offset: number) {
    this.number = number;
    this.context = source.slice(offset, offset + QP_CONTEXT_SIZE);
    this.view = new DataView(this.context.buffer);
    setQpContextLocalQpn(this.view, 0, number);
  }

  get state(): QpContextState {
    return getQpContextState(this.view, 0) as QpContextState;
  }

  set state(state: QpContextState) {
    setQpContextState(this.view, 0, state);
  }

  /** The oldest send is done. `nextSize`: that of the one behind it. */
  takeSend(nextSize: number): void {
    this.sent = (this.sent + 1) & COUNTER_MASK;
    const [oldest] = this.doorbells;
    oldest.left--;
    oldest.size = nextSize;
    if (oldest.left === 0) this.doorbells.shift();
  }

  /** Counts the QP as user of its queues (`change` 1), or no longer (-1). */
  countUse(tables: QueueTables, change: number): void {
    const { view } = this;
    for (const cqn of [getQpContextSendCqn(view, 0), getQpContextReceiveCqn(view, 0)]) {
      const queue = tables.completionQueues.get(cqn);
      if (queue !== undefined) queue.users += change;
    }
    const srq =
      getQpContextHasSrq(view, 0) === 1 ? tables.sharedReceiveQueues.get(getQpContextSrqn(view, 0)) : undefined;
    if (srq !== undefined) srq.users += change;
  }
}
