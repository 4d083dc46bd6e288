// SPDX-License-Identifier: Apache-2.0
//
// `vuhca replay`: runs a recorded session again, without guest and QEMU, and checks that the adapter does the same. Under a
// debugger it stops at a step of choice: the recorded guest waits as long as it takes.

import { readFileSync } from 'node:fs';
import { Adapter } from '../../device/adapter/adapter.ts';
import { Replay, type ReplayResult, type ReplayStep } from '../../device/hosts/replay.ts';
import { SetupError } from '../../qemu/setup/errors.ts';
import type { Arguments, Command } from './command.ts';
import { openInspector } from './device-command.ts';

const NS_PER_SECOND = 1e9;
const ANY = Number.MAX_SAFE_INTEGER;

export const replayCommand: Command = {
  name: 'replay',
  summary: 'runs a recorded session again and checks that it is identical',
  operands: 'FILE',
  options: {
    until: { type: 'string', value: 'N', description: 'Ends before step N' },
    'break-at': {
      type: 'string',
      value: 'N',
      description: 'Enters the debugger before step N, and with --trace shows from there',
    },
    trace: { type: 'boolean', description: 'Prints every step: its number, time and what the guest did' },
    'inspect-brk': {
      type: 'string',
      value: 'HOST:PORT',
      bare: '127.0.0.1:9229',
      description: 'Waits for a debugger and enters it before the first step, or the one --break-at names',
    },
  },
  notes: [
    'A step is one call into the adapter: a register access, a collect write, a reset, a run of its units.',
    '`vuhca device --record FILE` and `vuhca run --record FILE` make recordings.',
    'Exit status: 0 identical, 3 the adapter did something else (the first difference is printed), 1 no usable recording.',
  ],
  run: runReplay,
};

const DIVERGED = 3;

async function runReplay(args: Arguments): Promise<number> {
  const path = args.operands[0];
  const until = args.integer('until', 0, ANY) ?? ANY;
  const inspect = args.text('inspect-brk');
  const breakAt = args.integer('break-at', 0, ANY) ?? (inspect === undefined ? -1 : 0);
  const replay = openRecording(path);
  openInspector(inspect, true);
  replay.onStep = makeStepHook(breakAt, args.has('trace'));
  while (replay.result.steps < until && replay.step());
  const { result } = replay;
  process.stdout.write(describeResult(path, result, until));
  return result.divergence === undefined ? 0 : DIVERGED;
}

function openRecording(path: string): Replay {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new SetupError(`the recording ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return new Replay(bytes, (options, clock, hosts) => new Adapter(options, clock, hosts));
  } catch (error) {
    throw new SetupError(`${path}: ${(error as Error).message}`);
  }
}

/** Called before each step. */
function makeStepHook(breakAt: number, trace: boolean): (step: ReplayStep) => void {
  return (step) => {
    if (trace && step.index >= breakAt) process.stdout.write(`${describeStep(step)}\n`);
    if (step.index === breakAt) breakHere(step);
  };
}

/** The debugger stops here: step out twice, and into what the adapter does with this step. */
function breakHere(step: ReplayStep): ReplayStep {
  // biome-ignore lint/suspicious/noDebugger: that is what the option is for.
  debugger;
  return step;
}

function describeStep({ index, timeNs, name, functionIndex }: ReplayStep): string {
  return `${String(index).padStart(8)} ${seconds(timeNs).padStart(14)} s  function ${functionIndex}  ${name}`;
}

function describeResult(path: string, result: ReplayResult, until: number): string {
  const { steps, records, timeNs, truncated, divergence } = result;
  const done = `${steps} steps, ${records} records, ${seconds(timeNs)} s of adapter time`;
  if (divergence !== undefined) {
    const { position, record, during, expected, actual } = divergence;
    return [
      `${path}: the adapter did something else after ${done}`,
      `  where     ${during}, record ${record} at byte ${position}, ${seconds(divergence.timeNs)} s`,
      `  recorded  ${expected}`,
      `  now       ${actual}`,
      `  \`vuhca replay --inspect-brk --break-at=${steps} ${path}\` stops a debugger there`,
      '',
    ].join('\n');
  }
  if (steps >= until) return `${path}: identical so far: ${done}\n`;
  const end = truncated ? ' (the end of the recording is missing)' : '';
  return `${path}: identical: ${done}${end}\n`;
}

function seconds(ns: number): string {
  return (ns / NS_PER_SECOND).toFixed(6);
}
