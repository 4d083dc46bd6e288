// SPDX-License-Identifier: Apache-2.0
/** Status reports of one adapter of several, over the control socket, and what requests cost. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeFabricCommands } from '../../rig/live/served-fabric.ts';
import { ThreeKinds } from '../../rig/mixed/three-kinds.ts';
import { ControlClient } from './control-client.ts';
import { ControlServer } from './control-server.ts';

/** A client of a process with adapters m, v and n at switch s. */
async function connect(t: Test): Promise<ControlClient> {
  const { machine, built } = new ThreeKinds();
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-test-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const commands = makeFabricCommands({ machine, built, adapterNames: ['m', 'v', 'n'], switchNames: ['s'] });
  const events = { failed: () => {}, threw: (where: string, error: unknown) => t.fail(where, { error }) };
  const server = new ControlServer(join(directory, 'control'), commands, events);
  t.teardown(() => server.close());
  return ControlClient.connect(server.path);
}

t.test('the status of one adapter is its part of the status of all', async (t) => {
  const client = await connect(t);
  const all = await client.request('status');
  const lists = ['adapters', 'personalities'] as const;
  t.same(
    lists.map((list) => all[list].map(({ name }) => name)),
    [['v'], ['m', 'n']],
  );
  for (const list of lists) {
    for (const report of all[list]) {
      const others = { adapters: [], personalities: [] };
      t.same(await client.request('status', { adapter: report.name }), { ...all, ...others, [list]: [report] });
    }
  }
  await t.rejects(client.request('status', { adapter: 'x' }), { message: /there is no adapter x; there are m, v, n$/ });
  await t.rejects(client.request('status', { adapter: 1 }), { message: /adapter must be a string/ });
  client.close();
});

t.test('a client learns what its requests have cost', async (t) => {
  const client = await connect(t);
  t.equal(client.spentNs, 0);
  const spent: number[] = [];
  for (let count = 0; count < 20; count++) {
    await client.request('status');
    spent.push(client.spentNs);
  }
  t.same(
    spent,
    spent.toSorted((one, other) => one - other),
    'it only grows',
  );
  const { user, system } = process.cpuUsage();
  t.ok(
    (spent.at(-1) as number) > 0 && (spent.at(-1) as number) <= (user + system) * 1000,
    'processor time of the adapter',
  );
  await t.rejects(client.request('dance'));
  t.ok(client.spentNs >= (spent.at(-1) as number), 'a refusal costs, too');
  client.close();
});
