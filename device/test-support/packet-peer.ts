// SPDX-License-Identifier: Apache-2.0
/**
 * A QP of the adapter on port 1 whose peer is the test: the test puts hand-built packets on the
 * wire and takes each packet that the device sends. So each rule of the transport can be tested
 * alone. Used by `connected-*.test.ts` of conformance/ and by tests of units.
 */
import { AethKind, BthOpcode, bthOpcodeName, PacketError } from '../../protocol/infiniband/gen/values.gen.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../protocol/infiniband/packet-builder.ts';
import { newPacketFields, type PacketFields, readPacketFields } from '../../protocol/infiniband/packet-fields.ts';
import { PSN_MASK } from '../../protocol/infiniband/psn.ts';
import { CREDITS_UNLIMITED } from '../../protocol/infiniband/syndrome.ts';
import { highDword, joinDwords, lowDword } from '../../protocol/layout/dwords.ts';
import { type EventType, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import type { Adapter } from '../adapter/adapter.ts';
import type { Connection, DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../hosts/in-process/driver/requests.ts';
import type { DriverSharedReceiveQueue } from '../hosts/in-process/driver/shared-receive-queue.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import { AdapterFixture, type AdapterFixtureOptions, type Buffer } from './adapter-fixture.ts';
import { type ConnectedOptions, FULL_ACCESS } from './connected-fixture.ts';
import { ScriptedLink } from './scripted-link.ts';

const NO_BYTES = new Uint8Array(0);
/** QP number of the peer; the device has no such QP. */
export const PEER_QPN = 0xabcde;

/** A packet that the device sent. */
export interface SeenPacket extends Readonly<PacketFields> {
  /** Name of the opcode without its service. */
  readonly name: string;
  readonly address: number;
  readonly payload: Uint8Array;
  /** All bytes from LRH to VCRC. */
  readonly bytes: Uint8Array;
}

/** Changes the bytes of a packet; returns the number that arrives. */
export type Damage = (packet: DataView) => number;

/** Options of the QP under test. */
export interface PeerOptions extends ConnectedOptions {
  readonly fixture?: AdapterFixtureOptions;
  /** State of the QP; RTS unless given. */
  readonly state?: 'init' | 'rtr' | 'rts';
  readonly localAccess?: number;
  readonly signalAll?: number;
  /** The QP uses the shared receive queue `srq`. */
  readonly shared?: boolean;
  /** Creates and connects another QP in place of the usual one. */
  readonly build?: (fixture: AdapterFixture, connection: Connection) => DriverQueuePair;
}

/** The fixture, the QP under test and its scripted peer. */
export class PacketPeer {
  readonly fixture: AdapterFixture;
  readonly adapter: Adapter;
  /** The QP under test. */
  readonly qp: DriverQueuePair;
  readonly srq: DriverSharedReceiveQueue | undefined;
  /** All of memory, with all rights. */
  readonly region: DriverMemoryRegion;
  readonly reliable: boolean;
  /** PSN of the next request of the peer. */
  psn: number;
  /** First PSN of the device. */
  readonly firstPsn: number;
  readonly #parsed = newParsedPacket();
  readonly #link: ScriptedLink;

  constructor(options: PeerOptions = {}) {
    const { serviceType = ServiceType.RC, state = 'rts', sendPsn = 100, receivePsn = 500 } = options;
    const fixture = new AdapterFixture(options.fixture);
    this.fixture = fixture;
    this.adapter = fixture.machine.device;
    // It replaces the cable to port 2.
    this.#link = new ScriptedLink(this.adapter.ports[0]);
    // Discards the port events of that replacement.
    fixture.settle();
    fixture.asynchronous.walk();
    this.reliable = serviceType === ServiceType.RC;
    this.psn = receivePsn;
    this.firstPsn = sendPsn;
    this.srq = options.shared ? fixture.driver.createSharedReceiveQueue({ pd: fixture.pd }) : undefined;
    this.region = fixture.driver.createDmaRegion(fixture.pd, options.localAccess ?? FULL_ACCESS);
    const connection = {
      reliable: this.reliable,
      port: 1,
      dlid: fixture.lidOf(2),
      remoteQpn: PEER_QPN,
      pathMtu: 1,
      timeout: 10,
      ...options,
      sendPsn,
      receivePsn,
    };
    this.qp = options.build?.(fixture, connection) ?? this.#create(serviceType, options);
    if (options.build !== undefined) return;
    this.qp.toConnectedInit(connection);
    if (state !== 'init') this.qp.toConnectedReceive(connection);
    if (state === 'rts') this.qp.toConnectedSend(connection);
  }

  #create(serviceType: ServiceType, options: PeerOptions): DriverQueuePair {
    const { fixture } = this;
    const cq = { entriesLog2: options.completionEntriesLog2 ?? 8 };
    return fixture.driver.createQueuePair({
      pd: fixture.pd,
      sendCq: fixture.createCompletionQueue(cq),
      receiveCq: fixture.createCompletionQueue(cq),
      sendEntriesLog2: options.sendEntriesLog2 ?? 6,
      receiveEntriesLog2: options.receiveEntriesLog2 ?? 6,
      creation: { serviceType, signalAll: options.signalAll ?? 0, srqn: this.srq?.srqn ?? 0 },
    });
  }

  /** Memory that the peer may name in a packet by `target`. */
  remoteBuffer(content: Uint8Array | number): Buffer {
    return this.fixture.createBuffer(content);
  }

  /** RETH or AtomicETH fields for a part of `buffer`. */
  target(buffer: Buffer, lengthBytes = buffer.lengthBytes, offset = 0): Partial<PacketFields> {
    const address = buffer.address + offset;
    return {
      virtualAddressHigh: highDword(address),
      virtualAddressLow: lowDword(address),
      rKey: this.region.rkey,
      dmaLength: lengthBytes,
    };
  }

  /** Puts a packet on the wire; the device does not run. `damage` may change or cut its bytes. */
  put(opcode: number, fields: Partial<PacketFields> = {}, payload: Uint8Array = NO_BYTES, damage?: Damage): void {
    const { fixture } = this;
    const ring = this.#wire;
    const all: PacketFields = {
      ...newPacketFields(),
      opcode,
      dlid: fixture.lidOf(1),
      slid: fixture.lidOf(2),
      destQpn: this.qp.qpn,
      psn: this.psn,
      ...fields,
      payloadLengthBytes: payload.length,
    };
    ring.bytes.set(payload, ring.writeOffset + payloadStart(opcode, all.hasGrh));
    const length = buildPacket(ring.view, ring.writeOffset, all, PacketCheck.ALL);
    ring.push(damage?.(new DataView(ring.bytes.buffer, ring.bytes.byteOffset + ring.writeOffset, length)) ?? length);
  }

  /**
   * Sends a request, with the next PSN unless `fields` has one, and lets the device work until it
   * is idle. A reliable request asks for an acknowledgement unless `fields` differs.
   */
  request(opcode: number, fields: Partial<PacketFields> = {}, payload: Uint8Array = NO_BYTES): this {
    this.put(opcode, { ackRequest: this.reliable ? 1 : 0, ...fields }, payload);
    if (fields.psn === undefined) this.psn = (this.psn + 1) & PSN_MASK;
    return this.settle();
  }

  /** Sends a response; `psn` is relative to the first PSN of the device. */
  respond(opcode: number, psn: number, fields: Partial<PacketFields> = {}, payload: Uint8Array = NO_BYTES): this {
    const absolute = (this.firstPsn + psn) & PSN_MASK;
    this.put(opcode, { psn: absolute, syndromeValue: CREDITS_UNLIMITED, ...fields }, payload);
    return this.settle();
  }

  acknowledge(psn: number, fields: Partial<PacketFields> = {}): this {
    return this.respond(BthOpcode.RC_ACKNOWLEDGE, psn, { syndromeKind: AethKind.ACK, ...fields });
  }

  nak(psn: number, code: number): this {
    return this.respond(BthOpcode.RC_ACKNOWLEDGE, psn, { syndromeKind: AethKind.NAK, syndromeValue: code });
  }

  receiverNotReady(psn: number, timer: number): this {
    return this.respond(BthOpcode.RC_ACKNOWLEDGE, psn, { syndromeKind: AethKind.RNR_NAK, syndromeValue: timer });
  }

  settle(): this {
    this.fixture.settle();
    return this;
  }

  /** Advances time by `lengthNs`; the device works at each alarm on the way. */
  wait(lengthNs: number): this {
    const { machine } = this.fixture;
    const endNs = machine.clock.now() + lengthNs;
    while (machine.clock.alarmNs <= endNs) {
      machine.clock.jumpToAlarm();
      machine.runUntilIdle();
    }
    machine.clock.advance(endNs - machine.clock.now());
    return this.settle();
  }

  /** Takes all packets that the device has sent. */
  take(): SeenPacket[] {
    const queues = this.adapter.ports[0].transmitQueues;
    const seen: SeenPacket[] = [];
    for (this.settle(); queues.count > 0; this.settle()) seen.push(...this.takeWaiting(queues.count));
    return seen;
  }

  /** Takes at most `count` packets that wait at the port. The device does not run. */
  takeWaiting(count: number): SeenPacket[] {
    const queues = this.adapter.ports[0].transmitQueues;
    const seen: SeenPacket[] = [];
    while (seen.length < count) {
      const ring = queues.next(undefined);
      if (ring === undefined) break;
      seen.push(this.#read(ring));
      ring.shift();
    }
    return seen;
  }

  /** Takes the one packet that the device has sent; throws if there are none or more. */
  takeOne(): SeenPacket {
    const all = this.take();
    if (all.length !== 1) throw new Error(`${all.length} packets instead of one: ${describe(all).join(', ')}`);
    return all[0] as SeenPacket;
  }

  /** Takes the packets as names and PSNs, relative to the first PSN of the device. */
  takeRequests(): string[] {
    return this.take().map(({ name, psn }) => `${name} ${(psn - this.firstPsn) & PSN_MASK}`);
  }

  /** Takes the responses with absolute PSNs: `ACK 500`, `NAK 1 501`, `RNR 502`, or a name. */
  takeAnswers(): string[] {
    return describe(this.take());
  }

  /** Takes the asynchronous events; their types. */
  events(): EventType[] {
    return this.fixture.asynchronous.walk().map(({ eventType }) => eventType as EventType);
  }

  get #wire(): PacketRing {
    return this.#link.wire;
  }

  #read(ring: PacketRing): SeenPacket {
    const { readOffset: at, readLength: length } = ring;
    const error = parsePacket(ring.view, at, length, this.#parsed, PacketCheck.ICRC);
    if (error !== PacketError.NONE) throw new Error(`The device sent a packet with error ${error}.`);
    const fields = readPacketFields(ring.view, this.#parsed, newPacketFields());
    const { payloadOffset, payloadLengthBytes } = this.#parsed;
    return {
      ...fields,
      name: bthOpcodeName(fields.opcode).replace(/^(RC|UC|XRC)_/, ''),
      address: joinDwords(fields.virtualAddressLow, fields.virtualAddressHigh),
      payload: ring.bytes.slice(payloadOffset, payloadOffset + payloadLengthBytes),
      bytes: ring.bytes.slice(at, at + length),
    };
  }
}

function describe(packets: readonly SeenPacket[]): string[] {
  return packets.map(({ name, syndromeKind, syndromeValue, psn }) => {
    if (name !== 'ACKNOWLEDGE') return `${name} ${psn}`;
    if (syndromeKind === AethKind.ACK) return `ACK ${psn}`;
    return syndromeKind === AethKind.NAK ? `NAK ${syndromeValue} ${psn}` : `RNR ${psn}`;
  });
}
