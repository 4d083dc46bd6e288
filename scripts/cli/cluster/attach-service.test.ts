// SPDX-License-Identifier: Apache-2.0
/**
 * Places of a cluster for guests of `vuhca run --attach`: taken once, free again when the client
 * has ended or has gone, lost with the adapter process. No guest runs; cluster.long.ts has guests.
 */
import { mkdirSync } from 'node:fs';
import t, { type Test } from 'tap';
import type { DeviceChild } from '../../../qemu/device-child.ts';
import { claimPlace, placeOf } from '../cluster-client/cluster-place.ts';
import type { ClusterRequest } from '../cluster-client/cluster-protocol.ts';
import { PlaceLease, readPlaceName } from '../cluster-client/place-lease.ts';
import { makeDirectory } from '../testing/directory.ts';
import { runWords } from '../testing/run-words.ts';
import { holdPlace } from './attach-service.ts';
import { Cluster } from './cluster.ts';
import { readCluster } from './cluster-file.ts';
import { ClusterNode } from './cluster-node.ts';
import { ClusterServer } from './cluster-server.ts';

const folder = makeDirectory(t);
process.env.XDG_RUNTIME_DIR = folder;

const nothing = (): void => {};

/** A cluster with an adapter process, a node that has not booted, and a free place. */
async function startCluster(t: Test, name: string): Promise<Cluster> {
  const shape = readCluster({ nodes: 1, personality: 'mlx5', cpus: 1, tcgThread: 'multi', packages: [] });
  const topology = {
    adapters: {
      node1: { personality: 'mlx5', sockets: ['node1.sock'] },
      door: { personality: 'mthca', orderCheck: true, sockets: ['door.sock'] },
      hatch: { personality: 'vuhca', pollsPause: true, sockets: ['hatch.sock'] },
    },
    links: [{ ports: ['node1:1', 'door:1'] }, { ports: ['door:2', 'hatch:1'] }],
  };
  const cluster = await Cluster.start(
    { ...shape, name, free: ['door', 'hatch'], topology, silenceSeconds: 60, deviceArguments: ['--log-level=error'] },
    { say: nothing, log: nothing, logNode: nothing },
  );
  const place = placeOf(name);
  mkdirSync(folder, { recursive: true });
  const server = await claimPlace(place, () =>
    ClusterServer.listen(place.socketPath, async (request: ClusterRequest, client) => {
      if (request.command === 'attach') return holdPlace(cluster, request, client);
      return cluster.report(place);
    }),
  );
  t.teardown(async () => {
    await cluster.end();
    await server.close();
  });
  return cluster;
}

const stateOf = async (cluster: Cluster) => (await cluster.report(placeOf(cluster.spec.name))).free[0];

t.test('the name of a place', (t) => {
  t.same(readPlaceName('lab:node2'), { cluster: 'lab', node: 'node2' });
  t.same(readPlaceName('node2'), { cluster: 'default', node: 'node2' });
  for (const text of ['a:b:c', ':b', 'a:'])
    t.throws(() => readPlaceName(text), { message: `option --attach is ${text}; it must be CLUSTER:NODE` });
  t.end();
});

t.test('a place is taken once, and free again after its guest', async (t) => {
  const cluster = await startCluster(t, 'one');
  const lease = await PlaceLease.take({ cluster: 'one', node: 'door' });
  t.match(lease.place, {
    personality: 'mthca',
    orderCheck: true,
    tcgThread: 'multi',
    control: cluster.device.controlPath,
    devices: [{ socketPath: cluster.device.socketPath('door.sock') }],
  });
  t.match(await stateOf(cluster), { state: 'taken', why: `by a guest of process ${process.pid}` });
  await t.rejects(PlaceLease.take({ cluster: 'one', node: 'door' }), {
    message: `place door is taken by a guest of process ${process.pid}: end that first`,
  });
  t.equal(await lease.end(), undefined);
  t.match(await stateOf(cluster), { state: 'free' });
  const again = await PlaceLease.take({ cluster: 'one', node: 'door' });
  again.close();
  const hatch = await PlaceLease.take({ cluster: 'one', node: 'hatch' });
  t.match(hatch.place, { personality: 'vuhca', orderCheck: false, tcgThread: 'single' });
  hatch.close();
  while ((await stateOf(cluster)).state !== 'free') await new Promise((done) => setImmediate(done));
  await t.rejects(PlaceLease.take({ cluster: 'one', node: 'node9' }), {
    message: 'cluster one has no node node9; it has node1, door',
  });
  await t.rejects(PlaceLease.take({ cluster: 'one', node: 'node1' }), {
    message: 'cluster one is not up yet: wait for `vuhca cluster up`',
  });

  await t.test('what `vuhca run` refuses', async (t) => {
    const mistakes: [status: number, words: string[], stderr: RegExp][] = [
      [1, ['none:node1'], /no cluster none is running; these run: one/],
      [1, ['node1'], /no cluster default is running; these run: one/],
      [1, ['one:node9'], /cluster one has no node node9; it has node1, door/],
      [2, ['a/b:node1'], /option --attach is a\/b; it must have 1 to 31 letters/],
      [2, ['one:door', '--personality', 'mlx5'], /--personality is mlx5, and the adapter of door is mthca: leave it/],
      [2, ['one:door', '--link', '1=listen:x'], /option --link cannot be given with --attach: the cluster has the ad/],
      [2, ['one:door', '--topology', 'x'], /option --topology cannot be given with --attach/],
      [2, ['one:door', '--record', 'x'], /option --record cannot be given with --attach/],
      [2, ['one:door', '--packages', 'gcc'], /option --packages adds to Debian's user space/],
    ];
    for (const [status, words, stderr] of mistakes)
      t.match(await runWords(['run', '--attach', ...words]), { status, stdout: '', stderr }, words.join(' '));
    while ((await stateOf(cluster)).state !== 'free') await new Promise((done) => setImmediate(done));
  });

  const held = await PlaceLease.take({ cluster: 'one', node: 'door' });
  await cluster.device.kill();
  t.equal(await held.whenLost, 'the adapter process ended (SIGKILL), so the guest was ended');
  t.equal(await held.end(), 'the adapter process ended (SIGKILL), so the guest was ended');
  await t.rejects(PlaceLease.take({ cluster: 'one', node: 'door' }), { message: /^the adapter process ended/ });
});

t.test('a cluster that is ended takes its places along', async (t) => {
  const cluster = await startCluster(t, 'two');
  const lease = await PlaceLease.take({ cluster: 'two', node: 'door' });
  await cluster.end();
  t.equal(await lease.whenLost, 'cluster two was ended, and the guest with it');
});

t.test('a node whose place is taken neither starts nor stops', async (t) => {
  const spec = readCluster({ nodes: 1, personality: 'mlx5', cpus: 1, tcgThread: 'multi', packages: [] }).nodes[0];
  const node = new ClusterNode(spec, [], {
    device: undefined as unknown as DeviceChild,
    prepare: () => Promise.reject(new Error('not prepared')),
    words: () => '',
    privateKey: '',
    silenceSeconds: 1,
    log: nothing,
    say: nothing,
  });
  node.take(7);
  const taken = { message: 'node node1 is taken by a guest of process 7: end that first' };
  await t.rejects(node.start(), taken);
  await t.rejects(node.stop(), taken);
  t.throws(() => node.take(8), taken);
  t.throws(() => node.shell, { message: 'node node1 is taken by a guest of process 7, which has no shell of ours' });
  await node.stop(true);
  t.equal(node.state, 'taken');
  node.leave();
  t.equal(node.state, 'stopped');
  await node.start();
  t.match(node, { state: 'failed', why: 'not prepared' });
});
