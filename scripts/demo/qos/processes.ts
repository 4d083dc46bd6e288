// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run demo -- qos --processes`: two tenants that are processes of one guest with Debian's user
 * space, each posting through collect pages of its own at its QoS level (guest-tests/cases/
 * process-tenants.sh), counted by the adapter. Called by main.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { asStock, type GuestJob } from '../../../guest-tests/harness/guest-image.ts';
import { runGuest } from '../../../guest-tests/harness/guest-run.ts';
import { requestProgram } from '../../../guest-tests/harness/host-requests.ts';
import { ENTER_WITH_CASE, provideDistributionParts } from '../../../qemu/distribution-guest.ts';
import type { GuestDisk } from '../../../qemu/guest-options.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { provideVerbsPrograms } from '../../../qemu/setup/verbs-programs.ts';
import { provideAdapterModules } from '../../foreign/adapter-parts.ts';
import { setUp } from '../../setup/set-up.ts';
import type { DemoOptions } from './options.ts';
import { drawProcesses } from './process-plot.ts';
import { formatProcesses } from './process-report.ts';
import {
  countContested,
  judgeProcesses,
  type MeasuredPhase,
  PHASES,
  type ProcessSample,
  takeProcessSample,
  WEIGHTS,
} from './process-samples.ts';
import { formatFindings } from './table.ts';

const SCRIPT = 'process-tenants.sh';
const CASES = new URL('../../../guest-tests/cases/', import.meta.url);
const MEMORY_MIB = 1024;
/** Two programs that post; their peers only answer. */
const CPUS = 2;
/** Long messages keep the adapter busy for longer than a processor of the guest may be away. */
const MESSAGE_BYTES = 2 ** 20;
/** Both processes together need fewer PCBs than there are: each command can be collected. */
const DEPTH = 32;
const SAMPLE_MS = 100;
/** Fewer WRITEs of both are too few to measure a share. */
const MESSAGES_MIN = 200;
const NS_PER_S = 1e9;
const SILENCE_SECONDS = 600;
/** Bound of waits that a busy machine may delay; it ends only waits that would never end. */
const WAIT_BOUND_MS = 240_000;
/** A lane for each level. */
const DIVISION = ['function', '0', 'lanes=0-1', 'level', '0', 'lanes=0', 'level', '1', 'lanes=1'];

type Say = (text: string) => void;

/**
 * Runs it, prints table and verdict, and writes the plot. False unless all claims were shown to
 * hold.
 */
export async function runProcesses({ seconds, output, words }: DemoOptions): Promise<boolean> {
  const startMs = performance.now();
  const say: Say = (text) => {
    process.stdout.write(`${((performance.now() - startMs) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
  };
  await setUp('start');
  const { disk, ...job } = await makeJob();
  const measurement = new Measurement(seconds, say);
  const run = await runGuest(job, {
    guest: { disk, memoryMiB: MEMORY_MIB, cpus: CPUS },
    device: { arguments: ['--fabric=switch', ...words] },
    silenceSeconds: SILENCE_SECONDS,
    onDevice: async ({ child }) => {
      measurement.client = await ControlClient.connect(child.controlPath);
      say(`one adapter process (${child.pid}); a guest with Debian's user space boots`);
    },
    answer: ([request, ...processes]) => measurement.answer(request, processes.map(Number)),
  }).finally(() => measurement.client?.close());
  const faults = [
    ...run.faults.map(({ text }) => text),
    ...run.results.filter(({ ok }) => !ok).map(({ path }) => `${path.join('/')} failed`),
  ];
  if (faults.length > 0) throw new SetupError(`the run had faults: ${faults.join('; ')}`);
  const { phases } = measurement;
  const findings = judgeProcesses(phases);
  writeFileSync(output, await drawProcesses(phases, MESSAGE_BYTES));
  process.stdout.write(`\n${formatProcesses(phases, MESSAGE_BYTES)}\n${formatFindings(findings)}Plot: ${output}\n`);
  return findings.every(({ outcome }) => outcome === 'holds');
}

/**
 * Answers the guest, whose script starts the processes of each phase and requests its measurement.
 */
class Measurement {
  readonly phases: MeasuredPhase[] = [];
  client: ControlClient | undefined = undefined;
  readonly #seconds: number;
  readonly #say: Say;

  constructor(seconds: number, say: Say) {
    this.#seconds = seconds;
    this.#say = say;
  }

  async answer(request: string | undefined, processes: readonly number[]): Promise<string> {
    const phase = PHASES[this.phases.length];
    if (request !== 'measure' || phase === undefined) throw new Error(`no request ${request}`);
    const client = this.client as ControlClient;
    if (this.phases.length === 0) await this.#divide(client);
    this.#say(`${phase.name}, ${this.#seconds} s: processes ${processes.join(' and ')}`);
    this.phases.push({ ...phase, samples: await this.#sample(client, processes) });
    return 'measured';
  }

  /** The driver divides nothing after its start, so the lanes stay as they are given here. */
  async #divide(client: ControlClient): Promise<void> {
    const weights = WEIGHTS.flatMap((weight, lane) => ['lane', `${lane}`, `weight=${weight}`]);
    await client.request('set-resources', { words: [...DIVISION, ...weights] });
    this.#say(`level 0 has lane 0 of weight ${WEIGHTS[0]}, level 1 has lane 1 of weight ${WEIGHTS[1]}`);
  }

  async #sample(client: ControlClient, processes: readonly number[]): Promise<ProcessSample[]> {
    const take = async (): Promise<ProcessSample> => {
      const queuePairs = await client.request('queue-pairs');
      return takeProcessSample(await client.request('status'), queuePairs, processes);
    };
    const startMs = performance.now();
    let first = await take();
    for (const begun = first; !hasMoved(begun, first); first = await take()) {
      if (performance.now() - startMs > WAIT_BOUND_MS) throw new Error('a process posts nothing');
      await pause();
    }
    const samples = [first];
    for (let count = 0; ; ) {
      await pause();
      const before = samples[samples.length - 1];
      const now = await take();
      samples.push(now);
      count += (countContested(before, now) ?? []).reduce((total, one) => total + one, 0);
      const lasted = now.timeNs - first.timeNs >= this.#seconds * NS_PER_S;
      if ((lasted && count >= MESSAGES_MIN) || performance.now() - startMs > WAIT_BOUND_MS) return samples;
    }
  }
}

/** True if both processes have completed WRITEs. */
function hasMoved(before: ProcessSample, after: ProcessSample): boolean {
  return after.tenants.every(({ completed }, at) => completed !== before.tenants[at].completed);
}

async function makeJob(): Promise<GuestJob & { readonly disk: GuestDisk }> {
  const read = (name: string): string => readFileSync(new URL(name, CASES), 'utf8');
  const { flood } = await provideVerbsPrograms();
  const text = (name: string, content: string) => ({ path: `/etc/vuhca/${name}`, content, mode: 0o644 });
  const parts = await provideDistributionParts(undefined, {
    hasVerbs: true,
    caseText: read(SCRIPT),
    files: [
      requestProgram('/usr/bin/adapter'),
      { path: '/usr/bin/flood', content: { from: flood }, mode: 0o755 },
      text('tenants', `BYTES=${MESSAGE_BYTES}\nDEPTH=${DEPTH}\n`),
      text('phases', PHASES.map(({ levels }) => `${levels.join(' ')}\n`).join('')),
      text('stress-library.sh', read('stress-library.sh')),
    ],
  });
  const stock = parts.modules.map(asStock);
  return {
    modules: [...stock, ...(await provideAdapterModules(['vuhca']))],
    files: parts.files,
    script: { name: SCRIPT, text: ENTER_WITH_CASE },
    disk: parts.disk,
  };
}

function pause(): Promise<void> {
  return new Promise((done) => setTimeout(done, SAMPLE_MS));
}
