// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run simulate -- fuzz [--packets [N]] [--datagrams [N]] [--seed S]`: malformed packets of
 * every kind arrive at a port with active queue pairs, which must not be affected; forged
 * management datagrams of every kind arrive in a managed subnet, which must stay active, with its
 * addresses and routes. Ends with 1 when something is affected.
 */
import { DatagramFuzz } from '../../device/rig/fuzz/datagram-fuzz.ts';
import { PacketFuzz } from '../../device/rig/fuzz/packet-fuzz.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';

const USUAL_COUNT = 10_000_000;
const PROGRESS_MS = 2000;

interface Options {
  /** True without a number. */
  readonly packets?: number | true;
  readonly datagrams?: number | true;
  readonly seed: number;
}

/** A kind of hostile input. */
interface Kind {
  readonly name: 'packets' | 'datagrams';
  /** How many of one seed; the next seed has a fresh adapter or subnet. */
  readonly perSeed: number;
  /** Throws when something is affected. */
  run(seed: number, count: number): void;
  readonly verdict: string;
}

const kinds: readonly Kind[] = [
  {
    name: 'packets',
    perSeed: 250_000,
    run: (seed, count) => new PacketFuzz(seed).run(count),
    verdict: 'no queue pair was affected',
  },
  {
    name: 'datagrams',
    perSeed: 100_000,
    run: (seed, count) => new DatagramFuzz(seed).run(count),
    verdict: 'the subnet is active and unchanged',
  },
];

await runEntry(async () => {
  const script = defineScript(
    'npm run simulate -- fuzz',
    'Sends malformed packets and forged management datagrams, which must affect nothing; without either option, both.',
  )
    .option('--packets [N]', `Sends so many packets, ${USUAL_COUNT} by default.`, wholeNumber(1))
    .option('--datagrams [N]', `Sends so many datagrams, ${USUAL_COUNT} by default.`, wholeNumber(1))
    .option('--seed <S>', 'The first seed.', wholeNumber(), 1);
  const { seed, ...given } = readOptions<Options>(script);
  const named = kinds.filter(({ name }) => given[name] !== undefined);
  for (const kind of named.length > 0 ? named : kinds) {
    const count = given[kind.name];
    send(kind, typeof count === 'number' ? count : USUAL_COUNT, seed);
  }
});

function send({ name, perSeed, run, verdict }: Kind, wanted: number, firstSeed: number): void {
  const started = performance.now();
  let shown = started;
  let done = 0;
  for (let seed = firstSeed; done < wanted; seed++) {
    const count = Math.min(perSeed, wanted - done);
    run(seed, count);
    done += count;
    const now = performance.now();
    if (now - shown < PROGRESS_MS && done < wanted) continue;
    shown = now;
    const seconds = ((now - started) / 1000).toFixed(1);
    process.stdout.write(`${done} ${name}, ${seconds} s, seed ${seed}: ${verdict}\n`);
  }
}
