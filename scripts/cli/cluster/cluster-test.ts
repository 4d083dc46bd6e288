// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca cluster test`: brings a cluster up, runs a command of this machine with the
 * cluster's name in its environment, keeps logs and results, and ends the cluster, whatever
 * happens. Called by cluster-action.ts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { KtapResult } from '../../../guest-tests/harness/ktap.ts';
import { KtapStreams } from '../../../guest-tests/harness/ktap-streams.ts';
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import { LineSplitter } from '../../../qemu/line-splitter.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { toJunitXml } from '../../console/junit.ts';
import { ask } from '../cluster-client/cluster-client.ts';
import { type ClusterPlace, NAME_VARIABLE } from '../cluster-client/cluster-place.ts';
import type { ClusterReport } from '../cluster-client/cluster-protocol.ts';
import { checkOutput } from '../options/named-files.ts';
import { nothing, writeOutput } from '../options/write-output.ts';
import { ExitStatus } from '../session/exit-statuses.ts';
import { takeSignals } from '../session/signals.ts';
import { bringDown } from './bring-down.ts';
import type { ClusterArguments } from './cluster-command.ts';
import { bringUp } from './up.ts';

/** A result of the test. */
export interface ClusterResult {
  readonly name: string;
  /** Why it failed; absent when it did not. */
  readonly failure?: string;
  readonly skipped?: string;
}

/** The end of the command: its status, or its signal. */
interface CommandEnd {
  readonly status: number;
  readonly results: readonly ClusterResult[];
}

/** Returns the exit status. Throws UsageError or SetupError when the cluster does not come up. */
export async function testCluster(
  place: ClusterPlace,
  file: string | undefined,
  words: readonly string[],
  given: ClusterArguments,
  say: (text: string) => void,
): Promise<number> {
  const { junit, logs } = given;
  if (junit !== undefined) checkOutput('option --junit', junit, file === undefined ? [] : [file]);
  if (logs !== undefined) makeFolder(logs);
  const up = await bringUp(place, file, given, say);
  if (up > ExitStatus.SIGNAL) return up;
  const { whenAsked } = takeSignals();
  try {
    const end = up === ExitStatus.DONE ? await runCommand(place, words, whenAsked) : { status: up, results: [] };
    const results = [...end.results, ...judgeNodes(await ask<ClusterReport>(place, { command: 'list' }))];
    const failures = results.filter(({ failure }) => failure !== undefined);
    for (const { name, failure } of failures) say(`${name}: ${failure}`);
    if (junit !== undefined) writeOutput('option --junit', junit, toJunit(place.name, results), nothing);
    return end.status === 0 && failures.length > 0 ? ExitStatus.FAILED : end.status;
  } finally {
    if (logs !== undefined) keepLogs(place, logs);
    await bringDown(place);
  }
}

/** Runs the command with the name of the cluster; its output is also read as KTAP. */
async function runCommand(
  place: ClusterPlace,
  words: readonly string[],
  whenAsked: Promise<NodeJS.Signals>,
): Promise<CommandEnd> {
  const results: ClusterResult[] = [];
  const streams = new KtapStreams((result) => results.push(...readResult(result)), { plansBegin: true });
  const [program, ...args] = words.length === 1 ? ['sh', '-c', words[0]] : words;
  const child = spawn(program, args, {
    env: { ...process.env, [NAME_VARIABLE]: place.name },
    stdio: ['ignore', 'pipe', 'inherit'],
    // Ctrl-C at the terminal reaches this process, which passes it on.
    detached: true,
  });
  void whenAsked.then((signal) => {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  });
  follow(child.stdout, streams);
  const failed = new Promise<string>((resolve) => child.once('error', ({ message }) => resolve(message)));
  const ended = once(child, 'close').catch(() => [null, null]) as Promise<[number | null, NodeJS.Signals | null]>;
  const end = await Promise.race([ended, failed]);
  if (typeof end === 'string') throw new SetupError(`the command ${program} cannot be run: ${end}`);
  const [code, signal] = end;
  const status = code ?? ExitStatus.SIGNAL + constants.signals[signal ?? 'SIGKILL'];
  streams.finish();
  const faults = streams.faults.map((failure) => ({ name: 'KTAP', failure }));
  const own = { name: words.join(' '), ...(status === 0 ? {} : { failure: `it ended with ${status}` }) };
  return { status, results: [...results, ...faults, own] };
}

function follow(output: Readable, streams: KtapStreams): void {
  const splitter = new LineSplitter((line) => streams.push(line));
  output.on('data', (bytes: Buffer) => {
    splitter.push(bytes);
    if (process.stdout.write(bytes)) return;
    output.pause();
    process.stdout.once('drain', () => output.resume());
  });
  output.on('end', () => splitter.flush());
}

function readResult({ path, ok, parent, skipped, diagnostics }: KtapResult): ClusterResult[] {
  if (parent) return [];
  const failure = diagnostics.join('\n') || 'not ok';
  return [{ name: path.join('/'), ...(ok ? {} : { failure }), ...(skipped === undefined ? {} : { skipped }) }];
}

/** A result for each node, and for the adapters when they have failed. */
export function judgeNodes({ nodes, failure }: Pick<ClusterReport, 'nodes' | 'failure'>): ClusterResult[] {
  const ofNodes = nodes.map(({ name, state, why, complaint }) => {
    const bad = state === 'failed' ? (why ?? state) : complaint && `its kernel complained: ${complaint}`;
    return { name: `node ${name}`, ...(bad === undefined ? {} : { failure: bad }) };
  });
  return [...ofNodes, ...(failure === undefined ? [] : [{ name: 'adapters', failure }])];
}

/** One suite, which has the name of the cluster. */
export function toJunit(name: string, results: readonly ClusterResult[]): string {
  return toJunitXml([{ name, cases: results.map((result) => ({ className: name, ...result })) }]);
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw new SetupError(`option --logs names ${path}, which cannot be made ${errnoWords(error)}`);
  }
}

/** Copies what nodes and adapters have said. */
function keepLogs({ folder }: ClusterPlace, target: string): void {
  const names = readdirSync(folder).filter((name) => name === 'log' || name.endsWith('.log'));
  for (const name of names) copyFileSync(join(folder, name), join(target, name === 'log' ? 'cluster.log' : name));
}
