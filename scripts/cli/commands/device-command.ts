// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca device`, the adapter process. program.ts loads them when the
 * command is called; device-action.ts performs it; device-child.ts starts it as a child and waits
 * for its READY line.
 */
import { type AdapterArguments, addAdapterOptions } from '../options/adapter-arguments.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { inspectOption } from '../options/inspector.ts';
import {
  doorOption,
  type LogLevel,
  logLevelOption,
  recordLimitOption,
  stepwiseOption,
  type ViewMode,
  viewOption,
} from '../options/option-values.ts';
import { type Personality, personalityOption } from '../options/personality.ts';

/**
 * The beginning of the line on standard output that announces that guests may attach; the paths
 * follow.
 */
export const READY = 'listening on';
/**
 * The beginning of an earlier line, for each device of several functions that belong in one PCI
 * slot; their sockets follow.
 */
export const SLOT = 'one slot for';

/** The values of the options. */
export interface DeviceArguments extends AdapterArguments {
  readonly socket?: string;
  readonly control?: string;
  readonly topology?: string;
  readonly ibsim?: number;
  readonly record?: string;
  /** In MiB. */
  readonly recordLimit: number;
  readonly personality: Personality;
  readonly logLevel: LogLevel;
  readonly inspect?: string;
  readonly view?: ViewMode;
  readonly stepwise?: boolean;
}

export function defineDevice(command: CliCommand): void {
  command
    .optionsGroup('Sockets:')
    .option('--socket <PATH>', 'The vfio-user socket QEMU connects to; further functions have PATH.1 and so on')
    .option('--control <PATH>', 'The control socket (default: one that `vuhca status` and others find)')
    .option(
      '--topology <FILE>',
      'Several adapters with their sockets and links, instead of one at --socket; see docs/TOPOLOGY.md',
    )
    .addOption(doorOption())
    .addOption(personalityOption())
    .optionsGroup('Recording and debugging:')
    .option('--record <FILE>', 'Records the whole session, for `vuhca replay`')
    .addOption(recordLimitOption())
    .addOption(logLevelOption('info'))
    .addOption(inspectOption('--inspect', 'Lets a debugger attach; see docs/DEBUGGING.md'))
    .addOption(viewOption())
    .addOption(stepwiseOption());
  addAdapterOptions(command);
  command.addNotes(
    'Prints `listening on SOCKET` when a guest may attach:',
    '  qemu-system-x86_64 -machine q35,memory-backend=ram \\',
    '    -object memory-backend-memfd,id=ram,size=1G,share=on \\',
    `    -device '{"driver":"vfio-user-pci","socket":{"type":"unix","path":"SOCKET"}}' ...`,
    'Before it, `one slot for SOCKET SOCKET` names the functions of one device of a personality; QEMU has them in',
    'a slot behind `-device pcie-root-port,id=rp`, with "bus":"rp","multifunction":true and "addr":"0.0" or "0.1".',
  );
  command
    .addExample('vuhca device --socket /tmp/vuhca.sock', 'one adapter, for one guest')
    .addExample('vuhca device --socket /tmp/vuhca.sock --functions 34', 'an adapter for 34 guests')
    .addExample('vuhca device --socket /tmp/vuhca.sock --record x.rec --log-level debug', 'for a bug report')
    .addExample('vuhca device --socket /tmp/vuhca.sock --personality mthca', 'for a guest with its stock driver')
    .addExample('vuhca device --socket /tmp/vuhca.sock --personality mlx5 --functions 2', 'one with two ports')
    .addExample('vuhca device --topology two.json', 'the adapters and links of a file')
    .addExample('vuhca device --topology two.json --ibsim 7171', "and a door for Debian's opensm and diagnostics");
}
