// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run fuzz:packets -- [--packets N] [--seed S]`: malformed packets of every kind arrive at a
 * port with active queue pairs, which must not be affected. Ends with 1 when one is.
 */
import { PacketFuzz } from '../../device/rig/fuzz/packet-fuzz.ts';
import { runEntry } from '../../qemu/setup/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/script-options.ts';

/** Packets of one seed; the next seed has a fresh adapter. */
const PER_SEED = 250_000;
const PROGRESS_MS = 2000;

await runEntry(async () => {
  const script = defineScript(
    'npm run fuzz:packets --',
    'Sends malformed packets to a port whose queue pairs must not be affected.',
  )
    .option('--packets <N>', 'How many packets.', wholeNumber(1), 10_000_000)
    .option('--seed <S>', 'The first seed.', wholeNumber(), 1);
  const { packets, seed } = readOptions<{ packets: number; seed: number }>(script);
  runPackets(packets, seed);
});

function runPackets(wanted: number, firstSeed: number): void {
  const started = performance.now();
  let shown = started;
  let done = 0;
  for (let seed = firstSeed; done < wanted; seed++) {
    const count = Math.min(PER_SEED, wanted - done);
    new PacketFuzz(seed).run(count);
    done += count;
    const now = performance.now();
    if (now - shown < PROGRESS_MS && done < wanted) continue;
    shown = now;
    const seconds = ((now - started) / 1000).toFixed(1);
    process.stdout.write(`${done} packets, ${seconds} s, seed ${seed}: no queue pair was affected\n`);
  }
}
