// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run fuzz:datagrams -- [--datagrams N] [--seed S]`: forged management datagrams of every kind
 * in a managed subnet, which must stay active, with its addresses and routes. Ends with 1 when it
 * does not.
 */
import { DatagramFuzz } from '../../device/rig/fuzz/datagram-fuzz.ts';
import { runEntry } from '../../qemu/setup/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/script-options.ts';

/** Datagrams of one seed; the next seed has a fresh subnet. */
const PER_SEED = 100_000;
const PROGRESS_MS = 2000;

await runEntry(async () => {
  const script = defineScript(
    'npm run fuzz:datagrams --',
    'Sends forged management datagrams into a managed subnet, which must not change.',
  )
    .option('--datagrams <N>', 'How many datagrams.', wholeNumber(1), 10_000_000)
    .option('--seed <S>', 'The first seed.', wholeNumber(), 1);
  const { datagrams, seed } = readOptions<{ datagrams: number; seed: number }>(script);
  runDatagrams(datagrams, seed);
});

function runDatagrams(wanted: number, firstSeed: number): void {
  const started = performance.now();
  let shown = started;
  let done = 0;
  for (let seed = firstSeed; done < wanted; seed++) {
    const count = Math.min(PER_SEED, wanted - done);
    new DatagramFuzz(seed).run(count);
    done += count;
    const now = performance.now();
    if (now - shown < PROGRESS_MS && done < wanted) continue;
    shown = now;
    const seconds = ((now - started) / 1000).toFixed(1);
    process.stdout.write(`${done} datagrams, ${seconds} s, seed ${seed}: the subnet is active and unchanged\n`);
  }
}
