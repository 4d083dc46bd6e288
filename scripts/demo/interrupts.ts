// SPDX-License-Identifier: Apache-2.0
//
// `npm run demo:interrupts`: what timers and summary bytes of event queues save (IPCOM000126453D). A guest makes completions at several rates, from nearly idle to
// saturated, served by an interrupt per event and by polling under load, and counts interrupts and busy time itself. Ends with 1 when the claim does not hold.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildCaseImage, provideModules } from '../cli/guest-image.ts';
import { Session } from '../cli/session.ts';
import { runEntry, SetupError } from '../setup/errors.ts';
import { setUp } from '../setup/set-up.ts';
import { drawSamples, formatSamples, type InterruptSample, interruptsPerMillion } from './interrupt-report.ts';

/** Completions per second; 0: as many as go. */
const LOADS = [10, 100, 500, 2000, 8000, 0];
const MEASURED_MS = 3000;
/** How much fewer interrupts there must be at which load. */
const WANTED_RATIO = 10;
const JUDGED_LOAD = 8000;
const PLOT = fileURLToPath(new URL('../../build/demo/interrupts.svg', import.meta.url));

const started = performance.now();

await runEntry(async () => {
  await setUp('start');
  say('starting an adapter and a guest');
  const session = await Session.start({ device: { arguments: ['--log-level=warn'] }, guest: prepareGuest() });
  const samples: InterruptSample[] = [];
  let fault: string | undefined;
  session.guest.port().onLine((line) => {
    if (line.startsWith('{')) samples.push(JSON.parse(line) as InterruptSample);
    else if (line.startsWith('@fault ')) fault = line.slice('@fault '.length);
    else if (line.startsWith('@begin ')) say(describe(line));
  });
  const end = await session.whenEnded;
  if (end.deviceFailure !== undefined) throw new SetupError('the adapter process ended early; please report this.');
  if (end.complaints.length > 0) throw new SetupError(`the guest's kernel complained: ${end.complaints[0].line}`);
  if (fault !== undefined || samples.length < 2 * LOADS.length)
    throw new SetupError(`the guest did not measure everything: ${fault ?? 'it ended early'}`);
  conclude(samples);
});

async function prepareGuest() {
  const script = readFileSync(new URL('interrupts-case.sh', import.meta.url), 'utf8')
    .replace('in LOADS;', `in ${LOADS.join(' ')};`)
    .replace('$rate MS"', `$rate ${MEASURED_MS}"`);
  return {
    initramfs: await buildCaseImage(await provideModules(['driver', 'interrupts'], ['vuhca']), script),
    ports: [],
  };
}

function describe(line: string): string {
  const [, adaptive, rate] = line.split(' ');
  const load = rate === '0' ? 'as many completions as go' : `${rate} completions per second`;
  return `${load}, ${adaptive === '1' ? 'timers and summary bytes' : 'an interrupt per event'}`;
}

function conclude(samples: readonly InterruptSample[]): void {
  mkdirSync(dirname(PLOT), { recursive: true });
  writeFileSync(PLOT, drawSamples(samples));
  process.stdout.write(
    `\n${formatSamples(samples)}\n\nCPU counts all processors of the guest, 100 % is one, and includes who posts.\nPlot: ${PLOT}\n`,
  );
  const [each, polled] = samples.filter(({ rate }) => rate === JUDGED_LOAD).map(interruptsPerMillion);
  process.stdout.write(
    `At ${JUDGED_LOAD} completions per second: ${polled.toFixed(0)} interrupts per million completions instead of ${each.toFixed(0)}.\n`,
  );
  if (!(polled * WANTED_RATIO <= each)) process.exitCode = 1;
}

function say(text: string): void {
  process.stdout.write(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
}
