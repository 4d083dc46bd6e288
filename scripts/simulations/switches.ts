// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run simulate -- switches [--packets N --seed S]`: random load through three switches over
 * links with faults, in rounds, one seed per round, until N packets are sent. Ends with 1 when a
 * packet is lost without a counted cause.
 */
import { faultyLine, loadSwitches } from '../../device/rig/fixtures/switch-load.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';

/** Packets of one piece; the next one has the next seed. */
const PIECE = 1_000_000;

await runEntry(async () => {
  const script = defineScript(
    'npm run simulate -- switches',
    'Sends packets at random through switches, under an oracle.',
  )
    .option('--packets <N>', 'How many packets.', wholeNumber(1), 10_000_000)
    .option('--seed <S>', 'The first seed.', wholeNumber(), 1);
  const { packets, seed } = readOptions<{ packets: number; seed: number }>(script);
  runPackets(packets, seed);
});

function runPackets(wanted: number, firstSeed: number): void {
  const sums = { sent: 0, arrived: 0, dropped: 0, lost: 0 };
  for (let seed = firstSeed; sums.sent < wanted; seed++) {
    // Some find no room at the sender.
    const load = loadSwitches(faultyLine, seed, Math.min(PIECE, 2 * (wanted - sums.sent)));
    if (load.errors.length > 0) throw new Error(`seed ${seed}: ${load.errors.join('; ')}`);
    sums.sent += load.sent;
    sums.arrived += load.arrived;
    sums.dropped += load.dropped;
    sums.lost += load.lost;
    const { sent, arrived, dropped, lost } = sums;
    process.stdout.write(
      `seed ${seed}: ${sent} sent = ${arrived} arrived + ${dropped} dropped + ${lost} lost by links\n`,
    );
  }
}
