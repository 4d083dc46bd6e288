// SPDX-License-Identifier: Apache-2.0
/**
 * The measurement of `npm run demo -- interrupts`: a guest sends messages at several rates, serves
 * their completions in each way in turn, and counts them; the host adds the processor time of the
 * guest's processors. Called by main.ts and, with few loads, by its test.
 */

import { readFileSync } from 'node:fs';
import { describeDeviceExit } from '../../../qemu/describe-exit.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { VcpuTime } from '../../../qemu/vcpu-time.ts';
import { buildCaseImage, provideModules } from '../../cli/session/guest-image.ts';
import { Session } from '../../cli/session/session.ts';
import { type GuestCount, type InterruptSample, WAYS, wayNames, waysAt } from './report.ts';

export interface InterruptRunOptions {
  /** Completions per second; 0 is saturation. */
  readonly loads: readonly number[];
  /** Time for which each load is measured in each way. */
  readonly measuredMs: number;
  /** Number of rounds of all loads, each in all ways in turn. */
  readonly rounds: number;
  /** Options of the adapter, as words for `vuhca device`. */
  readonly adapter?: readonly string[];
  /** Called with a description of the next measurement. */
  readonly onBegin?: (text: string) => void;
}

const NS_PER_MS = 1e6;

/**
 * Starts an adapter and a guest and returns their samples in order. Throws SetupError when samples
 * are missing.
 */
export async function measureInterrupts(options: InterruptRunOptions): Promise<InterruptSample[]> {
  const session = await Session.start({
    device: { arguments: ['--log-level=warn', ...(options.adapter ?? [])] },
    guest: prepareGuest(options),
  });
  const time = VcpuTime.of(session.guest);
  // A guest that has ended is reported below.
  time.catch(() => {});
  const collector = new SampleCollector(await time.catch(() => undefined), options);
  session.guest.port().onLine((line) => collector.push(line));
  const end = await session.whenEnded;
  if (end.deviceFailure !== undefined)
    throw new SetupError(`${describeDeviceExit(end.deviceFailure)}; please report this.`);
  if (end.complaints.length > 0) throw new SetupError(`the guest's kernel complained: ${end.complaints[0].line}`);
  const { samples, fault } = collector;
  if (fault !== undefined || samples.length < options.loads.flatMap(waysAt).length * options.rounds)
    throw new SetupError(`the guest did not measure everything: ${fault ?? 'it ended early'}`);
  return samples;
}

async function prepareGuest({ loads, measuredMs, rounds }: InterruptRunOptions) {
  const numbers = Array.from({ length: rounds }, (_, index) => index + 1);
  const script = readFileSync(new URL('case.sh', import.meta.url), 'utf8')
    .replace('in ROUNDS;', `in ${numbers.join(' ')};`)
    .replace('in MEASUREMENTS;', `in ${loads.flatMap(nameMeasurements).join(' ')};`)
    .replace('$rate MS"', `$rate ${measuredMs}"`);
  const modules = await provideModules(['driver', 'interrupts'], ['vuhca']);
  return { initramfs: await buildCaseImage(modules, script), ports: [] };
}

/** What the guest measures at a load: `RATE:WAY`, with the number of each way. */
function nameMeasurements(rate: number): string[] {
  return waysAt(rate).map((way) => `${rate}:${WAYS.indexOf(way)}`);
}

/**
 * Takes the guest's lines: `@begin` starts the measurement of processor time, a line of JSON ends
 * it.
 */
class SampleCollector {
  readonly samples: InterruptSample[] = [];
  fault: string | undefined;
  readonly #time: VcpuTime | undefined;
  readonly #options: InterruptRunOptions;
  #beganNs = 0;
  #usedNs = 0;

  constructor(time: VcpuTime | undefined, options: InterruptRunOptions) {
    this.#time = time;
    this.#options = options;
  }

  push(line: string): void {
    if (line.startsWith('@begin ')) this.#begin(line);
    else if (line.startsWith('{')) this.#end(JSON.parse(line) as GuestCount & { readonly way: number });
    else if (line.startsWith('@fault ')) this.fault = line.slice('@fault '.length);
  }

  #begin(line: string): void {
    this.#options.onBegin?.(describe(line, this.#options.rounds));
    this.#beganNs = performance.now() * NS_PER_MS;
    this.#usedNs = this.#readNs();
  }

  #end(count: GuestCount & { readonly way: number }): void {
    if (count.completions === 0) this.fault = `nothing completed at ${count.rate} completions per second`;
    const busyProcessors = (this.#readNs() - this.#usedNs) / (performance.now() * NS_PER_MS - this.#beganNs);
    this.samples.push({ ...count, way: WAYS[count.way], busyProcessors });
  }

  /** NaN when the guest has ended: its last lines may be read later. */
  #readNs(): number {
    try {
      return this.#time?.readNs() ?? Number.NaN;
    } catch {
      return Number.NaN;
    }
  }
}

function describe(line: string, rounds: number): string {
  const [, way, rate, round] = line.split(' ');
  const load = rate === '0' ? 'as many completions as possible' : `${rate} completions per second`;
  return `${rounds > 1 ? `round ${round} of ${rounds}: ` : ''}${load}, ${wayNames[WAYS[Number(way)]]}`;
}
