// SPDX-License-Identifier: Apache-2.0
/** `npm run fuzz:packets -- [--packets N] [--seed S]`: malformed packets of every kind at a port, with QPs beside it that must not notice. Ends with 1 when one did. */
import { parseArgs } from 'node:util';
import { PacketFuzz } from '../../device/simulations/packet-fuzz/packet-fuzz.ts';

/** Packets of one seed: then a fresh adapter takes the next one. */
const PER_SEED = 250_000;
const PROGRESS_MS = 2000;

const { values } = parseArgs({
  options: { packets: { type: 'string', default: '10000000' }, seed: { type: 'string', default: '1' } },
});
const wanted = Number(values.packets);
const started = performance.now();
let shown = started;
let done = 0;
for (let seed = Number(values.seed); done < wanted; seed++) {
  const count = Math.min(PER_SEED, wanted - done);
  new PacketFuzz(seed).run(count);
  done += count;
  const now = performance.now();
  if (now - shown < PROGRESS_MS && done < wanted) continue;
  shown = now;
  process.stdout.write(`${done} packets, ${((now - started) / 1000).toFixed(1)} s, seed ${seed}: nobody noticed\n`);
}
