// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca device`: the adapter process. Each function serves one guest at a time on its
 * socket until a signal ends the process, which then removes its sockets. `vuhca run` starts it as
 * a child; users of their own QEMU call it.
 */
import { AdapterProcess, findRecordingObjection } from '../../device/main/adapter-process.ts';
import { ControlCommands } from '../../device/main/control-commands.ts';
import { defaultControlPath } from '../../device/main/control-path.ts';
import { ControlServer } from '../../device/main/control-server.ts';
import { loneNode, type Topology } from '../../device/main/topology.ts';
import { provideLibrary } from '../../qemu/setup/library.ts';
import { givenAdapterOptions, isGiven } from './adapter-arguments.ts';
import { readFabric, readLinks, readOrdering } from './adapter-options.ts';
import type { CliCommand } from './cli-command.ts';
import { type DeviceArguments, READY } from './device-command.ts';
import { openInspector } from './inspector.ts';
import { makeLog } from './log.ts';
import { readLoneNode } from './personality.ts';
import { readTopologyFile } from './topology-file.ts';
import { UsageError } from './usage-error.ts';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export async function performDevice(command: CliCommand): Promise<number> {
  const given = command.opts<DeviceArguments>();
  const plan = readTopology(command, given);
  const log = makeLog(given.logLevel);
  openInspector(given.inspect);
  const ended = whenAsked();
  const library = await provideLibrary();
  const controlPath = given.control ?? defaultControlPath();
  const links = plan.links.map((link) =>
    'port' in link ? { ...link, log: (line: string) => log.warn({}, line) } : link,
  );
  const process_ = new AdapterProcess({
    libraryPath: library.path,
    topology: { ...plan, links },
    ordering: readOrdering(given),
    log,
    ...(given.ibsim === undefined ? {} : { doorPort: given.ibsim }),
    ...(given.record === undefined ? {} : { recordPath: given.record }),
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
  // An attached debugger would keep the process.
  process.exit(0);
}

/** The adapters, sockets and links to serve. Throws UsageError. */
function readTopology(command: CliCommand, given: DeviceArguments): Topology {
  const { socket, topology: file, record } = given;
  if (record !== undefined && given.ibsim !== undefined)
    throw new UsageError('option --record cannot be given with --ibsim: a recording has nothing of what clients send');
  if (file === undefined) {
    if (socket === undefined) throw new UsageError('option --socket is missing; give it, or --topology');
    return loneNode(socket, readLoneNode(command, given), readLinks(given), readFabric(given, 'cable'));
  }
  const own = isGiven(command, '--personality') ? '--personality' : givenAdapterOptions(command)[0]?.long;
  const other = socket === undefined ? own : '--socket';
  if (other !== undefined) throw new UsageError(`option ${other} cannot be given with --topology: the file says it`);
  const topology = readTopologyFile(file);
  const objection = record === undefined ? undefined : findRecordingObjection(topology);
  if (objection !== undefined) throw new UsageError(`option --record: ${objection}`);
  return topology;
}

/** Resolves with the signal that asks the process to end. */
function whenAsked(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.once(signal, () => resolve(signal));
  });
}
