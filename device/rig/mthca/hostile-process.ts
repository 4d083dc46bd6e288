// SPDX-License-Identifier: Apache-2.0
/**
 * A hostile process on an mthca device: it owns a user access region, queue pairs of all services,
 * an SRQ and memory, and stores at random into its page of doorbells, its doorbell records, its
 * work queues and its data. The driver does what the process asks for: it connects QPs that have
 * failed, arms the SRQ, and takes the pages of the records away for a while. `MthcaIsolation` calls
 * it.
 */
import { ICM_PAGE_BYTES, UAR_PAGE_BYTES } from '../../../protocol/mthca/gen/constants.gen.ts';
import { encodeCqDoorbell } from '../../../protocol/mthca/gen/cq-doorbell.gen.ts';
import { encodeSendDoorbell } from '../../../protocol/mthca/gen/send-doorbell.gen.ts';
import { CommandOpcode, QpService, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import { type HostileProcess, HostileValues } from '../fixtures/personality-isolation.ts';
import type { Piece } from '../machine/personality-driver.ts';
import type { DataFixture, FixtureQueuePair } from './driver/data-fixture.ts';
import { type SendWork, writeSend } from './driver/data-queue-pair.ts';
import { UARC_BASE } from './driver/profile.ts';
import { DriverSharedQueue } from './driver/shared-queue.ts';
import type { Victims } from './victims.ts';

const HOSTILE_UAR = 2;
const HOSTILE_PD = 9;
/** Not the Q_Key of the victims, because a request may ask for the Q_Key of its own QP. */
const HOSTILE_QKEY = 0x9999;
const SRQN = 17;
/** LIDs of both ports. */
const LIDS = [1, 2];
const RECORDS = 24;
const RECORD_BYTES = 8;
const QUEUE_BYTES = 0x2000;
const MEMORY_BYTES = 8192;
const REQUEST_BYTES = 256;
const RECORDS_ICM = UARC_BASE + HOSTILE_UAR * ICM_PAGE_BYTES;

export class MthcaHostileProcess implements HostileProcess {
  /** Its own completions, good ones and errors. */
  completions = 0;
  errors = 0;
  readonly own: readonly FixtureQueuePair[];
  readonly shared: DriverSharedQueue;
  readonly #fixture: DataFixture;
  readonly #random: Random;
  readonly #victims: readonly FixtureQueuePair[];
  readonly #memory: Piece;
  readonly #values: HostileValues;
  /** Guest address of its doorbell records. */
  readonly #records: number;
  #hasRecords = true;

  constructor(fixture: DataFixture, random: Random, victims: Victims) {
    this.#fixture = fixture;
    this.#random = random;
    this.#victims = victims.ends.map(({ qp }) => qp);
    this.#memory = fixture.memory(MEMORY_BYTES, { pd: HOSTILE_PD });
    this.#records = fixture.driver.device.hca.icm.resolve(RECORDS_ICM);
    const owner = { uar: HOSTILE_UAR, pd: HOSTILE_PD };
    this.shared = new DriverSharedQueue(fixture.driver, fixture.takeRecords(HOSTILE_UAR), { ...owner, number: SRQN });
    const context = { qkey: HOSTILE_QKEY };
    const receiver = { ...owner, context: { ...context, hasSrq: 1, srqn: SRQN } };
    const services = [QpService.RC, QpService.UC, QpService.UD];
    this.own = [
      ...services.flatMap((service) => fixture.connect(service, { ...owner, context }, { ...owner, context })),
      ...fixture.connect(QpService.RC, { ...owner, context }, receiver),
    ];
    this.#values = new HostileValues(random, {
      memory: this.#memory,
      own: this.own.map(({ number }) => number),
      victims: this.#victims.map(({ number }) => number),
      victimKeys: victims.keys,
      victimMemory: victims.regions,
    });
  }

  act(): void {
    switch (this.#random.below(8)) {
      case 0:
        return this.#scramble();
      case 6:
        return this.#postAlmostRight();
      case 7:
        if (this.#hasRecords) this.#postReceive();
        return;
      case 1:
        return this.#storeRecord();
      case 2:
        return this.#storeAnything();
      case 3:
        return this.#ringCompletions();
      default:
        return this.#ringSends();
    }
  }

  /**
   * Takes what the process has received; the driver connects QPs again, and does what it may ask
   * for.
   */
  recover(): void {
    const random = this.#random;
    this.#giveRecords();
    for (const qp of this.own) {
      for (const { syndrome } of qp.take()) {
        this.completions++;
        if (syndrome !== 0) this.errors++;
      }
    }
    for (let first = 0; first < this.own.length; first += 2) if (random.oneIn(3)) this.#connect(first);
    const { driver } = this.#fixture;
    if (random.oneIn(4)) driver.expect(CommandOpcode.ARM_SRQ, { input: random.below(8), modifier: SRQN });
    if (random.oneIn(8)) this.#takeRecords();
  }

  /** Removes the process and all its objects. */
  end(): void {
    this.#giveRecords();
    for (const qp of this.own) qp.destroy();
    const { driver } = this.#fixture;
    driver.expect(CommandOpcode.HW2SW_SRQ, { modifier: SRQN, out: 0x40 });
    for (const { cq } of this.own) driver.expect(CommandOpcode.HW2SW_CQ, { modifier: cq.number, out: 0x40 });
  }

  *ownBytes(): Iterable<Uint8Array> {
    yield this.#fixture.bytes(this.#memory);
  }

  /** Connects two QPs, at both ports, to each other or to any own QP. */
  #connect(first: number): void {
    const random = this.#random;
    const pair = this.own.slice(first, first + 2);
    const isRight = !random.oneIn(4);
    for (const [index, qp] of pair.entries()) {
      qp.restart();
      const lid = isRight ? LIDS[1 - index] : random.pick(LIDS);
      qp.start(isRight ? pair[1 - index].number : random.pick(this.own).number, lid);
    }
  }

  #postReceive(): void {
    const random = this.#random;
    // Messages fit, whatever the first piece is.
    const pieces = [this.#values.piece(), this.#memory];
    if (!random.oneIn(4)) return random.pick(this.own).postReceive(...pieces);
    // The process does not check whether the entry is free.
    this.shared.free(this.shared.post(...pieces));
  }

  /** Leaves a hole in context memory where the records were. */
  #takeRecords(): void {
    this.#fixture.driver.expect(CommandOpcode.UNMAP_ICM, { input: RECORDS_ICM, modifier: 1 });
    this.#hasRecords = false;
  }

  #giveRecords(): void {
    if (this.#hasRecords) return;
    const { driver } = this.#fixture;
    driver.expect(CommandOpcode.MAP_ICM, driver.backContextMemory(RECORDS_ICM, this.#records, 1));
    this.#hasRecords = true;
  }

  #storeRecord(): void {
    const at = this.#records + this.#random.below(RECORDS) * RECORD_BYTES;
    const view = this.#fixture.driver.memory.view(at, RECORD_BYTES);
    view.setUint32(this.#random.oneIn(8) ? 4 : 0, this.#values.word());
  }

  /** Stores into its own page: offsets and sizes of all kinds. */
  #store(inPage: number, sizeBytes: number, low: number, high: number): void {
    const offset = HOSTILE_UAR * UAR_PAGE_BYTES + inPage;
    this.#fixture.driver.machine.functionAt(0).writeCollect(offset, sizeBytes, low | 0, high | 0);
  }

  #storeAnything(): void {
    const random = this.#random;
    const sizeBytes = random.pick([1, 2, 4, 8]);
    const at = random.below(UAR_PAGE_BYTES / sizeBytes) * sizeBytes;
    this.#store(random.pick([at, 0x10, 0x20]), sizeBytes, random.next(), random.next());
  }

  #ringSends(): void {
    const random = this.#random;
    const qp = random.pick(random.oneIn(4) ? this.#victims : this.own);
    const { data } = this.#fixture.driver.device.hca.queuePairs.get(qp.number) ?? {};
    const view = new DataView(new ArrayBuffer(8));
    encodeSendDoorbell(view, 0, {
      count: random.pick([0, 1, 1, 2, 16, 255]),
      // Often the right head, so that the queue is read.
      head: random.oneIn(3) ? random.below(0x10000) : (data?.sends.posted ?? 0),
      opcode: random.oneIn(2) ? random.pick(opcodes) : random.below(32),
      fence: random.below(2),
      qpn: random.oneIn(10) ? random.below(2 ** 24) : qp.number,
      size: random.below(64),
    });
    this.#store(0x10, 8, view.getInt32(0, true), view.getInt32(4, true));
  }

  #ringCompletions(): void {
    const random = this.#random;
    const view = new DataView(new ArrayBuffer(8));
    encodeCqDoorbell(view, 0, {
      sequence: random.below(4),
      command: random.below(4),
      cqn: random.pick(random.oneIn(4) ? this.#victims : this.own).cq.number,
      consumerIndex: random.pick([0, 1, random.next()]),
    });
    this.#store(0x20, 8, view.getInt32(0, true), view.getInt32(4, true));
  }

  /** A request of one of its QPs that is valid, or has one wrong field or a few wrong words. */
  #postAlmostRight(): void {
    const random = this.#random;
    const qp = random.pick(this.own);
    const { data } = this.#fixture.driver.device.hca.queuePairs.get(qp.number) ?? {};
    if (data === undefined) return;
    const head = data.sends.posted;
    const view = qp.sendView(head);
    const work = this.#work(qp.setup.service === QpService.UD);
    const size = writeSend(view, work, qp.setup);
    for (let words = random.oneIn(2) ? random.below(3) : 0; words > 0; words--)
      view.setUint32(random.below(size * 4) * 4, this.#values.word());
    qp.ringRaw({ count: 1, head, opcode: work.opcode, size, fence: 0 });
  }

  #work(isDatagram: boolean): SendWork {
    const random = this.#random;
    const pieces = Array.from({ length: 1 + random.below(3) }, () => this.#values.piece());
    const to = { lid: random.pick(LIDS), qpn: random.pick(this.own).number, qkey: HOSTILE_QKEY, pd: HOSTILE_PD };
    if (isDatagram) return { opcode: WorkOpcode.SEND, pieces, to };
    const remote = this.#values.piece();
    const word = [{ ...this.#values.piece(), byteCount: 8 }];
    switch (random.below(5)) {
      case 0:
        return { opcode: WorkOpcode.RDMA_WRITE, pieces, remote };
      case 1:
        return { opcode: WorkOpcode.RDMA_READ, pieces, remote };
      case 2:
        return { opcode: WorkOpcode.COMPARE_AND_SWAP, pieces: word, remote, atomic: [1, 0] };
      case 3:
        return { opcode: WorkOpcode.SEND, inline: random.bytes(random.below(100)) };
      default:
        return { opcode: WorkOpcode.SEND, pieces };
    }
  }

  /** Fills a request of one of its queues with such words, or changes one word. */
  #scramble(): void {
    const random = this.#random;
    const isShared = random.oneIn(8);
    const queue = isShared ? this.shared.queue : random.pick(this.own).queue;
    const at = random.below((isShared ? ICM_PAGE_BYTES : QUEUE_BYTES) / REQUEST_BYTES) * REQUEST_BYTES;
    const view = this.#fixture.driver.memory.view(queue + at, REQUEST_BYTES);
    if (random.oneIn(2)) return view.setUint32(random.below(REQUEST_BYTES / 4) * 4, this.#values.word());
    for (let offset = 0; offset < REQUEST_BYTES; offset += 4) view.setUint32(offset, this.#values.word());
  }
}

const opcodes = Object.values(WorkOpcode);
