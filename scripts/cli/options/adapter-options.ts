// SPDX-License-Identifier: Apache-2.0
/**
 * The options, the ordering model and the fabric of an adapter, from the values of its command line
 * options (adapter-arguments.ts). Called by `vuhca device`, and by `vuhca run` to find mistakes
 * before anything starts.
 */

import type { Option } from 'commander';
import {
  type AdapterOptions,
  defaultAdapterOptions,
  findOptionError,
  MANAGEMENT_BUFFERS_DEFAULT,
  PORTS_DEFAULT,
  SEND_BLOCKS_DEFAULT,
} from '../../../device/hca/adapter/options.ts';
import { DEVICE_MEMORY_DEFAULT_BYTES } from '../../../device/hca/function/device-memory.ts';
import {
  type OrderingOptions,
  parseOrdering,
  strictOrdering,
} from '../../../device/hosts/ordering/ordering-options.ts';
import type { LoneFabric } from '../../../device/topology/lone-fabric.ts';
import { type AdapterArguments, readFaults } from './adapter-arguments.ts';
import { UsageError } from './usage-error.ts';

const defaults = defaultAdapterOptions;

/** The adapter's names of its options and those of the command line. */
const typedNames: readonly (readonly [property: keyof AdapterOptions, option: string])[] = [
  ['functionCount', 'functions'],
  ['vcbCount', 'vcbs'],
  ['vcbLimit', 'vcb-limit'],
  ['laneCount', 'lanes'],
  ['writeCombining', 'write-combining'],
  ['pcbGuaranteed', 'pcb-guaranteed'],
  ['pcbCount', 'pcbs'],
  ['schedulerBufferCount', 'scheduler-buffers'],
  ['managementBufferCount', 'management-buffers'],
  ['deviceMemoryBytes', 'device-memory'],
  ['sendBlockCount', 'send-blocks'],
  ['doorbellEntries', 'doorbell-entries'],
  ['busReads', 'bus-reads'],
  ['executionCredits', 'execution-credits'],
  ['completionCredits', 'completion-credits'],
  ['nodeGuid', 'node-guid'],
  ['portModel', 'port-model'],
  ['portLids', 'lids'],
  ['portQueuePackets', 'port-queue'],
  ['portCount', 'ports'],
  ['privatePercent', 'private-percent'],
  ['idleIntervalNs', 'idle-ns'],
  ['bus', 'bus'],
  ['busDepth', 'bus-depth'],
  ['fetchQuantum', 'fetch-quantum'],
  ['dmaLatencyNs', 'dma-latency'],
  ['dmaContexts', 'dma-contexts'],
  ['pipelineNs', 'pipeline-time'],
  ['orderCheck', 'order-check'],
  ['pollsPause', 'tcg-thread'],
];

/** The adapter's options. Throws UsageError. */
export function readAdapterOptions(given: AdapterArguments): AdapterOptions {
  // Guarantees that are not given follow the number of PCBs in the default proportion.
  const share = Math.floor((given.pcbs * defaults.pcbGuaranteed[0]) / defaults.pcbCount);
  const options: AdapterOptions = {
    ...defaults,
    ...(given.writeCombining === undefined ? {} : { writeCombining: { seed: given.writeCombining } }),
    ...(given.egressSeed === undefined ? {} : { sendEgressSeed: given.egressSeed }),
    functionCount: given.functions,
    vcbCount: given.vcbs,
    vcbLimit: given.vcbLimit ?? defaults.vcbLimit,
    laneCount: given.lanes,
    pcbCount: given.pcbs,
    pcbGuaranteed: given.pcbGuaranteed ?? [share, share],
    schedulerBufferCount: given.schedulerBuffers,
    ...(given.managementBuffers === MANAGEMENT_BUFFERS_DEFAULT
      ? {}
      : { managementBufferCount: given.managementBuffers }),
    ...(given.deviceMemory === DEVICE_MEMORY_DEFAULT_BYTES ? {} : { deviceMemoryBytes: given.deviceMemory }),
    ...(given.sendBlocks === SEND_BLOCKS_DEFAULT ? {} : { sendBlockCount: given.sendBlocks }),
    doorbellEntries: given.doorbellEntries,
    busReads: given.busReads,
    executionCredits: given.executionCredits,
    completionCredits: given.completionCredits,
    nodeGuid: given.nodeGuid,
    portLids: given.lids,
    portQueuePackets: given.portQueue,
    ...(given.portModel === 'vswitch' ? { portModel: given.portModel } : {}),
    ...(given.ports === PORTS_DEFAULT ? {} : { portCount: given.ports }),
    ...(given.privatePercent === undefined ? {} : { privatePercent: given.privatePercent }),
    ...(given.idleNs === undefined ? {} : { idleIntervalNs: given.idleNs }),
    ...(given.bus === 'pcie' ? { bus: given.bus } : {}),
    ...(given.busDepth === undefined ? {} : { busDepth: given.busDepth }),
    ...(given.fetchQuantum === undefined ? {} : { fetchQuantum: given.fetchQuantum }),
    ...(given.dmaLatency === 0 ? {} : { dmaLatencyNs: given.dmaLatency }),
    ...(given.dmaContexts === undefined ? {} : { dmaContexts: given.dmaContexts }),
    ...(given.pipelineTime === 0 ? {} : { pipelineNs: given.pipelineTime }),
    ...(given.orderCheck === true ? { orderCheck: true } : {}),
    ...(given.tcgThread === 'single' ? { pollsPause: true } : {}),
    ...(given.fault === undefined ? {} : { portLink: readFaults(given.fault) }),
  };
  const error = findOptionError(options);
  if (error !== undefined) throw new UsageError(nameAsTyped(error));
  return options;
}

/** The members of `options` that the given options of the command line set. */
export function pickGiven(options: AdapterOptions, given: readonly Option[]): Partial<AdapterOptions> {
  const names = given.map(({ long }) => long?.slice('--'.length));
  const properties = typedNames.filter(([, option]) => names.includes(option)).map(([property]) => property);
  if (names.includes('pcbs')) properties.push('pcbGuaranteed');
  if (names.includes('egress-seed')) properties.push('sendEgressSeed');
  if (names.includes('fault')) properties.push('portLink');
  return Object.fromEntries(properties.map((property) => [property, options[property]]));
}

/** The ordering model. */
export function readOrdering({ ordering }: AdapterArguments): OrderingOptions {
  return parseOrdering(ordering) ?? strictOrdering;
}

/**
 * The peers of the ports. A link to another process, or one with faults, replaces the cable, so a
 * switch cannot be given with them. Throws UsageError.
 */
export function readFabric({ fabric, link, fault }: AdapterArguments, usual: LoneFabric): LoneFabric {
  const other = link !== undefined ? '--link' : fault !== undefined ? '--fault' : undefined;
  if (fabric === undefined) return other === undefined ? usual : 'cable';
  if (fabric !== 'cable' && other !== undefined)
    throw new UsageError(`option --fabric is ${fabric}; with ${other} it must be cable`);
  return fabric;
}

/** A sentence about an option of the adapter, with the name of the command line. */
export function nameAsTyped(sentence: string): string {
  return typedNames.reduce((text, [property, option]) => text.replaceAll(property, `--${option}`), sentence);
}
