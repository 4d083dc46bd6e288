// SPDX-License-Identifier: Apache-2.0
/**
 * Options of an adapter, fixed when it is built; sizes as docs/DOCUMENTS.md decision 12 has them.
 * Recordings contain them, so they are plain data.
 */
import {
  DEDICATED_MAX,
  DEVICE_MEMORY_MAX_BYTES,
  FUNCTION_MAX,
  PAGE_BYTES,
  PCB_MAX,
  PORT_MAX,
  SEND_CONTEXT_MAX,
  SEND_MEMORY_BLOCKS_MAX,
  TVL_MAX,
  VCB_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { findLinkOptionError, type PortLinkOptions } from '../../fabric/link/link-options.ts';
import { DATA_VL_COUNTS } from '../../fabric/port/transmit-queues.ts';
import { findCombiningError, type WriteCombiningOptions } from '../collect/write-combining.ts';
import { DMA_CONTEXTS_MAX, LATENCY_MAX_NS } from '../function/dma-timing.ts';
import { takePrivate } from '../lane/default-lanes.ts';

/**
 * Which ports functions see: all share those of the adapter, or each has its own behind embedded
 * switches (docs/FABRIC.md).
 */
export type PortModelName = 'shared' | 'vswitch';
/** What a posted write that cannot be taken does to the accesses behind it (options.bus). */
export type BusModelName = 'open' | 'pcie';
export const busModels: readonly BusModelName[] = ['open', 'pcie'];
export const portModels: readonly PortModelName[] = ['shared', 'vswitch'];

export interface AdapterOptions {
  /** Underlying functions, 1 to 34: the physical one, then virtual ones. */
  readonly functionCount: number;
  /**
   * Virtual collect buffers of each function at the start; 1 to 16384 for all functions together.
   */
  readonly vcbCount: number;
  /**
   * The most VCBs that a function may get later: its collect BAR has room for so many. 0: the power
   * of two that holds `vcbCount`.
   */
  readonly vcbLimit: number;
  /** Physical collect buffers of the adapter, 1 to 1024. */
  readonly pcbCount: number;
  /**
   * PCBs guaranteed to QoS levels 0 and 1 of a lone function, which has all PCBs; its levels share
   * the rest of `pcbCount`. Several functions split their shares in the same proportion
   * (`getDefaultShare`).
   */
  readonly pcbGuaranteed: readonly [number, number];
  /**
   * Dedicated collect buffers of the send queue scheduler, 1 to 256; more than functions, if
   * several.
   */
  readonly schedulerBufferCount: number;
  /** Dedicated collect buffers of each function for management commands, 1 to 8; undefined: 1. */
  readonly managementBufferCount?: number;
  /**
   * Device memory of each function in bytes, a multiple of 4096 up to 512 KiB; undefined: 256 KiB.
   */
  readonly deviceMemoryBytes?: number;
  /** Blocks of 64 bytes in the PIO send memory, 2 to 163840; undefined: 16384. */
  readonly sendBlockCount?: number;
  /** Transmit virtual lanes of the adapter, 1 to 128. */
  readonly laneCount: number;
  /** Entries of the send queue scheduler buffer of a function, 8 to 4096. */
  readonly doorbellEntries: number;
  /** Bus reads the send queue scheduler may have outstanding for a function, 1 to 256. */
  readonly busReads: number;
  /**
   * Execution credits of all lanes: commands between launch and hand-over to the port. With more
   * credits than lanes, each lane has at least one private credit.
   */
  readonly executionCredits: number;
  /** Completion credits of all lanes: commands between launch and completion. */
  readonly completionCredits: number;
  /** EUI-64 of the node as 16 hex digits; port GUIDs follow it. */
  readonly nodeGuid: string;
  /** Text of NodeDescription, cut to 64 bytes; `vuhca` when absent. */
  readonly nodeDescription?: string;
  /** The ports that functions see; `shared` when absent. */
  readonly portModel?: PortModelName;
  /** Ports, 1 to 4; undefined: 2. */
  readonly portCount?: number;
  /** Base LIDs of ports 1 and 2; those of ports 3 and 4 follow. */
  readonly portLids: readonly [number, number];
  /** Packets a port holds until the link takes them. */
  readonly portQueuePackets: number;
  /** Data lanes of a port: 1, 2, 4 or 8; VL15 comes on top. */
  readonly virtualLanes: number;
  /**
   * Seed of the order in which packets of a send context leave; undefined: the order of completion.
   */
  readonly sendEgressSeed?: number;
  /**
   * Time in ns that a read of guest memory takes: payload, send queues and descriptors; undefined
   * or 0: none.
   */
  readonly dmaLatencyNs?: number;
  /** Reads of payload that may be outstanding when they take time, 1 to 1023; undefined: 64. */
  readonly dmaContexts?: number;
  /** Time in ns that a command spends in the send pipeline at least; undefined or 0: none. */
  readonly pipelineNs?: number;
  /** The link between ports 1 and 2, and 3 and 4, until another link is plugged in. */
  readonly portLink: PortLinkOptions;
  /** Part of PCBs, scheduler buffers, lanes and credits that is private; 50 percent by default. */
  readonly privatePercent?: number;
  /** A function without activity for this time is idle; 10 ms by default. */
  readonly idleIntervalNs?: number;
  /** Posted doorbells that the bus holds for each entry of a scheduler buffer; 4 by default. */
  readonly busDepth?: number;
  /**
   * `open`, the default: registers work while the bus is blocked, and doorbells beyond its capacity
   * are lost. `pcie`: a posted write that cannot be taken blocks every access behind it.
   */
  readonly bus?: BusModelName;
  /** Commands read from one send queue per turn; by default 16, and 8 with several functions. */
  readonly fetchQuantum?: number;
  /**
   * A modelled write-combining processor in front of the collect pages; undefined: writes arrive as
   * made.
   */
  readonly writeCombining?: WriteCombiningOptions;
  /**
   * The processors of the machine share a thread, as those of QEMU with `thread=single`: software
   * is told to give way when it polls in vain (POLLS_PAUSE).
   */
  readonly pollsPause?: boolean;
  /** Finds stores that software makes after the access that announces them; costs time. */
  readonly orderCheck?: boolean;
}

/** Ports of a function behind embedded switches at most: its GUIDs have no more room. */
const EMBEDDED_PORTS_MAX = 3;
/** Ports unless an option says otherwise. */
export const PORTS_DEFAULT = 2;
/** Dedicated collect buffers of management commands unless an option says otherwise. */
export const MANAGEMENT_BUFFERS_DEFAULT = 1;
/** Blocks of the PIO send memory unless an option says otherwise: 1 MiB. */
export const SEND_BLOCKS_DEFAULT = 16384;

export const defaultAdapterOptions: AdapterOptions = {
  functionCount: 1,
  vcbCount: 64,
  vcbLimit: 0,
  pcbCount: 256,
  pcbGuaranteed: [64, 64],
  schedulerBufferCount: 64,
  laneCount: TVL_MAX,
  doorbellEntries: 128,
  busReads: 32,
  executionCredits: 2 * TVL_MAX,
  completionCredits: 1024,
  nodeGuid: '0056554843410000',
  portLids: [1, 2],
  portQueuePackets: 64,
  virtualLanes: 1,
  portLink: { kind: 'cable' },
};

/** The buffers that a function has at power-on, and again when its share was returned. */
export interface DefaultShare {
  readonly pcbs: number;
  readonly pcbsGuaranteed: readonly [number, number];
  readonly schedulerBuffers: number;
  readonly sendContexts: number;
  readonly sendBlocks: number;
}

/**
 * A lone function has all buffers. Several functions divide the private part of each pool equally,
 * and share the rest; they divide all of the send memory, which is not shared.
 */
export function getDefaultShare(options: AdapterOptions): DefaultShare {
  const { functionCount, pcbCount, pcbGuaranteed, schedulerBufferCount, privatePercent } = options;
  const send = {
    sendContexts: Math.floor(SEND_CONTEXT_MAX / functionCount),
    sendBlocks: Math.floor((options.sendBlockCount ?? SEND_BLOCKS_DEFAULT) / functionCount),
  };
  if (functionCount === 1)
    return { pcbs: pcbCount, pcbsGuaranteed: pcbGuaranteed, schedulerBuffers: schedulerBufferCount, ...send };
  const pcbs = Math.floor(takePrivate(pcbCount, privatePercent) / functionCount);
  const [level0, level1] = pcbGuaranteed;
  return {
    pcbs,
    pcbsGuaranteed: [Math.floor((pcbs * level0) / pcbCount), Math.floor((pcbs * level1) / pcbCount)],
    // Without a dedicated buffer of its own, a function's send queues could wait for other
    // functions.
    schedulerBuffers: Math.max(1, Math.floor(takePrivate(schedulerBufferCount, privatePercent) / functionCount)),
    ...send,
  };
}

/** Base LIDs of all ports. */
export function getPortLids({ portCount = PORTS_DEFAULT, portLids }: AdapterOptions): number[] {
  const [first, second] = portLids;
  return [first, second, second + 1, second + 2].slice(0, portCount);
}

/**
 * VCB pages of the collect BAR of a function: a power of two. Dedicated buffers have as much room.
 */
export function getCollectPages({ vcbCount, vcbLimit, managementBufferCount = 1 }: AdapterOptions): number {
  return 2 ** Math.ceil(Math.log2(Math.max(vcbLimit === 0 ? vcbCount : vcbLimit, managementBufferCount)));
}

/** Throws RangeError when an option is out of range, or when hosts are missing. */
export function requireOptions(options: AdapterOptions, hosts: number): void {
  const { functionCount } = options;
  const error = findOptionError(options);
  if (error !== undefined) throw new RangeError(error);
  if (hosts !== functionCount)
    throw new RangeError(`option functionCount is ${functionCount}, but there are ${hosts} hosts; give one to each`);
}

/** Returns a sentence about the first option that is out of range, or undefined. */
export function findOptionError(options: AdapterOptions): string | undefined {
  const { functionCount } = options;
  const ranges: [keyof AdapterOptions, number, number][] = [
    ['functionCount', 1, FUNCTION_MAX],
    ['vcbCount', 1, VCB_MAX],
    ['vcbLimit', 0, VCB_MAX],
    ['pcbCount', 1, PCB_MAX],
    ['schedulerBufferCount', 1, 256],
    ['managementBufferCount', 1, DEDICATED_MAX],
    ['deviceMemoryBytes', 0, DEVICE_MEMORY_MAX_BYTES],
    ['sendBlockCount', 2, SEND_MEMORY_BLOCKS_MAX],
    ['laneCount', 1, TVL_MAX],
    ['doorbellEntries', 8, 4096],
    ['busReads', 1, 256],
    ['executionCredits', 1, 1024],
    ['completionCredits', 1, 4096],
    ['portCount', 1, PORT_MAX],
    ['portQueuePackets', 2, 1024],
    ['privatePercent', 0, 100],
    ['idleIntervalNs', 1, 1e12],
    ['busDepth', 1, 64],
    ['fetchQuantum', 1, 256],
    ['dmaLatencyNs', 0, LATENCY_MAX_NS],
    ['dmaContexts', 1, DMA_CONTEXTS_MAX],
    ['pipelineNs', 0, LATENCY_MAX_NS],
  ];
  for (const [name, low, high] of ranges) {
    const value = options[name] as number | undefined;
    if (value === undefined && !(name in defaultAdapterOptions)) continue;
    if (value === undefined || !Number.isInteger(value) || value < low || value > high)
      return `option ${name} is ${value}; it must be ${low} to ${high}`;
  }
  const { deviceMemoryBytes = 0 } = options;
  if (deviceMemoryBytes % PAGE_BYTES !== 0)
    return `option deviceMemoryBytes is ${deviceMemoryBytes}; it must be a multiple of ${PAGE_BYTES}`;
  if (options.vcbCount * functionCount > VCB_MAX)
    return `option vcbCount is ${options.vcbCount}; with functionCount ${functionCount} it must be 1 to ${Math.floor(VCB_MAX / functionCount)}`;
  if (options.vcbLimit !== 0 && options.vcbLimit < options.vcbCount)
    return `option vcbLimit is ${options.vcbLimit}; it must be 0 or at least vcbCount (${options.vcbCount})`;
  if (functionCount > 1 && options.schedulerBufferCount <= functionCount)
    return `option schedulerBufferCount is ${options.schedulerBufferCount}; it must be more than functionCount (${functionCount})`;
  const guaranteed = options.pcbGuaranteed[0] + options.pcbGuaranteed[1];
  if (!options.pcbGuaranteed.every((count) => Number.isInteger(count) && count >= 0) || guaranteed > options.pcbCount)
    return `option pcbGuaranteed is ${options.pcbGuaranteed}; its sum must not exceed pcbCount (${options.pcbCount})`;
  if (!/^[0-9a-f]{16}$/i.test(options.nodeGuid))
    return `option nodeGuid is ${options.nodeGuid}; it must be 16 hex digits`;
  if (options.portModel !== undefined && !portModels.includes(options.portModel))
    return `option portModel is ${options.portModel}; it must be ${portModels.join(' or ')}`;
  if (options.bus !== undefined && !busModels.includes(options.bus))
    return `option bus is ${options.bus}; it must be ${busModels.join(' or ')}`;
  if (options.portModel === 'vswitch' && getPortLids(options).length > EMBEDDED_PORTS_MAX)
    return `option portCount is ${options.portCount}; with portModel vswitch it must be 1 to ${EMBEDDED_PORTS_MAX}`;
  if (![...options.portLids, ...getPortLids(options)].every((lid) => Number.isInteger(lid) && lid > 0 && lid < 0xc000))
    return `option portLids is ${options.portLids}; a unicast LID is 1 to 49151`;
  if (!DATA_VL_COUNTS.includes(options.virtualLanes))
    return `option virtualLanes is ${options.virtualLanes}; it must be ${DATA_VL_COUNTS.join(', ')}`;
  const combining = options.writeCombining && findCombiningError(options.writeCombining);
  return combining ?? (options.portLink.kind === 'faulty' ? findLinkOptionError(options.portLink) : undefined);
}
