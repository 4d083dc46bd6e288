// SPDX-License-Identifier: Apache-2.0
/**
 * The frequency of the host's time stamp counter, which guests under TCG have, too. It is measured
 * once for each boot of the machine (tsc-rate.c), because it may differ by some millionths from
 * boot to boot. Called by launch.ts.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheRoot, hashOf, provide } from './setup/cache.ts';
import { run } from './setup/tools/command.ts';

const SOURCE = fileURLToPath(new URL('tsc-rate.c', import.meta.url));
const RECIPE_VERSION = 1;
const PROGRAM = 'tsc-rate';
const FLAGS = ['-std=gnu11', '-O2', '-Wall', '-Wextra', '-Werror'];
/** The clocks that the machine's kernel could use; it removes a counter that it found unstable. */
const CLOCKS = '/sys/devices/system/clocksource/clocksource0/available_clocksource';

/** In kHz; undefined on a machine whose counter stops, changes its rate or is not trusted. */
export async function readTscKhz(): Promise<number | undefined> {
  if (!isSteady(readText('/proc/cpuinfo'), readText(CLOCKS))) return undefined;
  const source = readText(SOURCE);
  const bootId = readText('/proc/sys/kernel/random/boot_id').trim();
  const memory = join(cacheRoot(), 'resolved', `tsc-rate-${hashOf([bootId, source])}.json`);
  if (existsSync(memory)) return JSON.parse(readText(memory)) as number;
  const khz = Number(await run(await provideProgram(source), []));
  mkdirSync(join(cacheRoot(), 'resolved'), { recursive: true });
  writeFileSync(memory, JSON.stringify(khz));
  return khz;
}

/** Whether the counter of a machine with these files runs at one rate for ever. */
export function isSteady(cpuinfo: string, clocks: string): boolean {
  const flags = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1]?.split(' ') ?? [];
  return ['constant_tsc', 'nonstop_tsc'].every((flag) => flags.includes(flag)) && clocks.split(/\s/).includes('tsc');
}

async function provideProgram(source: string): Promise<string> {
  const directory = await provide({
    name: 'tsc-rate',
    key: [RECIPE_VERSION, FLAGS, source],
    outputs: [PROGRAM],
    build: async (target) => void (await run('gcc', [...FLAGS, '-o', join(target, PROGRAM), SOURCE])),
  });
  return join(directory, PROGRAM);
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
