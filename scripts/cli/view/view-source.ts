// SPDX-License-Identifier: Apache-2.0
/**
 * A source of the data that `vuhca view` shows: a running process (live-source.ts) or a recording.
 * The server uses only this interface, so both look the same to the page. The types of requests and
 * answers are those of view-protocol.ts.
 */
import type { RouteReport } from '../../../device/process/reports/route-report.ts';
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
} from './view-protocol.ts';

/** Callback for the progress of a search, and the signal that ends it early. */
export interface SearchWatch {
  /** Called now and then with the last step that was searched. */
  onLooked(step: number): void;
  /** The search rejects when it is aborted, and costs nothing from then on. */
  readonly signal: AbortSignal;
}

/** Each request rejects with ViewRefusal when it cannot be fulfilled. */
export interface ViewSource {
  /** Resolves with one sentence when there is nothing more to show: the process has ended. */
  readonly whenEnded: Promise<string>;
  /** `mayAct`: the source has acts; the server may still refuse them. */
  session(): Promise<ViewSession>;
  state(query: ViewQuery): Promise<ViewState>;
  /**
   * Calls `onState` with states of a running process, later and at most STREAM_HZ times a second,
   * until the function that it returns is called. Equal queries get the same object. A read that
   * fails is left out; `whenEnded` tells the end. Throws ViewRefusal for a query that cannot be
   * met, and always of a recording, which does not change.
   */
  subscribe(query: ViewQuery, onState: (state: ViewState) => void): () => void;
  /** The way between two nodes. */
  route(query: RouteQuery): Promise<RouteReport>;
  stories(query: StoryQuery): Promise<StoryList>;
  act(act: Act): Promise<ActAnswer>;
  find(query: FindQuery, watch?: SearchWatch): Promise<Found>;
  /** Ends it. May be called twice. */
  close(): Promise<void>;
}

/** HTTP statuses of requests that cannot be fulfilled. `gone`: the process has ended. */
export const RefusalStatus = {
  bad: 400,
  forbidden: 403,
  unknown: 404,
  method: 405,
  large: 413,
  type: 415,
  busy: 503,
  gone: 503,
} as const;

/** Error of a request that cannot be fulfilled: one sentence for the page. */
export class ViewRefusal extends Error {
  override name = 'ViewRefusal';
  readonly status: (typeof RefusalStatus)[keyof typeof RefusalStatus];

  constructor(kind: keyof typeof RefusalStatus, sentence: string) {
    super(sentence);
    this.status = RefusalStatus[kind];
  }
}
