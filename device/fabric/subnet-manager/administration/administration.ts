// SPDX-License-Identifier: Apache-2.0
/**
 * Subnet administration: answers queries about the subnet, keeps groups, services and subscriptions
 * (IBTA chapter 15). `SubnetManager` hands it the datagrams of its class while it is master, and
 * runs its jobs, which need SMPs before they answer.
 */

import { INFORM_INFO_SIZE } from '../../../../protocol/infiniband/mad/gen/inform-info.gen.ts';
import {
  getMadHeaderBaseVersion,
  getMadHeaderClassVersion,
  getMadHeaderMethod,
} from '../../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { getRmppHeaderIsActive, getRmppHeaderType } from '../../../../protocol/infiniband/mad/gen/rmpp-header.gen.ts';
import { SERVICE_RECORD_SIZE } from '../../../../protocol/infiniband/mad/gen/service-record.gen.ts';
import {
  AdministrationAttribute,
  MadMethod,
  MadStatus,
  RmppType,
  TrapNumber,
} from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { RESPONSE_BIT, RMPP_OFFSET, SA_DATA_OFFSET } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { answerAddress, type MadAddress } from '../../agents/mad-packet.ts';
import type { MadPort } from '../../agents/mad-port.ts';
import type { Gid } from '../guid.ts';
import type { SubnetManagerOptions } from '../options.ts';
import { RmppReceiver } from '../rmpp/receiver.ts';
import { RmppSender } from '../rmpp/sender.ts';
import type { SmpJob } from '../smp-client.ts';
import { Subnet, type SubnetPort } from '../subnet.ts';
import type { SweepCounters } from '../sweep/port-settings.ts';
import { type Group, routeGroups } from '../sweep/sweep.ts';
import { readVlTables } from '../sweep/vl-tables.ts';
import { SubnetGroups } from './groups.ts';
import { multiPathRecords } from './multi-path.ts';
import { joinGroup, leaveGroup } from './multicast-requests.ts';
import { gidNotice } from './notices.ts';
import { portOfGid } from './paths.ts';
import { changeGuids, GivenGuids } from './port-jobs.ts';
import { answerQuery } from './queries.ts';
import { type RecordReply, type RecordRequest, readRecordRequest, responseHead, tableOf } from './request.ts';
import { Services } from './services.ts';
import { Subscriptions } from './subscriptions.ts';
import type { KnownManager } from './table-records.ts';

const SA_CLASS_VERSION = 2;
/** Requests that may wait for jobs; further ones are told that the agent is busy. */
export const JOBS_MAX = 64;
/** Answers that may wait for the routing of multicast groups. */
export const ANSWERS_MAX = 1024;

const A = AdministrationAttribute;

/** Responses that are tables, sent as segments. */
const TABLE_METHODS: readonly number[] = [MadMethod.GET_TABLE, MadMethod.GET_MULTI];

export class Administration {
  readonly options: SubnetManagerOptions;
  subnet = new Subnet();
  managers: readonly KnownManager[] = [];
  readonly multicast = new SubnetGroups();
  readonly services = new Services();
  readonly subscriptions: Subscriptions;
  readonly sender: RmppSender;
  readonly receiver: RmppReceiver;
  /** Requests answered, and those answered with an error. */
  requests = 0;
  refusals = 0;
  readonly counters: SweepCounters = { writes: 0, refusals: 0, silent: 0, cutKeys: 0 };
  readonly #port: MadPort;
  readonly #given = new GivenGuids();
  #jobs: (() => SmpJob)[] = [];
  /** Answers to send when the groups are routed. */
  #waiting: (() => void)[] = [];
  #nowNs = 0;

  constructor(port: MadPort, options: SubnetManagerOptions) {
    this.#port = port;
    this.options = options;
    const send = (address: Readonly<MadAddress>, mad: Uint8Array) => port.send(address, mad);
    this.sender = new RmppSender(send);
    this.receiver = new RmppReceiver(send);
    this.subscriptions = new Subscriptions(send);
  }

  get nextNs(): number {
    const { sender, receiver, services, subscriptions } = this;
    return Math.min(sender.nextNs, receiver.nextNs, services.nextNs, subscriptions.nextNs);
  }

  get hasJob(): boolean {
    return this.#jobs.length > 0;
  }

  /** The next job; a job ends by answering the request that it is for. */
  nextJob(): SmpJob | undefined {
    return this.#jobs.shift()?.();
  }

  groups(): readonly Group[] {
    return this.multicast.routes();
  }

  /** A new master: what an earlier one knew, its clients register again. */
  reset(): void {
    this.multicast.reset(this.options.partitions);
    this.services.reset();
    this.subscriptions.reset();
    this.#jobs = [];
    this.#waiting = [];
  }

  /** Takes what has changed since the last sweep: members leave with their ports. */
  subnetChanged(before: Subnet, nowNs: number): void {
    const { subnetPrefix } = this.options;
    const gone = before.endPorts.filter(({ guid }) => this.subnet.portOfGuid(guid) === undefined);
    const come = this.subnet.endPorts.filter(({ guid }) => before.portOfGuid(guid) === undefined);
    this.subscriptions.keep((gid) => this.#portOf(gid) !== undefined);
    for (const { guid } of come) this.#publish(TrapNumber.GID_IN_SERVICE, subnetPrefix + guid, nowNs);
    for (const { guid } of gone) this.#publish(TrapNumber.GID_OUT_OF_SERVICE, subnetPrefix + guid, nowNs);
    let hasLeft = false;
    for (const group of this.multicast.all) {
      for (const gid of [...group.members.keys()]) {
        if (this.#portOf(gid) !== undefined) continue;
        hasLeft = group.members.delete(gid);
      }
      if (this.multicast.collect(group)) this.#publish(TrapNumber.MULTICAST_GROUP_DELETED, group.mgid, nowNs);
    }
    if (hasLeft) this.#reroute(undefined);
  }

  /** Takes a datagram of subnet administration. */
  take(from: Readonly<MadAddress>, mad: Uint8Array, nowNs: number): void {
    this.#nowNs = nowNs;
    const view = viewOf(mad);
    if (getRmppHeaderIsActive(view, RMPP_OFFSET) === 1) this.#takeSegment(from, mad, view);
    else this.#takeRequest(from, mad, mad.slice(SA_DATA_OFFSET));
  }

  /** Reports a trap to its subscribers. */
  forward(issuerLid: number, notice: Uint8Array, nowNs: number): void {
    const port = this.subnet.portOfLid(issuerLid);
    const gid = port === undefined ? '' : this.options.subnetPrefix + port.guid;
    this.subscriptions.publish(notice, { lid: issuerLid, gid }, nowNs);
  }

  run(nowNs: number): void {
    this.sender.run(nowNs);
    this.receiver.run(nowNs);
    this.services.run(nowNs);
    this.subscriptions.run(nowNs);
  }

  #takeSegment(from: Readonly<MadAddress>, mad: Uint8Array, view: DataView): void {
    if (getRmppHeaderType(view, RMPP_OFFSET) === RmppType.DATA) {
      const data = this.receiver.take(from, mad, this.#nowNs);
      if (data !== undefined) this.#takeRequest(from, mad, data);
      return;
    }
    this.sender.take(from, mad, this.#nowNs);
    this.receiver.end(from, mad);
  }

  #takeRequest(from: Readonly<MadAddress>, mad: Uint8Array, data: Uint8Array): void {
    const view = viewOf(mad);
    const method = getMadHeaderMethod(view, 0);
    if (method === MadMethod.REPORT_RESPONSE) this.subscriptions.answered(mad);
    if ((method & RESPONSE_BIT) !== 0) return;
    const request = readRecordRequest(from, mad, data, this.options.smKey);
    const isKnown = getMadHeaderBaseVersion(view, 0) === 1 && getMadHeaderClassVersion(view, 0) === SA_CLASS_VERSION;
    const reply = isKnown ? this.#answer(request) : refusal(MadStatus.BAD_VERSION);
    if (reply !== undefined) this.#reply(request, reply);
  }

  /** The answer to a request; undefined when a job will answer. */
  #answer(request: RecordRequest): RecordReply | undefined {
    const { method, attribute } = request;
    switch (method) {
      case MadMethod.GET:
      case MadMethod.GET_TABLE:
        if (attribute === A.SL_TO_VL_TABLE_RECORD || attribute === A.VL_ARBITRATION_TABLE_RECORD)
          return this.#queue(() => this.#readVlTables(request));
        return this.#query(request);
      case MadMethod.GET_MULTI:
        if (attribute !== A.MULTI_PATH_RECORD) return refusal(MadStatus.UNSUPPORTED_ATTRIBUTE);
        return multiPathRecords(this.subnet, this.options, request.data, request.mask);
      case MadMethod.SET:
      case MadMethod.DELETE:
        return this.#change(request);
      default:
        return refusal(MadStatus.UNSUPPORTED_METHOD);
    }
  }

  #query(request: RecordRequest): RecordReply {
    const { subnet, managers, multicast: groups, services, subscriptions, options } = this;
    const sources = { subnet, managers, groups, services, subscriptions, options };
    return answerQuery(sources, request, this.#nowNs) ?? refusal(MadStatus.UNSUPPORTED_ATTRIBUTE);
  }

  #change(request: RecordRequest): RecordReply | undefined {
    const { attribute, method, from, data, mask } = request;
    const requester = this.subnet.portOfLid(from.slid);
    if (requester === undefined) return refusal(MadStatus.REQUEST_INVALID);
    const isSet = method === MadMethod.SET;
    if (attribute === A.MC_MEMBER_RECORD) return this.#changeGroup(request, requester, isSet);
    if (attribute === A.GUID_INFO_RECORD) return this.#queue(() => this.#changeGuids(request));
    if (attribute === A.INFORM_INFO && isSet) {
      const status = this.subscriptions.change(from, this.options.subnetPrefix + requester.guid, data);
      return { status, records: [data.slice(0, INFORM_INFO_SIZE)] };
    }
    if (attribute !== A.SERVICE_RECORD) return refusal(MadStatus.UNSUPPORTED_ATTRIBUTE);
    if (!isSet) {
      const record = this.services.remove(data, mask);
      return record === undefined ? refusal(MadStatus.NO_RECORDS) : success(record);
    }
    const isKnownGid = (gid: Gid) => this.#portOf(gid) !== undefined;
    const status = this.services.register(data, mask, isKnownGid, this.#nowNs);
    return status === MadStatus.SUCCESS ? success(data.slice(0, SERVICE_RECORD_SIZE)) : refusal(status);
  }

  #changeGroup(request: RecordRequest, requester: SubnetPort, isJoin: boolean): RecordReply | undefined {
    // Routing may wait for a switch that does not answer.
    if (this.#waiting.length >= ANSWERS_MAX) return refusal(MadStatus.BUSY);
    const { query, mask } = { query: request.data, mask: request.mask };
    const context = { subnet: this.subnet, prefix: this.options.subnetPrefix, groups: this.multicast };
    const outcome = (isJoin ? joinGroup : leaveGroup)({ ...context, query, mask, requester });
    const { status, record, created, deleted, reroutes } = outcome;
    if (created !== undefined) this.#publish(TrapNumber.MULTICAST_GROUP_CREATED, created.mgid, this.#nowNs);
    if (deleted !== undefined) this.#publish(TrapNumber.MULTICAST_GROUP_DELETED, deleted.mgid, this.#nowNs);
    const reply: RecordReply = record === undefined ? refusal(status) : success(record);
    if (reroutes !== true) return reply;
    this.#reroute(() => this.#reply(request, reply));
    return undefined;
  }

  /** Routes the groups, then sends the answers that wait for it. */
  #reroute(answer: (() => void) | undefined): void {
    if (answer !== undefined) this.#waiting.push(answer);
    this.#jobs = this.#jobs.filter((job) => job !== this.#routing);
    this.#jobs.push(this.#routing);
  }

  readonly #routing = (): SmpJob => this.#route();

  *#route(): SmpJob {
    const waiting = this.#waiting;
    this.#waiting = [];
    yield* routeGroups(this.subnet, this.groups(), this.counters);
    for (const answer of waiting) answer();
  }

  *#readVlTables(request: RecordRequest): SmpJob {
    yield* readVlTables(this.subnet);
    this.#reply(request, this.#query(request));
  }

  *#changeGuids(request: RecordRequest): SmpJob {
    this.#reply(request, yield* changeGuids(this.subnet, request, this.#given));
  }

  #queue(job: () => SmpJob): RecordReply | undefined {
    if (this.#jobs.length >= JOBS_MAX) return refusal(MadStatus.BUSY);
    this.#jobs.push(job);
    return undefined;
  }

  #reply(request: RecordRequest, { status, records }: RecordReply): void {
    this.requests++;
    if (status !== MadStatus.SUCCESS) this.refusals++;
    const to = answerAddress(request.from);
    const head = responseHead(request, status, records[0]?.length ?? 0);
    if (TABLE_METHODS.includes(request.method) && status === MadStatus.SUCCESS)
      return this.sender.start(to, head, tableOf(records), this.#nowNs);
    if (records.length > 0) head.set(records[0], SA_DATA_OFFSET);
    this.#port.send(to, head);
  }

  #portOf(gid: Gid): SubnetPort | undefined {
    return portOfGid(this.subnet, this.options.subnetPrefix, gid);
  }

  /** Reports a notice of the manager itself. */
  #publish(trap: number, gid: Gid, nowNs: number): void {
    const issuer = { lid: this.#port.lid, gid: this.options.subnetPrefix + (this.subnet.ownPort?.guid ?? '') };
    this.subscriptions.publish(gidNotice(trap, gid, issuer.lid), issuer, nowNs);
  }
}

function refusal(status: number): RecordReply {
  return { status, records: [] };
}

function success(record: Uint8Array): RecordReply {
  return { status: MadStatus.SUCCESS, records: [record] };
}
