// SPDX-License-Identifier: Apache-2.0
//
// The options of an adapter on the command line; `device` and `run` take the same ones.

import { type AdapterOptions, defaultAdapterOptions, findOptionError } from '../../device/adapter/options.ts';
import {
  ORDERING_SYNTAX,
  type OrderingOptions,
  parseOrdering,
  strictOrdering,
} from '../../device/hosts/ordering/ordering-options.ts';
import { LONE_NAME, type SocketLinkPlan } from '../../device/main/topology.ts';
import { FUNCTION_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import { type Arguments, type CommandOption, UsageError } from './command.ts';

const defaults = defaultAdapterOptions;

/** Options and their help. */
export const adapterArguments: Readonly<Record<string, CommandOption>> = {
  functions: {
    type: 'string',
    value: 'N',
    description: `Functions, the physical one and virtual ones: 1 to ${FUNCTION_MAX} (default ${defaults.functionCount})`,
  },
  vcbs: {
    type: 'string',
    value: 'N',
    description: `Virtual collect buffers of each function (default ${defaults.vcbCount})`,
  },
  'vcb-limit': {
    type: 'string',
    value: 'N',
    description: 'Room in the collect BAR for VCBs given later (default: the power of two that holds --vcbs)',
  },
  pcbs: {
    type: 'string',
    value: 'N',
    description: `Physical collect buffers of the adapter (default ${defaults.pcbCount})`,
  },
  'pcb-guaranteed': {
    type: 'string',
    value: 'A,B',
    description: `PCBs guaranteed to QoS level 0 and 1 of a lone function (default ${defaults.pcbGuaranteed})`,
  },
  'scheduler-buffers': {
    type: 'string',
    value: 'N',
    description: `Collect buffers of the send queue scheduler (default ${defaults.schedulerBufferCount})`,
  },
  lanes: { type: 'string', value: 'N', description: `Transmit virtual lanes (default ${defaults.laneCount})` },
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
    description: `Execution credits of all lanes (default ${defaults.executionCredits})`,
  },
  'completion-credits': {
    type: 'string',
    value: 'N',
    description: `Completion credits of all lanes (default ${defaults.completionCredits})`,
  },
  'port-queue': {
    type: 'string',
    value: 'N',
    description: `Packets a port holds until the link takes them (default ${defaults.portQueuePackets})`,
  },
  lids: { type: 'string', value: 'A,B', description: `LIDs of the two ports (default ${defaults.portLids})` },
  'node-guid': { type: 'string', value: 'HEX', description: `Node GUID, 16 digits (default ${defaults.nodeGuid})` },
  ordering: {
    type: 'string',
    value: 'MODE',
    description: `How late and in which order guests see what the adapter writes: ${ORDERING_SYNTAX} (default strict)`,
  },
  link: {
    type: 'string',
    value: 'PORT=listen:PATH|PORT=connect:PATH',
    repeats: true,
    description: 'Links a port to one of another process, which has the other role (LIDs and node GUIDs must differ)',
  },
  'write-combining': {
    type: 'string',
    value: 'SEED',
    description: 'Reorder, split, merge and repeat collect writes as write-combining memory may',
  },
};

const ANY = Number.MAX_SAFE_INTEGER;

/** The adapter's names of its options and ours. */
const typedNames: readonly (readonly [property: keyof AdapterOptions, option: string])[] = [
  ['functionCount', 'functions'],
  ['vcbCount', 'vcbs'],
  ['vcbLimit', 'vcb-limit'],
  ['laneCount', 'lanes'],
  ['writeCombining', 'write-combining'],
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
  const seed = args.integer('write-combining', 0, ANY);
  const options: AdapterOptions = {
    ...defaults,
    ...(seed === undefined ? {} : { writeCombining: { seed } }),
    functionCount: args.integer('functions', 0, ANY) ?? defaults.functionCount,
    vcbCount: args.integer('vcbs', 0, ANY) ?? defaults.vcbCount,
    vcbLimit: args.integer('vcb-limit', 0, ANY) ?? defaults.vcbLimit,
    laneCount: args.integer('lanes', 0, ANY) ?? defaults.laneCount,
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

/** The ordering model asked for. Throws UsageError. */
export function readOrdering(args: Arguments): OrderingOptions {
  const text = args.text('ordering');
  const ordering = text === undefined ? strictOrdering : parseOrdering(text);
  if (ordering === undefined)
    throw new UsageError(`option --ordering is ${text}; it must be ${ORDERING_SYNTAX}, with a seed below 2^32`);
  return ordering;
}

/** The links to other processes asked for. Throws UsageError. */
export function readLinks(args: Arguments): SocketLinkPlan[] {
  const links = args.texts('link').map((text): SocketLinkPlan => {
    const [, port, role, path] = /^([12])=(listen|connect):(.+)$/.exec(text) ?? [];
    if (path === undefined)
      throw new UsageError(
        `option --link is ${text}; it must be PORT=listen:PATH or PORT=connect:PATH, with port 1 or 2`,
      );
    return { port: `${LONE_NAME}:${port}`, role: role as 'listen' | 'connect', endpoint: { path } };
  });
  const again = links.find(({ port }, index) => links.findIndex((one) => one.port === port) < index);
  if (again !== undefined)
    throw new UsageError(`option --link names port ${again.port.slice(-1)} twice; a port has one link`);
  if (links.length > 0 && args.has('record'))
    throw new UsageError(
      'option --record cannot be given with --link: a recording would miss what comes in by the link',
    );
  return links;
}

/** The arguments of `device` that repeat what `args` asked for. */
export function repeatAdapterArguments(args: Arguments): string[] {
  return Object.keys(adapterArguments).flatMap((name) => args.texts(name).map((value) => `--${name}=${value}`));
}

function nameAsTyped(sentence: string): string {
  return typedNames.reduce((text, [property, option]) => text.replaceAll(property, `--${option}`), sentence);
}
