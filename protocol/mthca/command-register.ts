// SPDX-License-Identifier: Apache-2.0
/**
 * The host command register and the mailboxes of the commands that start the HCA. Everything is
 * big-endian; software writes the last dword of the register last.
 */
import type { FieldRow, StructTable } from '../layout/table.ts';
import { deviceLimits } from './device-limits.ts';
import { sparseRows } from './sparse-rows.ts';

/** A table in context memory: its address, whose low byte holds the logarithm of its entries. */
function tableRows(name: string, what: string): FieldRow[] {
  return [
    { name: `${name}BaseHigh`, bits: 32, doc: `Address of the ${what} in context memory, high half.` },
    { name: `${name}BaseLow`, bits: 24, doc: 'Bits 31 to 8 of the address.' },
    { name: `log${name.charAt(0).toUpperCase()}${name.slice(1)}Entries`, bits: 8, doc: 'Entries, as 2^n.' },
  ];
}

const base = (name: string, what: string): FieldRow[] => [
  { name, bits: 64, doc: `Address of the ${what} in context memory.` },
];

export const commandTables: readonly StructTable[] = [
  {
    name: 'command-register',
    doc: 'Host command register (HCR).',
    endian: 'big',
    sizeBytes: 0x1c,
    fields: [
      { name: 'inParameter', bits: 64, doc: 'Address of the input mailbox, or a value.' },
      { name: 'inModifier', bits: 32, at: 0x08, doc: 'Number of an object, count or port.' },
      { name: 'outParameter', bits: 64, doc: 'Address of the output mailbox; holds a value afterwards.' },
      { name: 'token', bits: 16, at: 0x14, doc: 'Comes back in the command event.' },
      { bits: 16 },
      { name: 'status', bits: 8, at: 0x18, doc: 'Result.', values: 'command-status' },
      { name: 'go', bits: 1, doc: 'Starts the command; reads 1 until it has completed.' },
      { name: 'event', bits: 1, doc: 'The command completes by an event.' },
      { bits: 6 },
      { name: 'opcodeModifier', bits: 4, doc: 'Variant of the command.' },
      { name: 'opcode', bits: 12, doc: 'Command.', values: 'command-opcode' },
    ],
  },
  {
    name: 'firmware-info',
    doc: 'Output of QUERY_FW.',
    endian: 'big',
    sizeBytes: 0x100,
    fields: sparseRows(0x100, [
      [
        0,
        [
          { name: 'firmwarePages', bits: 16, doc: 'Pages that the firmware needs.' },
          { name: 'major', bits: 16, doc: 'Version, first number.' },
          { name: 'subminor', bits: 16, doc: 'Version, third number.' },
          { name: 'minor', bits: 16, doc: 'Version, second number.' },
        ],
      ],
      [0xf, [{ name: 'logCommands', bits: 8, doc: 'Commands that may be outstanding, as 2^n.' }]],
      [0x20, [{ name: 'clearInterruptOffset', bits: 64, doc: 'Place of the register that clears pin interrupts.' }]],
      [
        0x30,
        [
          { name: 'errorBufferOffset', bits: 64, doc: 'Place of the error buffer.' },
          { name: 'errorBufferWords', bits: 32, doc: 'Its dwords.' },
        ],
      ],
      [
        0x40,
        [
          { name: 'eqArmOffset', bits: 64, doc: 'Place of the mask of EQs to arm.' },
          { name: 'eqConsumerOffset', bits: 64, doc: 'Place of the consumer indices of EQs.' },
        ],
      ],
    ]),
  },
  deviceLimits,
  {
    name: 'adapter-info',
    doc: 'Output of QUERY_ADAPTER.',
    endian: 'big',
    sizeBytes: 0x100,
    fields: sparseRows(0x100, [
      [0x10, [{ name: 'interruptPin', bits: 8, doc: 'Number of the pin interrupt.' }]],
      [0xf0, [{ name: 'boardId', bytes: 16, doc: 'Text; the bytes of each dword are in reverse order.' }]],
    ]),
  },
  {
    name: 'icm-mapping',
    doc: 'One entry of the input of MAP_FA, MAP_ICM_AUX and MAP_ICM.',
    endian: 'big',
    sizeBytes: 0x10,
    fields: [
      { name: 'icmAddress', bits: 64, doc: 'Address in context memory; MAP_ICM only.' },
      { name: 'pageHigh', bits: 32, doc: 'Guest address, high half.' },
      { name: 'pageLow', bits: 20, doc: 'Bits 31 to 12 of the guest address.' },
      { bits: 7 },
      { name: 'logPages', bits: 5, doc: 'Pages, as 2^n; both addresses are multiples of the size.' },
    ],
  },
  {
    name: 'hca-setup',
    doc: 'Input of INIT_HCA.',
    endian: 'big',
    sizeBytes: 0x200,
    fields: sparseRows(0x200, [
      [0xc, [{ bits: 31 }, { name: 'shortKeys', bits: 1, doc: 'Key numbers leave bits 23 to 30 unused.' }]],
      [
        0x14,
        [
          { bits: 26 },
          { name: 'checksumOffload', bits: 3, doc: 'IP checksums are computed.' },
          { bits: 1 },
          { name: 'bigEndianHost', bits: 1, doc: 'Atomics are big-endian.' },
          { name: 'checkUdPort', bits: 1, doc: 'The port of UD address vectors is checked.' },
        ],
      ],
      [0x30, tableRows('qpc', 'QP contexts')],
      [0x48, [...tableRows('srqc', 'SRQ contexts'), ...tableRows('cqc', 'CQ contexts')]],
      [0x60, base('eqpcBase', 'extended QP contexts')],
      [0x80, tableRows('eqc', 'EQ contexts')],
      [0x90, base('readBufferBase', 'READ contexts')],
      [0xc0, base('groupBase', 'multicast table')],
      [0xd2, [{ name: 'logGroupBytes', bits: 16, doc: 'Bytes of an entry of the multicast table, as 2^n.' }]],
      [0xd6, [{ name: 'groupHashSize', bits: 16, doc: 'Entries that MGID_HASH reaches.' }]],
      [0xdb, [{ name: 'logGroups', bits: 8, doc: 'Entries of the multicast table, as 2^n.' }]],
      [0xf0, base('mptBase', 'memory protection table')],
      [0xfb, [{ name: 'logMpts', bits: 8, doc: 'Entries of the memory protection table, as 2^n.' }]],
      [0x100, base('mttBase', 'memory translation table')],
      [
        0x129,
        [
          { name: 'logUarContextPages', bits: 8, doc: 'Pages of doorbell records of each UAR, as 2^n.' },
          { name: 'logUars', bits: 8, doc: 'User access regions, as 2^n.' },
          { name: 'logUarPage', bits: 8, doc: 'Size of a user access region, 4096 bytes * 2^n.' },
        ],
      ],
      [0x130, base('uarScratchBase', 'scratch memory of UARs')],
      [0x138, base('uarContextBase', 'doorbell records of UARs')],
    ]),
  },
  {
    name: 'port-setup',
    doc: 'Input of INIT_IB.',
    endian: 'big',
    sizeBytes: 0x38,
    fields: sparseRows(0x38, [
      [
        0,
        [
          { bits: 13 },
          { name: 'setSystemImageGuid', bits: 1, doc: 'Sets the system image GUID.' },
          { name: 'setNodeGuid', bits: 1, doc: 'Sets the node GUID.' },
          { name: 'setPortGuid', bits: 1, doc: 'Sets the GUID of the port.' },
          { name: 'mtu', bits: 4, doc: 'Code of the largest payload.' },
          { name: 'width', bits: 4, doc: 'Link widths, as a mask.' },
          { name: 'virtualLanes', bits: 4, doc: 'Data lanes.' },
          { bits: 4 },
        ],
      ],
      [0x6, [{ name: 'gids', bits: 16, doc: 'Entries of the GID table.' }]],
      [0xa, [{ name: 'pkeys', bits: 16, doc: 'Entries of the P_Key table.' }]],
      [
        0x10,
        [
          { name: 'portGuid', bits: 64, opaque: true, doc: 'GUID of the port.' },
          { name: 'nodeGuid', bits: 64, opaque: true, doc: 'GUID of the node.' },
          { name: 'systemImageGuid', bits: 64, opaque: true, doc: 'System image GUID.' },
        ],
      ],
    ]),
  },
  {
    name: 'port-change',
    doc: 'Input of SET_IB.',
    endian: 'big',
    sizeBytes: 0x40,
    fields: sparseRows(0x40, [
      [
        0,
        [
          { bits: 13 },
          { name: 'setSystemImageGuid', bits: 1, doc: 'Sets the system image GUID.' },
          { bits: 17 },
          { name: 'resetQkeyViolations', bits: 1, doc: 'Clears the counter of Q_Key violations.' },
          { name: 'capabilityMask', bits: 32, doc: 'Capability mask of PortInfo.' },
          { name: 'systemImageGuid', bits: 64, opaque: true, doc: 'System image GUID.' },
        ],
      ],
    ]),
  },
  {
    name: 'datagram-origin',
    doc: 'Origin of the datagram of MAD_IFC, after its 256 bytes in the mailbox.',
    endian: 'big',
    sizeBytes: 0x100,
    fields: sparseRows(0x100, [
      [0, [{ bits: 8 }, { name: 'localQpn', bits: 24, doc: 'QP that received it.' }]],
      [
        0x8,
        [
          { bits: 8 },
          { name: 'remoteQpn', bits: 24, doc: 'QP that sent it.' },
          { name: 'serviceLevel', bits: 4, doc: 'Service level.' },
          { bits: 4 },
          { name: 'hasRoute', bits: 1, doc: 'The packet had a global route header.' },
          { name: 'pathBits', bits: 7, doc: 'Low bits of the LID that it was sent to.' },
          { name: 'remoteLid', bits: 16, doc: 'LID of the sender.' },
          { bits: 16 },
          { name: 'pkeyIndex', bits: 16, doc: 'Index of its P_Key.' },
        ],
      ],
      [0x40, [{ name: 'route', bytes: 40, doc: 'Global route header.' }]],
    ]),
  },
];
