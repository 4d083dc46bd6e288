// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that query the attributes of the function and of its ports (IBTA 11.2.1.2,
 * 14.2.5.6).
 */
import {
  ADAPTER_ATTRIBUTES_NODE_GUID_OFFSET,
  ADAPTER_ATTRIBUTES_SYSTEM_IMAGE_GUID_OFFSET,
  encodeAdapterAttributes,
  newAdapterAttributes,
} from '../../../protocol/layout/gen/adapter-attributes.gen.ts';
import {
  COMPLETION_QUEUE_MAX_LOG2,
  EVENT_QUEUE_MAX_LOG2,
  GID_TABLE_ENTRIES,
  MESSAGE_MAX_BYTES,
  PKEY_TABLE_ENTRIES,
  RECEIVE_QUEUE_MAX_LOG2,
  SEND_QUEUE_MAX_LOG2,
  SGE_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { MANAGEMENT_COMMAND_MODIFIER_OFFSET } from '../../../protocol/layout/gen/management-command.gen.ts';
import {
  encodePortAttributes,
  newPortAttributes,
  PORT_ATTRIBUTES_PORT_GUID_OFFSET,
  PORT_ATTRIBUTES_SUBNET_PREFIX_OFFSET,
} from '../../../protocol/layout/gen/port-attributes.gen.ts';
import { Capability, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../fabric/port/port.ts';
import { capacities } from '../queues/object-tables.ts';
import type { CommandContext } from './command-context.ts';

const FIRMWARE_VERSION = 0x00000001;
const COUNTER_MAX = 0xffff;

const CAPABILITIES =
  Capability.UD |
  Capability.UC |
  Capability.RC |
  Capability.ATOMICS |
  Capability.SRQ |
  Capability.MEMORY_WINDOWS |
  Capability.FAST_REGISTRATION |
  Capability.EQ_TIMERS |
  Capability.SEND_CONTEXTS |
  Capability.TRACE |
  Capability.XRC |
  Capability.ON_DEMAND_PAGING |
  Capability.FLUSH |
  Capability.ATOMIC_WRITE |
  Capability.DEVICE_MEMORY |
  Capability.SHADOW_TAILS;

const adapterRecord = newAdapterAttributes();
const portRecord = newPortAttributes();

function capabilitiesOf({ adapter, managed }: CommandContext): number {
  const own = managed.hasOwnPorts ? Capability.OWN_PORTS : 0;
  return CAPABILITIES | own | (adapter.pollsPause ? Capability.POLLS_PAUSE : 0);
}

/** QUERY_ADAPTER: limits, capabilities and GUIDs. */
export function queryAdapter(context: CommandContext): ManagementStatus {
  const record = adapterRecord;
  const { tables } = context.adapter;
  record.firmwareVersion = FIRMWARE_VERSION;
  record.capabilities = capabilitiesOf(context);
  record.maxSharedReceiveQueues = tables.sharedReceiveQueues.quota;
  record.maxMulticastGroups = tables.multicastGroups.quota;
  record.maxQueuePairsPerGroup = tables.multicastGroups.perGroup;
  record.maxCollectContexts = tables.collectContexts.quota;
  record.maxMemoryWindows = tables.memoryWindows.quota;
  record.maxReadsInitiated = capacities.readsPerQueuePair;
  record.maxReadsServed = capacities.readsPerQueuePair;
  record.maxQueuePairs = tables.queuePairs.quota;
  record.maxCompletionQueues = tables.completionQueues.quota;
  record.maxEventQueues = tables.eventQueues.quota;
  record.maxMemoryRegions = tables.memoryRegions.quota;
  record.maxProtectionDomains = tables.protectionDomains.quota;
  record.maxTranslationEntries = context.issuer.translations.quota;
  record.maxPagesPerRegion = Math.min(capacities.pagesPerRegion, record.maxTranslationEntries);
  record.sendQueueMaxLog2 = SEND_QUEUE_MAX_LOG2;
  record.receiveQueueMaxLog2 = RECEIVE_QUEUE_MAX_LOG2;
  record.completionQueueMaxLog2 = COMPLETION_QUEUE_MAX_LOG2;
  record.eventQueueMaxLog2 = EVENT_QUEUE_MAX_LOG2;
  record.maxSge = SGE_MAX;
  record.maxDeviceMemoryBytes = context.issuer.deviceMemory.sizeBytes;
  record.portCount = context.managed.ports.length;
  record.maxMessageBytes = MESSAGE_MAX_BYTES;
  encodeAdapterAttributes(context.responseView, 0, record);
  const { nodeGuid, mads } = context.managed;
  context.response.set(nodeGuid, ADAPTER_ATTRIBUTES_NODE_GUID_OFFSET);
  context.response.set(mads.node.systemImageGuid, ADAPTER_ATTRIBUTES_SYSTEM_IMAGE_GUID_OFFSET);
  return ManagementStatus.OK;
}

/** QUERY_PORT: state, addresses and violation counters of the port that the modifier names. */
export function queryPort(context: CommandContext): ManagementStatus {
  const port = findPort(context);
  if (port === undefined) return ManagementStatus.BAD_FIELD;
  const record = portRecord;
  record.lid = port.lid;
  record.smLid = port.smLid;
  record.state = port.state;
  record.physicalState = port.physicalState;
  record.maxMtu = port.maxMtuCode;
  record.activeMtu = port.activeMtuCode;
  record.lmc = port.lmc;
  record.activeWidth = port.settings.linkWidthActive;
  record.activeSpeed = port.settings.linkSpeedActive;
  record.capabilityMask = port.subnet.capabilityMask;
  record.smServiceLevel = port.subnet.masterSmSl;
  record.subnetTimeout = port.subnet.subnetTimeout;
  // Codes 1 to 4: 1, 2, 4 or 8 data lanes (IBTA 14.2.5.6, VLCap).
  record.maxVirtualLanes = 1 + Math.log2(port.transmitQueues.rings.length);
  record.pkeyTableEntries = PKEY_TABLE_ENTRIES;
  record.gidTableEntries = GID_TABLE_ENTRIES;
  record.badPkeyCounter = Math.min(port.badPkeys, COUNTER_MAX);
  record.badQkeyCounter = Math.min(port.badQkeys, COUNTER_MAX);
  encodePortAttributes(context.responseView, 0, record);
  context.response.set(port.guid, PORT_ATTRIBUTES_PORT_GUID_OFFSET);
  context.response.set(port.subnetPrefix, PORT_ATTRIBUTES_SUBNET_PREFIX_OFFSET);
  return ManagementStatus.OK;
}

/**
 * The port whose number is the modifier; undefined when it does not exist, which blames the
 * modifier.
 */
export function findPort(context: CommandContext): Port | undefined {
  const { ports } = context.managed;
  const port = ports[context.header.modifier - 1];
  if (port !== undefined) return port;
  context.badOffset = MANAGEMENT_COMMAND_MODIFIER_OFFSET;
  context.limit = ports.length;
  return undefined;
}
