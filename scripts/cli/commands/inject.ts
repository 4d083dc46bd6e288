// SPDX-License-Identifier: Apache-2.0
/** `vuhca inject` plants a fault in a running device of a personality. */
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption } from '../options/option-values.ts';

/** The values of the options. */
export interface InjectArguments {
  readonly control?: string;
  readonly adapter?: string;
}

export function defineInject(command: CliCommand): void {
  command
    .argument('<WORD...>', 'The name of a fault, and values for it')
    .addOption(controlOption())
    .option('--adapter <NAME>', 'One of several adapters of a process')
    .addNotes(
      '  fatal cause=internal           a fatal error as the driver polls for it; others of mthca: bus, memory,',
      '                                 parity; of mlx5: processor, hardware, temperature',
      '  fatal firmware=refuses         firmware that refuses all commands afterwards; silent: no command ends',
      '  lost-completions count=3 qp=20 the next entries of CQs are never written',
      '  lost-commands count=1 opcode=13',
      '                                 the next commands are never executed, and no event comes',
      '  link-down port=1               holds the link of a port down, until link-up',
      '  link-flap port=1               the link goes down and trains at once',
      'Values may be left out: count is 1, port is 1, any QP and any opcode count, the cause is internal,',
      'and after a fatal error the firmware of mthca works, that of mlx5 is silent. A reset of the device',
      'ends lost completions and commands. A recording has the faults, and its replay repeats them.',
    )
    .addExample('vuhca inject link-flap port=2', 'the link of port 2 goes down and comes up')
    .addExample('vuhca inject lost-completions count=1 qp=0x414', 'a completion that never comes')
    .addExample('vuhca inject fatal cause=parity', 'the driver resets the device within 5 s');
}

export async function performInject(command: CliCommand): Promise<number> {
  const [words] = command.processedArgs as [string[]];
  const { control, adapter } = command.opts<InjectArguments>();
  const { withAdapter } = await import('../session/with-adapter.ts');
  const { text } = await withAdapter(control, (client) => client.request('inject', { words, adapter }));
  process.stdout.write(`${text}\n`);
  return 0;
}
