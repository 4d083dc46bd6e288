// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca device`: the adapter process. Each function serves one guest at a time on its
 * socket until a signal or an exception ends the process, which removes its sockets in either case.
 * `vuhca run` starts it as a child; users call it for a QEMU of their own.
 */

import { ControlCommands } from '../../../device/process/control/control-commands.ts';
import { defaultControlPath, findControlPaths } from '../../../device/process/control/control-path.ts';
import { ControlServer } from '../../../device/process/control/control-server.ts';
import { AdapterProcess } from '../../../device/process/host/adapter-process.ts';
import { loneDevice, portNamesOf, slotsOf, type Topology } from '../../../device/process/host/topology.ts';
import { provideLibrary } from '../../../qemu/setup/library.ts';
import { givenOfAdapter, isGiven, readSpin } from '../options/adapter-arguments.ts';
import { readFabric, readOrdering } from '../options/adapter-options.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { openInspector } from '../options/inspector.ts';
import { checkOutput } from '../options/named-files.ts';
import { BYTES_PER_MIB } from '../options/option-values.ts';
import { readLoneDevice } from '../options/personality.ts';
import { readLinks } from '../options/socket-links.ts';
import { UsageError } from '../options/usage-error.ts';
import { Ends } from '../session/device-ends.ts';
import { makeLog } from '../session/log.ts';
import { takeSignals } from '../session/signals.ts';
import { startView } from '../session/view-child.ts';
import { readTopologyFile } from '../topology/topology-file.ts';
import { type DeviceArguments, READY, SLOT } from './device-command.ts';
import { PAGE_IS_AT } from './view-command.ts';

/** Time for the last packets of a capture after the adapter has failed. */
const CAPTURE_BOUND_MS = 2000;

export async function performDevice(command: CliCommand): Promise<number> {
  const given = command.opts<DeviceArguments>();
  const plan = readTopology(command, given);
  const log = makeLog(given.logLevel);
  openInspector(given.inspect);
  const library = await provideLibrary();
  // Until then nothing is open, and a signal ends the process at once.
  const { whenAsked } = takeSignals();
  const ends = new Ends(log);
  const controlPath = given.control ?? (await chooseControlPath());
  const links = plan.links.map((link) =>
    'port' in link ? { ...link, log: (line: string) => log.warn({}, line) } : link,
  );
  const process_ = new AdapterProcess({
    libraryPath: library.path,
    topology: { ...plan, links },
    ordering: readOrdering(given),
    spinUs: readSpin(given.spin),
    log,
    ...(given.stepwise === true && { isStepwise: true }),
    ...(given.ibsim === undefined ? {} : { doorPort: given.ibsim }),
    ...(given.record === undefined
      ? {}
      : { recordPath: given.record, recordLimitBytes: given.recordLimit * BYTES_PER_MIB }),
    onFailure: (where, error) => ends.failed({ where, error }),
  });
  ends.process = process_;
  const commands = new ControlCommands(process_, process.pid, (line) => log.warn({}, line));
  const open = async (): Promise<void> => {
    await process_.start();
    ends.control = new ControlServer(controlPath, commands.table, {
      failed: (error) => log.error({ err: error, control: controlPath }, 'the control socket failed'),
      threw: (where, error) => process_.fail(where, error),
    });
    const sockets = plan.adapters.flatMap((adapter) => adapter.sockets);
    const slots = slotsOf(plan).map((slot) => `${SLOT} ${slot.join(' ')}\n`);
    process.stdout.write(`${slots.join('')}${READY} ${sockets.join(' ')} control ${controlPath}\n`);
    if (given.view !== undefined) process.stdout.write(`${PAGE_IS_AT} ${await startView(controlPath, given.view)}\n`);
    log.info({}, `ending: ${await whenAsked}`);
    await commands.close();
  };
  try {
    await Promise.race([open(), ends.whenFailed.then(() => closeInTime(commands))]);
  } finally {
    ends.close();
  }
  // An attached debugger would keep the process alive.
  process.exit(ends.status);
}

/**
 * The path in the folder where other commands find it; leftovers of killed adapters are removed.
 */
async function chooseControlPath(): Promise<string> {
  const path = defaultControlPath();
  await findControlPaths();
  return path;
}

/** A capture writes its packets, unless the capture itself has failed. */
async function closeInTime(commands: ControlCommands): Promise<void> {
  const bound = new Promise((done) => setTimeout(done, CAPTURE_BOUND_MS));
  await Promise.race([commands.close().catch(() => {}), bound]);
}

/** The adapters, sockets and links to serve. Throws UsageError. */
function readTopology(command: CliCommand, given: DeviceArguments): Topology {
  const { socket, topology: file, record } = given;
  if (record !== undefined && given.ibsim !== undefined)
    throw new UsageError('option --record cannot be given with --ibsim: a recording has nothing of what clients send');
  if (file === undefined) {
    if (socket === undefined) throw new UsageError('option --socket is missing; give it, or --topology');
    const nodes = readLoneDevice(command, given);
    return loneDevice(socket, nodes, readLinks(given, portNamesOf(nodes)), readFabric(given, 'cable'));
  }
  const own = isGiven(command, '--personality') ? '--personality' : givenOfAdapter(command)[0]?.long;
  const other = socket === undefined ? own : '--socket';
  if (other !== undefined) throw new UsageError(`option ${other} cannot be given with --topology: the file says it`);
  const topology = readTopologyFile(file);
  if (record !== undefined) checkOutput('option --record', record, [file]);
  return topology;
}
