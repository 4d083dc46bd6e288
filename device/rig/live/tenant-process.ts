// SPDX-License-Identifier: Apache-2.0
/**
 * A guest that sends messages until it is killed: `tenant-process.ts SOCKET SEED`. Started by
 * linked-process.ts.
 */
import { writeSync } from 'node:fs';
import { LiveTenant } from './tenant.ts';

const [socketPath, seed] = process.argv.slice(2);
if (socketPath === undefined) throw new Error('usage: tenant-process.ts SOCKET SEED');
const tenant = new LiveTenant(socketPath, Number(seed));
tenant.beginCommand();
tenant.work();
writeSync(1, 'ready\n');
for (;;) tenant.work();
