// SPDX-License-Identifier: Apache-2.0
/** `vuhca step` advances a process that stands still because it was started with `--stepwise`. */
import { STEPS_MAX } from '../../../device/hosts/step-limits.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption } from '../options/option-values.ts';
import { UsageError } from '../options/usage-error.ts';

/** The values of the options. */
export interface StepArguments {
  readonly control?: string;
  readonly until?: string;
  readonly go?: boolean;
  readonly stop?: boolean;
}

export function defineStep(command: CliCommand): void {
  command
    .argument('[COUNT]', `Steps to make, at most ${STEPS_MAX} (default: 1)`)
    .addOption(controlOption())
    .option('--until <CONDITION>', 'Runs until it holds, and stands still then; docs/VIEW.md lists conditions')
    .option('--go', 'Runs without end')
    .option('--stop', 'Stands still again')
    .addNotes(
      'In a step each adapter of the process does at most one unit of work. While it stands still, the guest gets',
      'answers from its registers, and the time of the adapter stands; a step without work goes to the next alarm.',
      'With --until the command does not wait: `vuhca step --stop` or the condition ends the run, and',
      '`vuhca status` shows which.',
    )
    .addExample('vuhca step', 'one step')
    .addExample('vuhca step 10', 'ten steps')
    .addExample('vuhca step --until "qp 5 leaves RTS"', 'as far as that');
}

export async function performStep(command: CliCommand): Promise<number> {
  const [count] = command.processedArgs as [string | undefined];
  const { control, ...options } = command.opts<StepArguments>();
  const [name, other] = [...(count === undefined ? [] : ['COUNT']), ...Object.keys(options).map((one) => `--${one}`)];
  if (other !== undefined) throw new UsageError(`give ${name} or ${other}, not both`);
  const { withAdapter } = await import('../session/with-adapter.ts');
  const parameters = name === undefined || count !== undefined ? { count: readCount(count) } : options;
  const { text } = await withAdapter(control, (client) => client.request('step', { ...parameters }));
  process.stdout.write(`${text}\n`);
  return 0;
}

function readCount(text = '1'): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= STEPS_MAX) return count;
  throw new UsageError(`argument COUNT is ${text}; it must be a whole number from 1 to ${STEPS_MAX}`);
}
