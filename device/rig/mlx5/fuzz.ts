// SPDX-License-Identifier: Apache-2.0
/**
 * Random bytes in all places that software of an mlx5 device writes. A life is that of a process,
 * which writes its queues, records and pages of doorbells, or that of a driver, which writes the
 * command queue, its mailboxes and the initialising segment as well; a reset ends it. Such a
 * process must not disturb others beside it, nor such a driver those of another device. Called by
 * tests and by `npm run simulate -- fuzz --acts`.
 */
import { crc32 } from 'node:zlib';
import type { Mlx5Adapter } from '../../personality/mlx5/mlx5-adapter.ts';
import { Random } from '../../random.ts';
import { findHeldUnits } from '../fixtures/personality-isolation.ts';
import { makeFabricMachine } from '../machine/fabric-machine.ts';
import { POISON } from '../machine/guest-memory-model.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import { DataFixture } from './driver/data-fixture.ts';
import { Mlx5Driver } from './driver/mlx5-driver.ts';
import { mlx5Node } from './driver/mlx5-fabric.ts';
import { FuzzedDriver } from './fuzzed-driver.ts';
import { FuzzedLife } from './fuzzed-life.ts';
import { Mlx5Victims } from './victims.ts';

const MEMORY_BYTES = 16 * 1024 * 1024;
/** Memory at the end that no software hands over. */
const UNUSED_BYTES = 256 * 1024;
const ACTS_PER_LIFE = 2000;
const ACTS_PER_STEP = 4;
const ACTS_PER_RECOVERY = 20;
const ACTS_PER_ROUND = 25;
const resets = ['device', 'function', 'lost', 'software'] as const;
const unused = Buffer.alloc(UNUSED_BYTES, POISON);

export class Mlx5Fuzz {
  readonly seed: number;
  /** Commands of all lives, by their ends. */
  readonly commands = { executed: 0, refused: 0, undelivered: 0 };
  /** Completions of fuzzed queues. */
  readonly completions = { good: 0, errors: 0 };
  lives = 0;
  readonly #random: Random;
  readonly #machine: InProcessMachine;
  readonly #device: Mlx5Adapter;
  /** Processes on the other device. */
  readonly #beside: Mlx5Victims;

  constructor(seed: number) {
    this.seed = seed;
    this.#random = new Random(seed);
    const adapters = [mlx5Node('m', 1), mlx5Node('n', 2)];
    const plan = { adapters, switches: [], links: [], subnet: 'fixed' as const };
    const { machine, built } = makeFabricMachine(plan, { seed, memoryBytes: MEMORY_BYTES });
    const [device, other] = built.adapters as Mlx5Adapter[];
    this.#machine = machine;
    this.#device = device;
    const beside = new DataFixture(new Mlx5Driver(machine, 1, other));
    this.#beside = new Mlx5Victims([beside, beside]);
  }

  /** Memory of both hosts as a number. */
  get digest(): number {
    return this.#machine.hosts.reduce((sum, { memory }) => crc32(memory.bytes, sum), 0);
  }

  /** Runs lives of this many acts together; every second one is that of a driver. */
  run(acts: number): void {
    for (let left = acts; left > 0; left -= ACTS_PER_LIFE) this.live(Math.min(left, ACTS_PER_LIFE));
  }

  /** A life of up to `acts`. Throws an error with the seed when something is wrong. */
  live(acts: number): void {
    try {
      const wrong = this.#live(acts) ?? this.#reset();
      if (wrong !== undefined) throw new Error(wrong);
    } catch (error) {
      throw new Error(`seed ${this.seed}, life ${this.lives}: ${(error as Error).message}`, { cause: error });
    }
    this.lives++;
  }

  #live(acts: number): string | undefined {
    const driver = new FuzzedDriver(this.#machine, 0, this.#device);
    const fixture = new DataFixture(driver);
    const isProcess = this.lives % 2 === 0;
    const beside = isProcess ? new Mlx5Victims([fixture, fixture]) : this.#beside;
    const life = new FuzzedLife(fixture, driver, this.#random, beside);
    for (let act = 0; act < acts && (isProcess || life.isRunning); act++) {
      if (isProcess) life.actAsProcess();
      else life.actAsDriver();
      if (act % ACTS_PER_STEP === 0) this.#machine.step();
      if (act % ACTS_PER_RECOVERY === 0) life.recover();
      if (act % ACTS_PER_ROUND !== 0) continue;
      const wrong = beside.round() ?? this.#beside.round() ?? this.#findStray(life);
      if (wrong !== undefined) return `act ${act}: ${wrong}`;
    }
    for (const name of ['executed', 'refused', 'undelivered'] as const) this.commands[name] += driver[name];
    this.completions.good += life.hostile.good;
    this.completions.errors += life.hostile.errors;
    return undefined;
  }

  #findStray({ hostile }: FuzzedLife): string | undefined {
    const [{ memory }] = this.#machine.hosts;
    const end = Buffer.from(memory.bytes.buffer, memory.bytes.byteOffset + MEMORY_BYTES - UNUSED_BYTES, UNUSED_BYTES);
    if (!end.equals(unused)) return 'memory that nobody has handed over is written';
    if (this.#device.hca.health.hasFailed) return 'the device has failed';
    return this.#beside.findSecret(hostile.ownBytes());
  }

  /** Resets the device. Describes what it has kept. */
  #reset(): string | undefined {
    const machine = this.#machine;
    machine.reset(0, this.#random.pick(resets));
    machine.rest();
    machine.resume();
    const left = [...findHeldUnits(this.#device)];
    for (const [name, count] of Object.entries(this.#device.hca.objectCounts))
      if (count !== 0) left.push(`${count} ${name} are left`);
    return left[0] ?? this.#beside.round();
  }
}
