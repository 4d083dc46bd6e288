// SPDX-License-Identifier: Apache-2.0
/**
 * A queue pair as commands move it through its states and query it. It keeps its context as bytes,
 * because transitions take over single fields (queue-pair-parameters.ts). Behind it is a queue pair
 * of the transport, or `RawQueuePairs` for service MLX.
 */

import { FaultObject, QpState } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  getQpContextReceiveCqn,
  getQpContextSendCqn,
  getQpContextService,
  getQpContextState,
  QP_CONTEXT_SIZE,
  setQpContextLocalQpn,
  setQpContextState,
} from '../../../../protocol/mthca/gen/qp-context.gen.ts';
import { QpContextState, QpService } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { COUNTER_MASK } from '../../shared/receive-queue.ts';
import type { ContextTable } from '../memory/context-table.ts';
import type { MthcaCompletionQueue } from './completion-queue.ts';
import type { SendQueue } from './send-queue.ts';

/** State in the context by state in the transport. */
const contextStates: Readonly<Record<QpState, QpContextState>> = {
  [QpState.RESET]: QpContextState.RESET,
  [QpState.INIT]: QpContextState.INIT,
  [QpState.RTR]: QpContextState.RTR,
  [QpState.RTS]: QpContextState.RTS,
  [QpState.SQD]: QpContextState.SQD,
  [QpState.SQE]: QpContextState.SQE,
  [QpState.ERR]: QpContextState.ERR,
};

/** The CQs that a QP uses. */
interface QueueTables {
  readonly completionQueues: ContextTable<MthcaCompletionQueue>;
}

/** The queue pair of the transport, and its send queue. */
export interface DataParts {
  readonly qp: QueuePair;
  readonly sends: SendQueue;
}

/** Sends of one doorbell that are not done, and the size of the oldest in units of 16 bytes. */
interface WaitingSends {
  left: number;
  size: number;
}

export class MthcaQueuePair implements FaultSubject {
  readonly faultObject = FaultObject.QP;
  readonly number: number;
  readonly context: Uint8Array;
  readonly view: DataView;
  /** Counters of 16 bits: sends that doorbells have named, sends that are done, receives taken. */
  posted = 0;
  sent = 0;
  received = 0;
  readonly doorbells: WaitingSends[] = [];
  /** The parts of a QP that the transport works for. */
  data: DataParts | undefined = undefined;

  /** Takes over a context, which is checked; `source` holds it at `offset`. */
  constructor(number: number, source: Uint8Array, offset: number) {
    this.number = number;
    this.context = source.slice(offset, offset + QP_CONTEXT_SIZE);
    this.view = new DataView(this.context.buffer);
    setQpContextLocalQpn(this.view, 0, number);
  }

  /** QP0 and QP1: software builds the headers of their packets. */
  get isRaw(): boolean {
    return getQpContextService(this.view, 0) === QpService.MLX;
  }

  /** The state of the QP itself: it may have failed since the last command. */
  get state(): QpContextState {
    const { data } = this;
    return data === undefined ? (getQpContextState(this.view, 0) as QpContextState) : contextStateOf(data.qp);
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
  }
}

function contextStateOf({ state, inFlight }: QueuePair): QpContextState {
  return state === QpState.SQD && inFlight > 0 ? QpContextState.DRAINING : contextStates[state];
}
