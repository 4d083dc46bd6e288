// SPDX-License-Identifier: Apache-2.0
/**
 * The option `--personality` of `vuhca device` and `vuhca run`: the set of registers and commands
 * that a device has (docs/verbs/PERSONALITIES.md), and the other options that a personality
 * supports.
 */
import { Option } from 'commander';
import type { PersonalityOptions } from '../../../device/personality/shared/options.ts';
import { makeTwoFunctions } from '../../../device/topology/device-functions.ts';
import { findFabricError } from '../../../device/topology/fabric-errors.ts';
import type { AdapterNode, PersonalityNode } from '../../../device/topology/fabric-plan.ts';
import { LONE_NAME } from '../../../device/topology/lone-fabric.ts';
import { findNodeError } from '../../../device/topology/node-kinds.ts';
import { type PersonalityName, personalities } from '../../../device/topology/personalities.ts';
import { type AdapterArguments, givenOfAdapter, isGiven, readFaults } from './adapter-arguments.ts';
import { nameAsTyped, readAdapterOptions } from './adapter-options.ts';
import type { CliCommand } from './cli-command.ts';
import { UsageError } from './usage-error.ts';

/** Devices of personalities by the word of the option. */
const devices = {
  mthca: { personality: 'mthca', portCount: 2 },
  'mthca-one-port': { personality: 'mthca', portCount: 1 },
  mlx5: { personality: 'mlx5', portCount: 1 },
} as const satisfies Readonly<Record<string, { personality: PersonalityName; portCount: 1 | 2 }>>;

export type Personality = 'vuhca' | keyof typeof devices;
/** Words of the option; `vuhca` is our own front end. */
export const personalityWords = ['vuhca', ...Object.keys(devices)] as Personality[];

type Given = AdapterArguments & { readonly personality: Personality };

/** Options of an adapter that devices of personalities have too. */
const SHARED = [
  '--lids',
  '--node-guid',
  '--port-queue',
  '--fault',
  '--link',
  '--link-key',
  '--fabric',
  '--order-check',
  '--tcg-thread',
];

export function personalityOption(): Option {
  return new Option(
    '--personality <NAME>',
    'Which device guests see: stock drivers bind `mlx5` and `mthca`; see docs/verbs/PERSONALITIES.md',
  )
    .choices(personalityWords)
    .default('vuhca');
}

/** A device with the options that its personality has by default. */
export function personalityNode(name: string, word: Exclude<Personality, 'vuhca'>): PersonalityNode {
  const { personality, portCount } = devices[word];
  return { name, personality, options: { ...personalities[personality].defaults, portCount } };
}

/** The personality of the word; undefined: our own front end. */
export function personalityOf(word: Personality): PersonalityName | undefined {
  return word === 'vuhca' ? undefined : devices[word].personality;
}

/** Numbers of functions that a device of the word can have. */
export function functionCountsOf(word: Exclude<Personality, 'vuhca'>): readonly number[] {
  return personalities[devices[word].personality].functionCounts;
}

/** Throws UsageError for a number of functions that devices of the word do not have. */
export function checkFunctionCount(word: Exclude<Personality, 'vuhca'>, count: number): void {
  const counts = functionCountsOf(word);
  if (!counts.includes(count))
    throw new UsageError(
      `option --functions is ${count}; a device of --personality ${word} has ${counts.join(' or ')}`,
    );
}

/** The device that the options describe: a node, or one for each function. Throws UsageError. */
export function readLoneDevice(command: CliCommand, given: Given): readonly AdapterNode[] {
  const { personality, functions } = given;
  if (personality === 'vuhca') return [{ name: LONE_NAME, options: readAdapterOptions(given) }];
  const taken = functionCountsOf(personality).length > 1 ? [...SHARED, '--functions'] : SHARED;
  const wrong = givenOfAdapter(command).find(({ long }) => !taken.includes(long ?? ''))?.long;
  if (wrong !== undefined) throw new UsageError(`option ${wrong} cannot be given with --personality ${personality}`);
  checkFunctionCount(personality, functions);
  const device = personalityNode(LONE_NAME, personality);
  const node = { ...device, options: readPersonalityOptions(command, given, device.options) };
  const nodes = functions === 1 ? [node] : makeTwoFunctions(node);
  const error = findNodeError(node) ?? findFabricError({ adapters: nodes, switches: [], links: [], subnet: 'fixed' });
  if (error !== undefined) throw new UsageError(nameAsTyped(error));
  return nodes;
}

function readPersonalityOptions(command: CliCommand, given: Given, defaults: PersonalityOptions): PersonalityOptions {
  const { fault, personality, functions } = given;
  const portCount = defaults.portCount * functions;
  if (portCount === 1 && given.link?.some((link) => link.startsWith('2=')))
    throw new UsageError(`option --link names port 2; --personality ${personality} has port 1 only`);
  if (portCount === 1 && fault !== undefined && given.link === undefined)
    throw new UsageError(
      `option --fault is about the link between two ports; --personality ${personality} has one: give it a --link`,
    );
  return {
    ...defaults,
    ...(isGiven(command, '--node-guid') ? { nodeGuid: given.nodeGuid } : {}),
    portLids: given.lids,
    portQueuePackets: given.portQueue,
    ...(given.orderCheck === true ? { orderCheck: true } : {}),
    ...(fault === undefined || portCount === 1 ? {} : { portLink: readFaults(fault) }),
  };
}
