// SPDX-License-Identifier: Apache-2.0
/**
 * A source whose states the test makes, with the requests that it got. Tests of the server use it.
 */
import { once } from 'node:events';
import type { FabricReport } from '../../../../device/process/reports/fabric-report.ts';
import type { RouteReport } from '../../../../device/process/reports/route-report.ts';
import type {
  Act,
  ActAnswer,
  FindQuery,
  Found,
  RouteQuery,
  StoryList,
  StoryQuery,
  ViewQuery,
  ViewSession,
  ViewState,
} from '../view-protocol.ts';
import { type SearchWatch, ViewRefusal, type ViewSource } from '../view-source.ts';

export class FalseSource implements ViewSource {
  readonly whenEnded: Promise<string>;
  readonly asked: unknown[] = [];
  readonly listeners = new Set<(state: ViewState) => void>();
  end: (sentence: string) => void = () => {};
  /** Thrown by the next request for a state or a subscription. */
  refusal: Error | undefined;
  /** Reports the progress of the running search. */
  look: ((step: number) => void) | undefined;

  constructor() {
    this.whenEnded = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  /** Sends a state to all subscribers. */
  tell(state: ViewState): void {
    for (const listener of [...this.listeners]) listener(state);
  }

  async session(): Promise<ViewSession> {
    return { kind: 'live', title: '/x.control', version: '1', mayAct: true, adapters: [{ name: 'a' }] };
  }

  async state(query: ViewQuery): Promise<ViewState> {
    this.#note(query);
    return stateAt(5);
  }

  subscribe(query: ViewQuery, onState: (state: ViewState) => void): () => void {
    this.#note(query);
    this.listeners.add(onState);
    return () => this.listeners.delete(onState);
  }

  async route(query: RouteQuery): Promise<RouteReport> {
    this.#note(query);
    return { hops: [{ node: query.from }], fault: 'there is no way' };
  }

  async stories(query: StoryQuery): Promise<StoryList> {
    this.#note(query);
    return { queuePairs: [query.qp], stories: [] };
  }

  async act(act: Act): Promise<ActAnswer> {
    this.#note(act);
    return { line: 'vuhca link down a:1', result: { text: 'done' } };
  }

  /** A search for `long` comes from step to step by `look`, and ends when it is aborted. */
  async find(query: FindQuery, watch?: SearchWatch): Promise<Found> {
    this.#note(query);
    if (query.condition !== 'long' || watch === undefined) return { step: 3 };
    this.look = watch.onLooked;
    await once(watch.signal, 'abort');
    this.look = undefined;
    throw new ViewRefusal('gone', 'the search was ended');
  }

  async close(): Promise<void> {}

  #note(request: unknown): void {
    this.asked.push(request);
    const { refusal } = this;
    this.refusal = undefined;
    if (refusal !== undefined) throw refusal;
  }
}

/** A state that differs only in its time, unless it has nodes. */
export function stateAt(timeNs: number, nodes: FabricReport['nodes'] = []): ViewState {
  return { timeNs, fabric: { nodes } };
}
