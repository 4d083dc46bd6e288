// SPDX-License-Identifier: Apache-2.0
/**
 * Writes the table of faults in docs/DEBUGGING.md, between its two marks, from the layout table
 * `fault-kind`: the values of a CQE's `vendorError`, of error events and of the first fault. Called
 * by main.ts.
 */
import { completionHints } from '../../protocol/layout/completion-hints.ts';
import type { ValueTable } from '../../protocol/layout/table.ts';
import { upperSnake } from './names.ts';

/** Document with the table. */
export const FAULTS_PATH = 'docs/DEBUGGING.md';
const FAULT_TABLE = 'fault-kind';
const BEGIN = '<!-- faults: begin, written by npm run generate -->';
const END = '<!-- faults: end -->';

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
