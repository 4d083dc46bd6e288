// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- --report`: measures all of docs/PERFORMANCE.md in one run and keeps the
 * figures; `npm run pictures` then writes the page and its plots, as it does when other figures on
 * it have changed.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release } from 'node:os';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { measureCore } from '../bench/core-costs.ts';
import { measureInGuest } from '../bench/guest.ts';
import { measureRaw } from '../bench/raw.ts';
import { setUp } from '../setup/set-up.ts';
import {
  encodePerformance,
  PERFORMANCE_URL,
  type Performance,
  summarizeGuest,
  summarizeMessages,
  summarizeSocket,
} from './figures.ts';
import { PERFORMANCE_PAGE } from './page.ts';

const FEWEST_ROUNDS = 5;

await runEntry(async () => {
  const script = defineScript(
    'npm run bench -- report',
    `Measures the adapter beside its limits, and writes ${PERFORMANCE_PAGE} with its plots.`,
  ).option('--rounds <N>', 'Rounds of accesses that take turns.', wholeNumber(FEWEST_ROUNDS), 9);
  const { rounds } = readOptions<{ readonly rounds: number }>(script);
  writeFileSync(PERFORMANCE_URL, encodePerformance(await measureAll(rounds)));
  execFileSync('npm', ['run', '--silent', 'pictures'], { stdio: ['ignore', 'ignore', 'inherit'] });
  say(PERFORMANCE_PAGE);
});

async function measureAll(rounds: number): Promise<Performance> {
  const { library, qemu, accelerator } = await setUp('start');
  const options = { library, rounds, profileDirectory: undefined };
  const before = loadavg()[0];
  say('a guest with the adapter and its C twin');
  const { registers, messages } = await measureInGuest(options);
  say('both on their sockets');
  const socket = await measureRaw({ ...options, cpu: 0 });
  const core = await measureCore(say);
  return {
    machine: {
      processors: `${availableParallelism()} of ${cpus()[0].model.trim()}`,
      system: `Linux ${release()}`,
      node: process.version,
      qemu: `${qemu.version}, ${accelerator.toUpperCase()}`,
      date: new Date().toISOString().slice(0, 10),
      load: { before, after: loadavg()[0] },
    },
    ...summarizeGuest(registers),
    socket: summarizeSocket(socket),
    messages: summarizeMessages(messages),
    ...core,
  };
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
