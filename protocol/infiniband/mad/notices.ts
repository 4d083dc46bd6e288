// SPDX-License-Identifier: Apache-2.0
/**
 * Notices as tables: the attribute of traps and reports, whose last 54 bytes depend on the trap
 * (IBTA 13.4.8.2 and 14.2.5.1). A table for a trap covers the whole notice.
 */
import type { FieldRow, StructTable } from '../../layout/table.ts';

const HEAD: readonly FieldRow[] = [
  { name: 'isGeneric', bits: 1, doc: 'The notice is one of the specification.' },
  { name: 'type', bits: 7, doc: 'Kind of notice.', values: 'notice-type' },
  { name: 'producerType', bits: 24, doc: 'Generic: type of the node; else the vendor.' },
  { name: 'trapNumber', bits: 16, at: 4, doc: 'Trap.', values: 'trap-number' },
  { name: 'issuerLid', bits: 16, doc: 'LID of the node that issues the notice.' },
  { name: 'toggle', bits: 1, at: 8, doc: 'Changes with each notice that is polled.' },
  { name: 'count', bits: 15, doc: 'Notices that wait for polling.' },
];

const GID_BYTES = 16;
const NOTICE_BYTES = 64;

function notice(name: string, doc: string, details: readonly FieldRow[], usedBytes: number): StructTable {
  const rest = NOTICE_BYTES - 10 - usedBytes;
  const padding = rest === 0 ? [] : [{ bytes: rest }];
  const fields = [...HEAD, ...details, ...padding];
  return { name, doc, source: 'IBTA 14.2.5.1', endian: 'big', sizeBytes: NOTICE_BYTES, fields };
}

/** The two ends of packets with a bad key. */
const TWO_ENDS: readonly FieldRow[] = [
  { bits: 16 },
  { name: 'lid1', bits: 16, at: 12, doc: 'LID of the source of the packet.' },
  { name: 'lid2', bits: 16, doc: 'LID of its destination.' },
  { name: 'key', bits: 32, at: 16, doc: 'The bad P_Key or Q_Key.' },
  { name: 'serviceLevel', bits: 4, at: 20, doc: 'Service level of the packet.' },
  { bits: 4 },
  { name: 'qpn1', bits: 24, doc: 'QP at the source.' },
  { bits: 8 },
  { name: 'qpn2', bits: 24, doc: 'QP at the destination.' },
  { name: 'gid1', bytes: GID_BYTES, at: 28, doc: 'GID of the source; zeros without a GRH.' },
  { name: 'gid2', bytes: GID_BYTES, doc: 'GID of the destination; zeros without a GRH.' },
];

const BAD_PARTITION_AT_SWITCH: readonly FieldRow[] = [
  { name: 'dataValid', bits: 16, at: 10, doc: 'Valid fields, as a mask: bit 0 is LID 1, then in order.' },
  { name: 'lid1', bits: 16, doc: 'LID of the source of the packet.' },
  { name: 'lid2', bits: 16, doc: 'LID of its destination.' },
  { name: 'pKey', bits: 16, doc: 'The bad P_Key.' },
  { name: 'serviceLevel', bits: 4, at: 18, doc: 'Service level of the packet.' },
  { bits: 4 },
  { name: 'qpn1High', bits: 8, doc: 'Upper byte of the QP at the source.' },
  { name: 'qpn1Low', bits: 16, doc: 'Lower bytes of it.' },
  { bits: 8 },
  { name: 'qpn2High', bits: 8, doc: 'Upper byte of the QP at the destination.' },
  { name: 'qpn2Low', bits: 16, doc: 'Lower bytes of it.' },
  { name: 'gid1', bytes: GID_BYTES, at: 26, doc: 'GID of the source; zeros without a GRH.' },
  { name: 'gid2', bytes: GID_BYTES, doc: 'GID of the destination; zeros without a GRH.' },
  { name: 'switchLid', bits: 16, at: 58, doc: 'LID of the switch.' },
  { name: 'portNumber', bits: 8, doc: 'Port by which the packet arrived.' },
];

export const notices: readonly StructTable[] = [
  notice('notice', 'A notice, whatever the trap.', [{ name: 'details', bytes: 54, doc: 'Details of the trap.' }], 54),
  notice(
    'gid-notice',
    'Traps 64 to 67: a GID came into service or left it, a multicast group was created or deleted.',
    [{ bytes: 6 }, { name: 'gid', bytes: GID_BYTES, at: 16, doc: 'The GID.' }],
    22,
  ),
  notice(
    'link-state-notice',
    'Trap 128: the state of a link of a switch changed.',
    [{ name: 'lid', bits: 16, doc: 'LID of the switch.' }],
    2,
  ),
  notice(
    'port-error-notice',
    'Traps 129 to 131: a threshold of a port was reached.',
    [
      { bits: 16 },
      { name: 'lid', bits: 16, at: 12, doc: 'LID of the port.' },
      { name: 'portNumber', bits: 8, doc: 'Number of the port.' },
    ],
    5,
  ),
  notice(
    'local-change-notice',
    'Trap 144: capability mask, node description or link settings changed.',
    [
      { bits: 16 },
      { name: 'lid', bits: 16, at: 12, doc: 'LID of the port.' },
      { bits: 8 },
      { bits: 7 },
      { name: 'hasOtherChanges', bits: 1, doc: 'The change flags are valid.' },
      { name: 'capabilityMask', bits: 32, at: 16, doc: 'New capability mask.' },
      { bits: 13 },
      { name: 'linkSpeedChanged', bits: 1, doc: 'The enabled speeds changed.' },
      { name: 'linkWidthChanged', bits: 1, doc: 'The enabled widths changed.' },
      { name: 'nodeDescriptionChanged', bits: 1, doc: 'The node description changed.' },
    ],
    12,
  ),
  notice(
    'system-guid-notice',
    'Trap 145: the system image GUID changed.',
    [
      { bits: 16 },
      { name: 'lid', bits: 16, at: 12, doc: 'LID of the port.' },
      { bits: 16 },
      { name: 'systemImageGuid', bits: 64, at: 16, opaque: true, doc: 'New GUID.' },
    ],
    14,
  ),
  notice(
    'bad-m-key-notice',
    'Trap 256: a datagram had a wrong management key.',
    [
      { bits: 16 },
      { name: 'lid', bits: 16, at: 12, doc: 'Source LID of the datagram.' },
      { name: 'drSlid', bits: 16, doc: 'DrSLID of a directed route.' },
      { name: 'method', bits: 8, at: 16, doc: 'Method of the datagram.' },
      { bits: 8 },
      { name: 'attributeId', bits: 16, doc: 'Its attribute.' },
      { name: 'attributeModifier', bits: 32, at: 20, doc: 'Its attribute modifier.' },
      { name: 'mKey', bits: 64, at: 24, opaque: true, doc: 'The wrong key.' },
      { bits: 8 },
      { name: 'isDirected', bits: 1, doc: 'The datagram had a directed route.' },
      { name: 'isTruncated', bits: 1, doc: 'The path is longer than its field.' },
      { name: 'hopCount', bits: 6, doc: 'Hops of the path.' },
      { name: 'returnPath', bytes: 30, at: 34, doc: 'Return path of the datagram.' },
    ],
    54,
  ),
  notice('bad-key-notice', 'Traps 257 and 258: a packet had a wrong P_Key or Q_Key.', TWO_ENDS, 50),
  notice('bad-partition-notice', 'Trap 259: a packet had a wrong P_Key at a switch.', BAD_PARTITION_AT_SWITCH, 51),
];
