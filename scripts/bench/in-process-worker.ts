// SPDX-License-Identifier: Apache-2.0
/**
 * Sends messages through the device core, compiled as in a live process, and reports time and heap
 * growth as one JSON line: `in-process-worker.ts MESSAGES MEMORY_BASE POST_BY`. The heap is
 * collected between pieces and not within one (in-process.ts makes the young generation large
 * enough), so that its growth over a piece is the allocation. The median of the pieces counts:
 * messages allocate in each of them, a late compilation in one or two.
 */
import { raiseInliningBudget } from '../../device/process/host/inlining-budget.ts';
import { MessageLoop, type PostBy } from './message-loop.ts';
import { BATCH } from './messages.ts';
import { median } from './statistics.ts';

const PIECE_BATCHES = 6_250;
const WARM_UP_PIECES = 3;

const [messages, memoryBase, device] = process.argv.slice(2);
raiseInliningBudget();
const loop = new MessageLoop(Number(memoryBase));
const pieces = Math.ceil(Number(messages) / (PIECE_BATCHES * BATCH));
let totalNs = 0;
const growths: number[] = [];
for (let piece = -WARM_UP_PIECES; piece < pieces; piece++) {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const start = process.hrtime.bigint();
  loop.run(PIECE_BATCHES, device as PostBy);
  const elapsedNs = Number(process.hrtime.bigint() - start);
  if (piece < 0) continue;
  totalNs += elapsedNs;
  growths.push(process.memoryUsage().heapUsed - before);
}
const grownBytes = median(growths) * pieces;
const sample = { device, count: pieces * PIECE_BATCHES * BATCH, totalNs, grownBytes };
process.stdout.write(`${JSON.stringify(sample)}\n`);
