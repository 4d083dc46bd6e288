// SPDX-License-Identifier: Apache-2.0
/**
 * The option `--personality` of `vuhca device` and `vuhca run`: which registers and commands a
 * device has (docs/verbs/PERSONALITIES.md), and which other options a personality takes.
 */
import { Option } from 'commander';
import {
  defaultMthcaOptions,
  findMthcaOptionError,
  type MthcaOptions,
} from '../../../device/personality/mthca/options.ts';
import type { AdapterNode } from '../../../device/topology/fabric-plan.ts';
import { LONE_NAME } from '../../../device/topology/lone-fabric.ts';
import { type AdapterArguments, givenAdapterOptions, isGiven, readFaults } from './adapter-arguments.ts';
import { nameAsTyped, readAdapterOptions } from './adapter-options.ts';
import type { CliCommand } from './cli-command.ts';
import { UsageError } from './usage-error.ts';

export const personalities = ['vuhca', 'mthca', 'mthca-one-port'] as const;
export type Personality = (typeof personalities)[number];

type Given = AdapterArguments & { readonly personality: Personality };

/** Options of an adapter that an mthca device has too. */
const SHARED = [
  '--lids',
  '--node-guid',
  '--port-queue',
  '--fault',
  '--link',
  '--fabric',
  '--ordering',
  '--order-check',
];

export function personalityOption(): Option {
  return new Option(
    '--personality <NAME>',
    'Which device guests see: `mthca` is one that stock drivers bind; see docs/verbs/PERSONALITIES.md',
  )
    .choices(personalities)
    .default('vuhca');
}

export function portCountOf(personality: Exclude<Personality, 'vuhca'>): 1 | 2 {
  return personality === 'mthca-one-port' ? 1 : 2;
}

/** The adapter that the options describe. Throws UsageError. */
export function readLoneNode(command: CliCommand, given: Given): AdapterNode {
  const { personality } = given;
  if (personality === 'vuhca') return { name: LONE_NAME, options: readAdapterOptions(given) };
  const wrong = givenAdapterOptions(command).find(({ long }) => !SHARED.includes(long ?? ''))?.long;
  if (wrong !== undefined) throw new UsageError(`option ${wrong} cannot be given with --personality ${personality}`);
  return { name: LONE_NAME, personality: 'mthca', options: readMthcaOptions(command, given, portCountOf(personality)) };
}

function readMthcaOptions(command: CliCommand, given: Given, portCount: 1 | 2): MthcaOptions {
  const { fault, personality } = given;
  if (portCount === 1 && given.link?.some((link) => link.startsWith('2=')))
    throw new UsageError(`option --link names port 2; --personality ${personality} has port 1 only`);
  if (portCount === 1 && fault !== undefined)
    throw new UsageError(`option --fault is about the link between two ports; --personality ${personality} has one`);
  const options: MthcaOptions = {
    portCount,
    nodeGuid: isGiven(command, '--node-guid') ? given.nodeGuid : defaultMthcaOptions.nodeGuid,
    portLids: given.lids,
    portQueuePackets: given.portQueue,
    ...(given.orderCheck === true ? { orderCheck: true } : {}),
    portLink: fault === undefined ? defaultMthcaOptions.portLink : readFaults(fault),
  };
  const error = findMthcaOptionError(options);
  if (error !== undefined) throw new UsageError(nameAsTyped(error));
  return options;
}
