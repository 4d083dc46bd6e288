// SPDX-License-Identifier: Apache-2.0
/**
 * A record that served a request keeps nothing of it for the next one: records are pooled, and a
 * READ that was asked for again left its place to an ATOMIC WRITE.
 */
import t from 'tap';
import { PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import { SendRecord } from './send-record.ts';

/** What is set before it is read, by the requester for the kind of request, or by the pool. */
const SET_LATER = [
  ...['kind', 'firstPsn', 'lastPsn', 'placementType', 'selectivity'],
  ...['swapOrAddHigh', 'swapOrAddLow', 'compareHigh', 'compareLow'],
  ...['readsLeft', 'readsOutstanding', 'readRound', 'launchedNs', 'traceBlock', 'active'],
];

t.test('progress of an earlier request is gone', async (t) => {
  const [used, fresh] = [new SendRecord(), new SendRecord()] as unknown as Record<string, unknown>[];
  for (const [name, value] of Object.entries(used)) {
    if (typeof value === 'number') used[name] = value + 3;
    if (typeof value === 'boolean') used[name] = !value;
  }
  for (const record of [used, fresh]) (record as unknown as SendRecord).load(new PhysicalCollectBuffer(0));
  const names = Object.keys(fresh).filter((name) => typeof fresh[name] !== 'object' && !SET_LATER.includes(name));
  t.ok(names.includes('requestedFrom') && names.length > 15);
  for (const name of names) t.equal(used[name], fresh[name], name);
});
