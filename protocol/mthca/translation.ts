// SPDX-License-Identifier: Apache-2.0
/**
 * Memory protection table (MPT), memory translation table (MTT) and multicast table. Software
 * writes MTT entries into context memory itself; MPT and multicast entries go through commands.
 */
import type { StructTable } from '../layout/table.ts';
import { sparseRows } from './sparse-rows.ts';

export const translationTables: readonly StructTable[] = [
  {
    name: 'mpt-entry',
    doc: 'Memory region.',
    endian: 'big',
    sizeBytes: 0x40,
    fields: sparseRows(0x40, [
      [
        0,
        [
          { name: 'softwareOwner', bits: 4, doc: '15: software owns the entry; 0: the HCA does.' },
          { bits: 10 },
          { name: 'memoryAccess', bits: 1, doc: 'Always set by drivers.' },
          { bits: 1 },
          { name: 'bindsWindows', bits: 1, doc: 'Windows may be bound.' },
          { name: 'atomic', bits: 1, doc: 'Remote atomics are allowed.' },
          { name: 'remoteWrite', bits: 1, doc: 'Remote writes are allowed.' },
          { name: 'remoteRead', bits: 1, doc: 'Remote reads are allowed.' },
          { name: 'localWrite', bits: 1, doc: 'Local writes are allowed.' },
          { name: 'localRead', bits: 1, doc: 'Local reads are allowed.' },
          { name: 'physical', bits: 1, doc: 'Virtual addresses are guest addresses; there is no translation.' },
          { name: 'region', bits: 1, doc: 'A memory region; 0: a window.' },
          { bits: 8 },
          { bits: 27 },
          { name: 'logPageSize', bits: 5, doc: 'Bytes of a page, 4096 * 2^n.' },
          { name: 'key', bits: 32, doc: 'Number of the entry with the bits above the size of the table.' },
          { bits: 8 },
          { name: 'pd', bits: 24, doc: 'Protection domain.' },
          { name: 'start', bits: 64, doc: 'First virtual address.' },
          { name: 'length', bits: 64, doc: 'Bytes.' },
          { name: 'windowKey', bits: 32, doc: 'Key of the region of a window.' },
          { name: 'windows', bits: 32, doc: 'Windows bound to the region.' },
          { name: 'windowsMax', bits: 32, doc: 'Windows that may be bound.' },
          { name: 'translation', bits: 64, doc: 'Address of its first MTT entry in context memory.' },
          { name: 'translationSize', bits: 32, doc: 'MTT entries; drivers leave it 0.' },
        ],
      ],
    ]),
  },
  {
    name: 'mtt-entry',
    doc: 'Guest address of one page of a memory region.',
    endian: 'big',
    sizeBytes: 0x8,
    fields: [
      { name: 'pageHigh', bits: 32, doc: 'Guest address, high half.' },
      { name: 'pageLow', bits: 20, doc: 'Bits 31 to 12 of the guest address.' },
      { bits: 11 },
      { name: 'present', bits: 1, doc: 'The entry is valid.' },
    ],
  },
  {
    name: 'mtt-list',
    doc: 'Head of the input of WRITE_MTT; the entries follow.',
    endian: 'big',
    sizeBytes: 0x10,
    fields: [{ name: 'icmAddress', bits: 64, doc: 'Address of the first entry in context memory.' }, { bits: 64 }],
  },
  {
    name: 'group-entry',
    doc: 'Entry of the multicast table.',
    endian: 'big',
    sizeBytes: 0x100,
    fields: sparseRows(0x100, [
      [0, [{ name: 'next', bits: 26, doc: 'Index of the next entry with the same hash; 0: none.' }]],
      [
        0x10,
        [
          { name: 'gid', bytes: 16, doc: 'Multicast GID; zero in a free entry.' },
          { name: 'members', bytes: 224, doc: '56 members, each group-member.' },
        ],
      ],
    ]),
  },
  {
    name: 'group-member',
    doc: 'Member of a multicast group.',
    endian: 'big',
    sizeBytes: 0x4,
    fields: [
      { name: 'valid', bits: 1, doc: 'The member is in use.' },
      { bits: 7 },
      { name: 'qpn', bits: 24, doc: 'QP that receives.' },
    ],
  },
];
