// SPDX-License-Identifier: Apache-2.0
/**
 * An adapter whose port 1 is linked to another process: `linked-device.ts LIBRARY SOCKET INDEX
 * listen|connect LINK`; without role and link its ports are cabled to each other. Serves until it
 * is killed. Only this file of these tests builds an adapter process. Called by linked-process.ts.
 */
import pino from 'pino';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import { AdapterProcess } from '../../process/host/adapter-process.ts';
import { loneAdapter } from '../../process/host/topology.ts';
import { LONE_NAME } from '../../topology/lone-fabric.ts';

const [libraryPath, socketPath, index, role, path] = process.argv.slice(2);
if (!libraryPath || !socketPath) throw new Error('usage: linked-device.ts LIBRARY SOCKET INDEX [listen|connect LINK]');
const isLinked = path !== undefined && (role === 'listen' || role === 'connect');
const number = Number(index);
const options = {
  ...defaultAdapterOptions,
  portLids: [number * 2 + 1, number * 2 + 2] as const,
  nodeGuid: `005655484341${number}000`,
};
const link = {
  port: `${LONE_NAME}:1`,
  role: role as 'listen' | 'connect',
  endpoint: { path },
  retryMs: 5,
  retryMaxMs: 40,
};
const adapter = new AdapterProcess({
  libraryPath,
  topology: loneAdapter(socketPath, options, isLinked ? [link] : []),
  log: pino({ level: 'warn' }, pino.destination(2)),
});
await adapter.start();
process.stdout.write('ready\n');
