// SPDX-License-Identifier: Apache-2.0
/**
 * A hostile program on two mlx5 devices, a process on each. It stores at random into everything
 * that it can reach: its pages of doorbells, doorbell records, work queues, completion queues and
 * data. The driver does what the process asks for: it connects QPs again, arms shared queues, and
 * destroys and creates QPs. `Mlx5Isolation` calls it.
 */
import { swapBytes } from '../../../protocol/layout/dwords.ts';
import {
  ARM_CQ_OFFSET,
  ARM_EQ_OFFSET,
  DOORBELL_BYTES,
  DOORBELL_OFFSET,
  EQ_CONSUMER_OFFSET,
  SEND_BLOCK_BYTES,
  UAR_PAGE_BYTES,
} from '../../../protocol/mlx5/gen/constants.gen.ts';
import { CQ_DOORBELL_SIZE, encodeCqDoorbell } from '../../../protocol/mlx5/gen/cq-doorbell.gen.ts';
import {
  setDoorbellRecordReceiveCounter,
  setDoorbellRecordSendCounter,
} from '../../../protocol/mlx5/gen/doorbell-record.gen.ts';
import type { Random } from '../../random.ts';
import { type HostileProcess, HostileValues } from '../fixtures/personality-isolation.ts';
import type { DataFixture } from './driver/data-fixture.ts';
import { type HostileEnd, HostileObjects } from './hostile-objects.ts';
import { HostileRequests } from './hostile-requests.ts';
import type { Mlx5Victims } from './victims.ts';

/** QPs of each kind on a device. */
const COPIES = 2;
const RECORD_BYTES = 8;
const ENTRY_BYTES = 64;
const QUEUE_BYTES = 2048;
const QPN_SHIFT = 8;

export class Mlx5HostileProcess implements HostileProcess {
  /** Its own completions, good ones and errors. */
  good = 0;
  errors = 0;
  /** QPs and CQs that were destroyed and created again. */
  replaced = 0;
  readonly objects: readonly HostileObjects[];
  readonly #random: Random;
  readonly #victims: Mlx5Victims;
  /** By process, like `objects`. */
  readonly #values: readonly HostileValues[];
  readonly #requests: HostileRequests;

  /** `copies`: QPs of each kind on a device. */
  constructor(fixtures: readonly DataFixture[], random: Random, victims: Mlx5Victims, copies = COPIES) {
    this.#random = random;
    this.#victims = victims;
    const drawEntries = (): number => random.between(2, 6);
    this.objects = fixtures.map((fixture) => new HostileObjects(fixture, copies, drawEntries));
    const ends = this.#ends();
    this.#values = this.objects.map(({ memory, window, ends: own }) => {
      const known = { memory, keys: [window], victims: victims.numbers };
      const { keys: victimKeys, regions: victimMemory } = victims;
      return new HostileValues(random, {
        ...{ ...known, victimKeys, victimMemory },
        get own() {
          return own.map(({ qp }) => qp.number);
        },
      });
    });
    this.#requests = new HostileRequests(random, victims, () => random.pick(ends));
    for (const end of ends) this.#connect(end);
  }

  act(): void {
    const random = this.#random;
    const index = random.below(this.objects.length);
    const objects = this.objects[index];
    const values = this.#values[index];
    switch (random.below(13)) {
      case 0:
        return this.#scrambleQueue(objects, values);
      case 1:
        return this.#storeRecord(objects, values);
      case 2:
        return this.#storeAnything(objects);
      case 3:
        return this.#armCompletions(objects);
      case 4:
        return this.#storeEventDoorbell(objects);
      case 5:
        return this.#scrambleCompletions(objects, values);
      case 6:
      case 7:
        return this.#postReceive(objects, values);
      case 8:
        return this.#storeBlueFlame(objects);
      case 9:
      case 10:
      case 11:
        return this.#requests.post(this.#pickSender(objects), values);
      default:
        return this.#ringSends(objects);
    }
  }

  recover(): void {
    const random = this.#random;
    for (const end of this.#ends()) {
      const { good, errors } = end.take();
      this.good += good;
      this.errors += errors;
      const isReplaced = end.kind !== 'target' && (end.hasFailed || random.oneIn(40));
      if (isReplaced) {
        end.replace();
        this.replaced++;
      }
      if (isReplaced || errors > 0 || random.oneIn(8)) this.#connect(end);
    }
    for (const { pool, xrcQueue } of this.objects)
      if (random.oneIn(4)) random.pick([pool, xrcQueue]).arm(random.below(8));
  }

  end(): void {
    for (const objects of this.objects) objects.destroy();
  }

  *ownBytes(): Iterable<Uint8Array> {
    for (const { process, memory } of this.objects) yield process.bytes(memory);
  }

  #ends(): readonly HostileEnd[] {
    return this.objects.flatMap(({ ends }) => ends);
  }

  /**
   * Most connections join two matching ends at any two devices; others name any QP of the program.
   */
  #connect(end: HostileEnd): void {
    const random = this.#random;
    const wanted = { initiator: 'target', target: 'initiator', shared: 'rc', rc: 'rc', uc: 'uc', ud: 'ud' }[end.kind];
    const ends = this.#ends().filter(({ kind }) => kind === wanted);
    const peer = random.pick(random.oneIn(5) ? this.#ends() : ends);
    this.#restart(end, peer);
    if (peer !== end && !random.oneIn(5)) this.#restart(peer, end);
  }

  #restart(end: HostileEnd, peer: HostileEnd): void {
    const values = this.#values[this.objects.indexOf(end.objects)];
    end.restart(peer, () => values.piece());
  }

  #pickSender({ ends }: HostileObjects): HostileEnd {
    return this.#random.pick(ends.filter(({ sends }) => sends));
  }

  /** Stores into its own page, as the device reads dwords. */
  #store({ process }: HostileObjects, inPage: number, sizeBytes: number, first: number, second: number): void {
    const offset = process.uar * UAR_PAGE_BYTES + inPage;
    process.fixture.driver.port.writeRegister(offset, sizeBytes, swapBytes(first) | 0, swapBytes(second) | 0);
  }

  #storeAnything(objects: HostileObjects): void {
    const random = this.#random;
    const sizeBytes = random.pick([1, 2, 4, 8]);
    const at = random.below(UAR_PAGE_BYTES / sizeBytes) * sizeBytes;
    this.#store(objects, random.pick([at, ARM_CQ_OFFSET, DOORBELL_OFFSET]), sizeBytes, random.next(), random.next());
  }

  /** A doorbell of a QP of its own, of a victim or of any other number, at any register. */
  #ringSends(objects: HostileObjects): void {
    const random = this.#random;
    const end = this.#pickSender(objects);
    if (random.oneIn(2)) {
      const record = objects.process.fixture.driver.memory.view(end.qp.record, RECORD_BYTES);
      setDoorbellRecordSendCounter(record, 0, (end.posted + random.pick([1, 1, 2, 16, 17, 255])) & 0xffff);
    }
    const qpn = random.pick([end.qp.number, random.pick(this.#victims.numbers), random.below(2 ** 24)]);
    const register = DOORBELL_OFFSET + random.below((UAR_PAGE_BYTES - DOORBELL_OFFSET) / 8) * 8;
    const at = random.pick([register, DOORBELL_OFFSET, DOORBELL_OFFSET + DOORBELL_BYTES / 2]);
    this.#store(objects, at, 8, random.next(), (qpn << QPN_SHIFT) >>> 0);
  }

  /** A request in the page in place of a doorbell, a feature that the device does not offer. */
  #storeBlueFlame(objects: HostileObjects): void {
    const random = this.#random;
    const { qp } = this.#pickSender(objects);
    const view = objects.process.fixture.driver.memory.view(qp.queue + qp.sendAt, SEND_BLOCK_BYTES);
    const register = DOORBELL_OFFSET + random.below(8) * (DOORBELL_BYTES / 2);
    for (let at = 0; at < SEND_BLOCK_BYTES; at += 8)
      this.#store(objects, register + at, 8, view.getUint32(at), view.getUint32(at + 4));
  }

  #armCompletions(objects: HostileObjects): void {
    const random = this.#random;
    const view = new DataView(new ArrayBuffer(CQ_DOORBELL_SIZE));
    encodeCqDoorbell(view, 0, {
      sequence: random.below(4),
      command: random.below(4),
      cqn: random.oneIn(3) ? random.pick(this.#victims.cqns) : random.pick(objects.completionQueues).number,
      consumerIndex: random.pick([0, 1, random.below(2 ** 24)]),
    });
    const [first, second] = [view.getUint32(0), view.getUint32(4)];
    if (random.oneIn(2)) return this.#store(objects, ARM_CQ_OFFSET, 8, first, second);
    this.#store(objects, ARM_CQ_OFFSET, 4, random.oneIn(2) ? first : random.next(), 0);
    this.#store(objects, ARM_CQ_OFFSET + 4, 4, second, 0);
  }

  /** The EQs belong to the driver. */
  #storeEventDoorbell(objects: HostileObjects): void {
    const random = this.#random;
    const { events, completions } = objects.process.fixture;
    const { number, consumed } = random.pick([events, completions]);
    const index = random.pick([consumed + random.below(4), random.next()]) & 0xffffff;
    this.#store(objects, random.pick([ARM_EQ_OFFSET, EQ_CONSUMER_OFFSET]), 4, ((number << 24) | index) >>> 0, 0);
  }

  #storeRecord(objects: HostileObjects, values: HostileValues): void {
    const random = this.#random;
    const { ends, pool, xrcQueue, completionQueues, process } = objects;
    const records = [
      ...ends.map(({ qp }) => qp.record),
      ...[pool, xrcQueue].map(({ place }) => place.record),
      ...completionQueues.map(({ record }) => record),
    ];
    const view = process.fixture.driver.memory.view(random.pick(records), RECORD_BYTES);
    const value = random.oneIn(2) ? values.word() : view.getUint32(0) + random.below(32);
    view.setUint32(random.pick([0, 4]), value);
  }

  #postReceive(objects: HostileObjects, values: HostileValues): void {
    const random = this.#random;
    const pieces = [...Array.from({ length: random.below(3) }, () => values.piece()), objects.memory];
    const shared = random.pick([objects.pool, objects.xrcQueue]);
    if (!random.oneIn(4)) return random.pick(objects.ends.filter((end) => end.ownsReceives)).qp.postReceive(...pieces);
    // The program does not check whether the entry is free.
    const index = shared.post(...pieces);
    shared.free(index);
    if (!random.oneIn(8)) return;
    const view = objects.process.fixture.driver.memory.view(shared.place.record, RECORD_BYTES);
    setDoorbellRecordReceiveCounter(view, 0, random.next() & 0xffff);
  }

  /** Fills an entry of one of its queues with such words, or changes one word. */
  #scrambleQueue({ ends, pool, xrcQueue, process }: HostileObjects, values: HostileValues): void {
    const random = this.#random;
    const isShared = random.oneIn(4);
    const queue = isShared ? random.pick([pool, xrcQueue]).place.queue : random.pick(ends).qp.queue;
    const entries = (isShared ? QUEUE_BYTES / 4 : QUEUE_BYTES) / ENTRY_BYTES;
    this.#scramble(process.fixture, queue + random.below(entries) * ENTRY_BYTES, values);
  }

  #scrambleCompletions(objects: HostileObjects, values: HostileValues): void {
    const random = this.#random;
    const cq = random.pick(objects.completionQueues);
    const at = random.below(cq.entries) * cq.entryBytes;
    this.#scramble(objects.process.fixture, cq.pages[0] + at, values);
  }

  #scramble(fixture: DataFixture, address: number, values: HostileValues): void {
    const random = this.#random;
    const view = fixture.driver.memory.view(address, ENTRY_BYTES);
    if (random.oneIn(2)) return view.setUint32(random.below(ENTRY_BYTES / 4) * 4, values.word());
    for (let offset = 0; offset < ENTRY_BYTES; offset += 4) view.setUint32(offset, values.word());
  }
}
