// SPDX-License-Identifier: Apache-2.0
/**
 * The option `--personality` of `vuhca device`: which registers and commands a device has
 * (docs/PERSONALITIES.md), and which other options a personality takes.
 */
import { Option } from 'commander';
import { defaultMthcaOptions, type MthcaOptions } from '../../device/personality/mthca/options.ts';
import { type AdapterArguments, givenAdapterOptions, readFaults } from './adapter-arguments.ts';
import type { CliCommand } from './cli-command.ts';
import { UsageError } from './usage-error.ts';

export const personalities = ['vuhca', 'mthca', 'mthca-one-port'] as const;
export type Personality = (typeof personalities)[number];

/** Options of an adapter that an mthca device has too. */
const SHARED = ['--lids', '--node-guid', '--port-queue', '--fault', '--link', '--fabric'];
const LID_MAX = 0xbfff;

export function personalityOption(): Option {
  return new Option(
    '--personality <NAME>',
    'Which device guests see: `mthca` is one that stock drivers bind; see docs/PERSONALITIES.md',
  )
    .choices(personalities)
    .default('vuhca');
}

/** Options of an mthca device, or undefined for an adapter. Throws UsageError. */
export function readPersonality(
  command: CliCommand,
  given: AdapterArguments & { readonly personality: Personality },
): MthcaOptions | undefined {
  const { personality } = given;
  if (personality === 'vuhca') return undefined;
  const portCount = personality === 'mthca-one-port' ? 1 : 2;
  const foreign = ['--topology', '--record'].find((name) => isGiven(command, name));
  const other = givenAdapterOptions(command).find(({ long }) => !SHARED.includes(long ?? ''))?.long;
  const wrong = foreign ?? other;
  if (wrong !== undefined) throw new UsageError(`option ${wrong} cannot be given with --personality ${personality}`);
  if (portCount === 1 && given.link?.some((link) => link.startsWith('2=')))
    throw new UsageError(`option --link names port 2; --personality ${personality} has port 1 only`);
  if (given.lids.some((lid) => lid < 1 || lid > LID_MAX))
    throw new UsageError(`option --lids is ${given.lids}; LIDs must be 1 to ${LID_MAX}`);
  if (given.portQueue < 1) throw new UsageError(`option --port-queue is ${given.portQueue}; it must be at least 1`);
  const guid = isGiven(command, '--node-guid') ? given.nodeGuid : defaultMthcaOptions.nodeGuid;
  if (!/^[0-9a-f]{16}$/i.test(guid)) throw new UsageError(`option --node-guid is ${guid}; it must be 16 hex digits`);
  return {
    portCount,
    nodeGuid: guid,
    portLids: given.lids,
    portQueuePackets: given.portQueue,
    portLink: given.fault === undefined ? defaultMthcaOptions.portLink : readFaults(given.fault),
  };
}

function isGiven(command: CliCommand, long: string): boolean {
  return command.givenOptions().some((option) => option.long === long);
}
