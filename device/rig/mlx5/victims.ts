// SPDX-License-Identifier: Apache-2.0
/**
 * Processes beside hostile ones on two mlx5 devices: connections between both devices, of all
 * services, two of them with a shared receive queue. They arm their CQs now and then, and check
 * that each request, and nothing else, causes an event. A request that they have not rung for must
 * wait. `Mlx5Isolation` calls it.
 */

import { crc32 } from 'node:zlib';
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { KEY_NUMBER_SHIFT } from '../../../protocol/infiniband/memory-keys.ts';
import { FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import { setDoorbellRecordSendCounter } from '../../../protocol/mlx5/gen/doorbell-record.gen.ts';
import {
  CommandOpcode,
  EventType,
  KeyAccessMode,
  QpService,
  ReceiveQueueType,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { SharedForm } from '../../personality/mlx5/queues/shared-receive-queue.ts';
import {
  type Exchange,
  PersonalityVictims,
  VictimEnd,
  VictimMemory,
  type VictimOpcodes,
  type VictimWork,
} from '../fixtures/personality-victims.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import type { Piece } from '../machine/personality-driver.ts';
import type { DataFixture } from './driver/data-fixture.ts';
import type { DriverEvent } from './driver/mlx5-driver.ts';
import type { Mlx5DriverQueuePair } from './driver/queue-pair.ts';
import { Mlx5DriverSharedQueue } from './driver/shared-queue.ts';
import { Mlx5Process } from './guest-process.ts';

const QKEY = 0x1234;
const NO_INDEX = 0xffffff;
const PAGE_BYTES = 4096;
const RECORD_BYTES = 8;
/** Offsets of the object number in the data of an event. */
const NUMBER_AT = 0x18;
const CQN_AT = 0;
const { RC, UC, UD, XRC } = QpService;

/** A QP, and the process that it belongs to. */
class Mlx5VictimEnd extends VictimEnd {
  readonly process: Mlx5Process;
  readonly qp: Mlx5DriverQueuePair;
  readonly shared: Mlx5DriverSharedQueue | undefined;
  /** An event has been requested. */
  isArmed = false;
  #completions = 0;

  /** `shared`: the entries that messages to this end use. */
  constructor(process: Mlx5Process, memory: VictimMemory, qp: Mlx5DriverQueuePair, shared?: Mlx5DriverSharedQueue) {
    super(memory);
    this.process = process;
    this.qp = qp;
    this.shared = shared;
  }

  get number(): number {
    return this.qp.number;
  }

  get headBytes(): number {
    return this.qp.setup.service === UD ? GRH_SIZE : 0;
  }

  post(work: VictimWork, peer: this): void {
    const to = { remoteLid: peer.process.fixture.lid, remoteQpn: peer.number, qkey: QKEY };
    const { service } = this.qp.setup;
    const srqn = peer.shared?.number ?? 0;
    this.qp.post({ ...work, ...(service === UD ? { to } : service === XRC ? { srqn } : {}) });
  }

  postReceive(piece: Piece): () => void {
    const { shared } = this;
    if (shared === undefined) {
      this.qp.postReceive(piece);
      return () => {};
    }
    const index = shared.post(piece);
    return () => shared.free(index);
  }

  arm(): void {
    this.isArmed = true;
    this.qp.setup.cq.arm();
  }

  take(): number[] {
    const { cq } = this.qp.setup;
    const first = cq.consumed;
    const entries = cq.take();
    if (entries.length === 0) return [];
    cq.tell();
    // Time stamps differ from run to run.
    const rest = entries.map(({ timestamp: _, ...entry }) => entry);
    this.#completions = crc32(JSON.stringify(rest), this.#completions);
    return entries.map((_, index) => cq.syndromeAt(first + index));
  }

  *observe(): Iterable<readonly [string, number]> {
    const { driver, lid } = this.process.fixture;
    const { number, queue, record, setup } = this.qp;
    const what = `QP ${number} of LID ${lid}`;
    yield [`completions of ${what}`, this.#completions];
    yield [`requests of ${what}`, crc32(driver.bytes(queue, PAGE_BYTES))];
    yield [`record of ${what}`, crc32(driver.bytes(record, RECORD_BYTES))];
    yield [`CQ record of ${what}`, crc32(driver.bytes(setup.cq.record, RECORD_BYTES))];
    yield [`context of ${what}`, crc32(JSON.stringify(this.qp.query()))];
    if (this.shared === undefined) return;
    const { place } = this.shared;
    yield [`SRQ of ${what}`, crc32(driver.bytes(place.queue, PAGE_BYTES))];
    yield [`SRQ record of ${what}`, crc32(driver.bytes(place.record, RECORD_BYTES))];
  }
}

export class Mlx5Victims extends PersonalityVictims<Mlx5VictimEnd> {
  readonly exchanges: readonly Exchange<Mlx5VictimEnd>[];
  /** A key of pieces on each device, which requests of its owner may change. */
  readonly windows: readonly number[];
  /** Events of their CQs. */
  events = 0;
  protected readonly opcodes: VictimOpcodes = {
    send: SendOpcode.SEND,
    write: SendOpcode.WRITE,
    read: SendOpcode.READ,
    count: SendOpcode.FETCH_ADD,
  };
  protected readonly machine: InProcessMachine;
  readonly #fixtures: readonly DataFixture[];
  /** QPs whose request waits for its doorbell. */
  readonly #held: readonly Mlx5VictimEnd[];
  #isHeld = false;

  constructor(fixtures: readonly DataFixture[]) {
    super();
    this.#fixtures = fixtures;
    this.machine = fixtures[0].driver.machine;
    const processes = fixtures.map((fixture) => new Mlx5Process(fixture));
    const memories = processes.map((process) => new VictimMemory(process));
    const [near, far] = processes.map(
      (process, index) => (qp: Mlx5DriverQueuePair, shared?: Mlx5DriverSharedQueue) =>
        new Mlx5VictimEnd(process, memories[index], qp, shared),
    );
    const [here, there] = processes;
    const pair = (service: QpService) => connect(near(here.queuePair({ service })), far(there.queuePair({ service })));
    const [pool, xrcd, xrc] = makeSharedQueues(here);
    const own = { rqType: ReceiveQueueType.SHARED, srqnRmpnXrqn: pool.number, userIndex: NO_INDEX };
    const none = { rqType: ReceiveQueueType.NONE };
    const shared = connect(far(there.queuePair()), near(here.queuePair({ context: own }), pool));
    const target = { service: XRC, cq: xrc.cq, context: { ...none, noSq: 1, xrcd } };
    const domain = connect(
      far(there.queuePair({ service: XRC, context: none })),
      near(here.queuePair(target), xrc.queue),
    );
    const [rc, ud, held] = [pair(RC), pair(UD), pair(RC)];
    this.#held = [held.from, held.to];
    this.windows = processes.map(({ pd, fixture }) =>
      fixture.createKey([], { pd, umrEn: 1, accessMode10: KeyAccessMode.KEYS, logPageSize: 0, len: PAGE_BYTES }),
    );
    this.exchanges = [
      { kind: 'send', ...rc },
      { kind: 'send', ...turn(rc) },
      { kind: 'send', ...pair(UC) },
      { kind: 'send', ...ud },
      { kind: 'send', ...turn(ud) },
      { kind: 'send', ...shared },
      { kind: 'send', ...domain },
      { kind: 'write', ...turn(rc) },
      { kind: 'read', ...rc },
      { kind: 'count', ...turn(rc) },
    ];
    this.takeEvents();
  }

  override get ends(): readonly Mlx5VictimEnd[] {
    return [...super.ends, ...this.#held];
  }

  override get keys(): readonly number[] {
    return [...super.keys, ...this.windows];
  }

  /** Numbers of the victims' objects, which others may guess. */
  get numbers(): readonly number[] {
    return this.ends.map(({ number }) => number);
  }

  get cqns(): readonly number[] {
    return this.ends.map(({ qp }) => qp.setup.cq.number);
  }

  get srqns(): readonly number[] {
    return this.ends.flatMap(({ shared }) => (shared === undefined ? [] : [shared.number]));
  }

  /** Requests that the records count, but for which no doorbell was rung. */
  hold(): void {
    for (const { qp, process } of this.#held) {
      qp.write({ opcode: SendOpcode.NOP });
      setDoorbellRecordSendCounter(process.fixture.driver.memory.view(qp.record, RECORD_BYTES), 0, qp.blocks);
    }
    this.#isHeld = true;
  }

  override round(): string | undefined {
    return this.#ringHeld() ?? super.round();
  }

  override observe(): Map<string, number> {
    const seen = super.observe();
    for (const [index, { driver }] of this.#fixtures.entries()) {
      const attributes = driver.device.hca.keys.get(this.windows[index] >>> KEY_NUMBER_SHIFT)?.attributes;
      seen.set(`key of device ${index}`, crc32(JSON.stringify(attributes)));
    }
    return seen;
  }

  /** True for an object of the victims at the device with that LID. */
  owns(lid: number, kind: FaultObject, number: number): boolean {
    const ends = this.ends.filter(({ process }) => process.fixture.lid === lid);
    if (kind === FaultObject.QP) return ends.some((end) => end.number === number);
    if (kind === FaultObject.CQ) return ends.some(({ qp }) => qp.setup.cq.number === number);
    return kind === FaultObject.SRQ && ends.some(({ shared }) => shared?.number === number);
  }

  /** Takes the events of both devices. Describes what is wrong with one. */
  takeEvents(): string | undefined {
    const wrong: string[] = [];
    for (const fixture of this.#fixtures)
      for (const queue of [fixture.events, fixture.completions]) {
        const told = fixture.driver.device.hca.events.get(queue.number)?.consumerIndex;
        if (told !== queue.consumed && this.rounds > 0) wrong.push(`EQ ${queue.number} has consumer index ${told}`);
        for (const event of fixture.driver.takeEvents(queue)) wrong.push(...this.#judge(fixture, event));
        fixture.driver.arm(queue);
      }
    return wrong[0];
  }

  protected override perform(exchange: Exchange<Mlx5VictimEnd>): string | undefined {
    const { kind, from, to } = exchange;
    const isArmed = Math.floor(this.rounds / this.exchanges.length) % 2 === 0;
    const ends = kind === 'send' ? [from, to] : [from];
    const early = this.takeEvents();
    if (early !== undefined) return early;
    if (isArmed) for (const end of ends) end.arm();
    const wrong = super.perform(exchange) ?? this.takeEvents();
    const silent = ends.find((end) => end.isArmed);
    return wrong ?? (silent === undefined ? undefined : `no event has come for QP ${silent.number}`);
  }

  /** Rings for the requests that wait. Describes what is wrong with their completions. */
  #ringHeld(): string | undefined {
    if (!this.#isHeld) return undefined;
    this.#isHeld = false;
    this.machine.runUntilIdle();
    for (const { qp } of this.#held) {
      const { cq } = qp.setup;
      if (cq.peek() !== undefined) return `a request of QP ${qp.number} has ended before its doorbell`;
      qp.ring();
      this.machine.runUntil(() => cq.peek() !== undefined, 'the end of a request');
    }
    const syndromes = this.#held.flatMap((end) => end.take());
    return syndromes.every((syndrome) => syndrome === 0) ? undefined : `syndromes ${syndromes} without a message`;
  }

  *#judge(fixture: DataFixture, { type, data }: DriverEvent): Iterable<string> {
    const isOfQueue = type === EventType.CQ_ERROR;
    const number = data.getUint32(isOfQueue ? CQN_AT : NUMBER_AT) & 0xffffff;
    const ends = this.ends.filter(({ process }) => process.fixture === fixture);
    const ofCq = ends.find(({ qp }) => qp.setup.cq.number === number);
    if (type === EventType.COMPLETION) {
      if (ofCq === undefined) return;
      if (!ofCq.isArmed) yield `CQ ${number} has an event that it has not asked for`;
      ofCq.isArmed = false;
      ofCq.qp.setup.cq.noteEvent();
      this.events++;
      return;
    }
    const isShared = type === EventType.SRQ_LIMIT || type === EventType.SRQ_CATASTROPHIC;
    const found = isOfQueue ? ofCq : ends.find(({ qp, shared }) => (isShared ? shared?.number : qp.number) === number);
    if (found !== undefined) yield `event ${type} of number ${number}`;
  }
}

/** Both ends of a connection, in RTS. */
function connect(from: Mlx5VictimEnd, to: Mlx5VictimEnd) {
  from.qp.start(to.number, to.process.fixture.lid);
  to.qp.start(from.number, from.process.fixture.lid);
  return { from, to };
}

function turn<End>({ from, to }: { readonly from: End; readonly to: End }) {
  return { from: to, to: from };
}

/** A pool, a domain of XRC, and a shared queue of it with its CQ. */
function makeSharedQueues(process: Mlx5Process) {
  const { pd, fixture } = process;
  const { driver } = fixture;
  const xrcd = driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
  const cq = process.completionQueue();
  const pool = new Mlx5DriverSharedQueue(driver, { form: SharedForm.POOL, pd });
  const queue = new Mlx5DriverSharedQueue(driver, { form: SharedForm.XRC, pd, xrcd, cqn: cq.number });
  return [pool, xrcd, { cq, queue }] as const;
}
