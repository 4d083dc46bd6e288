// SPDX-License-Identifier: Apache-2.0
/**
 * Subscriptions to notices, and the reports sent for them (IBTA 13.4.8.3 and 15.4). A report is
 * repeated until its response comes, a few times.
 */

import {
  getInformInfoIsGeneric,
  getInformInfoLidRangeBegin,
  getInformInfoLidRangeEnd,
  getInformInfoProducerType,
  getInformInfoQpn,
  getInformInfoSubscribe,
  getInformInfoTrapNumber,
  getInformInfoType,
  INFORM_INFO_GID_OFFSET,
  INFORM_INFO_SIZE,
  setInformInfoQpn,
} from '../../../../protocol/infiniband/mad/gen/inform-info.gen.ts';
import {
  INFORM_INFO_RECORD_GID_OFFSET,
  INFORM_INFO_RECORD_SIZE,
  INFORM_INFO_RECORD_SUBSCRIBER_GID_OFFSET,
  setInformInfoRecordEnumeration,
} from '../../../../protocol/infiniband/mad/gen/inform-info-record.gen.ts';
import { getMadHeaderTransactionIdLow } from '../../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  getNoticeIsGeneric,
  getNoticeProducerType,
  getNoticeTrapNumber,
  getNoticeType,
} from '../../../../protocol/infiniband/mad/gen/notice.gen.ts';
import {
  AdministrationAttribute,
  MadClass,
  MadMethod,
  MadStatus,
} from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { beginMad } from '../../../../protocol/infiniband/mad/mad-head.ts';
import { MAD_BYTES, SA_DATA_OFFSET } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { answerAddress, type MadAddress } from '../../agents/mad-packet.ts';
import { type Gid, readGid, sameBytes, writeGidText } from '../guid.ts';
import type { SendMad } from '../rmpp/rmpp.ts';

const ALL = 0xffff;
const ALL_PRODUCERS = 0xffffff;
const NO_GID: Gid = '0'.repeat(32);
const TIMEOUT_NS = 500_000_000;
const ATTEMPTS = 3;
/** Subscriptions in all, and of one port. */
export const SUBSCRIPTIONS_MAX = 1024;
export const SUBSCRIPTIONS_OF_PORT = 64;
/** Reports that may be without response; further ones are dropped. */
export const REPORTS_MAX = 256;
const TRANSACTION_HIGH = 0x5a000000;

interface Subscription {
  readonly number: number;
  readonly gid: Gid;
  readonly to: Readonly<MadAddress>;
  readonly info: Uint8Array;
}

interface Report {
  readonly to: Readonly<MadAddress>;
  readonly mad: Uint8Array;
  sent: number;
  deadlineNs: number;
}

/** The issuer of a notice. */
interface Issuer {
  readonly lid: number;
  readonly gid: Gid;
}

export class Subscriptions {
  /** Reports without response, and reports dropped for want of room. */
  unanswered = 0;
  dropped = 0;
  readonly #send: SendMad;
  #subscriptions: Subscription[] = [];
  readonly #reports = new Map<number, Report>();
  #lastNumber = 0;
  #lastReport = 0;

  constructor(send: SendMad) {
    this.#send = send;
  }

  get nextNs(): number {
    let next = Infinity;
    for (const { deadlineNs } of this.#reports.values()) next = Math.min(next, deadlineNs);
    return next;
  }

  reset(): void {
    this.#subscriptions = [];
    this.#reports.clear();
  }

  /** Carries out Set(InformInfo) of a subscriber. Returns a status; `info` becomes the answer. */
  change(from: Readonly<MadAddress>, gid: Gid, info: Uint8Array): number {
    const view = viewOf(info);
    if (getInformInfoSubscribe(view, 0) > 1) return MadStatus.REQUEST_INVALID;
    if (getInformInfoSubscribe(view, 0) === 0) return this.#remove(from, gid, info);
    setInformInfoQpn(view, 0, from.sourceQpn);
    const copy = info.slice(0, INFORM_INFO_SIZE);
    if (this.#subscriptions.some((each) => each.gid === gid && sameBytes(each.info, copy))) return MadStatus.SUCCESS;
    const own = this.#subscriptions.filter((each) => each.gid === gid).length;
    if (own >= SUBSCRIPTIONS_OF_PORT || this.#subscriptions.length >= SUBSCRIPTIONS_MAX) return MadStatus.NO_RESOURCES;
    this.#lastNumber++;
    this.#subscriptions.push({ number: this.#lastNumber, gid, to: answerAddress(from), info: copy });
    return MadStatus.SUCCESS;
  }

  /** Removes the subscription that differs in `subscribe` alone. */
  #remove(from: Readonly<MadAddress>, gid: Gid, info: Uint8Array): number {
    const qpn = getInformInfoQpn(viewOf(info), 0) || from.sourceQpn;
    const index = this.#subscriptions.findIndex((each) => {
      const view = viewOf(each.info);
      if (each.gid !== gid || getInformInfoQpn(view, 0) !== qpn) return false;
      return [
        getInformInfoTrapNumber,
        getInformInfoType,
        getInformInfoLidRangeBegin,
        getInformInfoLidRangeEnd,
        getInformInfoIsGeneric,
      ].every((read) => read(view, 0) === read(viewOf(info), 0));
    });
    if (index < 0) return MadStatus.REQUEST_INVALID;
    this.#subscriptions.splice(index, 1);
    return MadStatus.SUCCESS;
  }

  /** Drops the subscriptions of ports that are gone. */
  keep(isPresent: (gid: Gid) => boolean): void {
    this.#subscriptions = this.#subscriptions.filter(({ gid }) => isPresent(gid));
  }

  records(): Uint8Array[] {
    return this.#subscriptions.map(({ number, gid, info }) => {
      const bytes = new Uint8Array(INFORM_INFO_RECORD_SIZE);
      const view = viewOf(bytes);
      writeGidText(view, INFORM_INFO_RECORD_SUBSCRIBER_GID_OFFSET, gid);
      setInformInfoRecordEnumeration(view, 0, number);
      bytes.set(info, INFORM_INFO_RECORD_GID_OFFSET);
      return bytes;
    });
  }

  /** Reports a notice to all that have subscribed to it. */
  publish(notice: Uint8Array, issuer: Issuer, nowNs: number): void {
    for (const { to, info } of this.#subscriptions) {
      if (!wants(viewOf(info), viewOf(notice), issuer)) continue;
      if (this.#reports.size >= REPORTS_MAX) {
        this.dropped++;
        continue;
      }
      this.#lastReport = (this.#lastReport + 1) >>> 0;
      const report = { to, mad: reportMad(notice, this.#lastReport), sent: 1, deadlineNs: nowNs + TIMEOUT_NS };
      this.#reports.set(this.#lastReport, report);
      this.#send(to, report.mad);
    }
  }

  /** A subscriber has answered a report. */
  answered(mad: Uint8Array): void {
    this.#reports.delete(getMadHeaderTransactionIdLow(viewOf(mad), 0));
  }

  run(nowNs: number): void {
    for (const [transaction, report] of this.#reports) {
      if (report.deadlineNs > nowNs) continue;
      if (report.sent === ATTEMPTS) {
        this.unanswered++;
        this.#reports.delete(transaction);
        continue;
      }
      report.sent++;
      report.deadlineNs = nowNs + TIMEOUT_NS;
      this.#send(report.to, report.mad);
    }
  }
}

/** True if a subscription covers a notice (IBTA 13.4.8.3). */
function wants(info: DataView, notice: DataView, { lid, gid }: Issuer): boolean {
  if (getInformInfoIsGeneric(info, 0) !== getNoticeIsGeneric(notice, 0)) return false;
  const type = getInformInfoType(info, 0);
  if (type !== ALL && type !== getNoticeType(notice, 0)) return false;
  const trap = getInformInfoTrapNumber(info, 0);
  if (trap !== ALL && trap !== getNoticeTrapNumber(notice, 0)) return false;
  const producer = getInformInfoProducerType(info, 0);
  if (producer !== ALL_PRODUCERS && producer !== getNoticeProducerType(notice, 0)) return false;
  const wantedGid = readGid(info, INFORM_INFO_GID_OFFSET);
  if (wantedGid !== NO_GID) return wantedGid === gid;
  const begin = getInformInfoLidRangeBegin(info, 0);
  const end = getInformInfoLidRangeEnd(info, 0);
  return begin === ALL || (lid >= begin && lid <= Math.max(begin, end));
}

function reportMad(notice: Uint8Array, transaction: number): Uint8Array {
  const mad = new Uint8Array(MAD_BYTES);
  beginMad(mad, {
    managementClass: MadClass.SUBNET_ADMINISTRATION,
    method: MadMethod.REPORT,
    transactionHigh: TRANSACTION_HIGH,
    transactionLow: transaction,
    attributeId: AdministrationAttribute.NOTICE,
  });
  mad.set(notice, SA_DATA_OFFSET);
  return mad;
}
