// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca cluster`: checks that the words fit the action, and has it done by the supervisor
 * of the cluster.
 */
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { printable } from '../../../protocol/system/printable.mjs';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { ask } from '../cluster-client/cluster-client.ts';
import {
  type ClusterPlace,
  NAME_DEFAULT,
  NAME_VARIABLE,
  nodeLogPath,
  placeOf,
} from '../cluster-client/cluster-place.ts';
import type { ClusterReport, CopyEnd, CopyRequest } from '../cluster-client/cluster-protocol.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';
import type { ClusterAction, ClusterArguments } from './cluster-command.ts';
import { renderCluster } from './cluster-screen.ts';

/** A call of the command. */
interface Call {
  readonly place: ClusterPlace;
  readonly words: readonly string[];
  /** Behind `--`. */
  readonly rest: readonly string[] | undefined;
  readonly given: ClusterArguments;
}

/** What an action takes. */
interface Action {
  /** Numbers of words, from and to. */
  readonly words: readonly [least: number, most: number];
  /** What the words are, for messages. */
  readonly usage: string;
  readonly options?: readonly string[];
  readonly takesRest?: boolean;
  perform(call: Call): Promise<number>;
}

const PLANNED_OPTIONS = [
  ...['--nodes', '--fabric', '--personality', '--packages', '--disk', '--memory'],
  ...['--cpus', '--tcg-thread', '--kernel', '--timeout'],
];
const UP_OPTIONS = [...PLANNED_OPTIONS, '--record', '--ibsim', '--spin'];

const MS_PER_SECOND = 1000;
const MANY = Number.POSITIVE_INFINITY;

const actions: Readonly<Record<ClusterAction, Action>> = {
  up: { words: [0, 1], usage: 'up [FILE]', options: UP_OPTIONS, perform: up },
  list: { words: [0, 0], usage: 'list', options: ['--json'], perform: list },
  exec: { words: [0, MANY], usage: 'exec NODE... -- COMMAND', options: ['--all'], takesRest: true, perform: exec },
  copy: { words: [2, 2], usage: 'copy SOURCE TARGET', options: ['--all'], perform: copy },
  shell: { words: [1, 1], usage: 'shell NODE', perform: shell },
  log: { words: [0, 1], usage: 'log [NODE]', perform: log },
  stop: { words: [1, MANY], usage: 'stop NODE...', perform: (call) => change(call, 'stop') },
  start: { words: [1, MANY], usage: 'start NODE...', perform: (call) => change(call, 'start') },
  cut: { words: [1, 1], usage: 'cut LINK', perform: (call) => changeLink(call, ['down']) },
  mend: { words: [1, 1], usage: 'mend LINK', perform: (call) => changeLink(call, ['up']) },
  fault: { words: [2, MANY], usage: 'fault LINK KEY=VALUE...', perform: (call) => changeLink(call, ['set']) },
  down: { words: [0, 0], usage: 'down', perform: down },
  test: {
    words: [0, 1],
    usage: 'test [FILE] -- COMMAND',
    options: [...UP_OPTIONS, '--junit', '--logs'],
    takesRest: true,
    perform: test,
  },
  plan: {
    words: [0, 1],
    usage: 'plan [FILE] --machines M --nodes-per-machine N --format FORMAT',
    options: [...PLANNED_OPTIONS, '--machines', '--nodes-per-machine', '--format', '--hosts', '--port'],
    perform: plan,
  },
};

export async function performCluster(command: CliCommand): Promise<number> {
  const [name, words] = command.processedArgs as [ClusterAction, string[]];
  const given = command.opts<ClusterArguments>();
  const action = actions[name];
  const wrong = command.givenOptions().find(({ long }) => long !== '--name' && !action.options?.includes(long ?? ''));
  if (wrong !== undefined) throw new UsageError(`option ${wrong.long} does not belong to ${name}`);
  const [least, most] = action.words;
  if (words.length < least) throw new UsageError(`a word is missing: vuhca cluster ${action.usage}`);
  if (words.length > most)
    throw new UsageError(`${words[most]} is one argument too many: vuhca cluster ${action.usage}`);
  if (command.rest !== undefined && !action.takesRest) throw new UsageError(`nothing may follow -- in ${name}`);
  if (action.takesRest && (command.rest ?? []).length === 0)
    throw new UsageError(`the command is missing: vuhca cluster ${action.usage}`);
  const place = placeOf(given.name ?? process.env[NAME_VARIABLE] ?? NAME_DEFAULT);
  return action.perform({ place, words, rest: command.rest, given });
}

async function up({ place, words, given }: Call): Promise<number> {
  const { bringUp } = await import('./up.ts');
  return bringUp(place, words[0], given, makeTeller());
}

async function test({ place, words, rest = [], given }: Call): Promise<number> {
  const { testCluster } = await import('./cluster-test.ts');
  // Tests at the same time do not meet.
  const own = given.name === undefined ? placeOf(`test-${process.pid}`) : place;
  return testCluster(own, words[0], rest, given, makeTeller());
}

async function plan({ place, words, given }: Call): Promise<number> {
  const { planMachines } = await import('./plan.ts');
  process.stdout.write(planMachines(place.name, words[0], given));
  return 0;
}

/** Says lines with the seconds since its making. */
function makeTeller(): (text: string) => void {
  const began = performance.now();
  return (text) => {
    const seconds = ((performance.now() - began) / MS_PER_SECOND).toFixed(1);
    process.stderr.write(`${seconds.padStart(6)} s  ${printable(text)}\n`);
  };
}

async function list({ place, given }: Call): Promise<number> {
  const report = await ask<ClusterReport>(place, { command: 'list' });
  process.stdout.write(given.json ? `${JSON.stringify(report)}\n` : renderCluster(report));
  return 0;
}

async function exec({ place, words, rest = [], given }: Call): Promise<number> {
  const { executeInAll, executeInOne, toShellLine } = await import('./exec.ts');
  const line = toShellLine(rest);
  const nodes = await chooseNodes(place, words, given);
  if (nodes.length === 1 && !given.all) return executeInOne(place, { command: 'exec', node: nodes[0], line });
  return executeInAll(place, nodes, line, say);
}

/** The nodes that are named, or all. */
async function chooseNodes(place: ClusterPlace, words: readonly string[], given: ClusterArguments): Promise<string[]> {
  if (given.all && words.length > 0) throw new UsageError(`give --all or ${words[0]}, not both`);
  if (!given.all && words.length === 0) throw new UsageError('a node is missing: name one, or give --all');
  if (!given.all) return [...words];
  const { nodes } = await ask<ClusterReport>(place, { command: 'list' });
  return nodes.map(({ name }) => name);
}

async function copy({ place, words, given }: Call): Promise<number> {
  const [source, target] = words;
  const [from, to] = [readNodePath(source), readNodePath(target)];
  if (given.all && (to === undefined || to.node !== ''))
    throw new UsageError(`with --all, TARGET is ${target}; it must be :PATH, a place in each node`);
  if ((from === undefined) === (to === undefined))
    throw new UsageError('one of SOURCE and TARGET must be NODE:PATH, the other a path of this machine');
  const nodes = given.all ? await chooseNodes(place, [], given) : [(from ?? to)?.node ?? ''];
  if (nodes[0] === '') throw new UsageError(`${source} ${target}: a node is missing before the colon; or give --all`);
  const requests = nodes.map((node): CopyRequest => {
    if (from !== undefined)
      return { command: 'copy', node, way: 'out', hostPath: resolve(target), nodePath: from.path };
    return { command: 'copy', node, way: 'in', hostPath: resolve(source), nodePath: to?.path ?? '' };
  });
  await Promise.all(requests.map((request) => ask<CopyEnd>(place, request)));
  return 0;
}

/** NODE:PATH; undefined for a path of this machine, which may begin with `./` to have a colon. */
function readNodePath(text: string): { node: string; path: string } | undefined {
  const [, node, path] = /^([a-z0-9-]*):(.*)$/is.exec(text) ?? [];
  return node === undefined ? undefined : { node, path };
}

async function shell({ place, words }: Call): Promise<number> {
  const { openShell } = await import('./shell.ts');
  return openShell(place, words[0]);
}

async function log({ place, words: [node] }: Call): Promise<number> {
  const { nodes, log: own } = await ask<ClusterReport>(place, { command: 'list' });
  if (node !== undefined && !nodes.some(({ name }) => name === node))
    throw new SetupError(`there is no node ${node}; there are ${nodes.map(({ name }) => name).join(', ')}`);
  const path = node === undefined ? own : nodeLogPath(place, node);
  await pipeline(createReadStream(path), process.stdout, { end: false });
  return 0;
}

async function change({ place, words }: Call, command: 'start' | 'stop'): Promise<number> {
  await Promise.all(words.map((node) => ask(place, { command, node })));
  return 0;
}

async function changeLink({ place, words: [port, ...properties] }: Call, verbs: readonly string[]): Promise<number> {
  const words = [...verbs, ...properties.flatMap((word) => word.split(','))];
  process.stdout.write(`${await ask<string>(place, { command: 'link', port, words })}\n`);
  return 0;
}

async function down({ place }: Call): Promise<number> {
  const { bringDown } = await import('./bring-down.ts');
  await bringDown(place);
  return 0;
}

function say(text: string): void {
  process.stderr.write(`vuhca cluster: ${printable(text)}\n`);
}
