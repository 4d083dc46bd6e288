// SPDX-License-Identifier: Apache-2.0
/**
 * Several functions on one pool of PCBs and one space of VCBs under seeded random load; every
 * invariant is checked after every step. The environment variable `VUHCA_STEPS` sets the steps per
 * seed: `VUHCA_STEPS=2000000 npx tap device/hca/collect/random-load.test.ts`.
 */
import t from 'tap';
import { CANCEL_OFFSET, CANCEL_VALUE_HIGH, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { setSendCommandCollectLength } from '../../../protocol/layout/gen/send-command.gen.ts';
import { Random } from '../../random.ts';
import { SimulatedClock } from '../../rig/machine/simulated-clock.ts';
import { FaultLog } from '../function/fault-log.ts';
import { LocalTime } from '../function/local-time.ts';
import { CollectUnit } from './collect-unit.ts';
import { PcbAllocator } from './pcb-allocator.ts';
import { PcbState, type PhysicalCollectBuffer } from './physical-collect-buffer.ts';
import { VcbSpace } from './vcb-space.ts';

const STEPS = Number(process.env.VUHCA_STEPS ?? 20_000);
const FUNCTIONS = 3;
const PAGES = 8;
const BUFFERS = 14;
const SPACE = 40;

/** Functions that write commands in words, and a pipeline that completes kicked commands. */
class World {
  readonly pool = new PcbAllocator(BUFFERS, FUNCTIONS);
  readonly space = new VcbSpace(FUNCTIONS, PAGES, SPACE);
  readonly units: CollectUnit[];
  readonly #random: Random;
  readonly #changing: boolean;
  readonly #kicked: PhysicalCollectBuffer[] = [];
  /** Words written of the command of each page, by function. */
  readonly #written = Array.from({ length: FUNCTIONS }, () => new Uint8Array(PAGES));
  readonly #header = new DataView(new ArrayBuffer(8));
  opened = 0;
  refused = 0;

  constructor(random: Random, changing: boolean) {
    this.#random = random;
    this.#changing = changing;
    const faults = new FaultLog(new LocalTime(new SimulatedClock()));
    setSendCommandCollectLength(this.#header, 0, 64);
    this.units = Array.from({ length: FUNCTIONS }, (_, functionNumber) => {
      const ignore = (): void => {};
      const sink = {
        kickSend: (buffer: PhysicalCollectBuffer) => {
          buffer.state = PcbState.KICKED;
          this.#kicked.push(buffer);
        },
        ringImplicit: ignore,
        ringExplicit: ignore,
        stop: ignore,
        notify: ignore,
        kickManagement: ignore,
      };
      const owner = { number: functionNumber, faults, timeline: undefined };
      return new CollectUnit({
        owner,
        pageCount: PAGES,
        dedicatedCount: 1,
        space: this.space,
        allocator: this.pool,
        sink,
      });
    });
    for (let functionNumber = 0; functionNumber < FUNCTIONS; functionNumber++)
      this.pool.setShare(functionNumber, 3, 1, 1);
  }

  /** Carries out one random step; returns a sentence about the first error. */
  step(): string | undefined {
    const random = this.#random;
    const functionNumber = random.below(FUNCTIONS);
    const kind = random.below(16);
    if (kind < 10) return this.#write(functionNumber, random.below(PAGES)) ?? this.#check();
    if (kind < 14) this.#end();
    else if (kind === 14) this.#cancel(functionNumber, random.below(PAGES));
    else if (this.#changing) this.#change(functionNumber);
    else if (random.oneIn(50)) this.#reset(functionNumber);
    return this.#check();
  }

  /** Completes or drops all commands. */
  drain(): void {
    for (let functionNumber = 0; functionNumber < FUNCTIONS; functionNumber++) this.#reset(functionNumber);
    while (this.#kicked.length > 0) this.#end();
  }

  #write(functionNumber: number, page: number): string | undefined {
    const unit = this.units[functionNumber] as CollectUnit;
    const written = this.#written[functionNumber] as Uint8Array;
    const opens = !unit.isInUse(page) && page < unit.vcbCount;
    if (!unit.isInUse(page)) written[page] = 0;
    const level = page * PAGE_BYTES >= unit.qosDivider ? 1 : 0;
    const refusals = unit.refusals;
    const available = this.pool.getAvailable(functionNumber, level);
    const word = written[page]++;
    unit.write(page * PAGE_BYTES + word * 8, 8, 0, word === 0 ? this.#header.getUint32(4, true) : 0);
    if (!opens) return undefined;
    this.opened++;
    if (unit.refusals === refusals) return available > 0 ? undefined : 'a PCB was bound although none was available';
    this.refused++;
    return this.#judge(functionNumber, level);
  }

  /**
   * A refused function must have used up its own PCBs and the shared ones. While shares change,
   * PCBs may also be on their way back.
   */
  #judge(functionNumber: number, level: number): string | undefined {
    const { pool } = this;
    if (this.#changing && (pool.freeCount === 0 || pool.getAvailable(functionNumber, level) > 0)) return undefined;
    const own = pool.getInUse(functionNumber, level) >= pool.getGuaranteed(functionNumber, level);
    const shared = pool.getInUseFunctionShared(functionNumber) >= pool.getShared(functionNumber);
    const device = this.#changing || pool.deviceUsed >= pool.deviceShared;
    if (own && shared && device) return undefined;
    return `function ${functionNumber}, level ${level} was refused: own ${own}, shared ${shared}, device ${device}`;
  }

  #end(): void {
    if (this.#kicked.length === 0) return;
    const at = this.#random.below(this.#kicked.length);
    const buffer = this.#kicked[at] as PhysicalCollectBuffer;
    this.#kicked[at] = this.#kicked[this.#kicked.length - 1] as PhysicalCollectBuffer;
    this.#kicked.pop();
    this.pool.release(buffer);
    if (this.#random.oneIn(4)) this.pool.release(buffer);
  }

  #cancel(functionNumber: number, page: number): void {
    this.units[functionNumber]?.write(page * PAGE_BYTES + CANCEL_OFFSET, 8, 0, CANCEL_VALUE_HIGH);
  }

  #reset(functionNumber: number): void {
    this.units[functionNumber]?.reset();
    const unit = this.units[functionNumber] as CollectUnit;
    unit.levelOneCount = this.#random.below(unit.vcbCount + 1);
  }

  /** Changes share, VCBs or sub-BAR of a function within the room that the others leave. */
  #change(functionNumber: number): void {
    const random = this.#random;
    const { pool, space } = this;
    switch (random.below(4)) {
      case 0: {
        const total = random.below(pool.deviceShared + pool.getTotal(functionNumber) + 1);
        const level0 = random.below(total + 1);
        return pool.setShare(functionNumber, total, level0, random.below(total - level0 + 1));
      }
      case 1:
        return pool.lend(functionNumber);
      case 2: {
        const count = 1 + random.below(PAGES);
        const base = random.below(SPACE - count + 1);
        const overlaps = (other: number): boolean =>
          other !== functionNumber &&
          base < space.getBase(other) + space.getCount(other) &&
          space.getBase(other) < base + count;
        if (![0, 1, 2].some(overlaps)) space.place(functionNumber, base, count);
        return;
      }
      default:
        this.#reset(functionNumber);
    }
  }

  #check(): string | undefined {
    const { pool, units } = this;
    const holders = new Map<number, number>();
    for (let functionNumber = 0; functionNumber < FUNCTIONS; functionNumber++) {
      const unit = units[functionNumber] as CollectUnit;
      let inUse = 0;
      for (let page = 0; page < PAGES; page++) {
        if (!unit.isInUse(page)) continue;
        inUse++;
        const vcb = unit.getCollecting(page)?.vcb ?? -1;
        if (vcb >= 0 && holders.has(vcb)) return `VCB ${vcb} collects twice`;
        if (vcb >= 0) holders.set(vcb, functionNumber);
      }
      if (inUse !== unit.inUseCount)
        return `function ${functionNumber} counts ${unit.inUseCount} VCBs in use, not ${inUse}`;
    }
    for (const { state, vcb, functionNumber } of pool.buffers) {
      if (state !== PcbState.COLLECTING) continue;
      if (holders.get(vcb) !== functionNumber) return `the PCB of VCB ${vcb} is not its VCB's`;
      holders.delete(vcb);
    }
    return holders.size === 0 ? pool.findError() : 'a VCB collects without a PCB';
  }
}

for (const [seed, changing] of [
  [1, false],
  [2, false],
  [3, true],
  [4, true],
] as const) {
  t.test(`${STEPS} steps of seed ${seed}, shares ${changing ? 'changing' : 'as they are'}`, async (t) => {
    const world = new World(new Random(seed), changing);
    for (let step = 0; step < STEPS; step++) {
      const wrong = world.step();
      if (wrong !== undefined) throw new Error(`seed ${seed}, step ${step}: ${wrong}`);
    }
    t.ok(
      world.opened > STEPS / 100 && world.refused > world.opened / 100,
      `${world.opened} opened, ${world.refused} refused`,
    );
    world.drain();
    t.equal(world.pool.freeCount, BUFFERS);
    t.same(
      [0, 1, 2].map((functionNumber) => world.space.getReserved(functionNumber)),
      [0, 0, 0],
    );
  });
}
