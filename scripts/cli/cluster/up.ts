// SPDX-License-Identifier: Apache-2.0
/**
 * Starts a cluster: checks what is asked for, prepares what guests need, starts the supervisor and
 * tells how nodes arrive. Ctrl-C in any phase leaves nothing. Called by cluster-action.ts.
 */
import { spawn } from 'node:child_process';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeSystemError } from '../../../protocol/system/errno-words.mjs';
import { printable } from '../../../protocol/system/printable.mjs';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { setUp } from '../../setup/set-up.ts';
import { converse } from '../cluster-client/cluster-client.ts';
import { type ClusterPlace, claimPlace, refuseRunning } from '../cluster-client/cluster-place.ts';
import type { UpEnd } from '../cluster-client/cluster-protocol.ts';
import { checkOutput } from '../options/named-files.ts';
import { UsageError } from '../options/usage-error.ts';
import { ExitStatus } from '../session/exit-statuses.ts';
import { takeSignals } from '../session/signals.ts';
import { bringDown } from './bring-down.ts';
import { prepareNode } from './cluster.ts';
import type { ClusterArguments } from './cluster-command.ts';
import { type ClusterChoice, FABRIC_RULES, readCluster } from './cluster-file.ts';
import type { ClusterSpec } from './cluster-spec.ts';
import { SUPERVISOR_PROCESS, SUPERVISOR_READY } from './supervisor-words.ts';

/** The program of this package, as package.json names it. */
const LAUNCH = fileURLToPath(import.meta.resolve('#vuhca'));
const PRIVATE_MODE = 0o600;
const TAIL_LINES = 5;

/** Starts the cluster; returns the exit status. Throws UsageError or SetupError. */
export async function bringUp(
  place: ClusterPlace,
  file: string | undefined,
  given: ClusterArguments,
  say: (text: string) => void,
): Promise<number> {
  const spec = readSpec(place, file, given);
  await refuseRunning(place);
  await setUp('start');
  await prepareAll(spec);
  // From here on a signal must end the supervisor, too.
  const { whenAsked, forget } = takeSignals();
  await claimPlace(place, () => startSupervisor(place, spec));
  const conversation = await converse<UpEnd>(place, { command: 'follow' }, { say });
  const signal = await Promise.race([whenAsked, conversation.result.then(() => undefined)]);
  forget();
  if (signal !== undefined) {
    say(`${signal} ends the cluster`);
    await bringDown(place);
    return ExitStatus.SIGNAL + constants.signals[signal];
  }
  const { failures } = await conversation.result;
  for (const failure of failures) say(failure);
  return failures.length === 0 ? ExitStatus.DONE : ExitStatus.FAILED;
}

/** Throws UsageError for what cannot be a cluster. */
function readSpec(place: ClusterPlace, file: string | undefined, given: ClusterArguments): ClusterSpec {
  const { record, ibsim, spin, kernel, timeout } = given;
  const choice = readChoice(file, given);
  if (record !== undefined && ibsim !== undefined)
    throw new UsageError('option --record cannot be given with --ibsim: a recording has nothing of what clients send');
  if (record !== undefined) checkOutput('option --record', record, choice.file === undefined ? [] : [choice.file]);
  return {
    name: place.name,
    ...readCluster(choice),
    ...(kernel === undefined ? {} : { kernel }),
    silenceSeconds: timeout,
    deviceArguments: [
      '--log-level=warn',
      ...(record === undefined ? [] : [`--record=${resolve(record)}`]),
      ...(ibsim === undefined ? [] : [`--ibsim=${ibsim}`]),
      ...(spin === 'auto' ? [] : [`--spin=${spin}`]),
    ],
  };
}

/** What options and file ask for. Throws UsageError. */
export function readChoice(file: string | undefined, given: ClusterArguments): ClusterChoice {
  const { nodes, fabric, personality, cpus, tcgThread, memory, packages, disk, kernel } = given;
  for (const [name, value] of Object.entries({ packages, kernel }))
    if (disk !== undefined && value !== undefined)
      throw new UsageError(`option --${name} cannot be given with --disk, which has its own`);
  const rule = FABRIC_RULES.find((one) => one === fabric);
  const fabricFile = rule === undefined ? fabric : undefined;
  if (file !== undefined && fabricFile !== undefined)
    throw new UsageError(`option --fabric names ${fabricFile}, and FILE is ${file}: give one of them`);
  const named = file ?? fabricFile;
  return {
    personality,
    cpus,
    tcgThread,
    packages: packages ?? [],
    ...(disk === undefined ? {} : { disk: resolve(disk) }),
    ...(memory === undefined ? {} : { memoryMiB: memory }),
    ...(nodes === undefined ? {} : { nodes }),
    ...(rule === undefined ? {} : { fabric: rule }),
    ...(named === undefined ? {} : { file: named }),
  };
}

/** Makes what the guests need while a terminal shows it; the supervisor finds it in the cache. */
async function prepareAll(spec: ClusterSpec): Promise<void> {
  const kinds = new Map(spec.nodes.map((node) => [`${node.personality} ${node.packages} ${node.disk}`, node]));
  for (const node of kinds.values()) await prepareNode(spec, node);
}

/** Starts it in a session of its own; returns when it listens. Throws SetupError when it ends. */
async function startSupervisor(place: ClusterPlace, spec: ClusterSpec): Promise<void> {
  let log: number;
  try {
    writeFileSync(place.specPath, JSON.stringify(spec), { mode: PRIVATE_MODE });
    log = openSync(place.logPath, 'a', PRIVATE_MODE);
  } catch (error) {
    throw new SetupError(`the folder of the cluster cannot be made: ${describeSystemError(error) ?? error}`);
  }
  const child = spawn(process.execPath, [LAUNCH, SUPERVISOR_PROCESS, place.folder], {
    stdio: ['ignore', 'pipe', log],
    detached: true,
  });
  const said = await new Promise<string>((settle) => {
    let text = '';
    child.stdout?.on('data', (part) => {
      text += part;
      if (text.startsWith(SUPERVISOR_READY)) settle(text);
    });
    child.once('close', () => settle(text));
    child.once('error', (error) => settle(error.message));
  });
  child.stdout?.destroy();
  child.unref();
  if (said.startsWith(SUPERVISOR_READY)) return;
  const lines = readFileSync(place.logPath, 'utf8').trim().split('\n').slice(-TAIL_LINES).join(' ');
  throw new SetupError(`the process of the cluster ended at once: ${printable(lines || said || 'it said nothing')}`);
}
