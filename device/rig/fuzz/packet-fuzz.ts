// SPDX-License-Identifier: Apache-2.0
/**
 * Malformed packets by seed: headers of all opcodes with random fields, flipped bytes, wrong
 * lengths, to QPs of every service and to numbers without a QP. Two connected QPs on the other port
 * keep working: no packet that arrives at the first port may disturb them. Called by the test and
 * by `npm run simulate -- fuzz --packets` (docs/COMPLIANCE.md).
 */

import { BTH_DEST_QPN_MASK } from '../../../protocol/infiniband/gen/bth.gen.ts';
import { OpcodeFlag, opcodeFlags, TRANSPORT_MASK, Transport } from '../../../protocol/infiniband/opcodes.ts';
import { PacketCheck } from '../../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import { PSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { QpState, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { PACKET_SLOT_BYTES } from '../../fabric/port/packet-ring.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import { responderOf } from '../../hca/transport/state/connected-states.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import { AdapterFixture, type Buffer } from '../fixtures/adapter-fixture.ts';
import { FULL_ACCESS } from '../fixtures/connected-fixture.ts';
import { ScriptedLink } from '../fixtures/scripted-link.ts';

/** Packets between two checks of the bystanders. */
const CHECK_INTERVAL = 5000;
/** Packets after which the target QPs return to RTS. */
const REVIVAL_INTERVAL = 100;
const WIRE_PACKETS = 64;
const LARGEST_PAYLOAD = 4096;
/** Bytes of path MTU code 1. */
const PATH_MTU = 256;
const SERVICES = [ServiceType.RC, ServiceType.UC, ServiceType.UD];
/** Opcodes that are defined. */
const ALL_OPCODES = Array.from({ length: 256 }, (_, opcode) => opcode).filter((opcode) => opcodeFlags[opcode] !== 0);
const TRANSPORTS = [Transport.RC, Transport.UC, Transport.UD];
/** Opcodes of the services of the target QPs. */
const OPCODES = TRANSPORTS.map((transport) => ALL_OPCODES.filter((opcode) => (opcode & TRANSPORT_MASK) === transport));

/** A machine under malformed packets. */
export class PacketFuzz {
  readonly fixture: AdapterFixture;
  packets = 0;
  readonly #adapter: Adapter;
  readonly #link: ScriptedLink;
  readonly #targets: DriverQueuePair[];
  readonly #bystanders: readonly [DriverQueuePair, DriverQueuePair];
  readonly #fields = newPacketFields();
  readonly #rkey: number;
  readonly #memory: number;
  /** LIDs of the two ports. */
  readonly #lids: readonly [number, number];
  readonly #qpns: number[];
  /** Buffers of the bystanders' message. */
  readonly #source: Buffer;
  readonly #target: Buffer;

  constructor(seed: number) {
    const fixture = new AdapterFixture({ seed });
    fixture.machine.onStep = () => {};
    this.fixture = fixture;
    this.#adapter = fixture.machine.device;
    this.#link = new ScriptedLink(this.#adapter.ports[0], WIRE_PACKETS);
    // Keeps the other port up: its QPs send to each other within the port.
    new ScriptedLink(this.#adapter.ports[1]);
    this.#targets = SERVICES.map((serviceType) => this.#createQueuePair(serviceType));
    this.#bystanders = [this.#createQueuePair(ServiceType.RC), this.#createQueuePair(ServiceType.RC)];
    this.#lids = [fixture.lidOf(1), fixture.lidOf(2)];
    this.#qpns = [...this.#targets, ...this.#bystanders].map(({ qpn }) => qpn);
    this.#connectBystanders();
    this.#rkey = fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS).rkey;
    // The memory that packets may write; the driver does not use it.
    this.#memory = fixture.createBuffer(LARGEST_PAYLOAD * 2).address;
    this.#source = fixture.createBuffer(300);
    this.#target = fixture.createBuffer(300);
    this.#revive();
  }

  /** Lets `count` packets arrive. Throws an error with the seed if a bystander was disturbed. */
  run(count: number): void {
    const until = this.packets + count;
    while (this.packets < until) {
      if (this.packets % REVIVAL_INTERVAL === 0) this.#revive();
      if (this.packets % CHECK_INTERVAL === 0) this.#checkBystanders();
      while (!this.#link.wire.full && this.packets < until) {
        this.#put();
        this.packets++;
        if (this.packets % REVIVAL_INTERVAL === 0) break;
      }
      this.#work();
    }
    this.#checkBystanders();
    this.fixture.checkInvariants();
  }

  /** Counts of packets by outcome. Each must occur, or the fuzzing misses a path. */
  get outcomes(): Readonly<Record<string, number>> {
    const { engine, ports } = this.#adapter;
    const { receiver, connected, responder: datagrams } = engine;
    const { badPkeys, badQkeys, receivePackets } = ports[0];
    return {
      received: receivePackets,
      malformed: receiver.malformed.reduce((sum, count) => sum + count, 0),
      wrongLid: receiver.wrongLid,
      unknownQueuePair: receiver.unknownQueuePair,
      badPkeys,
      badQkeys,
      wrongService: datagrams.drops.wrongService,
      duplicates: connected.responder.duplicates,
      sequenceErrors: connected.responder.sequenceErrors,
      answers: connected.answers.packets,
    };
  }

  #createQueuePair(serviceType: ServiceType): DriverQueuePair {
    const { fixture } = this;
    const sendCq = fixture.createCompletionQueue({ entriesLog2: 10 });
    const receiveCq = fixture.createCompletionQueue({ entriesLog2: 10 });
    return fixture.driver.createQueuePair({ pd: fixture.pd, sendCq, receiveCq, creation: { serviceType } });
  }

  /** Both bystanders use port 2, which no fuzzed packet reaches. */
  #connectBystanders(): void {
    const [a, b] = this.#bystanders;
    const path = { reliable: true, port: 2, dlid: this.fixture.lidOf(2) };
    a.connect({ ...path, remoteQpn: b.qpn });
    b.connect({ ...path, remoteQpn: a.qpn });
  }

  /** Brings the target QPs to RTS with receive entries: the state in which packets have effects. */
  #revive(): void {
    const { fixture } = this;
    fixture.asynchronous.walk();
    this.#targets.forEach((qp, index) => {
      qp.toReset();
      qp.parts.receiveCq.drain();
      if (SERVICES[index] === ServiceType.UD) qp.start({ port: 1, qkey: 0 });
      else
        qp.connect({
          reliable: SERVICES[index] === ServiceType.RC,
          port: 1,
          dlid: fixture.lidOf(2),
          remoteQpn: 0x77,
          pathMtu: 1,
          access: FULL_ACCESS,
        });
      const sge = { address: this.#memory, length: LARGEST_PAYLOAD, lkey: fixture.region.lkey };
      for (let entry = 0; entry < 8; entry++) qp.postReceive([sge]);
    });
  }

  /** Sends a message between the bystanders. */
  #checkBystanders(): void {
    const [a, b] = this.#bystanders;
    const source = this.#source;
    const target = this.#target;
    const content = this.fixture.random.bytes(source.lengthBytes);
    source.bytes.set(content);
    b.postReceive([this.fixture.sge(target)]);
    a.post({ sges: [this.fixture.sge(source)] });
    const sent = a.parts.sendCq.take();
    const received = b.parts.receiveCq.take();
    const intact = sent.status === 0 && received.status === 0 && content.every((byte, at) => target.bytes[at] === byte);
    if (!intact || a.query().state !== QpState.RTS || b.query().state !== QpState.RTS)
      throw new Error(`seed ${this.fixture.machine.seed}: after ${this.packets} packets a bystander noticed`);
  }

  #work(): void {
    while (this.#adapter.run(256));
    const queues = this.#adapter.ports[0].transmitQueues;
    while (queues.count > 0) queues.next(undefined)?.shift();
  }

  /** Puts one packet on the wire; one in ten has flipped bytes, one in ten a wrong length. */
  #put(): void {
    const { random } = this.fixture;
    const ring = this.#link.wire;
    const at = ring.writeOffset;
    const fields = this.#fields;
    const target = random.below(SERVICES.length);
    const opcodes = random.oneIn(8) ? ALL_OPCODES : OPCODES[target];
    fields.opcode = opcodes[random.below(opcodes.length)];
    fields.hasGrh = Number(random.oneIn(8));
    this.#randomize(target);
    const length = this.#drawLength(fields.opcode);
    fields.payloadLengthBytes = length;
    const start = at + payloadStart(fields.opcode, fields.hasGrh);
    for (let byte = 0; byte < length; byte += 7) ring.bytes[start + byte] = byte;
    let total = buildPacket(ring.view, at, fields, PacketCheck.ALL);
    switch (random.below(10)) {
      case 0:
        for (let flips = random.between(1, 4); flips > 0; flips--) this.#flip(at, total);
        break;
      case 1:
        total = random.between(0, Math.min(total + 64, PACKET_SLOT_BYTES));
        break;
      default:
    }
    ring.push(total);
  }

  /** A full packet, a short one, an empty one, or any length. */
  #drawLength(opcode: number): number {
    const { random } = this.fixture;
    if ((opcodeFlags[opcode] & OpcodeFlag.PAYLOAD) === 0 && !random.oneIn(8)) return 0;
    if (random.oneIn(8)) return random.below(LARGEST_PAYLOAD);
    return random.oneIn(2) ? PATH_MTU : random.below(PATH_MTU);
  }

  #flip(at: number, total: number): void {
    const { random } = this.fixture;
    const byte = at + random.below(total);
    this.#link.wire.bytes[byte] ^= 1 << random.below(8);
  }

  /** Fields that a peer could send, some of them wrong. */
  #randomize(target: number): void {
    const { random } = this.fixture;
    const fields = this.#fields;
    const near = (): number => (random.oneIn(4) ? random.next() : random.below(4)) & PSN_MASK;
    fields.dlid = random.oneIn(16) ? random.below(0x10000) : this.#lids[0];
    fields.slid = random.oneIn(16) ? random.below(0x10000) : this.#lids[1];
    const { qpn } = this.#targets[target];
    const qp = this.#adapter.tables.queuePairs.get(qpn);
    const expected = (qp && responderOf(qp)?.expectedPsn) ?? 0;
    fields.destQpn = qpn;
    if (random.oneIn(16)) fields.destQpn = random.next() & BTH_DEST_QPN_MASK;
    else if (random.oneIn(8)) fields.destQpn = this.#qpns[random.below(this.#qpns.length)];
    fields.psn = random.oneIn(3) ? near() : expected;
    fields.pKey = random.oneIn(16) ? random.below(0x10000) : 0xffff;
    fields.qKey = random.oneIn(8) ? random.next() : 0;
    fields.ackRequest = random.below(2);
    fields.solicited = random.below(2);
    fields.rKey = random.oneIn(4) ? random.next() : this.#rkey;
    fields.virtualAddressHigh = random.oneIn(8) ? random.next() : 0;
    fields.virtualAddressLow = random.oneIn(8) ? random.next() : this.#memory + random.below(64);
    fields.dmaLength = random.oneIn(8) ? random.next() : random.below(4096);
    fields.syndromeKind = random.below(4);
    fields.syndromeValue = random.below(32);
    fields.msn = near();
    fields.invalidateRKey = random.next();
  }
}
