// SPDX-License-Identifier: Apache-2.0
/**
 * Attributes of subnet management as tables (IBTA 14.2.5). Each lies in the 64 bytes of data of an
 * SMP, and most of them in records of subnet administration, too (administration-records.ts).
 */
import type { ArrayRow, FieldRow, StructTable } from '../../layout/table.ts';
import { attribute } from './attribute.ts';

export const nodeInfoRows: readonly FieldRow[] = [
  { name: 'nodeBaseVersion', bits: 8, doc: 'Supported base version of datagrams, 1.' },
  { name: 'nodeClassVersion', bits: 8, doc: 'Supported version of the subnet management class, 1.' },
  { name: 'nodeType', bits: 8, doc: 'Type of the node.', values: 'node-type' },
  { name: 'portCount', bits: 8, doc: 'Physical ports of the node.' },
  { name: 'systemImageGuid', bits: 64, opaque: true, doc: 'GUID that all nodes of one system share.' },
  { name: 'nodeGuid', bits: 64, opaque: true, doc: 'GUID of the node.' },
  { name: 'portGuid', bits: 64, opaque: true, doc: 'GUID of the port that answers; of the node for a switch.' },
  { name: 'partitionCapacity', bits: 16, doc: 'Entries of the P_Key table of each port; of port 0 for a switch.' },
  { name: 'deviceId', bits: 16, doc: "The vendor's number of the device." },
  { name: 'revision', bits: 32, doc: "The vendor's revision of the device." },
  { name: 'localPort', bits: 8, doc: 'Port by which the request arrived.' },
  { name: 'vendorId', bits: 24, doc: 'OUI of the vendor.' },
];

export const switchInfoRows: readonly FieldRow[] = [
  { name: 'linearCapacity', bits: 16, doc: 'Entries of the linear forwarding table.' },
  { name: 'randomCapacity', bits: 16, doc: 'Entries of the random forwarding table; 0: none.' },
  { name: 'multicastCapacity', bits: 16, doc: 'Entries of the multicast forwarding table.' },
  { name: 'linearTop', bits: 16, doc: 'Last LID of the linear forwarding table that is in use.' },
  { name: 'defaultPort', bits: 8, doc: 'Port for LIDs without an entry in a random forwarding table.' },
  { name: 'defaultMulticastPrimaryPort', bits: 8, doc: 'Port for multicast LIDs without an entry.' },
  { name: 'defaultMulticastNotPrimaryPort', bits: 8, doc: 'The same for packets that arrive by the primary port.' },
  { name: 'lifeTime', bits: 5, doc: 'Longest time of a packet in the switch, 4.096 us * 2^n; above 19: no limit.' },
  { name: 'portStateChange', bits: 1, doc: 'A port changed its state; writing 1 clears it.' },
  { name: 'optimizedSlToVl', bits: 2, doc: 'Programming of SL-to-VL tables with wildcards.' },
  { name: 'lidsPerPort', bits: 16, doc: 'LID and LMC combinations of a port in a random forwarding table.' },
  { name: 'partitionEnforcementCapacity', bits: 16, doc: 'Entries of the P_Key table of each external port.' },
  { name: 'inboundEnforcement', bits: 1, doc: 'The switch can enforce partitions on packets that it receives.' },
  { name: 'outboundEnforcement', bits: 1, doc: 'The switch can enforce partitions on packets that it sends.' },
  { name: 'filterRawInbound', bits: 1, doc: 'The switch can drop raw packets that it receives.' },
  { name: 'filterRawOutbound', bits: 1, doc: 'The switch can drop raw packets that it sends.' },
  { name: 'enhancedPort0', bits: 1, doc: 'Port 0 is a full port.' },
  { bits: 3 },
  { bits: 8 },
  { name: 'multicastTop', bits: 16, doc: 'Last multicast LID in use.' },
];

export const portInfoRows: readonly FieldRow[] = [
  { name: 'mKey', bits: 64, opaque: true, doc: 'Management key of the port.' },
  { name: 'gidPrefix', bits: 64, opaque: true, doc: 'Prefix of the subnet in the GIDs of the port.' },
  { name: 'lid', bits: 16, at: 16, doc: 'Base LID of the port.' },
  { name: 'masterSmLid', bits: 16, doc: 'LID of the master subnet manager.' },
  { name: 'capabilityMask', bits: 32, doc: 'Capabilities of the port.', values: 'port-capability' },
  { name: 'diagCode', bits: 16, at: 24, doc: 'Result of the diagnostics; 0: good.' },
  { name: 'mKeyLease', bits: 16, doc: 'Seconds until a key loses its protection; 0: never.' },
  { name: 'localPort', bits: 8, at: 28, doc: 'Port by which the request arrived.' },
  { name: 'linkWidthEnabled', bits: 8, doc: 'Enabled widths, as a mask.', values: 'link-width' },
  { name: 'linkWidthSupported', bits: 8, doc: 'Supported widths, as a mask.' },
  { name: 'linkWidthActive', bits: 8, doc: 'Width of the link.' },
  { name: 'linkSpeedSupported', bits: 4, at: 32, doc: 'Supported speeds, as a mask.', values: 'link-speed' },
  { name: 'portState', bits: 4, doc: 'Logical state.', values: 'port-state' },
  { name: 'portPhysicalState', bits: 4, doc: 'Physical state.', values: 'port-physical-state' },
  { name: 'linkDownDefaultState', bits: 4, doc: 'Physical state into which a lost link falls.' },
  { name: 'mKeyProtect', bits: 2, doc: 'Requests without the key that are refused.' },
  { bits: 3 },
  { name: 'lmc', bits: 3, doc: 'LID mask control: low bits of the LID that choose a path.' },
  { name: 'linkSpeedActive', bits: 4, doc: 'Speed of the link.' },
  { name: 'linkSpeedEnabled', bits: 4, doc: 'Enabled speeds, as a mask.' },
  { name: 'neighborMtu', bits: 4, at: 36, doc: 'Largest payload to the neighbour.' },
  { name: 'masterSmSl', bits: 4, doc: 'Service level for datagrams to the master subnet manager.' },
  { name: 'vlCapability', bits: 4, doc: 'Code of the data lanes supported: 1, 2, 4, 8, 15 lanes are 1 to 5.' },
  { name: 'initType', bits: 4, doc: 'Requests for the initialization.' },
  { name: 'vlHighLimit', bits: 8, doc: 'Limit of high priority, in units of 4096 bytes.' },
  { name: 'vlArbitrationHighCapacity', bits: 8, doc: 'Entries of the high-priority table.' },
  { name: 'vlArbitrationLowCapacity', bits: 8, at: 40, doc: 'Entries of the low-priority table.' },
  { name: 'initTypeReply', bits: 4, doc: 'Requests for the initialization that were met.' },
  { name: 'mtuCapability', bits: 4, doc: 'Largest payload of the port.' },
  { name: 'vlStallCount', bits: 3, doc: 'Packets dropped in a row until a lane is stalled.' },
  { name: 'headOfQueueLife', bits: 5, doc: 'Time at the head of a lane until a packet is dropped, 4.096 us * 2^n.' },
  { name: 'operationalVls', bits: 4, doc: 'Code of the data lanes in use.' },
  { name: 'partitionEnforcementInbound', bits: 1, doc: 'Switch: partitions of received packets are enforced.' },
  { name: 'partitionEnforcementOutbound', bits: 1, doc: 'Switch: partitions of sent packets are enforced.' },
  { name: 'filterRawInbound', bits: 1, doc: 'Switch: received raw packets are dropped.' },
  { name: 'filterRawOutbound', bits: 1, doc: 'Switch: raw packets are not sent.' },
  { name: 'mKeyViolations', bits: 16, at: 44, doc: 'Datagrams with a wrong management key.' },
  { name: 'pKeyViolations', bits: 16, doc: 'Packets with a wrong partition key.' },
  { name: 'qKeyViolations', bits: 16, at: 48, doc: 'Packets with a wrong queue key.' },
  { name: 'guidCapacity', bits: 8, doc: 'Entries of GUIDInfo.' },
  { name: 'clientReregister', bits: 1, doc: 'Clients must register again with subnet administration.' },
  { name: 'multicastPkeyTrapSuppression', bits: 2, doc: 'Multicast packets with a wrong P_Key raise no trap.' },
  { name: 'subnetTimeout', bits: 5, doc: 'Longest transit time of the subnet, 4.096 us * 2^n.' },
  { bits: 3 },
  { name: 'responseTime', bits: 5, doc: 'Time until the port answers a datagram, 4.096 us * 2^n.' },
  { name: 'localPhysicalErrors', bits: 4, doc: 'Threshold of physical errors.' },
  { name: 'overrunErrors', bits: 4, doc: 'Threshold of buffer overruns.' },
  { name: 'maxCreditHint', bits: 16, doc: 'Largest credit in units of 64 bytes; 0: not given.' },
  { bits: 8 },
  { name: 'linkRoundTrip', bits: 24, doc: 'Round trip of the link in units of 4 ns; 0xffffff: not measured.' },
  { name: 'capabilityMask2', bits: 16, at: 60, doc: 'Further capabilities.' },
  { name: 'linkSpeedExtendedActive', bits: 4, doc: 'Extended speed of the link; 0: none.' },
  { name: 'linkSpeedExtendedSupported', bits: 4, doc: 'Supported extended speeds, as a mask.' },
  { bits: 3 },
  { name: 'linkSpeedExtendedEnabled', bits: 5, doc: 'Enabled extended speeds, as a mask.' },
];

export const smInfoRows: readonly FieldRow[] = [
  { name: 'guid', bits: 64, opaque: true, doc: 'GUID of the port on which the subnet manager runs.' },
  { name: 'smKey', bits: 64, opaque: true, doc: 'Key that subnet managers of one administration share.' },
  { name: 'activityCount', bits: 32, doc: 'Rises while the subnet manager is alive.' },
  { name: 'priority', bits: 4, doc: 'Priority; the highest becomes master.' },
  { name: 'smState', bits: 4, doc: 'State of the subnet manager.', values: 'sm-state' },
  { bits: 24 },
];

/** VL of each service level. */
export const slToVlRow: ArrayRow = {
  count: 16,
  element: [{ name: 'vl', bits: 4, doc: 'VL of service level n; 15: such packets are dropped.' }],
};

/** Turns of a block of an arbitration table. */
export const vlArbitrationRow: ArrayRow = {
  count: 32,
  element: [
    { bits: 4 },
    { name: 'vl', bits: 4, doc: 'VL of turn n.' },
    { name: 'weight', bits: 8, doc: 'Units of 64 bytes of turn n; 0: the turn is skipped.' },
  ],
};

/** An attribute that is one block of a table. */
function block(name: string, source: string, doc: string, entries: string): StructTable {
  return attribute(name, source, doc, 64, [{ name: 'entries', bytes: 64, doc: entries }]);
}

export const subnetAttributes: readonly StructTable[] = [
  attribute('node-description', 'IBTA 14.2.5.2', 'Text that describes the node.', 64, [
    { name: 'text', bytes: 64, doc: 'UTF-8, padded with zeros.' },
  ]),
  attribute('node-info', 'IBTA 14.2.5.3', 'Kind and identity of a node.', 40, nodeInfoRows),
  attribute('switch-info', 'IBTA 14.2.5.4', 'Capacities and state of a switch.', 20, switchInfoRows),
  block('guid-info', 'IBTA 14.2.5.5', 'Eight GUIDs of a port.', 'GUIDs of 8 bytes; the first one of block 0 is fixed.'),
  attribute('port-info', 'IBTA 14.2.5.6', 'State and configuration of a port.', 64, portInfoRows),
  attribute('p-key-table', 'IBTA 14.2.5.7', 'A block of a table of partition keys.', 64, [
    { count: 32, element: [{ name: 'pKey', bits: 16, doc: 'Partition key n; 0: the entry is free.' }] },
  ]),
  attribute('sl-to-vl-table', 'IBTA 14.2.5.8', 'Lanes of the service levels.', 8, [slToVlRow]),
  attribute('vl-arbitration-table', 'IBTA 14.2.5.9', 'Half a table of lane arbitration.', 64, [vlArbitrationRow]),
  block('linear-forwarding-table', 'IBTA 14.2.5.10', 'Ports of 64 LIDs.', 'Output port of each LID; 255: none.'),
  attribute('multicast-forwarding-table', 'IBTA 14.2.5.12', 'Ports of 32 multicast LIDs.', 64, [
    { count: 32, element: [{ name: 'ports', bits: 16, doc: 'Output ports of LID n, as a mask of 16 ports.' }] },
  ]),
  attribute('sm-info', 'IBTA 14.2.5.13', 'State of a subnet manager.', 24, smInfoRows),
  attribute('vendor-diag', 'IBTA 14.2.5.14', "The vendor's diagnostics.", 64, [
    { name: 'nextIndex', bits: 16, doc: 'Next attribute modifier with data; 0: none.' },
    { bits: 16 },
    { name: 'diagnostics', bytes: 60, doc: "The vendor's data." },
  ]),
  attribute('led-info', 'IBTA 14.2.5.15', 'Beacon of a port.', 4, [
    { name: 'isOn', bits: 1, doc: 'The beacon is on.' },
    { bits: 31 },
  ]),
];
