// SPDX-License-Identifier: Apache-2.0
/**
 * A client of subnet administration at a virtual adapter, for tests: sends requests from QP1 to the
 * manager that its port knows, and puts segments of responses together (InfiniBand specification,
 * 13.6). Used by the tests of `subnet-manager/administration/`.
 */

import {
  getMadHeaderMethod,
  getMadHeaderStatus,
  getMadHeaderTransactionIdLow,
  setMadHeaderMethod,
} from '../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  getRmppHeaderIsActive,
  getRmppHeaderIsLast,
  getRmppHeaderPayloadLength,
  getRmppHeaderSegmentNumber,
  getRmppHeaderType,
} from '../../protocol/infiniband/mad/gen/rmpp-header.gen.ts';
import {
  getSaHeaderAttributeOffset,
  setSaHeaderComponentMaskHigh,
  setSaHeaderComponentMaskLow,
  setSaHeaderSmKeyLow,
} from '../../protocol/infiniband/mad/gen/sa-header.gen.ts';
import { MadClass, MadMethod, RmppType } from '../../protocol/infiniband/mad/gen/values.gen.ts';
import { beginMad } from '../../protocol/infiniband/mad/mad-head.ts';
import { MAD_BYTES, RMPP_OFFSET, SA_DATA_OFFSET, SA_HEADER_OFFSET } from '../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../protocol/layout/view.ts';
import { generalAddress } from '../agents/mad-packet.ts';
import type { MadPort } from '../agents/mad-port.ts';
import type { VirtualAdapter } from '../agents/virtual-adapter.ts';
import { componentsOf } from '../subnet-manager/administration/components.ts';
import { controlPacket, SEGMENT_HEADER_BYTES } from '../subnet-manager/administration/rmpp.ts';

export interface AdministrationRequest {
  readonly method: MadMethod;
  readonly attribute: number;
  /** The record, and the names of the components that count. */
  readonly data?: Uint8Array;
  readonly record?: string;
  readonly components?: readonly string[];
  readonly smKey?: number;
  readonly version?: number;
}

export interface AdministrationAnswer {
  readonly method: number;
  readonly status: number;
  readonly segments: number;
  readonly records: readonly Uint8Array[];
}

/** Goes on with the fabric until the answer is there. */
export type Wait = (isDone: () => boolean) => boolean;

const WINDOW = 3;

export class AdministrationClient {
  /** Notices that were reported, and whether reports are answered. */
  readonly reports: Uint8Array[] = [];
  answersReports = true;
  /** Segments of responses that are not acknowledged: those with these numbers, once. */
  readonly lose = new Set<number>();
  readonly #adapter: VirtualAdapter;
  readonly #port: MadPort;
  readonly #wait: Wait;
  #transaction = 0;
  #segments: Uint8Array[] = [];
  #answer: Uint8Array | undefined = undefined;

  constructor(adapter: VirtualAdapter, wait: Wait) {
    this.#adapter = adapter;
    this.#port = adapter.openPort();
    this.#wait = wait;
    this.#port.onMad = (_, mad) => this.#take(mad.slice());
  }

  /** Sends a request and waits for the answer; undefined when none comes. */
  ask(request: AdministrationRequest): AdministrationAnswer | undefined {
    this.send(this.build(request));
    if (!this.#wait(() => this.#answer !== undefined) || this.#answer === undefined) return undefined;
    const view = viewOf(this.#answer);
    const isTable = getRmppHeaderIsActive(view, RMPP_OFFSET) === 1;
    const size = 8 * getSaHeaderAttributeOffset(view, SA_HEADER_OFFSET);
    const status = getMadHeaderStatus(view, 0);
    const payload = isTable ? this.#joined() : this.#answer.slice(SA_DATA_OFFSET, SA_DATA_OFFSET + size);
    const count = size === 0 ? 0 : Math.floor(payload.length / size);
    const records = Array.from({ length: count }, (_, index) => payload.slice(index * size, (index + 1) * size));
    return { method: getMadHeaderMethod(view, 0), status, segments: this.#segments.length, records };
  }

  /** Sends a datagram as it is. */
  send(mad: Uint8Array): boolean {
    this.#answer = undefined;
    this.#segments = [];
    return this.#port.send(generalAddress(this.#adapter.port.lid, this.#adapter.port.smLid), mad);
  }

  /** A request in one datagram. */
  build({ method, attribute, data, record, components = [], smKey = 0, version }: AdministrationRequest): Uint8Array {
    const mad = new Uint8Array(MAD_BYTES);
    this.#transaction++;
    const view = beginMad(mad, {
      managementClass: MadClass.SUBNET_ADMINISTRATION,
      ...(version === undefined ? {} : { classVersion: version }),
      method,
      transactionLow: this.#transaction,
      attributeId: attribute,
    });
    setSaHeaderSmKeyLow(view, SA_HEADER_OFFSET, smKey);
    const bits = record === undefined ? [] : componentsOf(record).map(({ name }) => components.includes(name));
    let [high, low] = [0, 0];
    for (const [bit, isSet] of bits.entries()) {
      if (isSet && bit < 32) low |= 1 << bit;
      else if (isSet) high |= 1 << (bit - 32);
    }
    setSaHeaderComponentMaskHigh(view, SA_HEADER_OFFSET, high >>> 0);
    setSaHeaderComponentMaskLow(view, SA_HEADER_OFFSET, low >>> 0);
    if (data !== undefined) mad.set(data, SA_DATA_OFFSET);
    return mad;
  }

  #take(mad: Uint8Array): void {
    const view = viewOf(mad);
    if (getMadHeaderMethod(view, 0) === MadMethod.REPORT) {
      this.reports.push(mad.slice(SA_DATA_OFFSET, SA_DATA_OFFSET + 64));
      setMadHeaderMethod(view, 0, MadMethod.REPORT_RESPONSE);
      if (this.answersReports) this.#reply(mad);
    } else if (getMadHeaderTransactionIdLow(view, 0) === this.#transaction) {
      if (getRmppHeaderIsActive(view, RMPP_OFFSET) === 1) this.#takeSegment(mad, view);
      else this.#answer = mad;
    }
  }

  #takeSegment(mad: Uint8Array, view: DataView): void {
    const type = getRmppHeaderType(view, RMPP_OFFSET);
    if (type === RmppType.ABORT || type === RmppType.STOP) this.#answer = mad;
    if (type !== RmppType.DATA) return;
    const number = getRmppHeaderSegmentNumber(view, RMPP_OFFSET);
    if (this.lose.delete(number)) return;
    if (number === this.#segments.length + 1) this.#segments.push(mad);
    const last = this.#segments.length;
    this.#reply(controlPacket(mad, RmppType.ACK, 0, last, last + WINDOW));
    if (getRmppHeaderIsLast(view, RMPP_OFFSET) === 1 && number === last) this.#answer = mad;
  }

  #joined(): Uint8Array {
    const bytes = new Uint8Array(this.#segments.length * (MAD_BYTES - SA_DATA_OFFSET));
    for (const [index, mad] of this.#segments.entries())
      bytes.set(mad.subarray(SA_DATA_OFFSET), index * (MAD_BYTES - SA_DATA_OFFSET));
    const last = this.#segments[this.#segments.length - 1];
    if (last === undefined) return bytes;
    const unused = MAD_BYTES - SA_DATA_OFFSET + SEGMENT_HEADER_BYTES - lastLength(this.#segments);
    return bytes.subarray(0, bytes.length - unused);
  }

  #reply(mad: Uint8Array): void {
    this.#port.send(generalAddress(this.#adapter.port.lid, this.#adapter.port.smLid), mad);
  }
}

/** Bytes of the last segment; the first one of a transfer tells those of the whole instead. */
function lastLength(segments: readonly Uint8Array[]): number {
  return getRmppHeaderPayloadLength(viewOf(segments[segments.length - 1]), RMPP_OFFSET);
}
