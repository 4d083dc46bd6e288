// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run simulate -- digests [--seeds N] [--only PREFIX] [--tests] [--recording FILE]...` prints
 * one line `<subject> <digest>` per seeded run, with --tests also per in-process test file, and per
 * recording. A digest covers all that crosses the seam of `device/host.ts`, in order: register
 * accesses and their results, accesses to guest memory with address and bytes, interrupts, alarms,
 * the passage of simulated time. Packets, traces and the timeline are part of some subjects. Two
 * checkouts behave alike when their sorted outputs are equal. Ends with 1 when a subject failed, 2
 * when there was none.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Option } from 'commander';
import { Adapter } from '../../device/hca/adapter/adapter.ts';
import { RecordingClock, RecordingHost } from '../../device/hosts/recording.ts';
import { Replay } from '../../device/hosts/replay.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { type Family, families } from './digests/families.ts';
import { Digest, interpose } from './digests/seam.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DIGEST_FD = 3;
const NO_SUBJECT = 2;
/** Expects that nothing stands between a machine and its host. */
const UNFIT_TESTS = ['ordering.test.ts'];

/** The subject that runs now. */
let current = new Digest();

/**
 * Runs one subject. Packets are watched by every second seed: a port seals packets for an observer
 * that it leaves open otherwise.
 */
function digestSeed({ run, traces = false }: Family, seed: number): string {
  current = new Digest({ packets: seed % 2 === 0, traces });
  let error = '';
  try {
    current.text(run(seed));
  } catch (cause) {
    error = ` failed: ${String(cause).split('\n')[0]}`;
  }
  return `${current.end()}${error}`;
}

/**
 * The replay compares with the recording; the digest says what the adapter did even where that
 * differs.
 */
function digestRecording(path: string): string {
  const digest = new Digest();
  const { writer } = digest;
  const replay = new Replay(readFileSync(path), (options, clock, hosts) => {
    const wrapped = hosts.map((host, index) => new RecordingHost(writer, host, index));
    return digest.wrapAdapter(new Adapter(options, new RecordingClock(writer, clock), wrapped));
  });
  const { steps, divergence } = replay.run();
  return `${digest.end()} ${divergence === undefined ? 'identical' : 'DIVERGED'} after ${steps} steps`;
}

/**
 * A test file in a process of its own: this script runs it with --test-file and writes the digest
 * to another descriptor.
 */
async function digestTest(file: string): Promise<string> {
  const script = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, ['--expose-gc', '--import=#typescript', script, '--test-file', file], {
    cwd: ROOT,
    // On a busy machine a long file would fail of its time alone.
    env: { ...process.env, TAP_TIMEOUT: '1200' },
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  let digest = '';
  child.stdio[DIGEST_FD]?.on('data', (bytes: Buffer) => {
    digest += bytes.toString();
  });
  const status = await new Promise((resolve) => child.on('close', resolve));
  return `${digest}${status === 0 ? '' : ` failed: status ${status}`}`;
}

/** By name, wherever they lie. */
function findTests(): string[] {
  const files = readdirSync(join(ROOT, 'device'), { recursive: true, encoding: 'utf8' });
  const tests = files.filter(
    (file) =>
      file.endsWith('.test.ts') && !/^(process|rig\/live)\//.test(file) && !UNFIT_TESTS.includes(basename(file)),
  );
  tests.sort((a, b) => (basename(a) < basename(b) ? -1 : 1));
  return tests.map((file) => join(ROOT, 'device', file));
}

interface Options {
  readonly seeds: number;
  readonly only: string;
  readonly tests?: boolean;
  readonly recording: readonly string[];
  readonly testFile?: string;
}

await runEntry(async () => {
  const script = defineScript('npm run simulate -- digests', 'Prints a digest of what each run does at the host seam.')
    .option('--seeds <N>', 'Seeds of the largest families.', wholeNumber(1), 150)
    .option('--only <PREFIX>', 'Subjects that begin so.', '')
    .option('--tests', 'Each test file that runs in process, too.')
    .option('--recording <FILE...>', 'Recordings, too.', [])
    .addOption(new Option('--test-file <FILE>').hideHelp());
  const { seeds, only, tests = false, recording, testFile } = readOptions<Options>(script);
  interpose(() => current);
  if (testFile !== undefined) {
    process.on('exit', () => void writeSync(DIGEST_FD, current.end()));
    await import(pathToFileURL(testFile).href);
    return;
  }
  const wanted = (subject: string): boolean => subject.startsWith(only);
  process.exitCode = NO_SUBJECT;
  const say = (subject: string, digest: string): void => {
    process.stdout.write(`${subject} ${digest}\n`);
    const failed = process.exitCode === 1 || /failed|DIVERGED/.test(digest);
    process.exitCode = failed ? 1 : 0;
  };
  for (const family of families)
    for (let seed = 1; seed <= Math.ceil(seeds * family.share); seed++)
      if (wanted(`${family.name}/${seed}`)) say(`${family.name}/${seed}`, digestSeed(family, seed));
  for (const path of recording) say(`recording/${basename(path)}`, digestRecording(path));
  for (const file of tests ? findTests() : [])
    if (wanted(`test/${basename(file)}`)) say(`test/${basename(file)}`, await digestTest(file));
});
