// SPDX-License-Identifier: Apache-2.0
/** The tables of mthca: rows with gaps, and the offsets that drivers use. */
import t from 'tap';
import { type RowGroup, sparseRows } from '../../protocol/mthca/sparse-rows.ts';
import { structs, valueTables } from '../../protocol/mthca/tables.ts';
import { resolveStruct } from './resolve.ts';

const make = (groups: readonly RowGroup[]) =>
  resolveStruct(
    { name: 'sample', doc: 'Sample.', endian: 'big', sizeBytes: 16, fields: sparseRows(16, groups) },
    new Set(),
  );

t.test('groups stand at their offsets and the rest is reserved', (t) => {
  const { fields } = make([
    [3, [{ name: 'low', bits: 8 }]],
    [
      8,
      [
        { name: 'high', bits: 4 },
        { name: 'next', bits: 12 },
      ],
    ],
  ]);
  t.same(
    fields.map(({ name, bitOffset }) => [name, bitOffset]),
    [
      ['low', 24],
      ['high', 64],
      ['next', 68],
    ],
  );
  t.end();
});

t.test('a group that begins inside the one before it is refused', (t) => {
  const overlapping = (): unknown =>
    make([
      [0, [{ name: 'wide', bits: 32 }]],
      [2, [{ name: 'inside', bits: 8 }]],
    ]);
  t.throws(overlapping, { message: /slipped: asserted at byte 2/ });
  t.end();
});

/** Offsets that drivers use, for fields that stand behind rows of odd widths. */
const offsets: readonly (readonly [table: string, field: string, byte: number])[] = [
  ['command-register', 'opcode', 0x1a],
  ['hca-setup', 'logQpcEntries', 0x37],
  ['hca-setup', 'logCqcEntries', 0x57],
  ['hca-setup', 'logMpts', 0xfb],
  ['hca-setup', 'uarContextBase', 0x138],
  ['device-limits', 'logEqs', 0x1f],
  ['device-limits', 'icmBytes', 0xa0],
  ['eq-context', 'logEntries', 0xc],
  ['eq-context', 'interrupt', 0x17],
  ['eq-context', 'key', 0x1c],
  ['cq-context', 'completionEqn', 0x14],
  ['cq-context', 'cqn', 0x31],
  ['cq-context', 'consumerRecord', 0x34],
  ['srq-context', 'counter', 0x22],
  ['qp-context', 'logSendEntries', 0xa],
  ['qp-context', 'remoteQpn', 0x15],
  ['qp-context', 'queueKey', 0x6c],
  ['qp-context', 'sendCqn', 0x7d],
  ['qp-context', 'receivePsn', 0x95],
  ['qp-context', 'qkey', 0xa8],
  ['qp-context', 'sendCounter', 0xb6],
  ['mpt-entry', 'start', 0x10],
  ['mpt-entry', 'translation', 0x2c],
  ['command-event', 'outParameter', 0x10],
  ['completion', 'remoteLid', 0xe],
  ['completion', 'isSend', 0x1d],
  ['error-completion', 'opcode', 0x1c],
  ['datagram-segment', 'qkey', 0x24],
];

t.test('fields stand where drivers read and write them', (t) => {
  const names = new Set(valueTables.map(({ name }) => name));
  for (const [table, field, byte] of offsets) {
    const struct = structs.find(({ name }) => name === table);
    const found = struct && resolveStruct(struct, names).fields.find(({ name }) => name === field);
    t.equal(found && Math.floor(found.bitOffset / 8), byte, `${table}.${field}`);
  }
  t.end();
});
