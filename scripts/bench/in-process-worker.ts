// SPDX-License-Identifier: Apache-2.0
/**
 * Sends messages through the device core and reports time and heap growth as one JSON line:
 * `in-process-worker.ts MESSAGES MEMORY_BASE POST_BY`. The heap is collected between pieces and not
 * within one (in-process.ts makes the young generation large enough), so that its growth over a
 * piece is the allocation.
 */
import { BATCH, MessageLoop, type PostBy } from './message-loop.ts';

const PIECE_BATCHES = 6_250;
const WARM_UP_PIECES = 3;

const [messages, memoryBase, device] = process.argv.slice(2);
const loop = new MessageLoop(Number(memoryBase));
const pieces = Math.ceil(Number(messages) / (PIECE_BATCHES * BATCH));
let totalNs = 0;
let grownBytes = 0;
for (let piece = -WARM_UP_PIECES; piece < pieces; piece++) {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const start = process.hrtime.bigint();
  loop.run(PIECE_BATCHES, device as PostBy);
  const elapsedNs = Number(process.hrtime.bigint() - start);
  if (piece < 0) continue;
  totalNs += elapsedNs;
  grownBytes += process.memoryUsage().heapUsed - before;
}
const sample = { device, count: pieces * PIECE_BATCHES * BATCH, totalNs, grownBytes };
process.stdout.write(`${JSON.stringify(sample)}\n`);
