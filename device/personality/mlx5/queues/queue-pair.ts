// SPDX-License-Identifier: Apache-2.0
/**
 * A queue pair as commands move it through its states and query it. It keeps its context as bytes,
 * because transitions take over single fields (queue-pair-parameters.ts). Behind it are a queue
 * pair of the transport and its send queue.
 */
import { FaultObject, QpState } from '../../../../protocol/layout/gen/values.gen.ts';
import { getQpcFre, getQpcSt, getQpcUarPage, setQpcState } from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import { QpState as ContextState, QpService } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import type { SendQueue } from './send-queue.ts';

/** State in the context by state in the transport. */
const contextStates: Readonly<Record<QpState, ContextState>> = {
  [QpState.RESET]: ContextState.RESET,
  [QpState.INIT]: ContextState.INIT,
  [QpState.RTR]: ContextState.RTR,
  [QpState.RTS]: ContextState.RTS,
  [QpState.SQD]: ContextState.SQD,
  [QpState.SQE]: ContextState.SQE,
  [QpState.ERR]: ContextState.ERROR,
};

export class Mlx5QueuePair implements FaultSubject {
  readonly faultObject = FaultObject.QP;
  readonly context: Uint8Array;
  readonly view: DataView;
  /** The queue pair of the transport; its send queue, if it has one. */
  readonly qp: QueuePair;
  readonly sends: SendQueue | undefined;
  /** Called when it is gone: gives back what it used. */
  readonly release: () => void;

  constructor(context: Uint8Array, qp: QueuePair, sends: SendQueue | undefined, release: () => void) {
    this.context = context;
    this.view = new DataView(context.buffer);
    this.qp = qp;
    this.sends = sends;
    this.release = release;
  }

  get number(): number {
    return this.qp.number;
  }

  get owner(): QueuePair['owner'] {
    return this.qp.owner;
  }

  get service(): QpService {
    return getQpcSt(this.view, 0) as QpService;
  }

  /** The state of the QP itself: it may have failed since the last command. */
  get state(): ContextState {
    return contextStates[this.qp.state];
  }

  /** Writes the state into the context, as a query shows it. */
  noteState(): void {
    setQpcState(this.view, 0, this.state);
  }

  /** The UAR page whose doorbells act on it. */
  get uar(): number {
    return getQpcUarPage(this.view, 0);
  }

  /** The kernel may register memory by requests of the QP. */
  get registersMemory(): boolean {
    return this.isLocal || getQpcFre(this.view, 0) === 1;
  }

  /** A QP whose requests only change keys: it has no other end. */
  get isLocal(): boolean {
    return this.service === QpService.UMR;
  }
}
