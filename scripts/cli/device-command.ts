// SPDX-License-Identifier: Apache-2.0
//
// `vuhca device`: the adapter process. Serves one guest at a time on its socket until it is asked to end; then leaves nothing
// behind. `run` starts it, and so does anybody who starts QEMU by hand.

import inspector from 'node:inspector';
import { AdapterProcess, findRecordingObjection } from '../../device/main/adapter-process.ts';
import { ControlCommands } from '../../device/main/control-commands.ts';
import { defaultControlPath } from '../../device/main/control-path.ts';
import { ControlServer } from '../../device/main/control-server.ts';
import { loneAdapter, type Topology } from '../../device/main/topology.ts';
import { READY } from '../../qemu/device-child.ts';
import { provideLibrary } from '../../qemu/setup/library.ts';
import { adapterArguments, readAdapterOptions, readLinks, readOrdering } from './adapter-arguments.ts';
import { type Arguments, type Command, UsageError } from './command.ts';
import { LOG_LEVELS, makeLog } from './log.ts';
import { readTopologyFile } from './topology-file.ts';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export const deviceCommand: Command = {
  name: 'device',
  summary: 'runs an adapter that a QEMU guest can attach',
  operands: '',
  options: {
    socket: { type: 'string', value: 'PATH', description: 'The vfio-user socket QEMU connects to' },
    control: {
      type: 'string',
      value: 'PATH',
      description: 'The control socket, for `vuhca status` and `vuhca capture` (default: one they find by themselves)',
    },
    topology: {
      type: 'string',
      value: 'FILE',
      description: 'Several adapters with their sockets and links, instead of one by --socket; see docs/TOPOLOGY.md',
    },
    record: { type: 'string', value: 'FILE', description: 'Records the whole session, for `vuhca replay`' },
    ...adapterArguments,
    'log-level': { type: 'string', value: 'LEVEL', description: `${LOG_LEVELS.join(', ')} (default info)` },
    inspect: {
      type: 'string',
      value: 'HOST:PORT',
      bare: '127.0.0.1:9229',
      description: 'Lets a debugger attach; see docs/DEBUGGING.md',
    },
  },
  notes: [
    'Prints `listening on SOCKET` when a guest may attach:',
    '  qemu-system-x86_64 -machine q35,memory-backend=ram -object memory-backend-memfd,id=ram,size=1G,share=on \\',
    `    -device '{"driver":"vfio-user-pci","socket":{"type":"unix","path":"SOCKET"}}' ...`,
    'SIGTERM or SIGINT ends it.',
  ],
  run: runDevice,
};

async function runDevice(args: Arguments): Promise<number> {
  const plan = readTopology(args);
  const ordering = readOrdering(args);
  const log = makeLog(args.choice('log-level', LOG_LEVELS) ?? 'info');
  openInspector(args.text('inspect'));
  const ended = whenAsked();
  const recordPath = args.text('record');
  const library = await provideLibrary();
  const controlPath = args.text('control') ?? defaultControlPath();
  const links = plan.links.map((link) =>
    'port' in link ? { ...link, log: (line: string) => log.warn({}, line) } : link,
  );
  const process_ = new AdapterProcess({
    libraryPath: library.path,
    topology: { ...plan, links },
    ordering,
    log,
    ...(recordPath === undefined ? {} : { recordPath }),
  });
  try {
    await process_.start();
    const commands = new ControlCommands(process_, process.pid);
    const control = new ControlServer(controlPath, commands.table, (error) =>
      log.error({ err: error, control: controlPath }, 'the control socket failed'),
    );
    const sockets = plan.adapters.flatMap((adapter) => adapter.sockets);
    process.stdout.write(`${READY} ${sockets.join(' ')} control ${controlPath}\n`);
    const signal = await ended;
    log.info({}, `ending: ${signal}`);
    control.close();
    await commands.close();
  } finally {
    process_.close();
  }
  // Nothing is left to wait for, not even a debugger.
  process.exit(0);
}

/** What is to be served. Throws UsageError. */
function readTopology(args: Arguments): Topology {
  const file = args.text('topology');
  if (file === undefined) return loneAdapter(args.required('socket'), readAdapterOptions(args), readLinks(args));
  const other = ['socket', ...Object.keys(adapterArguments)].find((name) => args.has(name));
  if (other !== undefined) throw new UsageError(`option --${other} cannot be given with --topology: the file says it`);
  const topology = readTopologyFile(file);
  const objection = args.has('record') ? findRecordingObjection(topology) : undefined;
  if (objection !== undefined) throw new UsageError(`option --record: ${objection}`);
  return topology;
}

/** Resolves with the signal that asks the process to end. */
function whenAsked(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.once(signal, () => resolve(signal));
  });
}

/** Opens the debugger's port; `wait` holds until one has attached. Throws UsageError. */
export function openInspector(where: string | undefined, wait = false): void {
  if (where === undefined) return;
  const [, host = '127.0.0.1', port] = /^(?:(.*):)?(\d+)$/.exec(where) ?? [];
  if (port === undefined || Number(port) > 65535)
    throw new UsageError(`option --inspect is ${where}; it must be PORT or HOST:PORT`);
  try {
    inspector.open(Number(port), host, wait);
  } catch (error) {
    throw new UsageError(`the debugger's port ${where} cannot be had: ${(error as Error).message}`);
  }
}
