// SPDX-License-Identifier: Apache-2.0
/**
 * Services that ports have registered (IBTA 15.2.5.14). A record is known by service, GID and
 * partition; its key protects it, and its lease ends in the adapter's time.
 */

import {
  getServiceRecordLease,
  SERVICE_RECORD_SERVICE_GID_OFFSET,
  SERVICE_RECORD_SERVICE_KEY_OFFSET,
  SERVICE_RECORD_SIZE,
  setServiceRecordLease,
} from '../../../../protocol/infiniband/mad/gen/service-record.gen.ts';
import { MadStatus } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { readGid } from '../guid.ts';
import { asksFor, type ComponentMask, matches } from './components.ts';

const RECORD = 'service-record';
const FOR_EVER = 0xffffffff;
const SECOND_NS = 1_000_000_000;
/** Service, GID and partition: the first 26 bytes. */
const IDENTITY_BYTES = 26;
const KEY_BYTES = 16;
/** Services in all, and of one GID. */
export const SERVICES_MAX = 4096;
const SERVICES_OF_GID = 512;

interface Service {
  readonly record: Uint8Array;
  /** Time at which the lease ends; Infinity for ever. */
  readonly endNs: number;
}

export class Services {
  expired = 0;
  readonly #services = new Map<string, Service>();

  get nextNs(): number {
    let next = Infinity;
    for (const { endNs } of this.#services.values()) next = Math.min(next, endNs);
    return next;
  }

  reset(): void {
    this.#services.clear();
  }

  /** All records, with the seconds that are left of their leases. */
  records(nowNs: number, isTrusted: boolean): Uint8Array[] {
    return [...this.#services.values()].map(({ record, endNs }) => {
      const copy = record.slice();
      const left = endNs === Infinity ? FOR_EVER : Math.max(1, Math.ceil((endNs - nowNs) / SECOND_NS));
      setServiceRecordLease(viewOf(copy), 0, left);
      if (!isTrusted) copy.fill(0, SERVICE_RECORD_SERVICE_KEY_OFFSET, SERVICE_RECORD_SERVICE_KEY_OFFSET + KEY_BYTES);
      return copy;
    });
  }

  /** Registers a service, or renews it. Returns a status. */
  register(record: Uint8Array, mask: ComponentMask, isKnownGid: (gid: string) => boolean, nowNs: number): number {
    for (const name of ['serviceId', 'serviceGid', 'servicePKey'])
      if (!asksFor(RECORD, mask, name)) return MadStatus.INSUFFICIENT_COMPONENTS;
    if (!isKnownGid(readGid(viewOf(record), SERVICE_RECORD_SERVICE_GID_OFFSET))) return MadStatus.REQUEST_INVALID;
    const identity = identityOf(record);
    const before = this.#services.get(identity);
    if (before !== undefined && !hasSameKey(before.record, record)) return MadStatus.REQUEST_INVALID;
    if (before === undefined && !this.#hasRoom(record)) return MadStatus.NO_RESOURCES;
    const seconds = asksFor(RECORD, mask, 'lease') ? getServiceRecordLease(viewOf(record), 0) : FOR_EVER;
    const endNs = seconds === FOR_EVER ? Infinity : nowNs + seconds * SECOND_NS;
    this.#services.set(identity, { record: record.slice(0, SERVICE_RECORD_SIZE), endNs });
    return MadStatus.SUCCESS;
  }

  #hasRoom(record: Uint8Array): boolean {
    if (this.#services.size >= SERVICES_MAX) return false;
    const gidOf = (bytes: Uint8Array) => readGid(viewOf(bytes), SERVICE_RECORD_SERVICE_GID_OFFSET);
    const gid = gidOf(record);
    return [...this.#services.values()].filter((each) => gidOf(each.record) === gid).length < SERVICES_OF_GID;
  }

  /** Removes the service of a query. Returns its record, or undefined. */
  remove(query: Uint8Array, mask: ComponentMask): Uint8Array | undefined {
    for (const [identity, { record }] of this.#services) {
      if (!matches(RECORD, mask, query, record, ['serviceKey', 'lease']) || !hasSameKey(record, query)) continue;
      this.#services.delete(identity);
      return record;
    }
    return undefined;
  }

  run(nowNs: number): void {
    for (const [identity, { endNs }] of this.#services) {
      if (endNs > nowNs) continue;
      this.#services.delete(identity);
      this.expired++;
    }
  }
}

function identityOf(record: Uint8Array): string {
  return record.subarray(0, IDENTITY_BYTES).join('.');
}

function hasSameKey(one: Uint8Array, other: Uint8Array): boolean {
  for (let index = 0; index < KEY_BYTES; index++) {
    const at = SERVICE_RECORD_SERVICE_KEY_OFFSET + index;
    if (one[at] !== other[at]) return false;
  }
  return true;
}
