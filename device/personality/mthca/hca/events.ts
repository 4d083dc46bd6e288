// SPDX-License-Identifier: Apache-2.0
/**
 * Events of the HCA: which EQ receives which kind (MAP_EQ), and the entries of commands and ports.
 * The command processor and the ports call it; entries of completions go to the EQ of their CQ.
 */
import {
  COMMAND_EVENT_SIZE,
  setCommandEventKind,
  setCommandEventOutParameterHigh,
  setCommandEventOutParameterLow,
  setCommandEventStatus,
  setCommandEventToken,
} from '../../../../protocol/mthca/gen/command-event.gen.ts';
import {
  setObjectEventKind,
  setObjectEventNumber,
  setObjectEventSyndrome,
} from '../../../../protocol/mthca/gen/object-event.gen.ts';
import {
  setPortChangeEventKind,
  setPortChangeEventPort,
  setPortChangeEventSubtype,
} from '../../../../protocol/mthca/gen/port-change-event.gen.ts';
import {
  type CommandStatus,
  ContextStatus,
  type CqErrorSyndrome,
  EventKind,
  PortEvent,
} from '../../../../protocol/mthca/gen/values.gen.ts';
import type { ContextTable } from '../memory/context-table.ts';
import type { MthcaEventQueue } from '../queues/event-queue.ts';

/** Kinds of events: the lower half of the mask of MAP_EQ. */
export const EVENT_KINDS = 32;

const NO_QUEUE = -1;

export class Events {
  /** Events that no EQ took. */
  lost = 0;
  readonly #queues: ContextTable<MthcaEventQueue>;
  /** Number of the EQ by kind. */
  readonly #map = new Int32Array(EVENT_KINDS).fill(NO_QUEUE);
  readonly #entry = new Uint8Array(COMMAND_EVENT_SIZE);
  readonly #view = new DataView(this.#entry.buffer);

  constructor(queues: ContextTable<MthcaEventQueue>) {
    this.#queues = queues;
  }

  reset(): void {
    this.#map.fill(NO_QUEUE);
    this.lost = 0;
  }

  map(kind: number, eqn: number): void {
    this.#map[kind] = eqn;
  }

  unmap(kind: number): void {
    this.#map[kind] = NO_QUEUE;
  }

  /** An EQ goes back to software: events that were mapped to it are lost. */
  unmapQueue(eqn: number): void {
    for (let kind = 0; kind < EVENT_KINDS; kind++) if (this.#map[kind] === eqn) this.#map[kind] = NO_QUEUE;
  }

  postCommand(token: number, status: CommandStatus, resultHigh: number, resultLow: number): void {
    const view = this.#begin();
    setCommandEventKind(view, 0, EventKind.COMMAND);
    setCommandEventToken(view, 0, token);
    setCommandEventStatus(view, 0, status);
    setCommandEventOutParameterHigh(view, 0, resultHigh);
    setCommandEventOutParameterLow(view, 0, resultLow);
    this.#post(EventKind.COMMAND);
  }

  postPort(port: number, isActive: boolean): void {
    const view = this.#begin();
    setPortChangeEventKind(view, 0, EventKind.PORT_CHANGE);
    setPortChangeEventSubtype(view, 0, isActive ? PortEvent.ACTIVE : PortEvent.DOWN);
    setPortChangeEventPort(view, 0, port);
    this.#post(EventKind.PORT_CHANGE);
  }

  postCompletionError(cqn: number, syndrome: CqErrorSyndrome): void {
    const view = this.#begin();
    setObjectEventKind(view, 0, EventKind.CQ_ERROR);
    setObjectEventNumber(view, 0, cqn);
    setObjectEventSyndrome(view, 0, syndrome);
    this.#post(EventKind.CQ_ERROR);
  }

  /** An event of a QP or an SRQ. */
  postObject(kind: EventKind, number: number): void {
    const view = this.#begin();
    setObjectEventKind(view, 0, kind);
    setObjectEventNumber(view, 0, number);
    this.#post(kind);
  }

  #begin(): DataView {
    this.#entry.fill(0);
    return this.#view;
  }

  #post(kind: EventKind): void {
    const queue = this.#queueOf(kind);
    if (queue === undefined) {
      this.lost++;
      return;
    }
    const before = queue.status;
    if (queue.post(this.#entry)) return;
    this.lost++;
    if (queue.status !== before && queue.status === ContextStatus.OVERFLOW) this.#postOverflow(queue);
  }

  /** A queue that was full is reported by another one only. */
  #postOverflow(full: MthcaEventQueue): void {
    const queue = this.#queueOf(EventKind.EQ_OVERFLOW);
    if (queue === undefined || queue === full) return;
    const view = this.#begin();
    setObjectEventKind(view, 0, EventKind.EQ_OVERFLOW);
    setObjectEventNumber(view, 0, full.number);
    queue.post(this.#entry);
  }

  #queueOf(kind: EventKind): MthcaEventQueue | undefined {
    const eqn = this.#map[kind];
    return eqn === NO_QUEUE ? undefined : this.#queues.get(eqn);
  }
}
