// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter of the benchmark's guest: a process with nothing else in it. `device.ts LIBRARY
 * SOCKET` serves until SIGTERM; then it ends by itself, so that Node can write a profile. Called by
 * processes.ts.
 */
import pino from 'pino';
import { AdapterProcess } from '../../device/process/host/adapter-process.ts';
import { loneAdapter } from '../../device/process/host/topology.ts';

const [libraryPath, socketPath] = process.argv.slice(2);
if (libraryPath === undefined || socketPath === undefined) throw new Error('usage: device.ts LIBRARY SOCKET');
const adapter = new AdapterProcess({
  libraryPath,
  topology: loneAdapter(socketPath),
  log: pino({ level: 'warn' }, pino.destination(2)),
});
process.once('SIGTERM', () => adapter.close());
await adapter.start();
