// SPDX-License-Identifier: Apache-2.0
/**
 * The portable suite on an adapter in another process, and the suite of two ends on adapters in two
 * processes joined by a socket.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { portableCases, runPortableCase } from '../../rig/conformance/portable-suite.ts';
import { runTwoEndsCase, twoEndsCases } from '../../rig/conformance/two-ends/suite.ts';
import { startAdapter } from '../../rig/live/linked-process.ts';
import { ProcessPair } from '../../rig/live/process-pair.ts';
import { VfioUserAccess } from '../../rig/live/vfio-user-access.ts';

t.test('one process', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-one-'));
  const socketPath = join(directory, 'vfio-user');
  const child = await startAdapter(socketPath, 0);
  const access = new VfioUserAccess(socketPath);
  t.teardown(async () => {
    access.close();
    await child.kill();
    rmSync(directory, { recursive: true });
  });
  for (const portable of portableCases) {
    t.test(portable.name, async (t) => {
      runPortableCase(portable, access);
      t.pass('nothing was wrong');
    });
  }
});

t.test('two processes', async (t) => {
  const pair = await ProcessPair.start(t);
  for (const twoEnds of twoEndsCases) {
    t.test(twoEnds.name, async (t) => {
      runTwoEndsCase(twoEnds, pair.place(0), pair.place(1));
      t.pass('nothing was wrong');
    });
  }
});
