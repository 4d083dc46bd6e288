// SPDX-License-Identifier: Apache-2.0
/**
 * On-demand regions under random load while software takes pages back at random times
 * (docs/FEATURES.md, On-demand paging): nothing writes a page after it was taken back, every
 * message has the bytes that its memory had, and no request is lost. With reads of guest memory
 * that take time, and with writes that become visible late.
 */
import t from 'tap';
import { CompletionStatus, PageFlag, SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import { testSeed } from '../../../../protocol/testing/test-seed.ts';
import { Random } from '../../../random.ts';
import { AdapterFixture, type AdapterFixtureOptions } from '../../../rig/fixtures/adapter-fixture.ts';
import { connect } from '../../../rig/fixtures/connected-fixture.ts';
import { DemandPager, PAGE, serveFaults } from '../../../rig/fixtures/demand-pager.ts';
import { partOf } from '../../../rig/fixtures/seeds.ts';

const PAGES = 12;
const MESSAGES = 16;
/** Each message has a place of its own, of bytes that cross pages. */
const PLACE = (PAGES * PAGE) / MESSAGES;
const TURNS_MAX = 20_000;
const RUNS = 25;

const situations: Readonly<Record<string, AdapterFixtureOptions>> = {
  'at once': {},
  'reads that take time': { adapter: { dmaLatencyNs: 1000, dmaContexts: 4 } },
  'writes that are visible late': { ordering: { mode: 'adversarial', seed: 3 } },
};

/** A system under load: two connections between four regions of two pagers. */
class Load {
  readonly fixture: AdapterFixture;
  readonly pagers: readonly [DemandPager, DemandPager];
  readonly #random: Random;
  readonly #pairs;
  readonly #expected: { pager: DemandPager; offset: number; bytes: Uint8Array }[] = [];
  #posted = 0;
  completed = 0;

  constructor(seed: number, options: AdapterFixtureOptions) {
    this.#random = new Random(seed);
    this.fixture = new AdapterFixture({ ...options, seed });
    this.pagers = [
      new DemandPager(this.fixture, { pages: PAGES }),
      new DemandPager(this.fixture, { pages: PAGES, implicit: true }),
    ];
    const quick = { rnrRetry: 7, minRnrTimer: 1, timeout: 20, retryCount: 7, pathMtu: 1 + this.#random.below(5) };
    this.#pairs = [connect(this.fixture, quick), connect(this.fixture, quick)];
  }

  get isDone(): boolean {
    return this.completed === MESSAGES;
  }

  /** One random act of software, or some work of the adapter. */
  turn(): void {
    const random = this.#random;
    const steps = random.below(6);
    for (let step = 0; step < steps; step++) this.fixture.machine.step();
    if (this.#posted < MESSAGES && random.oneIn(4)) this.#post();
    if (random.oneIn(5)) this.#evict();
    if (random.oneIn(3)) serveFaults(this.pagers);
    if (random.oneIn(8)) this.#prefetch();
    if (random.oneIn(3)) this.fixture.machine.clock.jumpToAlarm();
    this.#poll();
  }

  /** Throws unless every message has the bytes of its memory. */
  check(): void {
    for (const pager of this.pagers) pager.check();
    for (const { pager, offset, bytes } of this.#expected) {
      const found = pager.load(offset, bytes.length);
      const place = found.findIndex((byte, index) => byte !== bytes[index]);
      if (place >= 0) throw new Error(`byte ${place} of ${bytes.length} at ${offset} is wrong`);
    }
  }

  #post(): void {
    const random = this.#random;
    const { a, b } = random.pick(this.#pairs);
    const offset = this.#posted++ * PLACE;
    const lengthBytes = 1 + random.below(PLACE);
    const bytes = random.bytes(lengthBytes);
    const opcode = random.pick([SendOpcode.SEND, SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ]);
    const [local, remote] = random.oneIn(2) ? this.pagers : ([this.pagers[1], this.pagers[0]] as const);
    const [from, to] = opcode === SendOpcode.RDMA_READ ? [remote, local] : [local, remote];
    from.store(offset, bytes);
    this.#expected.push({ pager: to, offset, bytes });
    const target = { address: remote.at(offset), length: lengthBytes, lkey: remote.region.lkey };
    if (opcode === SendOpcode.SEND) b.postReceive([target]);
    a.post({
      opcode,
      sges: [{ address: local.at(offset), length: lengthBytes, lkey: local.region.lkey }],
      ...(opcode === SendOpcode.SEND ? {} : { remote: { address: remote.at(offset), rkey: remote.region.rkey } }),
    });
  }

  #evict(): void {
    const pager = this.#random.pick(this.pagers);
    if (pager.present.length > 0) pager.evict(this.#random.pick(pager.present));
    pager.check();
  }

  #prefetch(): void {
    const pager = this.#random.pick(this.pagers);
    const page = this.#random.below(PAGES);
    if (!pager.isPresent(page)) pager.resolve(page, this.#random.oneIn(2) ? PageFlag.PRESENT : undefined);
  }

  #poll(): void {
    for (const { a } of this.#pairs)
      for (let entry = a.parts.sendCq.poll(); entry !== undefined; entry = a.parts.sendCq.poll()) {
        if (entry.status !== CompletionStatus.SUCCESS) throw new Error(`status ${entry.status}`);
        this.completed++;
      }
  }
}

for (const [name, options] of partOf(Object.entries(situations), 1))
  t.test(`random load and random invalidations: ${name}`, async (t) => {
    const first = testSeed();
    for (let seed = first; seed < first + RUNS; seed++) {
      const load = new Load(seed, options);
      try {
        for (let turn = 0; !load.isDone; turn++) {
          if (turn === TURNS_MAX) throw new Error(`${load.completed} of ${MESSAGES} messages completed`);
          load.turn();
        }
        load.check();
        load.fixture.finish();
      } catch (error) {
        t.fail(`seed ${seed}: ${String(error)}`);
      }
    }
    t.pass(`${RUNS} runs from seed ${first} on`);
  });
