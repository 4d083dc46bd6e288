// SPDX-License-Identifier: Apache-2.0
/**
 * A limit of messages of one size, as a process that takes turns with them: `copy` copies the bytes
 * of a message, `crc` computes their CRC-32 as a port does that seals a packet. For each number of
 * pieces that it receives it answers with the ns of processor time of one. Called by core-costs.ts.
 */
import { continueIcrc } from '../../protocol/infiniband/crc.ts';

const [what, size] = [process.argv[2], Number(process.argv[3])];
const memory = new Uint8Array(2 * size).map((_, index) => index);
const view = new DataView(memory.buffer);
const source = memory.subarray(0, size);
let state = 0;

function work(count: number): void {
  if (what === 'copy') for (let piece = 0; piece < count; piece++) memory.set(source, size);
  else for (let piece = 0; piece < count; piece++) state = continueIcrc(state, view, 0, size);
}

process.on('message', (count: number) => {
  const start = process.cpuUsage();
  work(count);
  const { user, system } = process.cpuUsage(start);
  process.send?.(((user + system) * 1e3) / count);
});
process.send?.(state);
