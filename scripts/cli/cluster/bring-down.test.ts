// SPDX-License-Identifier: Apache-2.0
/** A cluster is brought down however quickly its supervisor ends. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ClusterPlace } from '../cluster-client/cluster-place.ts';
import { makeDirectory } from '../testing/directory.ts';
import { bringDown } from './bring-down.ts';
import { ClusterServer } from './cluster-server.ts';

function makePlace(t: Test): ClusterPlace {
  const folder = join(makeDirectory(t), 'x.cluster');
  mkdirSync(folder);
  const [socketPath, specPath, pidPath, logPath] = ['socket', 'spec', 'pid', 'log'].map((name) => join(folder, name));
  return { name: 'x', folder, socketPath, specPath, pidPath, logPath };
}

t.test('a supervisor whose folder is gone before anybody looks into it', async (t) => {
  const place = makePlace(t);
  const supervisor = spawn('sleep', ['1000']);
  t.teardown(() => supervisor.kill('SIGKILL'));
  writeFileSync(place.pidPath, String(supervisor.pid));
  const server = await ClusterServer.listen(place.socketPath, async () => supervisor.kill('SIGKILL'));
  t.teardown(() => server.close());
  const ended = bringDown(place);
  // The socket goes on listening without its name.
  await new Promise((resolve) => setImmediate(resolve));
  rmSync(place.folder, { recursive: true });
  await ended;
  t.notOk(existsSync(place.folder));
});

t.test('a cluster that is not there', async (t) => {
  const place = makePlace(t);
  await t.rejects(bringDown(place), { name: 'SetupError' });
});
