// SPDX-License-Identifier: Apache-2.0
/**
 * The control command `inject`: plants a fault in an mthca device, to see how its driver copes
 * (docs/DEBUGGING.md). A request is a list of words, the name of a fault and KEY=VALUE: `vuhca
 * inject` sends them, and so do guests of `vuhca test`. mthca-commands.ts makes it a command.
 */
import { FatalKind } from '../../protocol/mthca/gen/values.gen.ts';
import type { MthcaAdapter } from '../personality/mthca/mthca-adapter.ts';
import { ANY } from '../personality/mthca/planted-faults.ts';

/** The part of a device that faults concern. */
export type FaultyDevice = Pick<MthcaAdapter, 'hca' | 'ports'>;

/** Values by key. */
type Values = ReadonlyMap<string, string>;

interface Fault {
  readonly keys: readonly string[];
  /** Plants it; returns a sentence about it. */
  plant(device: FaultyDevice, values: Values): string;
}

const COUNT_MAX = 1_000_000;
const QPN_MAX = 0xffffff;
const OPCODE_MAX = 0xfff;

export const fatalCauses: ReadonlyMap<string, FatalKind> = new Map([
  ['internal', FatalKind.INTERNAL],
  ['bus', FatalKind.BUS],
  ['memory', FatalKind.MEMORY],
  ['parity', FatalKind.PARITY],
]);

const faults: ReadonlyMap<string, Fault> = new Map<string, Fault>([
  ['fatal', { keys: ['cause'], plant: failDevice }],
  ['lost-completions', { keys: ['count', 'qp'], plant: loseCompletions }],
  ['lost-commands', { keys: ['count', 'opcode'], plant: loseCommands }],
  ['link-down', { keys: ['port'], plant: (device, values) => moveLink(device, values, [true], 'is held down') }],
  ['link-up', { keys: ['port'], plant: (device, values) => moveLink(device, values, [false], 'trains') }],
  [
    'link-flap',
    { keys: ['port'], plant: (device, values) => moveLink(device, values, [true, false], 'goes down and trains') },
  ],
]);

/** Plants the fault that the words name; returns a sentence about it. Throws for other words. */
export function injectFault(device: FaultyDevice, words: readonly string[]): string {
  const [name = '', ...rest] = words;
  const fault = faults.get(name);
  if (fault === undefined) throw new Error(`no fault ${name}; there are ${[...faults.keys()].join(', ')}`);
  const values = new Map<string, string>();
  for (const word of rest) {
    const [, key, value] = /^([a-z]+)=(.+)$/.exec(word) ?? [];
    if (key === undefined || !fault.keys.includes(key))
      throw new Error(`${name} does not know ${word}; give ${fault.keys.map((one) => `${one}=`).join(', ')}`);
    values.set(key, value);
  }
  return fault.plant(device, values);
}

function failDevice({ hca }: FaultyDevice, values: Values): string {
  const cause = values.get('cause') ?? 'internal';
  hca.fail(findCause(cause));
  return `the device has failed (${cause})`;
}

/** The kind of a cause. Throws for one that does not exist. */
export function findCause(cause: string): FatalKind {
  const kind = fatalCauses.get(cause);
  if (kind === undefined) throw new Error(`no cause ${cause}; there are ${[...fatalCauses.keys()].join(', ')}`);
  return kind;
}

function loseCompletions({ hca }: FaultyDevice, values: Values): string {
  const count = readNumber(values, 'count', COUNT_MAX) ?? 1;
  const qpn = readNumber(values, 'qp', QPN_MAX);
  hca.planted.loseCompletions(count, qpn ?? ANY);
  return `the next completions are lost: ${count}${qpn === undefined ? '' : ` of QP ${qpn}`}`;
}

function loseCommands({ hca }: FaultyDevice, values: Values): string {
  const count = readNumber(values, 'count', COUNT_MAX) ?? 1;
  const opcode = readNumber(values, 'opcode', OPCODE_MAX);
  hca.planted.loseCommands(count, opcode ?? ANY);
  return `the next commands are lost: ${count}${opcode === undefined ? '' : ` with opcode ${opcode}`}`;
}

/** Holds the link of a port down, or lets it train: one step after the other. */
function moveLink({ ports }: FaultyDevice, values: Values, steps: readonly boolean[], what: string): string {
  const number = readNumber(values, 'port', ports.length) ?? 1;
  const port = ports[number - 1];
  if (port === undefined) throw new Error(`port is ${number}; it must be 1 to ${ports.length}`);
  for (const held of steps) port.holdDown(held);
  return `the link of port ${number} ${what}`;
}

/** Decimal, or hexadecimal with 0x. */
function readNumber(values: Values, key: string, max: number): number | undefined {
  const text = values.get(key);
  if (text === undefined) return undefined;
  const number = /^(0x[0-9a-f]+|[0-9]+)$/i.test(text) ? Number(text) : Number.NaN;
  if (!(number <= max)) throw new Error(`${key} is ${text}; it must be a number up to ${max}`);
  return number;
}
