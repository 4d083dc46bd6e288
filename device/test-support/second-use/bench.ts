// SPDX-License-Identifier: Apache-2.0
/**
 * Two adapters of which one function was used and the other one was not, brought to the same time
 * and the same next object numbers. What they do from there on must be the same.
 */
import { ObjectTable } from '../../function/object-table.ts';
import { InProcessAccess } from '../../hosts/in-process/access.ts';
import type { MachineOptions } from '../../hosts/in-process/machine.ts';
import { Random } from '../../random.ts';
import { AdapterFixture } from '../adapter-fixture.ts';
import { connectedUses } from './connected-uses.ts';
import { controlUses, disturbingUses } from './control-uses.ts';
import { datagramUses } from './datagram-uses.ts';
import { type RegisterRules, watchSession } from './session.ts';
import { disturbingShareUses, shareUses } from './share-uses.ts';
import { run, type Use } from './use.ts';

const MEMORY_BYTES = 8 * 1024 * 1024;
const SCRIPT_SEED = 99;
/** Uses of the first life, from `steadyUses`; their objects share the memory. */
const FIRST_USES = 8;
/** Longer than any read of guest memory takes. */
const REST_NS = 1e6;

/** Which function is used twice, and by what adapter. */
export interface SecondUseOptions {
  readonly functionNumber?: number;
  readonly machine?: MachineOptions;
}

/** The used adapter and the fresh one. */
export interface SecondUsePair {
  readonly used: AdapterFixture;
  readonly fresh: AdapterFixture;
  /** What the used one did, for messages. */
  readonly story: string;
}

/** The uses that a function may make. */
function usesOf(uses: readonly Use[], functionNumber: number): Use[] {
  return uses.filter(({ physical = false }) => functionNumber === 0 || !physical);
}

/** What the first life is made of. */
export interface FirstLife {
  /** Work stays undone, or a switch set. */
  readonly disturb?: boolean;
  /** All that is used are objects, which software can destroy. */
  readonly onlyObjects?: boolean;
}

/** Lets one of two adapters work through uses that `seed` draws. */
export function makePair(seed: number, options: SecondUseOptions, life: FirstLife): SecondUsePair {
  const { functionNumber = 0 } = options;
  const [used, fresh] = [makeFixture(seed, options), makeFixture(seed, options)];
  const random = new Random(seed);
  const drawn = life.onlyObjects ? steadyUses.filter(({ settings = false }) => !settings) : steadyUses;
  const uses = random.shuffle(usesOf(drawn, functionNumber)).slice(0, FIRST_USES);
  if (life.disturb) uses.push(...drawDisturbance(random, functionNumber));
  const story = `seed ${seed}: ${uses.map(({ name }) => name).join(', ')}`;
  for (const use of uses) run(use, used, random);
  return { used, fresh, story };
}

/** Makes time and the next object numbers of the function the same, and guest memory empty. */
export function align({ used, fresh }: SecondUsePair, { functionNumber = 0 }: SecondUseOptions): void {
  for (const fixture of [used, fresh]) rest(fixture);
  const [late, early] = [used, fresh].sort((a, b) => b.machine.clock.now() - a.machine.clock.now());
  early.machine.clock.advance(late.machine.clock.now() - early.machine.clock.now());
  early.settle();
  const [tables, others] = [used, fresh].map(({ machine }) => tablesOf(machine.device.tables));
  tables.forEach((table, index) => {
    const slots = Math.max(table.slotCount, others[index].slotCount);
    for (const one of [table, others[index]]) while (one.slotCount < slots) takeNumber(one, functionNumber);
  });
  for (const { host } of [used, fresh]) host.memory.bytes.fill(0);
}

/** Describes the first difference of a second use; undefined if there is none. */
export function findDifference(
  { used, fresh, story }: SecondUsePair,
  options: SecondUseOptions,
  registers: RegisterRules,
): string | undefined {
  const script = usesOf(steadyUses, options.functionNumber ?? 0);
  const [seen, expected] = [used, fresh].map((fixture) => {
    fixture.bringUp();
    return watchSession(fixture, script, SCRIPT_SEED, registers);
  });
  const place = seen.findIndex((line, index) => line !== expected[index]);
  if (place < 0 && seen.length === expected.length) return undefined;
  const use = script.findLast(({ name }) => seen.slice(0, place).includes(name));
  return `${use?.name}: "${seen[place]}", not "${expected[place]}"; the first life of ${story}`;
}

/** All that disturb, in any order; one behind which software gets no answer is the last. */
function drawDisturbance(random: Random, functionNumber: number): Use[] {
  const uses = random.shuffle(usesOf([...disturbingUses, ...disturbingShareUses], functionNumber));
  const [last] = uses.filter(({ silences = false }) => silences);
  return [...uses.filter(({ silences = false }) => !silences), last];
}

function makeFixture(seed: number, { functionNumber = 0, machine }: SecondUseOptions): AdapterFixture {
  const adapter = { doorbellEntries: 8, ...machine?.adapter };
  const fixture = new AdapterFixture({
    seed,
    memoryBytes: MEMORY_BYTES,
    ...machine,
    adapter,
    access: (made) => new InProcessAccess(made, functionNumber),
  });
  // Other tests check the invariants; here they would take most of the time.
  fixture.machine.onStep = () => {};
  return fixture;
}

/** Lets reads of guest memory that nothing waits for come to their end. */
function rest({ machine }: AdapterFixture): void {
  machine.runUntilIdle();
  machine.clock.advance(REST_NS);
  machine.runUntilIdle();
}

type AnyTable = ObjectTable<{ number: number; owner: { number: number; translations: { give(): void } } }>;

function tablesOf(tables: object): AnyTable[] {
  return Object.values(tables).filter((table): table is AnyTable => table instanceof ObjectTable);
}

/** The next number of the function is given, and its slot rests. */
function takeNumber(table: AnyTable, functionNumber: number): void {
  // It holds no translation entries.
  const owner = { number: functionNumber, translations: { give: () => {} } };
  const object = table.add(owner, (number) => ({ number, owner }));
  if (object !== undefined) table.remove(object);
}

/** Uses that leave the function in order, in the order of the script. */
const steadyUses: readonly Use[] = [...datagramUses, ...connectedUses, ...controlUses, ...shareUses];
