// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca resources` shows the shares of functions and QoS levels of a running adapter, or makes a
 * resource request as the host, which plays the virtual machine manager of US8484392.
 */
import type { CliCommand } from '../options/cli-command.ts';
import { actionArgument, controlOption } from '../options/option-values.ts';
import { UsageError } from '../options/usage-error.ts';

/** The values of the options. */
export interface ResourcesArguments {
  readonly control?: string;
  readonly adapter?: string;
  readonly json?: boolean;
}

export type ResourcesAction = 'show' | 'set';

export function defineResources(command: CliCommand): void {
  command
    .addArgument(actionArgument(['show', 'set']))
    .argument('[WORD...]', 'set: the request')
    .addOption(controlOption())
    .option('--adapter <NAME>', 'One of several adapters of a process')
    .option('--json', 'Prints everything as JSON')
    .addNotes(
      'All words behind set are one request: it is done as a whole or not at all. Changes are made in their order,',
      'so shares that are given back come first.',
      '  function 1 vcbs=25 pcbs=20 tvls=10 base=64 buffers=4 lanes=0-9,12',
      '                                the share of a function; lanes by number instead of tvls',
      '  function 1 contexts=8 send-blocks=512',
      '                                its part of the PIO send memory, and in how many contexts',
      '  function 1 level 1 vcbs=15 pcbs=8 tvls=4',
      '                                the part of it that a QoS level has',
      '  lane 3 execution=4 completion=16 weight=2 list=32 shared=none',
      '                                or shared=execution, completion, both',
      '  dedicated lanes=120-127       lanes of the send queue scheduler, or none',
      '  function 1 policy=newest low=8 high=32 adaptive=on link-check=read',
      '                                doorbells: policy=off, newest, most-spilled; free entries at which',
      '                                spilling begins and ends; link-check=read, compare-swap',
      '  function 1 lane-table=invalid',
      '                                its lanes are read again from the table in guest memory',
      '  function 1 host-queue=on spill-buffered=on spill-commands=off',
      '                                commands without a PCB wait in host memory; what else is spilled',
      '  adapter disable=off return=on lend=on freeze=off',
      '                                stops all commands; returns the shares of guests that left; lends',
      '                                idle ones; freezes send contexts',
    )
    .addExample('vuhca resources show', 'all functions and lanes')
    .addExample('vuhca resources set function 1 vcbs=25 pcbs=20 tvls=10', 'the share of function 1')
    .addExample('vuhca resources set lane 3 weight=2 shared=none --json', 'one lane; prints the result as JSON');
}

export async function performResources(command: CliCommand): Promise<number> {
  const [action, words] = command.processedArgs as [ResourcesAction, string[]];
  const given = command.opts<ResourcesArguments>();
  if (action === 'show' && words.length > 0) throw new UsageError(`${words[0]} is one argument too many`);
  if (action === 'set') await checkWords(words);
  const { showScreens, withAdapter } = await import('../session/with-adapter.ts');
  const { renderResources } = await import('../screens/resources-screen.ts');
  const { control, adapter } = given;
  await withAdapter(control, async (client) => {
    const request =
      action === 'set' ? client.request('set-resources', { words, adapter }) : client.request('resources', { adapter });
    await showScreens(given, () => request, renderResources);
  });
  return 0;
}

/** Throws UsageError for a request that no adapter would understand. */
async function checkWords(words: readonly string[]): Promise<void> {
  const { readResourceWords } = await import('../../../device/process/reports/resource-syntax.ts');
  try {
    readResourceWords(words);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
