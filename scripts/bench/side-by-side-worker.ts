// SPDX-License-Identifier: Apache-2.0
/**
 * One process of a comparison in side-by-side.ts: takes a `Variant` and its traffic as JSON. For
 * each number of messages that it receives it sends at least as many and answers with the ns of
 * processor time per message. Ends with its parent.
 */
import { pathToFileURL } from 'node:url';
import { raiseInliningBudget } from '../../device/process/host/inlining-budget.ts';
import type { Variant } from './side-by-side.ts';
import type { Traffic } from './transport-traffic.ts';

const MEMORY_BYTES = 1 << 26;

const { program, traced, inlinedBytes } = JSON.parse(process.argv[2]) as Variant;
const plan = JSON.parse(process.argv[3]) as Traffic;
const { TransportTraffic } = (await import(pathToFileURL(program).href)) as typeof import('./transport-traffic.ts');
const traffic = new TransportTraffic(plan, {}, MEMORY_BYTES);
if (traced) traffic.trace();
if (inlinedBytes !== undefined) raiseInliningBudget(inlinedBytes);

process.on('message', (count: number) => {
  const before = traffic.messages;
  const start = process.cpuUsage();
  while (traffic.messages - before < count) traffic.round();
  const { user, system } = process.cpuUsage(start);
  traffic.verify();
  process.send?.(((user + system) * 1e3) / (traffic.messages - before));
});
process.send?.(0);
