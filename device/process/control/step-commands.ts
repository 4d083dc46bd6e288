// SPDX-License-Identifier: Apache-2.0
/**
 * The command `step` of the control socket: moves a process that was started to stand still
 * (device/process/host/stepper.ts). `ControlCommands` serves it.
 */
import { Refusal } from '../../hca/adapter/refusal.ts';
import { STEPS_MAX } from '../../hosts/step-limits.ts';
import type { AdapterProcess } from '../host/adapter-process.ts';
import type { Stepper, StepReport } from '../host/stepper.ts';
import type { Watch } from '../trace/conditions.ts';
import type { ControlRequest } from './control-protocol.ts';
import type { ControlCommand } from './control-server.ts';

/** What the process does then, in a sentence and for programs. */
export interface StepAnswer extends StepReport {
  readonly text: string;
}

/**
 * Parameters: one of `count`, `until`, `go` and `stop`. `watch` begins to watch for a condition in
 * words, and throws a Refusal for what is none.
 */
export function makeStepCommand(process: AdapterProcess, watch: (condition: string) => Watch): ControlCommand {
  return ({ parameters }): StepAnswer => {
    const { stepper } = process;
    if (stepper === undefined)
      throw new Refusal('this process runs and cannot be stepped; only one that was started with --stepwise can');
    move(stepper, parameters, watch);
    process.pump.wake();
    const { report } = stepper;
    return { text: describe(report), ...report };
  };
}

function move(
  stepper: Stepper,
  { count, until, go, stop }: ControlRequest['parameters'],
  watch: (condition: string) => Watch,
): void {
  if ([count, until, go, stop].filter((value) => value !== undefined).length !== 1)
    throw new Refusal('give one of count, until, go, stop');
  if (count !== undefined) {
    if (!Number.isSafeInteger(count) || (count as number) < 1 || (count as number) > STEPS_MAX)
      throw new Refusal(`count must be a whole number from 1 to ${STEPS_MAX}`);
    stepper.step(count as number);
  } else if (until !== undefined) {
    if (typeof until !== 'string') throw new Refusal('until must be a condition in words');
    stepper.seek(until, watch(until));
  } else if (go === true) stepper.goOn();
  else if (stop === true) stepper.stop();
  else throw new Refusal('go and stop must be true');
}

function describe({ going, steps, condition, reached }: StepReport): string {
  if (going === 'runs') return 'the adapter runs';
  if (going === 'seeks') return `the adapter runs until ${condition}`;
  return `the adapter stands still after ${steps} ${steps === 1 ? 'step' : 'steps'}${reached ? `: ${condition}` : ''}`;
}
