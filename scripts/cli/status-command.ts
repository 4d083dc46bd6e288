// SPDX-License-Identifier: Apache-2.0
//
// `vuhca status` and `vuhca top`: what a running adapter is doing, as one screen or as JSON: how it stands, and what happens per second.

import { FUNCTION_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import type { Arguments, Command, CommandOption } from './command.ts';
import { showSamples } from './status-sample.ts';
import type { StatusView } from './status-screen.ts';

/** Over which time rates are measured when the command is called once. */
const SAMPLE_SECONDS = 0.5;
const DAY_SECONDS = 86_400;
const COUNT_MAX = 1_000_000;

const options: Readonly<Record<string, CommandOption>> = {
  control: { type: 'string', value: 'PATH', description: 'The control socket (default: the only running adapter)' },
  json: { type: 'boolean', description: 'Prints everything as JSON' },
};

export const statusCommand: Command = {
  name: 'status',
  summary: 'shows what a running adapter is doing',
  operands: '',
  options: {
    ...options,
    function: { type: 'string', value: 'N', description: 'Everything about this function (default: a line for each)' },
    watch: { type: 'string', value: 'SECONDS', bare: '1', description: 'Shows it again and again until Ctrl-C' },
  },
  run: async (args) => {
    const seconds = args.integer('watch', 1, DAY_SECONDS);
    await showSamples(args, seconds ?? SAMPLE_SECONDS, seconds === undefined ? 1 : undefined, readView(args));
    return 0;
  },
};

export const topCommand: Command = {
  name: 'top',
  summary: 'shows what each function of a running adapter does per second, until Ctrl-C',
  operands: '',
  options: {
    ...options,
    function: { type: 'string', value: 'N', description: 'This function alone' },
    interval: { type: 'string', value: 'SECONDS', description: 'How often (default 1)' },
    count: { type: 'string', value: 'N', description: 'Ends after so many screens, one below the other' },
  },
  run: async (args) => {
    const seconds = args.integer('interval', 1, DAY_SECONDS) ?? 1;
    await showSamples(args, seconds, args.integer('count', 1, COUNT_MAX), { ...readView(args), perSecond: true });
    return 0;
  },
};

function readView(args: Arguments): StatusView {
  const number = args.integer('function', 0, FUNCTION_MAX - 1);
  // Undefined where the output is no terminal.
  const { columns } = process.stdout;
  return { ...(number === undefined ? {} : { number }), ...(columns === undefined ? {} : { columns }) };
}
