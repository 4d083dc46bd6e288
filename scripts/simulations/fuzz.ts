// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run simulate -- fuzz [--packets [N]] [--datagrams [N]] [--acts [N]] [--seed S]`: malformed
 * packets of every kind arrive at a port with active queue pairs, which must not be affected;
 * forged management datagrams of every kind arrive in a managed subnet, which must stay active,
 * with its addresses and routes; software of mlx5 devices writes random bytes, which must not
 * affect other software. Ends with 1 on any effect.
 */
import { DatagramFuzz } from '../../device/rig/fuzz/datagram-fuzz.ts';
import { PacketFuzz } from '../../device/rig/fuzz/packet-fuzz.ts';
import { Mlx5Fuzz } from '../../device/rig/mlx5/fuzz.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';

const USUAL_COUNT = 10_000_000;
const USUAL_ACTS = 1_000_000;
const PROGRESS_MS = 2000;

interface Options {
  /** True without a number. */
  readonly packets?: number | true;
  readonly datagrams?: number | true;
  readonly acts?: number | true;
  readonly seed: number;
}

/** A kind of hostile input. */
interface Kind {
  readonly name: 'packets' | 'datagrams' | 'acts';
  /** How many of one seed; the next seed has a fresh adapter or subnet. */
  readonly perSeed: number;
  /** How many unless the option says it. */
  readonly usual: number;
  /** Throws when something is affected. */
  run(seed: number, count: number): void;
  readonly verdict: string;
}

const kinds: readonly Kind[] = [
  {
    name: 'packets',
    perSeed: 250_000,
    usual: USUAL_COUNT,
    run: (seed, count) => new PacketFuzz(seed).run(count),
    verdict: 'no queue pair was affected',
  },
  {
    name: 'datagrams',
    perSeed: 100_000,
    usual: USUAL_COUNT,
    run: (seed, count) => new DatagramFuzz(seed).run(count),
    verdict: 'the subnet is active and unchanged',
  },
  {
    name: 'acts',
    perSeed: 16_000,
    usual: USUAL_ACTS,
    run: (seed, count) => new Mlx5Fuzz(seed).run(count),
    verdict: 'no other software was affected',
  },
];

await runEntry(async () => {
  const script = defineScript(
    'npm run simulate -- fuzz',
    'Sends malformed packets, forged management datagrams, and random bytes of software, which must affect nothing; without any of these options, all.',
  )
    .option('--packets [N]', `Sends so many packets, ${USUAL_COUNT} by default.`, wholeNumber(1))
    .option('--datagrams [N]', `Sends so many datagrams, ${USUAL_COUNT} by default.`, wholeNumber(1))
    .option(
      '--acts [N]',
      `Performs so many acts of software of mlx5 devices, ${USUAL_ACTS} by default.`,
      wholeNumber(1),
    )
    .option('--seed <S>', 'The first seed.', wholeNumber(), 1);
  const { seed, ...given } = readOptions<Options>(script);
  const named = kinds.filter(({ name }) => given[name] !== undefined);
  for (const kind of named.length > 0 ? named : kinds) {
    const count = given[kind.name];
    send(kind, typeof count === 'number' ? count : kind.usual, seed);
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
