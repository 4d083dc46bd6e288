// SPDX-License-Identifier: Apache-2.0
/**
 * A running process as the source of `vuhca view`, over its control socket. It requests states only
 * while a page is open, one at a time, and so rarely that the device spends little of its time on
 * them (device-budget.ts).
 */
import { type AdapterTrace, distinguishAdapters } from '../../../device/hca/trace/adapter-trace.ts';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { ControlError } from '../../../device/process/control/control-path.ts';
import { readTraces } from '../../../device/process/control/trace-reader.ts';
import type { RouteReport } from '../../../device/process/reports/route-report.ts';
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import { readVersion } from '../options/version.ts';
import { describeAct } from './act-lines.ts';
import { DeviceBudget } from './device-budget.ts';
import { listStories } from './stories.ts';
import {
  type Act,
  type ActAnswer,
  type Found,
  type RouteQuery,
  STREAM_HZ,
  type StoryList,
  type StoryQuery,
  type ViewQuery,
  type ViewRow,
  type ViewSession,
  type ViewState,
} from './view-protocol.ts';
import { ViewRefusal, type ViewSource } from './view-source.ts';

const MS_PER_SECOND = 1000;
const NS_PER_MS = 1e6;
/** Greatest age of traces from which stories are told. */
const TRACES_MS = 1000;

/** The time and the waits of a source. Tests have their own. */
export interface SourceClock {
  nowMs(): number;
  wait(ms: number): Promise<void>;
}

const wallClock: SourceClock = {
  nowMs: () => performance.now(),
  wait: (ms) => new Promise((done) => setTimeout(done, ms)),
};

interface Subscriber {
  readonly query: ViewQuery;
  /** Equal for equal queries. */
  readonly key: string;
  onState(state: ViewState): void;
  onError(error: unknown): void;
}

export class LiveSource implements ViewSource {
  readonly whenEnded: Promise<string>;
  readonly #client: ControlClient;
  readonly #path: string;
  readonly #clock: SourceClock;
  readonly #adapters: ViewSession['adapters'];
  readonly #budget = new DeviceBudget(MS_PER_SECOND / STREAM_HZ);
  readonly #subscribers = new Set<Subscriber>();
  #isPolling = false;
  /** Reason why requests are no longer possible. */
  #ended: string | undefined;
  #traces: { readonly sinceMs: number; readonly read: Promise<AdapterTrace[]> } | undefined;

  /** Connects. Rejects with ControlError when no process listens. */
  static async open(path: string, clock: SourceClock = wallClock): Promise<LiveSource> {
    const client = await ControlClient.connect(path);
    try {
      const { adapters, personalities } = await client.request('status');
      const named = [
        ...adapters.map(({ name }) => ({ name })),
        ...personalities.map(({ name, personality }) => ({ name, personality })),
      ];
      return new LiveSource(client, path, clock, named);
    } catch (error) {
      client.close();
      throw error;
    }
  }

  private constructor(client: ControlClient, path: string, clock: SourceClock, adapters: ViewSession['adapters']) {
    this.#client = client;
    this.#path = path;
    this.#clock = clock;
    this.#adapters = adapters;
    this.whenEnded = client.whenClosed.then(() => {
      this.#ended = `the adapter at ${path} has ended`;
      return this.#ended;
    });
  }

  async session(): Promise<ViewSession> {
    return { kind: 'live', title: this.#path, version: readVersion(), mayAct: true, adapters: this.#adapters };
  }

  /** The next state that is read: a reader that repeats its request costs no more than a stream. */
  state(query: ViewQuery): Promise<ViewState> {
    return new Promise((resolve, reject) => {
      const unsubscribe = this.#add(query, {
        onState: (state) => {
          unsubscribe();
          resolve(state);
        },
        onError: (error) => {
          unsubscribe();
          reject(asRefusal(error));
        },
      });
    });
  }

  subscribe(query: ViewQuery, onState: (state: ViewState) => void): () => void {
    return this.#add(query, { onState, onError: () => {} });
  }

  async route({ from, to }: RouteQuery): Promise<RouteReport> {
    return this.#client.request('route', { from, to }).catch((error) => {
      if (this.#ended === undefined && error instanceof ControlError) throw new ViewRefusal('unknown', error.message);
      throw asRefusal(error);
    });
  }

  async stories(query: StoryQuery): Promise<StoryList> {
    this.#find(query.adapter);
    const traces = await this.#readTraces().catch((error) => {
      throw asRefusal(error);
    });
    return listStories(traces, query);
  }

  async act(act: Act): Promise<ActAnswer> {
    const line = describeAct(act, this.#path);
    try {
      return { line, result: await this.#client.request(act.command, act.parameters) };
    } catch (error) {
      if (error instanceof ControlError) return { line, error: error.message };
      throw error;
    }
  }

  async find(): Promise<Found> {
    throw new ViewRefusal('unknown', 'conditions are found in recordings only');
  }

  async close(): Promise<void> {
    this.#client.close();
    await this.whenEnded;
  }

  /** Throws ViewRefusal for a query that cannot be answered. */
  #add(query: ViewQuery, listener: Pick<Subscriber, 'onState' | 'onError'>): () => void {
    if (this.#ended !== undefined) throw new ViewRefusal('gone', this.#ended);
    if (query.step !== undefined) throw new ViewRefusal('bad', 'a running process has no steps');
    if (query.adapter !== undefined) this.#find(query.adapter);
    const subscriber = { query, key: JSON.stringify([query.adapter, query.views]), ...listener };
    this.#subscribers.add(subscriber);
    if (!this.#isPolling) void this.#poll();
    return () => this.#subscribers.delete(subscriber);
  }

  #find(name: string): void {
    if (this.#adapters.some((one) => one.name === name)) return;
    const known = this.#adapters.map((one) => one.name).join(', ');
    throw new ViewRefusal('unknown', `there is no adapter ${name}; there are ${known}`);
  }

  /** Reads states as long as there are subscribers. Never rejects. */
  async #poll(): Promise<void> {
    this.#isPolling = true;
    // All subscribers of this turn of the event loop share the first state.
    await this.#afford();
    while (this.#subscribers.size > 0) {
      await this.#serve([...this.#subscribers]);
      if (this.#ended !== undefined) break;
      await this.#afford();
    }
    this.#isPolling = false;
    for (const { onError } of this.#subscribers) onError(new ControlError(this.#ended));
    this.#subscribers.clear();
  }

  /** Waits until the device can afford another poll. */
  async #afford(): Promise<void> {
    const waitMs = (): number => this.#budget.waitMs(this.#clock.nowMs(), this.#client.spentNs / NS_PER_MS);
    do await this.#clock.wait(waitMs());
    while (waitMs() > 0);
    this.#budget.begin(this.#clock.nowMs());
  }

  async #serve(subscribers: readonly Subscriber[]): Promise<void> {
    const poll = new StatePoll(this.#client);
    const states = new Map<string, Promise<ViewState>>();
    for (const { query, key, onState, onError } of subscribers) {
      const state = states.get(key) ?? poll.read(query, this.#adapters[0].name);
      states.set(key, state);
      await state.then(onState, onError);
    }
  }

  /** The traces of all adapters; one snapshot serves all requests of about the same time. */
  #readTraces(): Promise<AdapterTrace[]> {
    const nowMs = this.#clock.nowMs();
    if (this.#traces === undefined || nowMs - this.#traces.sinceMs >= TRACES_MS) {
      const read = this.#afford().then(async () => distinguishAdapters(await readTraces(this.#client)));
      this.#traces = { sinceMs: nowMs, read };
    }
    return this.#traces.read;
  }
}

/** The requests of one poll, each made once, whatever the number of queries. */
class StatePoll {
  readonly #client: ControlClient;
  readonly #answers = new Map<string, Promise<unknown>>();

  constructor(client: ControlClient) {
    this.#client = client;
  }

  /** One after another: a process drops clients with much unread output. */
  async read({ adapter: name, views = [] }: ViewQuery, anyName: string): Promise<ViewState> {
    const { timeNs = 0, ...fabric } = await this.#once('fabric', () => this.#client.request('fabric'));
    const adapter = name ?? anyName;
    const status = await this.#once(`status ${adapter}`, () => this.#client.request('status', { adapter }));
    const { links, switches, stepping } = status;
    const all = { timeNs, ...(stepping && { stepping }), fabric, links, switches };
    if (name === undefined) return all;
    const rows: Record<string, readonly ViewRow[]> = {};
    for (const view of views) {
      const read = await this.#once(`${view} ${name}`, () => this.#readRows(name, view));
      if (read !== undefined) rows[view] = read;
    }
    return { ...all, views: rows, ...pickAdapter(status) };
  }

  /** As many rows as an answer holds; undefined for a view that the adapter does not have. */
  async #readRows(adapter: string, view: string): Promise<readonly ViewRow[] | undefined> {
    try {
      return (await this.#client.request('show', { adapter, view })).rows;
    } catch (error) {
      if (error instanceof ControlError) return undefined;
      throw error;
    }
  }

  #once<Answer>(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(key) ?? ask();
    this.#answers.set(key, known);
    return known as Promise<Answer>;
  }
}

/** The adapter in the status of one. */
function pickAdapter({ adapters, personalities }: StatusReport): Pick<ViewState, 'adapter' | 'personality'> {
  for (const { sockets: _, ...adapter } of adapters) return { adapter };
  for (const { sockets: _, ...personality } of personalities) return { personality };
  return {};
}

/** Message for the page about an error of the control socket. */
function asRefusal(error: unknown): unknown {
  return error instanceof ControlError ? new ViewRefusal('gone', error.message) : error;
}
