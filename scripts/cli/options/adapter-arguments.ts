// SPDX-License-Identifier: Apache-2.0
/**
 * The options of an adapter on the command line, which `vuhca device` and `vuhca run` share.
 * adapter-options.ts turns their values into the options of the adapter.
 */
import { type Command, Option } from 'commander';
import { linkFaults, type PortLinkOptions } from '../../../device/fabric/link/link-options.ts';
import {
  type BusModelName,
  busModels,
  defaultAdapterOptions,
  MANAGEMENT_BUFFERS_DEFAULT,
  PORTS_DEFAULT,
  type PortModelName,
  portModels,
  SEND_BLOCKS_DEFAULT,
} from '../../../device/hca/adapter/options.ts';
import { DEVICE_MEMORY_DEFAULT_BYTES } from '../../../device/hca/function/device-memory.ts';
import { DMA_CONTEXTS_DEFAULT } from '../../../device/hca/function/dma-timing.ts';
import { ORDERING_SYNTAX, parseOrdering } from '../../../device/hosts/ordering/ordering-options.ts';
import { type LoneFabric, loneFabrics } from '../../../device/topology/lone-fabric.ts';
import {
  DEDICATED_MAX,
  DEVICE_MEMORY_MAX_BYTES,
  FUNCTION_MAX,
  PAGE_BYTES,
  PORT_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { type CliCommand, givenOptions } from './cli-command.ts';
import { linkKeyOption, linkOption } from './link-option.ts';
import { numberPair, wholeNumber, wordOf } from './option-values.ts';
import { UsageError } from './usage-error.ts';

/** The values of the options. A value that depends on others is undefined when it is not given. */
export interface AdapterArguments {
  readonly functions: number;
  readonly vcbs: number;
  readonly vcbLimit?: number;
  readonly pcbs: number;
  readonly pcbGuaranteed?: [number, number];
  readonly schedulerBuffers: number;
  readonly managementBuffers: number;
  readonly deviceMemory: number;
  readonly sendBlocks: number;
  readonly lanes: number;
  readonly doorbellEntries: number;
  readonly busReads: number;
  readonly privatePercent?: number;
  readonly idleNs?: number;
  readonly bus: BusModelName;
  readonly busDepth?: number;
  readonly fetchQuantum?: number;
  readonly executionCredits: number;
  readonly completionCredits: number;
  readonly portQueue: number;
  readonly portModel: PortModelName;
  readonly ports: number;
  readonly dmaLatency: number;
  readonly dmaContexts?: number;
  readonly pipelineTime: number;
  readonly lids: [number, number];
  readonly nodeGuid: string;
  readonly ordering: string;
  /** As typed; `readSpin` gives the time. */
  readonly spin: string;
  readonly writeCombining?: number;
  readonly orderCheck?: boolean;
  /** `TcgThread` of qemu/guest-options.ts. */
  readonly tcgThread?: (typeof TCG_THREADS)[number];
  readonly egressSeed?: number;
  /** `PORT=ROLE:ADDRESS` of each link. */
  readonly link?: readonly string[];
  /** Path of the key of the links. */
  readonly linkKey?: string;
  /** `FAULT=PROBABILITY,...,seed=N` of the link between the two ports, and of `link`. */
  readonly fault?: string;
  /** The peers of the two ports. */
  readonly fabric?: LoneFabric;
}

const GROUP = 'Adapter:';
const FAULT_SYNTAX = 'drop=0.01,corrupt=0.001,seed=7';
/** The adapter checks the ranges of these numbers itself. */
const ANY = Number.MAX_SAFE_INTEGER;
const SEED_MAX = 0xffffffff;
export const TCG_THREADS = ['multi', 'single'] as const;
/** The pump sleeps after so long. */
const SPIN_MAX_US = 10_000;

/** Adds the options to a command, as a group of their own. */
export function addAdapterOptions(command: Command): void {
  command.optionsGroup(GROUP);
  for (const option of [...makeNumberOptions(), ...makeOtherOptions()]) command.addOption(option);
}

/** One of the options, for a command that takes a few of them. */
export function adapterOption(long: string): Option {
  return [...makeNumberOptions(), ...makeOtherOptions()].find((option) => option.long === long) as Option;
}

/** Options of the process around the adapters, whatever these are. */
const OF_PROCESS = ['--ordering', '--spin'];

/** Those of the options that were given on the command line and describe an adapter. */
export function givenOfAdapter(command: Command): Option[] {
  return givenAdapterOptions(command).filter(({ long }) => !OF_PROCESS.includes(long ?? ''));
}

/** Those of the options that were given on the command line. */
export function givenAdapterOptions(command: Command): Option[] {
  return givenOptions(command).filter(({ helpGroupHeading }) => helpGroupHeading === GROUP);
}

export function isGiven(command: CliCommand, long: string): boolean {
  return command.givenOptions().some((option) => option.long === long);
}

/** The words that give another command the same options with the same values. */
export function repeatAdapterArguments(command: Command): string[] {
  return givenAdapterOptions(command).flatMap((option) => {
    const value: unknown = command.getOptionValue(option.attributeName());
    if (option.isBoolean() || option.negate) return [`${option.long}`];
    const texts = option.attributeName() === 'link' ? (value as readonly string[]) : [String(value)];
    return texts.map((text) => `${option.long}=${text}`);
  });
}

function makeNumberOptions(): Option[] {
  const defaults = defaultAdapterOptions;
  const number = (flags: string, description: string): Option => wholeNumber(flags, description, 0, ANY);
  return [
    number(
      '--functions <N>',
      `Functions, the physical one and virtual ones: 1 to ${FUNCTION_MAX}; of --personality mlx5, with a port each: 1 or 2`,
    ).default(defaults.functionCount),
    number('--vcbs <N>', 'Virtual collect buffers of each function').default(defaults.vcbCount),
    number(
      '--vcb-limit <N>',
      'Room in the collect BAR for VCBs given later (default: the power of two that holds --vcbs)',
    ),
    number('--pcbs <N>', 'Physical collect buffers of the adapter').default(defaults.pcbCount),
    numberPair(
      '--pcb-guaranteed <A,B>',
      `PCBs guaranteed to QoS levels 0 and 1 of a lone function (default: ${defaults.pcbGuaranteed}, in proportion to --pcbs)`,
      0,
      ANY,
    ),
    number('--scheduler-buffers <N>', 'Collect buffers of the send queue scheduler').default(
      defaults.schedulerBufferCount,
    ),
    number(
      '--management-buffers <N>',
      `Dedicated collect buffers of each function for management commands: 1 to ${DEDICATED_MAX}`,
    ).default(MANAGEMENT_BUFFERS_DEFAULT),
    number(
      '--device-memory <BYTES>',
      `Device memory of each function: a multiple of ${PAGE_BYTES} up to ${DEVICE_MEMORY_MAX_BYTES}`,
    ).default(DEVICE_MEMORY_DEFAULT_BYTES),
    number('--send-blocks <N>', 'Blocks of 64 bytes in the PIO send memory').default(SEND_BLOCKS_DEFAULT),
    number('--lanes <N>', 'Transmit virtual lanes').default(defaults.laneCount),
    number('--doorbell-entries <N>', 'Entries of the send queue scheduler buffer of a function').default(
      defaults.doorbellEntries,
    ),
    number('--bus-reads <N>', 'Bus reads the scheduler may have outstanding for a function').default(defaults.busReads),
    number('--execution-credits <N>', 'Execution credits of all lanes').default(defaults.executionCredits),
    number('--completion-credits <N>', 'Completion credits of all lanes').default(defaults.completionCredits),
    number('--ports <N>', `Ports: 1 to ${PORT_MAX}`).default(PORTS_DEFAULT),
    number('--port-queue <N>', 'Packets a port holds until the link takes them').default(defaults.portQueuePackets),
    wordOf(
      '--port-model <MODEL>',
      'Which ports functions see: all share those of the adapter, or each has its own behind embedded switches; docs/FABRIC.md',
      portModels,
    ).default('shared'),
    wordOf(
      '--bus <MODEL>',
      'open: registers work while a posted write waits; pcie: it blocks every access behind it, and none is dropped',
      busModels,
    ).default('open'),
    ...makeDivisionOptions(),
    ...makeTimeOptions(),
    number(
      '--write-combining <SEED>',
      'Reorders, splits, merges and repeats collect writes as write-combining memory may',
    ),
    wholeNumber(
      '--egress-seed <SEED>',
      'Lets the packets of a send context leave in an order drawn from it',
      0,
      SEED_MAX,
    ),
  ];
}

/** Options of numbers that have defaults of their own. */
function makeDivisionOptions(): Option[] {
  const number = (flags: string, description: string): Option => wholeNumber(flags, description, 0, ANY);
  return [
    number('--private-percent <N>', 'Private part of buffers, lanes and credits when functions share (default: 50)'),
    number('--idle-ns <NS>', 'Time without activity after which a function lends (default: 10000000)'),
    number('--bus-depth <N>', 'Doorbells that wait on the bus, per entry of a scheduler buffer (default: 4)'),
    number('--fetch-quantum <N>', 'Commands read per turn of a send queue (default: 16; 8 with several functions)'),
  ];
}

function makeTimeOptions(): Option[] {
  return [
    wholeNumber('--dma-latency <NS>', 'Time of a read of guest memory in ns', 0, ANY).default(0),
    wholeNumber(
      '--dma-contexts <N>',
      `Reads of payload outstanding at most, with --dma-latency (default: ${DMA_CONTEXTS_DEFAULT})`,
      0,
      ANY,
    ),
    wholeNumber('--pipeline-time <NS>', 'Least time of a command in the send pipeline in ns', 0, ANY).default(0),
  ];
}

function makeOtherOptions(): Option[] {
  const { portLids, nodeGuid } = defaultAdapterOptions;
  return [
    numberPair('--lids <A,B>', 'LIDs of ports 1 and 2; ports 3 and 4 have the next ones', 0, ANY).default(
      portLids,
      portLids.join(),
    ),
    new Option('--node-guid <HEX>', 'Node GUID, 16 digits').default(nodeGuid, nodeGuid),
    new Option('--ordering <MODE>', 'How late, and in which order, guests see what the adapter writes')
      .choices(['strict', 'pcie', 'adversarial:SEED'])
      .default('strict', 'strict')
      .argParser(checkOrdering),
    new Option(
      '--spin <TIME>',
      'How long the process polls for the next request where a processor is free: by load, never, or so many us',
    )
      .choices(['auto', 'off', 'MICROSECONDS'])
      .default('auto', 'auto')
      .argParser(checkSpin),
    new Option(
      '--order-check',
      'Finds stores that software makes after the doorbell that announces them, and warns; docs/HAZARDS.md',
    ),
    wordOf(
      '--tcg-thread <KIND>',
      "QEMU's TCG runs the processors of a guest by a thread each, or in turns by a single one; docs/FEATURES.md",
      TCG_THREADS,
    ).default('multi'),
    linkOption(),
    linkKeyOption(),
    new Option(
      '--fault <FAULTS>',
      `Faults of the link between the two ports, and of what goes out by each --link, with probabilities: ${FAULT_SYNTAX}; docs/TOPOLOGY.md has more`,
    ).argParser((text) => {
      readFaults(text);
      return text;
    }),
    wordOf(
      '--fabric <KIND>',
      'What the ports are plugged into: a switch with the built-in subnet manager, a cable, or nothing (default: switch for run, cable for device)',
      loneFabrics,
    ),
  ];
}

/** The link that `--fault` describes. Throws UsageError. */
export function readFaults(text: string): PortLinkOptions & { readonly kind: 'faulty' } {
  const faults: Record<string, number> = {};
  let seed = 1;
  for (const part of text.split(',')) {
    const [, name = '', value = ''] = /^(\w+)=([\d.]+)$/.exec(part) ?? [];
    const number = Number(value);
    if (name === 'seed' && Number.isSafeInteger(number)) seed = number;
    else if (linkFaults.some((fault) => fault === name) && number >= 0 && number <= 1) faults[name] = number;
    else
      throw new UsageError(
        `option --fault is ${text}; ${part} must be one of ${linkFaults.join(', ')} with a probability up to 1, or seed with a number: ${FAULT_SYNTAX}`,
      );
  }
  return { kind: 'faulty', seed, faults };
}

/** The time that `--spin` fixes, in us; undefined: by load. Throws UsageError. */
export function readSpin(text: string): number | undefined {
  if (text === 'auto') return undefined;
  if (text === 'off') return 0;
  const us = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (us >= 1 && us <= SPIN_MAX_US) return us;
  throw new UsageError(`option --spin is ${text}; it must be auto, off, or microseconds from 1 to ${SPIN_MAX_US}`);
}

function checkSpin(text: string): string {
  readSpin(text);
  return text;
}

function checkOrdering(text: string): string {
  if (parseOrdering(text) !== undefined) return text;
  throw new UsageError(`option --ordering is ${text}; it must be ${ORDERING_SYNTAX}, with a seed below 2^32`);
}
