// SPDX-License-Identifier: Apache-2.0
/**
 * A stream of states to one page, as server-sent events (the WHATWG's HTML, section 9.2). For a
 * reader that does not keep up, the stream requests nothing from its source until all data are
 * taken, so neither memory nor the device pays for it. view-server.ts makes one for each.
 */
import type { ServerResponse } from 'node:http';
import { STREAM_HZ, type ViewQuery, type ViewState } from './view-protocol.ts';
import type { ViewSource } from './view-source.ts';

/** One in this many states in which only the time has changed is sent. */
const QUIET_NS = 1e9 - 0.5e9 / STREAM_HZ;

export class StateStream {
  readonly #source: ViewSource;
  readonly #query: ViewQuery;
  readonly #response: ServerResponse;
  #unsubscribe: () => void = () => {};
  #sent: StateText = { body: '', timeNs: Number.NEGATIVE_INFINITY };

  /** Begins the answer. Before that, throws ViewRefusal for a query that cannot be fulfilled. */
  constructor(source: ViewSource, query: ViewQuery, response: ServerResponse) {
    this.#source = source;
    this.#query = query;
    this.#response = response;
    this.#subscribe();
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    response.flushHeaders();
    response.on('drain', () => this.#subscribe());
    response.once('close', () => this.#unsubscribe());
  }

  /** Sends the reason for the end, and ends the answer. */
  end(sentence: string): void {
    this.#unsubscribe();
    this.#response.end(`event: ended\ndata: ${sentence}\n\n`);
  }

  #subscribe(): void {
    if (this.#response.writableEnded) return;
    this.#unsubscribe();
    this.#unsubscribe = this.#source.subscribe(this.#query, (state) => this.#send(state));
  }

  #send(state: ViewState): void {
    const text = textOf(state);
    if (text.body === this.#sent.body && text.timeNs - this.#sent.timeNs < QUIET_NS) return;
    this.#sent = text;
    const isTaken = this.#response.write(`event: state\ndata: {"timeNs":${text.timeNs},${text.body}\n\n`);
    if (!isTaken) this.#unsubscribe();
  }
}

/** A state as JSON without its beginning, the time. */
interface StateText {
  readonly body: string;
  readonly timeNs: number;
}

/** All streams with equal queries send the same object. */
const texts = new WeakMap<ViewState, StateText>();

function textOf(state: ViewState): StateText {
  const known = texts.get(state);
  if (known !== undefined) return known;
  const { timeNs, ...rest } = state;
  const text = { timeNs, body: JSON.stringify(rest).slice(1) };
  texts.set(state, text);
  return text;
}
