// SPDX-License-Identifier: Apache-2.0
/**
 * Writes the table of faults in docs/DEBUGGING.md, between its two marks, from the layout table
 * `fault-kind`: the values of a CQE's `vendorError`, of error events and of the first fault. Called
 * by main.ts.
 */
import type { ValueTable } from '../../protocol/layout/table.ts';
import { upperSnake } from './names.ts';

/** Document with the table. */
export const FAULTS_PATH = 'docs/DEBUGGING.md';
const FAULT_TABLE = 'fault-kind';
const BEGIN = '<!-- faults: begin, written by npm run generate -->';
const END = '<!-- faults: end -->';

/** Faults that end a WQE, so that `vendorError` of its CQE has them, and what to check then. */
export const completionHints: Readonly<Record<string, string>> = {
  NONE: 'the peer, or an earlier failure, as said above',
  COLLECT_BAD_LENGTH: '`collectLength` of the command in the slot: from 64 to the stride',
  COMMAND_CHECKSUM: "the checksum, with the QP's key; a slot that was written again too early",
  COMMAND_BAD_QP: '`qpn` of the command in the slot',
  COMMAND_QOS: '`qosLevel`: that of the creation of the QP',
  COMMAND_OPCODE: 'the opcode; `maxReadsInitiated` above 0 for READs and atomics',
  COMMAND_SGE: '`sgeCount`, lengths of the SGEs, `messageLength`; atomics take one SGE of 8 bytes',
  COMMAND_LENGTH: '`messageLength`: datagrams fit the path MTU. With BAD_RESPONSE_ERROR: the answer of the peer',
  COMMAND_SEQUENCE: 'a tail that was published before its slot: a barrier is missing',
  DMA_READ: 'address of the WQE, SGE or page; bus mastering; memory that QEMU does not share',
  DMA_WRITE: 'as for DMA_READ: buffers of receives and READs',
  KEY_INVALID: 'all 32 bits of the L_Key or R_Key; whether the region still exists',
  KEY_PD: 'PDs of region and QP',
  KEY_BOUNDS: 'address and length, against those of the region',
  KEY_ACCESS: 'access flags of region, window and QP; LOCAL_WRITE for receives and READs',
  KEY_STATE: 'windows that are still bound; regions that are registered already',
  ADDRESS_HANDLE: 'valid bit, PD, port and GID index of the entry; ADDRESS_HANDLE_TABLE',
  RECEIVE_ENTRY: '`sgeCount` within 16 and the stride; `sequence`',
  RECEIVE_TOO_SHORT: 'length of the buffers; datagrams need 40 bytes more, for the GRH',
  PORT_DOWN: 'port attribute of the QP',
};

/** The document with the table of today. Throws when a mark is missing. */
export function writeFaultSection(document: string, tables: readonly ValueTable[]): string {
  const [begin, end] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${FAULTS_PATH} lacks the marks of the table of faults`);
  const faults = tables.find(({ name }) => name === FAULT_TABLE);
  const rows = [...(faults?.values ?? [])].sort((a, b) => a.value - b.value);
  const lines = rows.map(({ name, value, doc }) => {
    return `| ${value} | \`${upperSnake(name)}\` | ${doc} | ${completionHints[name] ?? ''} |`;
  });
  const table = ['| Value | Name | Meaning | In a CQE, check |', '|---|---|---|---|', ...lines].join('\n');
  return `${document.slice(0, begin + BEGIN.length)}\n\n${table}\n\n${document.slice(end)}`;
}
