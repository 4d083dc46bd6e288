// SPDX-License-Identifier: Apache-2.0
/**
 * Send contexts of the picture: blocks from the oldest one in use on, filled out of order and
 * returned in runs (US 2015/0378953 abstract and claim 1). `inside.ts` calls it.
 */
import type { ViewRow } from '../../cli/view/view-protocol.ts';
import { citations } from './citations.ts';
import {
  type Fact,
  groupRows,
  type Kind,
  type Meter,
  numberIn,
  type Shown,
  sumOf,
  textIn,
  type Unit,
} from './picture.ts';

/** Contexts that are drawn. */
const CONTEXTS_MAX = 12;

const kinds: Readonly<Record<string, Kind>> = {
  free: 'free',
  filling: 'filling',
  complete: 'waiting',
};

export function describeContexts({ rows }: Shown): Unit {
  const contexts = rows('contexts');
  const blocks = groupRows(rows('blocks'), keyOf);
  const dropped = sumOf(contexts, (row) => numberIn(row, 'dropped') + numberIn(row, 'writesDropped'));
  return {
    id: 'contexts',
    title: 'Send contexts',
    source: citations.contexts,
    facts: [
      { name: 'contexts', value: contexts.length },
      { name: 'packets', value: sumOf(contexts, (row) => numberIn(row, 'sent')) },
      { name: 'credit returns', value: sumOf(contexts, (row) => numberIn(row, 'returns')) },
      ...(dropped > 0 ? [{ name: 'dropped', value: dropped, isBad: true }] : []),
      ...contexts.filter(({ state }) => state !== 'ENABLED').map(stateFact),
    ],
    meters: contexts.slice(0, CONTEXTS_MAX).map((row) => contextMeter(row, blocks.get(keyOf(row)) ?? [])),
    grids: [],
    tables: [],
  };
}

function stateFact(row: ViewRow): Fact {
  const value = [textIn(row, 'state'), textIn(row, 'cause')].filter((word) => word !== 'NONE').join(' ');
  return { name: nameOf(row), value, isBad: row.state === 'HALTED' || row.state === 'FROZEN' };
}

function contextMeter(row: ViewRow, runs: readonly ViewRow[]): Meter {
  return {
    name: nameOf(row),
    total: numberIn(row, 'blocks'),
    parts: runs.map((run) => ({ kind: kinds[textIn(run, 'state')] ?? 'left', value: numberIn(run, 'count') })),
    words: `${numberIn(row, 'waiting') + numberIn(row, 'atPort')} packets, ${textIn(row, 'unreturned')} credits unreturned`,
  };
}

function nameOf(row: ViewRow): string {
  return `context ${textIn(row, 'context')} of function ${textIn(row, 'function')}`;
}

/** Each function numbers its contexts by itself. */
function keyOf(row: ViewRow): string {
  return `${textIn(row, 'function')} ${textIn(row, 'context')}`;
}
