// SPDX-License-Identifier: Apache-2.0
/**
 * The MAD layer of the clients of the host door, as the kernel has one for software at a port:
 * requests are repeated until they have a response and come back without one after the last time,
 * responses go to the client that asked, and transfers of several packets (RMPP, IBTA 13.6) are
 * acknowledged. One exchange serves all clients of one port. `ibsim-server.ts` calls it.
 */

import {
  getMadHeaderManagementClass,
  getMadHeaderMethod,
  getMadHeaderTransactionIdHigh,
  getMadHeaderTransactionIdLow,
  setMadHeaderTransactionIdHigh,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadClass, MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { madView } from '../../../protocol/infiniband/mad/mad-head.ts';
import { MAD_BYTES, RESPONSE_BIT } from '../../../protocol/infiniband/mad/mad-headers.ts';
import type { MadAddress } from '../../fabric/agents/mad-packet.ts';
import type { MadPort } from '../../fabric/agents/mad-port.ts';
import { makeAcknowledge, makeOnlySegment, readSegment, readSegmentNumber, SegmentKind } from './mad-segments.ts';

/** A client of the exchange. */
export interface MadClient {
  /** The client is a subnet manager: requests of management classes are for it. */
  readonly isManager: boolean;
  /** Takes a datagram for the client; not `isAnswered`: its own request, which has no response. */
  deliver(address: Readonly<MadAddress>, mad: Uint8Array, isAnswered: boolean): void;
}

interface ExchangeTimes {
  /** Time until a request is repeated, and until one is tried again for which there was no room. */
  readonly repeatMs: number;
  readonly pauseMs: number;
  /** Attempts at a request in all. */
  readonly tries: number;
}

interface Transaction {
  readonly client: MadClient;
  readonly address: MadAddress;
  readonly mad: Uint8Array;
  /** Upper half of the transaction identifier, as the client chose it. */
  readonly identifierHigh: number;
  triesLeft: number;
  pausesLeft: number;
  dueMs: number;
  /** The first segment of a response of several packets, and the number of segments so far. */
  first: Uint8Array | undefined;
  segments: number;
}

interface Attached {
  /** Stands in the upper 16 bits of transaction identifiers, which belong to the transport. */
  readonly tag: number;
  /** Management classes in which the client has sent: it surely takes requests of these. */
  readonly classes: Set<number>;
  /** Requests that wait for a response. */
  waiting: number;
}

const TAG_SHIFT = 16;
const TAG_MASK = 0xffff;
/** Requests of one client that wait for a response. */
const TRANSACTIONS_MAX = 1024;
const DEFAULT_TIMES: ExchangeTimes = { repeatMs: 250, pauseMs: 5, tries: 4 };
/** Requests that have no response. */
const ONE_WAY: readonly number[] = [MadMethod.SEND, MadMethod.TRAP, MadMethod.TRAP_REPRESS];

export class MadExchange {
  readonly port: MadPort;
  /** Requests that had no response, and datagrams that no client could take. */
  unanswered = 0;
  unclaimed = 0;
  /** Responses of several packets of which clients have had the first one only. */
  cut = 0;
  readonly #times: ExchangeTimes;
  readonly #clients = new Map<MadClient, Attached>();
  readonly #transactions = new Map<string, Transaction>();
  #nextTag = 1;
  #timer: NodeJS.Timeout | undefined = undefined;

  constructor(port: MadPort, times: Partial<ExchangeTimes> = {}) {
    this.port = port;
    this.#times = { ...DEFAULT_TIMES, ...times };
  }

  get clientCount(): number {
    return this.#clients.size;
  }

  /** Software listens at the port while it has a client. */
  attach(client: MadClient): void {
    this.#clients.set(client, { tag: this.#nextTag, classes: new Set(), waiting: 0 });
    this.#nextTag = (this.#nextTag % TAG_MASK) + 1;
    this.port.onMad = (address, mad) => this.#receive(address, mad);
  }

  detach(client: MadClient): void {
    this.#clients.delete(client);
    for (const [key, transaction] of this.#transactions)
      if (transaction.client === client) this.#transactions.delete(key);
    if (this.#clients.size === 0) this.close();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#transactions.clear();
    this.#clients.clear();
    this.port.onMad = undefined;
  }

  /** Sends a datagram of a client. `lengthBytes` of it are in use. */
  send(client: MadClient, address: MadAddress, mad: Uint8Array, lengthBytes: number): void {
    const attached = this.#clients.get(client);
    if (attached === undefined) return;
    const view = madView(mad);
    attached.classes.add(getMadHeaderManagementClass(view, 0));
    const method = getMadHeaderMethod(view, 0);
    if ((method & RESPONSE_BIT) !== 0) makeOnlySegment(view, lengthBytes);
    if ((method & RESPONSE_BIT) !== 0 || ONE_WAY.includes(method)) {
      this.port.send(address, mad);
      return;
    }
    const identifierHigh = getMadHeaderTransactionIdHigh(view, 0);
    setMadHeaderTransactionIdHigh(view, 0, ((attached.tag << TAG_SHIFT) | (identifierHigh & TAG_MASK)) >>> 0);
    const { tries, repeatMs, pauseMs } = this.#times;
    const pausesLeft = Math.ceil((repeatMs * tries) / pauseMs);
    const transaction: Transaction = {
      ...{ client, address, mad, identifierHigh, triesLeft: tries, pausesLeft },
      ...{ dueMs: 0, first: undefined, segments: 0 },
    };
    const key = keyOf(view);
    if (attached.waiting >= TRANSACTIONS_MAX && !this.#transactions.has(key)) return this.#giveUp(transaction);
    this.#forget(key);
    attached.waiting++;
    this.#transactions.set(key, transaction);
    this.#try(transaction);
    this.#arm();
  }

  /** A transaction is over, or its client has begun it anew. */
  #forget(key: string): void {
    const transaction = this.#transactions.get(key);
    if (transaction === undefined) return;
    this.#transactions.delete(key);
    const attached = this.#clients.get(transaction.client);
    if (attached !== undefined) attached.waiting--;
  }

  /** Sends a request once more, if there is room for it. */
  #try(transaction: Transaction): void {
    const now = performance.now();
    if (this.port.send(transaction.address, transaction.mad)) {
      transaction.triesLeft--;
      transaction.dueMs = now + this.#times.repeatMs;
    } else {
      transaction.pausesLeft--;
      transaction.dueMs = now + this.#times.pauseMs;
    }
  }

  /** One timer for the earliest transaction that is due. */
  #arm(): void {
    if (this.#timer !== undefined || this.#transactions.size === 0) return;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const transaction of this.#transactions.values()) dueMs = Math.min(dueMs, transaction.dueMs);
    this.#timer = setTimeout(() => this.#expire(), Math.max(1, dueMs - performance.now()));
    this.#timer.unref();
  }

  #expire(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [key, transaction] of this.#transactions) {
      if (transaction.dueMs > now) continue;
      if (transaction.triesLeft > 0 && transaction.pausesLeft > 0) {
        this.#try(transaction);
      } else {
        this.#forget(key);
        this.#giveUp(transaction);
      }
    }
    this.#arm();
  }

  #giveUp({ client, address, mad, identifierHigh }: Transaction): void {
    this.unanswered++;
    setMadHeaderTransactionIdHigh(madView(mad), 0, identifierHigh);
    client.deliver(address, mad, false);
  }

  #receive(address: Readonly<MadAddress>, received: Uint8Array): void {
    const mad = received.slice(0, MAD_BYTES);
    const view = madView(mad);
    const segment = readSegment(view);
    // Acknowledgements and ends of transfers are the transport's own.
    if (segment === SegmentKind.CONTROL) return;
    const method = getMadHeaderMethod(view, 0);
    if ((method & RESPONSE_BIT) === 0) return this.#offer(address, mad, view);
    const key = keyOf(view);
    const transaction = this.#transactions.get(key);
    if (transaction === undefined) {
      this.unclaimed++;
      return;
    }
    if (segment === SegmentKind.NONE || this.#assemble(transaction, address, mad, view)) {
      this.#forget(key);
      const whole = transaction.first ?? mad;
      setMadHeaderTransactionIdHigh(madView(whole), 0, transaction.identifierHigh);
      transaction.client.deliver(address, whole, true);
    }
  }

  /** Takes a segment of a response and acknowledges it. Returns true when all have come. */
  #assemble(transaction: Transaction, address: Readonly<MadAddress>, mad: Uint8Array, view: DataView): boolean {
    const { number, isLast } = readSegmentNumber(view);
    if (number === transaction.segments + 1) {
      transaction.segments = number;
      transaction.first ??= mad;
      transaction.dueMs = performance.now() + this.#times.repeatMs;
    }
    const back = { ...transaction.address, slid: address.dlid, dlid: address.slid, pKey: address.pKey };
    this.port.send(back, makeAcknowledge(mad, transaction.segments));
    if (!isLast || number !== transaction.segments) return false;
    if (transaction.segments > 1) this.cut++;
    return true;
  }

  /** A request for software at the port: a manager takes those of subnet management. */
  #offer(address: Readonly<MadAddress>, mad: Uint8Array, view: DataView): void {
    const managementClass = getMadHeaderManagementClass(view, 0);
    const isSubnet = managementClass === MadClass.SUBNET || managementClass === MadClass.SUBNET_DIRECTED_ROUTE;
    const candidates = [...this.#clients].filter(([client]) => client.isManager || !isSubnet);
    const taker =
      candidates.find(([client, { classes }]) => client.isManager && (isSubnet || classes.has(managementClass))) ??
      candidates.find(([, { classes }]) => classes.has(managementClass)) ??
      candidates.find(([client]) => client.isManager);
    if (taker === undefined) this.unclaimed++;
    else taker[0].deliver(address, mad, true);
  }
}

/** A response has the identifier of its request. */
function keyOf(view: DataView): string {
  return `${getMadHeaderTransactionIdHigh(view, 0)}:${getMadHeaderTransactionIdLow(view, 0)}`;
}
