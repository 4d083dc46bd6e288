// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of subnet management with few of them outstanding, repeated until a response comes or
 * the agent counts as absent (IBTA 13.5 and 14.2). A job is a generator: it yields requests and
 * continues with their answers, so a sweep reads like a program.
 */

import { PERMISSIVE_LID } from '../../../protocol/infiniband/addresses.ts';
import {
  DIRECTED_ROUTE_SMP_DATA_OFFSET,
  DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET,
  DIRECTED_ROUTE_SMP_M_KEY_OFFSET,
  setDirectedRouteSmpDrDlid,
  setDirectedRouteSmpDrSlid,
  setDirectedRouteSmpHopCount,
} from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import {
  getMadHeaderAttributeId,
  getMadHeaderStatus,
  getMadHeaderTransactionIdHigh,
  getMadHeaderTransactionIdLow,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadClass, MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { beginMad } from '../../../protocol/infiniband/mad/mad-head.ts';
import { ATTRIBUTE_BYTES, MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { subnetAddress } from '../agents/mad-packet.ts';
import type { MadPort } from '../agents/mad-port.ts';
import { type Guid, writeGuid } from './guid.ts';
import type { DirectedPath } from './subnet.ts';

/** The D bit of a directed route lies above the status. */
const STATUS_MASK = 0x7fff;
/** A packet that the port did not take is offered again after this part of the usual time. */
const REFUSED_PART = 10;
/**
 * In a large subnet more requests are outstanding: another one after so many answers in a row, up
 * to this many times the usual number, and the usual number again when an answer does not come.
 */
const ANSWERS_TO_GROW = 500;
const GROWTH_MAX = 3;
/** Requests that are repeated soon, and the longest patience behind them. */
const SOON = 6;
const PATIENCE_MAX = 16;

export interface SmpRequest {
  /** Directed route, or a LID. */
  readonly to: DirectedPath | number;
  readonly method: number;
  readonly attributeId: number;
  readonly modifier: number;
  /** The attribute of a Set, at most 64 bytes. */
  readonly data?: Uint8Array;
  /** Management key of the port, if other than that of the manager. */
  readonly key?: Guid;
  /** Attempts at the request, if other than usual. */
  readonly attempts?: number;
}

export interface SmpAnswer {
  /** Status of the response; `NO_ANSWER` without one. */
  readonly status: number;
  readonly data: Uint8Array;
  readonly view: DataView;
}

/** Status of a request that had no response. */
export const NO_ANSWER = -1;

/** A job yields requests; it goes on when all of them are answered. */
export type SmpJob<Result = void> = Generator<readonly SmpRequest[], Result, readonly SmpAnswer[]>;

interface SmpClientOptions {
  readonly mKey: Guid;
  readonly timeoutNs: number;
  readonly attempts: number;
  readonly outstanding: number;
}

interface Exchange {
  readonly request: SmpRequest;
  readonly answered: (answer: SmpAnswer) => void;
  transaction: number;
  sent: number;
  deadlineNs: number;
}

export function get(to: DirectedPath | number, attributeId: number, modifier = 0): SmpRequest {
  return { to, method: MadMethod.GET, attributeId, modifier };
}

export function set(to: DirectedPath | number, attributeId: number, modifier: number, data: Uint8Array): SmpRequest {
  return { to, method: MadMethod.SET, attributeId, modifier, data };
}

export class SmpClient {
  /** Requests repeated, and requests given up. */
  retries = 0;
  timeouts = 0;
  requests = 0;
  /** Most requests that were without response at a time. */
  mostOutstanding = 0;
  /** Upper half of transaction identifiers: tells clients of one port apart. */
  readonly transactionHigh: number;
  readonly #port: MadPort;
  readonly #options: SmpClientOptions;
  /** Those from place `#next` on were not sent yet: a job may have 100,000. */
  #waiting: Exchange[] = [];
  #next = 0;
  readonly #outstanding: Map<number, Exchange> = new Map();
  #inRow = 0;
  #lastTransaction = 0;
  readonly #mad = new Uint8Array(MAD_BYTES);

  constructor(port: MadPort, options: SmpClientOptions, transactionHigh: number) {
    this.#port = port;
    this.#options = options;
    this.transactionHigh = transactionHigh;
  }

  /** Starts a job; `done` has its result. */
  start<Result>(job: SmpJob<Result>, done: (result: Result) => void): void {
    this.#step(job, job.next(), done);
  }

  /** Forgets all requests; their jobs never continue. */
  abandon(): void {
    this.#waiting = [];
    this.#next = 0;
    this.#outstanding.clear();
  }

  /** Time of the next repetition; Infinity if nothing is outstanding. */
  get nextNs(): number {
    if (this.#maySend()) return 0;
    let next = Number.POSITIVE_INFINITY;
    for (const { deadlineNs } of this.#outstanding.values()) next = Math.min(next, deadlineNs);
    return next;
  }

  /** Sends what may be sent, and gives up what was repeated often enough. */
  run(nowNs: number): void {
    for (const exchange of [...this.#outstanding.values()]) {
      if (exchange.deadlineNs > nowNs) continue;
      if (exchange.sent >= (exchange.request.attempts ?? this.#options.attempts)) {
        this.#giveUp(exchange);
        continue;
      }
      this.retries++;
      this.#inRow = 0;
      this.#send(exchange, nowNs);
    }
    while (this.#maySend()) {
      const exchange = this.#takeWaiting();
      this.#lastTransaction = (this.#lastTransaction + 1) >>> 0;
      exchange.transaction = this.#lastTransaction;
      this.#outstanding.set(exchange.transaction, exchange);
      this.requests++;
      this.mostOutstanding = Math.max(this.mostOutstanding, this.#outstanding.size);
      this.#send(exchange, nowNs);
    }
  }

  /** Takes a response. Returns false if no request waits for it. */
  take(mad: Uint8Array): boolean {
    const view = viewOf(mad);
    if (getMadHeaderTransactionIdHigh(view, 0) !== this.transactionHigh) return false;
    const exchange = this.#outstanding.get(getMadHeaderTransactionIdLow(view, 0));
    if (exchange?.request.attributeId !== getMadHeaderAttributeId(view, 0)) return false;
    this.#outstanding.delete(exchange.transaction);
    this.#inRow++;
    const data = mad.slice(DIRECTED_ROUTE_SMP_DATA_OFFSET, DIRECTED_ROUTE_SMP_DATA_OFFSET + ATTRIBUTE_BYTES);
    exchange.answered({ status: getMadHeaderStatus(view, 0) & STATUS_MASK, data, view: viewOf(data) });
    return true;
  }

  #maySend(): boolean {
    return this.#next < this.#waiting.length && this.#outstanding.size < this.#window();
  }

  /** Requests that may be outstanding. */
  #window(): number {
    const { outstanding } = this.#options;
    return Math.min(outstanding + Math.floor(this.#inRow / ANSWERS_TO_GROW), GROWTH_MAX * outstanding);
  }

  #takeWaiting(): Exchange {
    const exchange = this.#waiting[this.#next++];
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    return exchange;
  }

  #step<Result>(
    job: SmpJob<Result>,
    step: IteratorResult<readonly SmpRequest[], Result>,
    done: (result: Result) => void,
  ): void {
    let current = step;
    while (current.done !== true && current.value.length === 0) current = job.next([]);
    if (current.done === true) {
      done(current.value);
      return;
    }
    const requests = current.value;
    const answers: SmpAnswer[] = new Array(requests.length);
    let missing = requests.length;
    for (const [index, request] of requests.entries()) {
      const answered = (answer: SmpAnswer) => {
        answers[index] = answer;
        missing--;
        if (missing === 0) this.#step(job, job.next(answers), done);
      };
      this.#waiting.push({ request, answered, transaction: 0, sent: 0, deadlineNs: 0 });
    }
  }

  #giveUp(exchange: Exchange): void {
    this.timeouts++;
    this.#outstanding.delete(exchange.transaction);
    const data = new Uint8Array(ATTRIBUTE_BYTES);
    exchange.answered({ status: NO_ANSWER, data, view: viewOf(data) });
  }

  #send(exchange: Exchange, nowNs: number): void {
    const { to } = exchange.request;
    this.#build(exchange.request, exchange.transaction);
    const address =
      typeof to === 'number' ? subnetAddress(this.#port.lid, to) : subnetAddress(PERMISSIVE_LID, PERMISSIVE_LID);
    const isTaken = this.#port.send(address, this.#mad);
    const { timeoutNs } = this.#options;
    exchange.sent++;
    exchange.deadlineNs = nowNs + (isTaken ? timeoutNs * patience(exchange.sent) : timeoutNs / REFUSED_PART);
  }

  #build({ to, method, attributeId, modifier, data, key }: SmpRequest, transaction: number): void {
    const isDirected = typeof to !== 'number';
    const managementClass = isDirected ? MadClass.SUBNET_DIRECTED_ROUTE : MadClass.SUBNET;
    const transactionId = { transactionHigh: this.transactionHigh, transactionLow: transaction };
    const view = beginMad(this.#mad, { managementClass, method, ...transactionId, attributeId, modifier });
    writeGuid(view, DIRECTED_ROUTE_SMP_M_KEY_OFFSET, key ?? this.#options.mKey);
    if (data !== undefined) this.#mad.set(data, DIRECTED_ROUTE_SMP_DATA_OFFSET);
    if (!isDirected) return;
    setDirectedRouteSmpHopCount(view, 0, to.length);
    setDirectedRouteSmpDrSlid(view, 0, PERMISSIVE_LID);
    setDirectedRouteSmpDrDlid(view, 0, PERMISSIVE_LID);
    this.#mad.set(to, DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET + 1);
  }
}

/**
 * Factor of the time to wait for an answer. A lost request is repeated soon; after that the node
 * may be a guest on a busy machine, whose software answers late.
 */
function patience(sent: number): number {
  return Math.min(2 ** Math.max(0, sent - SOON), PATIENCE_MAX);
}
