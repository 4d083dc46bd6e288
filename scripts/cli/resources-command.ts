// SPDX-License-Identifier: Apache-2.0
//
// `vuhca resources`: who has what of a running adapter's resources, and resource requests of the host, which plays the virtual machine
// manager of US8484392.

import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import type { ResourceReport } from '../../device/main/resource-report.ts';
import { readResourceWords } from '../../device/main/resource-words.ts';
import { type Arguments, type Command, UsageError } from './command.ts';
import { renderResources } from './resources-screen.ts';

export const resourcesCommand: Command = {
  name: 'resources',
  summary: 'shows how the resources of a running adapter are divided, or changes it',
  operands: 'show|set [WORD...]',
  options: {
    control: { type: 'string', value: 'PATH', description: 'The control socket (default: the only running adapter)' },
    json: { type: 'boolean', description: 'Prints everything as JSON' },
  },
  notes: [
    'All words behind set are one request: it is done as a whole or not at all. They are made in order, so name first what gives back.',
    '  function 1 vcbs=25 pcbs=20 tvls=10 base=64 buffers=4 lanes=0-9,12   what a function has; lanes by number instead of tvls',
    '  function 1 level 1 vcbs=15 pcbs=8 tvls=4                            what of it is for a QoS level',
    '  lane 3 execution=4 completion=16 weight=2 list=32 shared=none       or shared=execution, completion, both',
    '  dedicated lanes=120-127                                             lanes of the send queue scheduler, or none',
  ],
  run: runResources,
};

async function runResources(args: Arguments): Promise<number> {
  const [action, ...words] = args.operands;
  if (action !== 'show' && action !== 'set') throw new UsageError(`${action} is not understood; say show or set`);
  if (action === 'show' && words.length > 0) throw new UsageError(`${words[0]} is one argument too many`);
  if (action === 'set') checkWords(words);
  const client = await ControlClient.connect(args.text('control') ?? (await findOnlyControlPath()));
  try {
    const [command, parameters] =
      action === 'set' ? (['set-resources', { words }] as const) : (['resources', {}] as const);
    const report = (await client.request(command, parameters)) as ResourceReport;
    process.stdout.write(args.has('json') ? `${JSON.stringify(report)}\n` : renderResources(report));
  } finally {
    client.close();
  }
  return 0;
}

/** What is wrong with the words alone is a mistake of the caller. */
function checkWords(words: readonly string[]): void {
  try {
    readResourceWords(words);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
