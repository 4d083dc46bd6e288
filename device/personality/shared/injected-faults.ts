// SPDX-License-Identifier: Apache-2.0
/**
 * Faults that a host plants in a device of a personality, to see how its driver copes
 * (docs/DEBUGGING.md). A request is a list of words, the name of a fault and KEY=VALUE: `vuhca
 * inject` sends them, and so do guests of `vuhca test`. The control commands check them
 * (device/process/control/personality-commands.ts); as bytes they cross the seam, and the function
 * of the device plants them.
 */
import { Refusal } from '../../hca/adapter/refusal.ts';
import type { Firmware } from './firmware.ts';
import type { PersonalityPort } from './personality-port.ts';
import { ANY, type PlantedFaults } from './planted-faults.ts';

/** The part of a device that faults concern. */
export interface FaultyDevice {
  readonly planted: PlantedFaults;
  readonly ports: readonly PersonalityPort[];
  /** Causes of fatal errors by their words; the first is that of a request without one. */
  readonly fatalCauses: ReadonlyMap<string, number>;
  /** States that a fatal error can leave the firmware in; the first is that without a word. */
  readonly firmwares: readonly Firmware[];
  /** Fails with one of these causes and states. */
  fail(cause: number, firmware: Firmware): void;
}

/** A fault that fits the device. */
interface InjectedFault {
  /** A sentence about what it does. */
  readonly text: string;
  plant(): void;
}

/** Values by key. */
type Values = ReadonlyMap<string, string>;

interface FaultKind {
  readonly keys: readonly string[];
  /** Throws for values that are wrong; changes nothing. */
  read(device: FaultyDevice, values: Values): InjectedFault;
}

const COUNT_MAX = 1_000_000;
const QPN_MAX = 0xffffff;
const OPCODE_MAX = 0xfff;

const faults: ReadonlyMap<string, FaultKind> = new Map<string, FaultKind>([
  ['fatal', { keys: ['cause', 'firmware'], read: failDevice }],
  ['lost-completions', { keys: ['count', 'qp'], read: loseCompletions }],
  ['lost-commands', { keys: ['count', 'opcode'], read: loseCommands }],
  ['link-down', { keys: ['port'], read: (device, values) => moveLink(device, values, [true], 'is held down') }],
  ['link-up', { keys: ['port'], read: (device, values) => moveLink(device, values, [false], 'trains') }],
  [
    'link-flap',
    { keys: ['port'], read: (device, values) => moveLink(device, values, [true, false], 'goes down and trains') },
  ],
]);

/** The fault that the words name. Throws for other words. */
export function readFault(device: FaultyDevice, words: readonly string[]): InjectedFault {
  const [name = '', ...rest] = words;
  const fault = faults.get(name);
  if (fault === undefined) throw new Refusal(`no fault ${name}; there are ${[...faults.keys()].join(', ')}`);
  const values = new Map<string, string>();
  for (const word of rest) {
    const [, key, value] = /^([a-z]+)=(\S+)$/.exec(word) ?? [];
    if (key === undefined || !fault.keys.includes(key))
      throw new Refusal(`${name} does not know ${word}; give ${fault.keys.map((one) => `${one}=`).join(', ')}`);
    values.set(key, value);
  }
  return fault.read(device, values);
}

/** The words as bytes for `FunctionPort.plantFault`. */
export function encodeFault(words: readonly string[]): Uint8Array {
  return new TextEncoder().encode(words.join(' '));
}

export function decodeFault(bytes: Uint8Array): string[] {
  return new TextDecoder().decode(bytes).split(' ');
}

function failDevice(device: FaultyDevice, values: Values): InjectedFault {
  const { fatalCauses, firmwares } = device;
  const causes = [...fatalCauses.keys()];
  const name = values.get('cause') ?? causes[0];
  const cause = fatalCauses.get(name);
  if (cause === undefined) throw new Refusal(`no cause ${name}; there are ${causes.join(', ')}`);
  const word = values.get('firmware') ?? firmwares[0];
  const firmware = firmwares.find((one) => one === word);
  if (firmware === undefined) throw new Refusal(`no firmware ${word}; there are ${firmwares.join(', ')}`);
  return { text: `the device has failed (${name})`, plant: () => device.fail(cause, firmware) };
}

function loseCompletions({ planted }: FaultyDevice, values: Values): InjectedFault {
  const count = readNumber(values, 'count', COUNT_MAX) ?? 1;
  const qpn = readNumber(values, 'qp', QPN_MAX);
  return {
    text: `the next completions are lost: ${count}${qpn === undefined ? '' : ` of QP ${qpn}`}`,
    plant: () => planted.loseCompletions(count, qpn ?? ANY),
  };
}

function loseCommands({ planted }: FaultyDevice, values: Values): InjectedFault {
  const count = readNumber(values, 'count', COUNT_MAX) ?? 1;
  const opcode = readNumber(values, 'opcode', OPCODE_MAX);
  return {
    text: `the next commands are lost: ${count}${opcode === undefined ? '' : ` with opcode ${opcode}`}`,
    plant: () => planted.loseCommands(count, opcode ?? ANY),
  };
}

/** Holds the link of a port down, or lets it train: one step after the other. */
function moveLink({ ports }: FaultyDevice, values: Values, steps: readonly boolean[], what: string): InjectedFault {
  const number = readNumber(values, 'port', ports.length) ?? 1;
  const port = ports[number - 1];
  if (port === undefined) throw new Refusal(`port is ${number}; it must be 1 to ${ports.length}`);
  return {
    text: `the link of port ${number} ${what}`,
    plant: () => {
      for (const held of steps) port.holdDown(held);
    },
  };
}

/** Decimal, or hexadecimal with 0x. */
function readNumber(values: Values, key: string, max: number): number | undefined {
  const text = values.get(key);
  if (text === undefined) return undefined;
  const number = /^(0x[0-9a-f]+|[0-9]+)$/i.test(text) ? Number(text) : Number.NaN;
  if (!(number <= max)) throw new Refusal(`${key} is ${text}; it must be a number up to ${max}`);
  return number;
}
