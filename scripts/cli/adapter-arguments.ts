// SPDX-License-Identifier: Apache-2.0
//
// The options of an adapter on the command line; `device` and `run` take the same ones.

import { type AdapterOptions, defaultAdapterOptions, findOptionError } from '../../device/options.ts';
import { type Arguments, type CommandOption, UsageError } from './command.ts';

const defaults = defaultAdapterOptions;

/** Options and their help. */
export const adapterArguments: Readonly<Record<string, CommandOption>> = {
  vcbs: { type: 'string', value: 'N', description: `Virtual collect buffers (default ${defaults.vcbCount})` },
  pcbs: { type: 'string', value: 'N', description: `Physical collect buffers (default ${defaults.pcbCount})` },
  'pcb-guaranteed': {
    type: 'string',
    value: 'A,B',
    description: `PCBs guaranteed to QoS level 0 and 1; the rest is shared (default ${defaults.pcbGuaranteed})`,
  },
  'scheduler-buffers': {
    type: 'string',
    value: 'N',
    description: `Collect buffers of the send queue scheduler (default ${defaults.schedulerBufferCount})`,
  },
  'doorbell-entries': {
    type: 'string',
    value: 'N',
    description: `Entries of the send queue scheduler buffer of a function (default ${defaults.doorbellEntries})`,
  },
  'bus-reads': {
    type: 'string',
    value: 'N',
    description: `Bus reads the scheduler may have outstanding for a function (default ${defaults.busReads})`,
  },
  'execution-credits': {
    type: 'string',
    value: 'N',
    description: `Execution credits of the lane (default ${defaults.executionCredits})`,
  },
  'completion-credits': {
    type: 'string',
    value: 'N',
    description: `Completion credits of the lane (default ${defaults.completionCredits})`,
  },
  'port-queue': {
    type: 'string',
    value: 'N',
    description: `Packets a port holds until the link takes them (default ${defaults.portQueuePackets})`,
  },
  lids: { type: 'string', value: 'A,B', description: `LIDs of the two ports (default ${defaults.portLids})` },
  'node-guid': { type: 'string', value: 'HEX', description: `Node GUID, 16 digits (default ${defaults.nodeGuid})` },
};

const ANY = Number.MAX_SAFE_INTEGER;

/** The adapter's names of its options and ours. */
const typedNames: readonly (readonly [property: keyof AdapterOptions, option: string])[] = [
  ['vcbCount', 'vcbs'],
  ['pcbGuaranteed', 'pcb-guaranteed'],
  ['pcbCount', 'pcbs'],
  ['schedulerBufferCount', 'scheduler-buffers'],
  ['doorbellEntries', 'doorbell-entries'],
  ['busReads', 'bus-reads'],
  ['executionCredits', 'execution-credits'],
  ['completionCredits', 'completion-credits'],
  ['nodeGuid', 'node-guid'],
  ['portLids', 'lids'],
  ['portQueuePackets', 'port-queue'],
];

/** The adapter's options as asked for. Throws UsageError. */
export function readAdapterOptions(args: Arguments): AdapterOptions {
  const pcbCount = args.integer('pcbs', 0, ANY) ?? defaults.pcbCount;
  // Without a word about guarantees they follow the number of PCBs in the default proportion.
  const share = Math.floor((pcbCount * defaults.pcbGuaranteed[0]) / defaults.pcbCount);
  const options: AdapterOptions = {
    ...defaults,
    vcbCount: args.integer('vcbs', 0, ANY) ?? defaults.vcbCount,
    pcbCount,
    pcbGuaranteed: args.pair('pcb-guaranteed', 0, ANY) ?? [share, share],
    schedulerBufferCount: args.integer('scheduler-buffers', 0, ANY) ?? defaults.schedulerBufferCount,
    doorbellEntries: args.integer('doorbell-entries', 0, ANY) ?? defaults.doorbellEntries,
    busReads: args.integer('bus-reads', 0, ANY) ?? defaults.busReads,
    executionCredits: args.integer('execution-credits', 0, ANY) ?? defaults.executionCredits,
    completionCredits: args.integer('completion-credits', 0, ANY) ?? defaults.completionCredits,
    nodeGuid: args.text('node-guid') ?? defaults.nodeGuid,
    portLids: args.pair('lids', 0, ANY) ?? defaults.portLids,
    portQueuePackets: args.integer('port-queue', 0, ANY) ?? defaults.portQueuePackets,
  };
  const error = findOptionError(options);
  if (error !== undefined) throw new UsageError(nameAsTyped(error));
  return options;
}

/** The arguments of `device` that repeat what `args` asked for. */
export function repeatAdapterArguments(args: Arguments): string[] {
  return Object.keys(adapterArguments).flatMap((name) => {
    const value = args.text(name);
    return value === undefined ? [] : [`--${name}=${value}`];
  });
}

function nameAsTyped(sentence: string): string {
  return typedNames.reduce((text, [property, option]) => text.replaceAll(property, `--${option}`), sentence);
}
