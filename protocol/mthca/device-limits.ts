// SPDX-License-Identifier: Apache-2.0
/** The output of QUERY_DEV_LIM, from which the driver plans its tables in context memory. */
import type { FieldRow, StructTable } from '../layout/table.ts';
import { sparseRows } from './sparse-rows.ts';

const SIZE = 0x100;

/** A field in the low bits of one or more bytes; the bits above are reserved. */
function low(name: string, bits: number, doc: string, width = 8): FieldRow[] {
  const field = { name, bits, doc };
  return bits === width ? [field] : [{ bits: width - bits }, field];
}

/** A field in the high half of a byte. */
const high = (name: string, doc: string): FieldRow[] => [{ name, bits: 4, doc }, { bits: 4 }];

const bytesOf = (name: string, what: string): FieldRow => ({ name, bits: 16, doc: `Bytes of ${what}.` });

export const deviceLimits: StructTable = {
  name: 'device-limits',
  doc: 'Output of QUERY_DEV_LIM.',
  endian: 'big',
  sizeBytes: SIZE,
  fields: sparseRows(SIZE, [
    [0x10, low('logSrqEntries', 8, 'Entries of an SRQ, as 2^n.')],
    [0x11, low('logQpEntries', 8, 'Entries of a work queue, as 2^n.')],
    [0x12, low('logReservedQps', 4, 'QPs of the firmware, as 2^n.')],
    [0x13, low('logQps', 5, 'QPs, as 2^n.')],
    [0x14, high('logReservedSrqs', 'SRQs of the firmware, as 2^n.')],
    [0x15, low('logSrqs', 5, 'SRQs, as 2^n.')],
    [0x16, low('logReservedEecs', 4, 'End-to-end contexts of the firmware, as 2^n.')],
    [0x17, low('logEecs', 5, 'End-to-end contexts, as 2^n.')],
    [0x19, low('logCqEntries', 8, 'Entries of a CQ, as 2^n.')],
    [0x1a, low('logReservedCqs', 4, 'CQs of the firmware, as 2^n.')],
    [0x1b, low('logCqs', 5, 'CQs, as 2^n.')],
    [0x1d, low('logMpts', 6, 'Memory regions, as 2^n.')],
    [0x1e, low('logReservedEqs', 4, 'EQs of the firmware, as 2^n.')],
    [0x1f, low('logEqs', 3, 'EQs, as 2^n.')],
    [0x20, high('logReservedMtts', 'Translation entries of the firmware, as 2^n.')],
    [0x21, low('logRegionBytes', 8, 'Bytes of a memory region, as 2^n.')],
    [0x22, low('logReservedMpts', 4, 'Memory regions of the firmware, as 2^n.')],
    [0x23, low('logMttSegments', 6, 'Segments of translation entries, as 2^n.')],
    [0x29, low('logReadsOut', 6, 'READs and atomics that a QP may have in flight, as 2^n.')],
    [0x2b, low('logReadsIn', 6, 'READs and atomics that a QP takes at once, as 2^n.')],
    [0x2f, low('logReadsAll', 6, 'READs and atomics that the device takes at once, as 2^n.')],
    [0x33, low('resizesSrq', 1, 'An SRQ may be resized.')],
    [0x35, low('ackDelay', 5, 'Time until a packet is acknowledged, 4.096 us * 2^n.')],
    [
      0x36,
      [
        { name: 'mtu', bits: 4, doc: 'Code of the largest payload.' },
        { name: 'width', bits: 4, doc: 'Link widths, as a mask.' },
      ],
    ],
    [
      0x37,
      [
        { name: 'virtualLanes', bits: 4, doc: 'Data lanes.' },
        { name: 'ports', bits: 4, doc: 'Ports.' },
      ],
    ],
    [0x3b, low('logGids', 4, 'Entries of the GID table of a port, as 2^n.')],
    [0x3c, [{ name: 'staticRates', bits: 16, doc: 'Codes of static rates that are supported, as a mask.' }]],
    [0x3f, low('logPkeys', 4, 'Entries of the P_Key table of a port, as 2^n.')],
    [0x44, [{ name: 'flags', bits: 32, doc: 'Capabilities.', values: 'device-flag' }]],
    [0x48, high('reservedUars', 'User access regions of the firmware.')],
    [0x49, low('logUarMib', 6, 'MiB of user access regions, as 2^n.')],
    [0x4b, low('logPageBytes', 8, 'Bytes of the smallest page, as 2^n.')],
    [0x51, low('sendEntries', 8, 'Scatter/gather entries of a send.')],
    [0x52, [bytesOf('sendRequestBytes', 'a send request')]],
    [0x55, low('receiveEntries', 8, 'Scatter/gather entries of a receive.')],
    [0x56, [bytesOf('receiveRequestBytes', 'a receive request')]],
    [0x61, low('logGroupQps', 8, 'QPs in a multicast group, as 2^n.')],
    [0x62, low('reservedGroups', 4, 'Multicast groups of the firmware.')],
    [0x63, low('logGroups', 8, 'Multicast groups, as 2^n.')],
    [0x64, high('reservedPds', 'Protection domains of the firmware.')],
    [0x65, low('logPds', 6, 'Protection domains, as 2^n.')],
    [0x66, high('reservedRdds', 'Reliable datagram domains of the firmware.')],
    [0x67, low('logRdds', 6, 'Reliable datagram domains, as 2^n.')],
    [
      0x80,
      [
        bytesOf('eecBytes', 'an end-to-end context'),
        bytesOf('qpcBytes', 'a QP context'),
        bytesOf('eeecBytes', 'an extended end-to-end context'),
        bytesOf('eqpcBytes', 'an extended QP context'),
        bytesOf('eqcBytes', 'an EQ context'),
        bytesOf('cqcBytes', 'a CQ context'),
        bytesOf('srqcBytes', 'an SRQ context'),
        bytesOf('uarScratchBytes', 'scratch memory of a UAR'),
        bytesOf('mttBytes', 'a translation entry'),
        bytesOf('mptBytes', 'a protection table entry'),
      ],
    ],
    [0x96, low('logPageList', 6, 'Entries of a page list, as 2^n.')],
    [0x97, low('memoryExtensions', 8, 'Base memory management extensions.')],
    [0x98, [{ name: 'reservedKey', bits: 32, doc: 'Key of all memory.' }]],
    [0x9f, low('needsAttachedMemory', 1, 'The HCA cannot work without attached memory.')],
    [0xa0, [{ name: 'icmBytes', bits: 64, doc: 'Largest size of context memory.' }]],
  ]),
};
