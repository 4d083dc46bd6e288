// SPDX-License-Identifier: Apache-2.0
/**
 * The acts of `Mlx5Fuzz` from a start of the device to its reset: acts of a hostile process with
 * random bytes in its queues and records, and commands and stores of a driver with random bytes.
 */
import {
  COMMAND_ADDRESS_OFFSET,
  COMMAND_DOORBELL_OFFSET,
  COMMAND_ENTRIES,
  FIRST_UAR,
  UAR_PAGE_BYTES,
} from '../../../protocol/mlx5/gen/constants.gen.ts';
import { CommandOpcode, KeyAccessMode, QpService } from '../../../protocol/mlx5/gen/values.gen.ts';
import { HcaState } from '../../personality/mlx5/hca/hca.ts';
import { SharedForm } from '../../personality/mlx5/queues/shared-receive-queue.ts';
import type { Random } from '../../random.ts';
import { HostileValues } from '../fixtures/personality-isolation.ts';
import type { DataFixture } from './driver/data-fixture.ts';
import { CommandError } from './driver/mlx5-driver.ts';
import { Mlx5DriverSharedQueue } from './driver/shared-queue.ts';
import type { FuzzedDriver } from './fuzzed-driver.ts';
import type { HostileEnd, HostileObjects } from './hostile-objects.ts';
import { Mlx5HostileProcess } from './hostile-process.ts';
import type { Mlx5Victims } from './victims.ts';

const PAGE_BYTES = 4096;
const RECORD_BYTES = 8;
const DWORD_BYTES = 4;
const NUMBER_AT = 8;
/** State of the interface, beside the address of the command queue. */
const STATE_MASK = 0x700;
/** Lengths of inputs and outputs of many commands. */
const INPUT_BYTES = [0x10, 0x14, 0x20, 0x40, 0x50, 0x110, 0x118, 0x200, 0x210];
const OUTPUT_BYTES = [0x10, 0x20, 0x110, 0x210, 0x1010];
const services = Object.values(QpService);
const forms = Object.values(SharedForm);
const opcodes = Object.values(CommandOpcode);
/** States that end a life. */
const endings: readonly number[] = [CommandOpcode.TEARDOWN_HCA, CommandOpcode.DISABLE_HCA];
const { RST2INIT_QP, INIT2INIT_QP, INIT2RTR_QP, RTR2RTS_QP, RTS2RTS_QP, SQERR2RTS_QP } = CommandOpcode;
const { QP_2ERR, QP_2RST, QUERY_QP, DESTROY_QP } = CommandOpcode;

const moves = [RST2INIT_QP, INIT2INIT_QP, INIT2RTR_QP, RTR2RTS_QP, RTS2RTS_QP, SQERR2RTS_QP];

export class FuzzedLife {
  readonly hostile: Mlx5HostileProcess;
  readonly #fixture: DataFixture;
  readonly #driver: FuzzedDriver;
  readonly #random: Random;
  readonly #objects: HostileObjects;
  readonly #values: HostileValues;

  /** `beside`: processes whose numbers, keys and addresses this life tries. */
  constructor(fixture: DataFixture, driver: FuzzedDriver, random: Random, beside: Mlx5Victims) {
    this.#fixture = fixture;
    this.#driver = driver;
    this.#random = random;
    this.hostile = new Mlx5HostileProcess([fixture], random, beside, 1);
    [this.#objects] = this.hostile.objects;
    const { memory, window, ends } = this.#objects;
    const { keys: victimKeys, regions: victimMemory, numbers: victims } = beside;
    const own = ends.map(({ qp }) => qp.number);
    this.#values = new HostileValues(random, { memory, keys: [window], own, victims, victimKeys, victimMemory });
  }

  /** True while the device runs: the driver's random bytes have not stopped it. */
  get isRunning(): boolean {
    return this.#driver.device.hca.state === HcaState.RUNNING;
  }

  actAsProcess(): void {
    if (this.#random.oneIn(3)) this.#spoilMemory();
    else this.hostile.act();
  }

  actAsDriver(): void {
    const random = this.#random;
    switch (random.below(8)) {
      case 0:
        return this.#storeSegment();
      case 1:
        return this.#storePage();
      case 2:
        return this.actAsProcess();
      default:
        if (!random.oneIn(8)) this.#driver.spoil = (parts) => this.#spoil(random.pick(parts));
        this.#attempt(random.pick(this.#commands()));
        this.#driver.spoil = undefined;
    }
  }

  /** Lets the process go on, as far as its driver can. */
  recover(): void {
    this.#attempt(() => this.hostile.recover());
    const { events, completions } = this.#fixture;
    for (const queue of [events, completions]) {
      this.#driver.takeEvents(queue);
      this.#driver.arm(queue);
    }
  }

  /** Commands that are valid before they are changed, except for the last kind. */
  #commands(): readonly (() => unknown)[] {
    const random = this.#random;
    const driver = this.#driver;
    const { process, ends, pool, xrcQueue, xrcd, xrcCq, window, memory } = this.#objects;
    const end = random.pick(ends);
    const shared = random.pick([pool, xrcQueue]);
    const [form, service] = [random.pick(forms), random.pick(services)];
    const peer = { remoteQpn: random.pick(ends).qp.number };
    const list = { umrEn: 1, accessMode10: KeyAccessMode.KEYS, translationsOctwordSize: 16, logPageSize: 0, len: 256 };
    return [
      () => process.memory(PAGE_BYTES * (1 + random.below(3)), { umrEn: 1 }),
      () => this.#fixture.createKey([], { pd: process.pd, ...list }),
      () => process.completionQueue(random.below(8)),
      () => end.qp.setup.cq.resize({ logCqSize: random.below(7) }),
      () => process.queuePair({ service, context: end.objects.contextOf(end.kind) }),
      () => end.qp.move(random.pick(moves), peer, { rlid: this.#fixture.lid }, random.pick([0, random.next()])),
      () => end.qp.command(random.pick([QP_2ERR, QP_2RST, QUERY_QP, DESTROY_QP])),
      () => new Mlx5DriverSharedQueue(driver, { form, pd: process.pd, xrcd, cqn: xrcCq.number }),
      () => shared.arm(random.below(9)),
      () => shared.query(),
      () => driver.createEventQueue(process.uar, 1n << BigInt(random.below(64)), random.below(8)),
      () => driver.givePages(random.pick([1, 2])),
      () => process.give(CommandOpcode.DESTROY_MKEY, random.pick([memory.key, window]) >>> 8),
      () => this.#commandAnything(),
    ];
  }

  /** Any opcode: most fields are 0, and the number is often that of an object. */
  #commandAnything(): void {
    const random = this.#random;
    const opcode = random.oneIn(8) ? random.below(0x10000) : random.pick(opcodes);
    if (endings.includes(opcode) && !random.oneIn(8)) return;
    const numbers = [this.#objects.pool.number, ...this.#objects.ends.flatMap(numbersOf), random.below(32)];
    this.#driver.command(opcode, {
      modifier: random.oneIn(4) ? random.below(4) : 0,
      inputBytes: random.pick(INPUT_BYTES),
      outputBytes: random.pick(OUTPUT_BYTES),
      entry: random.below(COMMAND_ENTRIES),
      fill: (view) => {
        view.setUint32(NUMBER_AT, random.pick(numbers));
        // Dense noise never passes the first check.
        for (let words = random.below(6); words > 0; words--)
          view.setUint32(DWORD_BYTES * (2 + random.below(view.byteLength / DWORD_BYTES - 2)), this.#values.word());
      },
    });
  }

  /** A store to the initialising segment; the address of the command queue is right again. */
  #storeSegment(): void {
    const random = this.#random;
    const driver = this.#driver;
    const anywhere = random.below(FIRST_UAR * UAR_PAGE_BYTES);
    // Most states of the interface mean a reset.
    if (random.oneIn(3))
      driver.writeRegister(COMMAND_ADDRESS_OFFSET + random.pick([0, DWORD_BYTES]), (random.next() & ~STATE_MASK) >>> 0);
    else
      driver.port.writeRegister(
        random.pick([COMMAND_DOORBELL_OFFSET, anywhere]),
        random.pick([1, 2, 4, 4, 8]),
        this.#values.word() | 0,
        random.next() | 0,
      );
    if (random.oneIn(100)) driver.setInterface(random.below(8));
    driver.port.readRegister(random.below(FIRST_UAR * UAR_PAGE_BYTES), random.pick([1, 2, 4]));
    driver.connect();
  }

  /** A store to the page of doorbells of any process. */
  #storePage(): void {
    const random = this.#random;
    const sizeBytes = random.pick([4, 8]);
    const page = (FIRST_UAR + random.below(8)) * UAR_PAGE_BYTES;
    const at = random.pick([0x20, 0x40, 0x48, 0x800, random.below(UAR_PAGE_BYTES / sizeBytes) * sizeBytes]);
    this.#driver.port.writeRegister(page + at, sizeBytes, this.#values.word() | 0, this.#values.word() | 0);
  }

  /** Random bytes in a queue, a record or an entry that the process owns. */
  #spoilMemory(): void {
    const random = this.#random;
    const { ends, pool, xrcQueue } = this.#objects;
    const { qp } = random.pick(ends);
    const { cq } = qp.setup;
    const shared = random.pick([pool, xrcQueue]).place;
    const [address, lengthBytes] = random.pick([
      [qp.queue, PAGE_BYTES],
      [qp.queue + qp.sendAt, PAGE_BYTES / 4],
      [qp.record, RECORD_BYTES],
      [shared.queue, PAGE_BYTES / 8],
      [shared.record, RECORD_BYTES],
      [cq.pages[0], cq.entries * cq.entryBytes],
      [cq.record, RECORD_BYTES],
    ]);
    this.#spoil(this.#driver.memory.view(address, Math.min(lengthBytes, PAGE_BYTES)));
  }

  /** A few bytes, bits or words, or all of them. */
  #spoil(view: DataView): void {
    const random = this.#random;
    if (random.oneIn(16)) for (let at = 0; at < view.byteLength; at++) view.setUint8(at, random.below(256));
    for (let count = 1 + random.below(3); count > 0; count--) {
      const at = random.below(view.byteLength);
      if (random.oneIn(3)) view.setUint8(at, random.below(256));
      else if (random.oneIn(2)) view.setUint8(at, view.getUint8(at) ^ (1 << random.below(8)));
      else view.setUint32(at & ~(DWORD_BYTES - 1), this.#values.word());
    }
  }

  #attempt(perform: () => unknown): void {
    try {
      perform();
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
    }
  }
}

function numbersOf({ qp }: HostileEnd): readonly number[] {
  return [qp.number, qp.setup.cq.number];
}
