// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter as the benchmark's guest meets it: a process of its own with nothing else in it. `device.ts LIBRARY SOCKET` serves until SIGTERM;
 * ending by itself afterwards lets Node write a profile when one was asked for. Called by processes.ts.
 */
import pino from 'pino';
import { AdapterProcess } from '../../device/main/adapter-process.ts';
import { loneAdapter } from '../../device/main/topology.ts';

const [libraryPath, socketPath] = process.argv.slice(2);
if (libraryPath === undefined || socketPath === undefined) throw new Error('usage: device.ts LIBRARY SOCKET');
const adapter = new AdapterProcess({
  libraryPath,
  topology: loneAdapter(socketPath),
  log: pino({ level: 'warn' }, pino.destination(2)),
});
process.once('SIGTERM', () => adapter.close());
await adapter.start();
