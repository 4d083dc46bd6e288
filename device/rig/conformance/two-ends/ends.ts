// SPDX-License-Identifier: Apache-2.0
/**
 * Two ends of a link, each driven through its own `HardwareAccess`: two ports of an adapter, two
 * adapters of a process, adapters of two processes. The cases of this folder know nothing else, so
 * that one list of them runs on every such pair.
 */
import { strict as assert } from 'node:assert';
import type { CompletionEntry } from '../../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  PORT_ATTRIBUTES_PORT_GUID_OFFSET,
  PORT_ATTRIBUTES_SUBNET_PREFIX_OFFSET,
} from '../../../../protocol/layout/gen/port-attributes.gen.ts';
import type { QpCreation } from '../../../../protocol/layout/gen/qp-creation.gen.ts';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import type { Sge } from '../../../../protocol/layout/gen/sge.gen.ts';
import {
  CompletionStatus,
  completionStatusName,
  ManagementOpcode,
  PortState,
  ServiceType,
} from '../../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../../random.ts';
import { Driver } from '../../driver/driver.ts';
import type { HardwareAccess } from '../../driver/hardware-access.ts';
import type { Connection, DriverQueuePair } from '../../driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../../driver/requests.ts';
import type { SendRequest } from '../../driver/send-request.ts';
import type { Buffer } from '../../fixtures/adapter-fixture.ts';
import { FULL_ACCESS } from '../../fixtures/connected-fixture.ts';

const GUID_BYTES = 8;
/** Local ACK timeout, 268 ms: two processes of a busy machine must not use up the retries. */
const TIMEOUT = 16;
const QUEUE_LOG2 = 6;

/** The location of an end. */
export interface EndPlace {
  readonly access: HardwareAccess;
  readonly port: 1 | 2;
}

/** A connection: `a` sends requests, `b` answers them. */
export interface EndPair {
  readonly a: DriverQueuePair;
  readonly b: DriverQueuePair;
}

/** Options of a connection; RC unless given. */
interface PairOptions extends Partial<Connection> {
  readonly serviceType?: ServiceType;
  /** Packets have a GRH. */
  readonly isGlobal?: boolean;
  /** Creation attributes of the responder's QP. */
  readonly responder?: Partial<QpCreation>;
}

/** One end: a function brought up, its port, a PD and a region over all its memory. */
export class End {
  readonly access: HardwareAccess;
  readonly port: 1 | 2;
  readonly driver: Driver;
  readonly pd: number;
  readonly region: DriverMemoryRegion;
  readonly lid: number;
  readonly gid: Uint8Array;

  constructor({ access, port }: EndPlace, driver = new Driver(access).bringUp()) {
    this.access = access;
    this.port = port;
    this.driver = driver;
    this.pd = driver.createProtectionDomain();
    this.region = driver.createDmaRegion(this.pd, FULL_ACCESS);
    this.lid = access.readRegister(CSR.PORT_LID + (port - 1) * 4, 4);
    const { payload } = driver.management.perform({ opcode: ManagementOpcode.QUERY_PORT, modifier: port });
    const piece = (offset: number): Uint8Array => new Uint8Array(payload.buffer, offset, GUID_BYTES);
    this.gid = Uint8Array.of(
      ...piece(PORT_ATTRIBUTES_SUBNET_PREFIX_OFFSET),
      ...piece(PORT_ATTRIBUTES_PORT_GUID_OFFSET),
    );
  }

  get isActive(): boolean {
    return this.access.readRegister(CSR.PORT_STATE + (this.port - 1) * 4, 4) === PortState.ACTIVE;
  }

  get packetsReceived(): number {
    return this.access.readRegister(CSR.PORT_RECEIVE_PACKETS + (this.port - 1) * 8, 8);
  }

  /** Guest memory with `content`, or with that many zero bytes. */
  buffer(content: Uint8Array | number): Buffer {
    return this.driver.createBuffer(content);
  }

  /** An SGE over all of a buffer. */
  sge({ address, lengthBytes: length }: Buffer): Sge {
    return { address, length, lkey: this.region.lkey };
  }

  queuePair(creation: Partial<QpCreation>): DriverQueuePair {
    const { driver, pd } = this;
    const [sendCq, receiveCq] = [0, 1].map(() => driver.createCompletionQueue({ entriesLog2: QUEUE_LOG2 + 1 }));
    const sizes = { sendEntriesLog2: QUEUE_LOG2, receiveEntriesLog2: QUEUE_LOG2 };
    return driver.createQueuePair({ pd, sendCq, receiveCq, ...sizes, creation });
  }
}

/** Both ends, and helpers for connections and messages between them. */
export class Ends {
  /** Requester. */
  readonly a: End;
  /** Responder. */
  readonly b: End;
  readonly random: Random;

  /** Waits for the link. */
  constructor(requester: End, responder: End, seed: number) {
    this.a = requester;
    this.b = responder;
    this.random = new Random(seed);
    this.waitFor(() => this.a.isActive && this.b.isActive, 'the link');
  }

  /** Resets both functions. */
  reset(): void {
    for (const { driver } of new Set([this.a, this.b])) driver.reset();
  }

  waitFor(condition: () => boolean, what: string): void {
    this.a.access.waitFor(condition, what);
  }

  settle(): void {
    for (const { access } of [this.a, this.b]) access.settle();
  }

  /** Two new connected QPs; RC unless given. Their PSNs wrap early. */
  connect(options: PairOptions = {}): EndPair {
    const { serviceType = ServiceType.RC, responder, isGlobal, timeout = TIMEOUT, ...attributes } = options;
    const pair = { a: this.a.queuePair({ serviceType }), b: this.b.queuePair({ serviceType, ...responder }) };
    const [there, back] = [0, 0].map(() => 0xff_ffff - this.random.below(20)) as [number, number];
    const connectTo = (from: End, to: End, qp: DriverQueuePair, remoteQpn: number, psns: Partial<Connection>): void => {
      const route = isGlobal ? { globalRoute: to.gid } : {};
      const reliable = serviceType === ServiceType.RC;
      qp.connect({ reliable, port: from.port, dlid: to.lid, remoteQpn, timeout, ...psns, ...attributes, ...route });
    };
    connectTo(this.a, this.b, pair.a, pair.b.qpn, { sendPsn: there, receivePsn: back });
    connectTo(this.b, this.a, pair.b, pair.a.qpn, { sendPsn: back, receivePsn: there });
    return pair;
  }

  /** A request with local memory at the requester and remote memory at the responder. */
  rdma(opcode: SendRequest['opcode'] & number, local: Buffer, remote: Buffer, rkey = this.b.region.rkey): SendRequest {
    return { opcode, sges: [this.a.sge(local)], remote: { address: remote.address, rkey } };
  }

  /** Takes `count` successful completions of sends. */
  sent(qp: DriverQueuePair, count = 1): CompletionEntry[] {
    return Array.from({ length: count }, (_, index) => expectStatus(qp.parts.sendCq.take(`send completion ${index}`)));
  }

  /** Takes `count` successful completions of receives. */
  received(qp: DriverQueuePair, count = 1): CompletionEntry[] {
    return Array.from({ length: count }, (_, index) => expectStatus(qp.parts.receiveCq.take(`receive ${index}`)));
  }

  /**
   * Sends one more message and checks that no other completion follows, so all earlier ones came
   * once.
   */
  proveNothingIsLeft(pair: EndPair): void {
    const target = this.b.buffer(8);
    pair.b.postReceive([this.b.sge(target)]);
    const source = this.a.buffer(this.random.bytes(8));
    pair.a.post({ sges: [this.a.sge(source)], immediate: 0xfade });
    this.sent(pair.a);
    assert.equal(this.received(pair.b)[0]?.immediate, 0xfade);
    assertBytes(target.bytes, source.bytes, 'the last message');
    for (const { parts } of [pair.a, pair.b]) assert.ok(!parts.sendCq.ready && !parts.receiveCq.ready, 'one too many');
  }
}

/** Returns the CQE; throws unless it has this status. */
export function expectStatus(entry: CompletionEntry, status: number = CompletionStatus.SUCCESS): CompletionEntry {
  assert.equal(completionStatusName(entry.status), completionStatusName(status));
  return entry;
}

/** Compares bytes, fast enough for long messages. */
export function assertBytes(actual: Uint8Array, expected: Uint8Array, what: string): void {
  const wrong = expected.findIndex((byte, index) => actual[index] !== byte);
  assert.ok(actual.length === expected.length && wrong < 0, `${what}: byte ${wrong} of ${expected.length} is wrong`);
}
