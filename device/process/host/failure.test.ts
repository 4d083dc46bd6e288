// SPDX-License-Identifier: Apache-2.0
/**
 * Whatever throws in an adapter process ends it: in each stage of a pass, in each call of a guest
 * on its function, in the log, at the start. No socket is left, the owner is told once, and guests
 * read ones. A command of the control socket throws only refusals, whatever its parameters are.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { COMMAND, pack } from '../../../protocol/vfio-user/client/wire.ts';
import type { LogTarget } from '../../../protocol/vfio-user/index.ts';
import { libraryPath } from '../../../protocol/vfio-user/test-support/library.ts';
import { PostingClient, until } from '../../../protocol/vfio-user/test-support/posting-client.ts';
import { Adapter } from '../../hca/adapter/adapter.ts';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import { Replay } from '../../hosts/replay.ts';
import { ControlCommands } from '../control/control-commands.ts';
import { AdapterProcess, type ServedAdapter } from './adapter-process.ts';
import { loneAdapter } from './topology.ts';

const ONES = 0xffff_ffff;
const READS = 3;
const REGISTER_BAR = 0;

interface Failing {
  readonly process: AdapterProcess;
  readonly adapter: ServedAdapter;
  readonly failures: [where: string, message: string][];
  readonly sockets: readonly string[];
  readonly recordPath: string;
  connect(index: number): Promise<PostingClient>;
}

const silent: LogTarget = { level: 'error', debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-fail-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** An adapter with two functions, a door and a recording. */
async function start(t: Test, log: LogTarget = silent): Promise<Failing> {
  const directory = makeDirectory(t);
  const failures: [string, string][] = [];
  const topology = loneAdapter(join(directory, 'a'), { ...defaultAdapterOptions, functionCount: 2 });
  const recordPath = join(directory, 'rec');
  const process = new AdapterProcess({
    libraryPath: libraryPath(),
    topology,
    recordPath,
    log,
    onFailure: (where, error) => failures.push([where, (error as Error).message]),
  });
  await process.start();
  const clients: PostingClient[] = [];
  t.teardown(() => {
    process.close();
    for (const client of clients) client.close();
  });
  const connect = async (index: number): Promise<PostingClient> => {
    const { context } = process.served[0].hosts[index];
    const client = new PostingClient(context);
    clients.push(client);
    await client.attach(context, () => failures.length > 0);
    return client;
  };
  const { sockets } = topology.adapters[0];
  return { process, adapter: process.adapters[0], failures, sockets, recordPath, connect };
}

/** Replaces a method by one that throws. */
function plant<Name extends string>(unit: Record<Name, unknown>, name: Name): void {
  unit[name] = () => {
    throw new Error('planted');
  };
}

/** What a pass calls, in the order of `Adapter.run`. */
const stages: Record<string, (adapter: Adapter) => void> = {
  expire: ({ engine }) => plant(engine, 'expire'),
  adjust: ({ shareAdjuster }) => plant(shareAdjuster, 'run'),
  manage: ({ pending }) => plant(pending, 'manage'),
  schedule: ({ scheduler }) => plant(scheduler, 'serve'),
  transmit: ({ engine }) => plant(engine, 'transmit'),
  contexts: ({ sendContexts }) => plant(sendContexts, 'run'),
  carry: ({ links }) => plant(links, 'carry'),
  receive: ({ links }) => plant(links, 'receive'),
  'settle transport': ({ engine }) => plant(engine, 'settle'),
  'settle links': ({ links }) => plant(links, 'settle'),
  moderate: ({ moderation }) => plant(moderation, 'run'),
  interrupt: ({ pending }) => plant(pending, 'flushVectors'),
};

for (const [name, plantIn] of Object.entries(stages))
  t.test(`a pass throws: ${name}`, async (t) => {
    const { process, adapter, failures, sockets, connect } = await start(t);
    const clients = [await connect(0), await connect(1)];
    plantIn(adapter.core);
    // The pass comes after the clients are served; these requests come in the pass itself.
    const { run } = adapter.core;
    adapter.core.run = (budget) => {
      for (const client of clients) client.postReads(READS);
      return run.call(adapter.core, budget);
    };
    process.pump.wake();
    await until(() => failures.length > 0);
    t.same(failures, [['a pass', 'planted']]);
    t.same(sockets.filter(existsSync), []);
    for (const client of clients) t.same(client.takeReads(), Array(READS).fill(ONES));
  });

const regionRead = (bar: number) => (client: PostingClient) =>
  void client.client.post(COMMAND.regionRead, pack('qww', 0, bar, 4), [], 0);
const regionWrite = (bar: number) => (client: PostingClient) =>
  void client.client.post(COMMAND.regionWrite, pack('qwww', 0, bar, 4, 0), [], 0);

/** The calls of a guest on its function, and what makes a client cause them. */
const calls: Record<string, (client: PostingClient) => void> = {
  readRegister: regionRead(REGISTER_BAR),
  writeRegister: regionWrite(REGISTER_BAR),
  writeCollect: regionWrite(2),
  writePio: regionWrite(4),
  reset: ({ client }) => void client.post(COMMAND.reset, new Uint8Array(0), [], 0),
  setBusMaster: ({ client }) => void client.post(COMMAND.regionWrite, pack('qwwh', 4, 7, 2, 6), [], 0),
  memoryMapped: ({ client }) => void client.post(COMMAND.dmaMap, pack('wwqqq', 32, 3, 0, 4096, 4096), [], 0),
};

for (const [name, cause] of Object.entries(calls))
  t.test(`an access throws: ${name}`, async (t) => {
    const { adapter, failures, sockets, connect } = await start(t);
    const [client, other] = [await connect(0), await connect(1)];
    plant(adapter.core.functions[0] as unknown as Record<string, unknown>, name);
    cause(client);
    client.postReads(READS);
    other.postReads(READS);
    await until(() => failures.length > 0);
    t.equal(failures.length, 1);
    t.ok(failures[0][0].includes(sockets[0]), `${failures[0][0]} names the function`);
    t.equal(failures[0][1], 'planted');
    t.same(sockets.filter(existsSync), []);
    const mine = client.takeReads();
    t.equal(mine.length, READS + (name === 'readRegister' ? 1 : 0));
    t.ok(
      mine.every((value) => value === ONES),
      'ones from then on',
    );
    t.equal(other.takeReads().length, READS);
  });

t.test('what is recorded before a failure replays', async (t) => {
  const { process, adapter, failures, recordPath, connect } = await start(t);
  await connect(0);
  plant(adapter.core.scheduler, 'serve');
  process.pump.wake();
  await until(() => failures.length > 0);
  const replay = new Replay(readFileSync(recordPath), (options, clock, hosts) => new Adapter(options, clock, hosts));
  t.match(replay.run(), { truncated: true, divergence: undefined });
});

t.test('the log throws', async (t) => {
  const line = (): void => {
    throw new Error('planted');
  };
  const { failures, sockets, connect } = await start(t, {
    level: 'info',
    debug: line,
    info: line,
    warn: line,
    error: line,
  });
  await connect(0);
  t.match(failures, [[/./, 'planted']]);
  t.same(sockets.filter(existsSync), []);
});

t.test('the adapter cannot be built', async (t) => {
  const directory = makeDirectory(t);
  const path = join(directory, 'a');
  const topology = loneAdapter(path, { ...defaultAdapterOptions, pcbCount: -1 });
  t.throws(() => new AdapterProcess({ libraryPath: libraryPath(), topology, log: silent }));
  t.notOk(existsSync(path));
});

t.test('commands refuse what is wrong and throw nothing else', async (t) => {
  const { process, failures } = await start(t);
  const { table } = new ControlCommands(process, 1, () => {});
  const odd: unknown[] = [null, true, -1, 0.5, 1e300, '', 'x', [], [1], {}, { toString: 1 }, '__proto__', 2 ** 53];
  const names = ['adapter', 'first', 'view', 'function', 'qp', 'process', 'words', 'path', 'port', 'direction'];
  names.push('count', 'limitBytes', 'rule', 'bytes', 'blocksLog2', 'snapLength', 'keepNs', 'position', 'part');
  names.push('stepsLog2', 'trace', 'cause', 'stopOnError', 'rules');
  for (const [command, perform] of table)
    for (const name of names)
      for (const value of odd) {
        const parameters = { view: 'queues', qp: 1, [name]: value };
        try {
          perform({ version: 1, id: 1, command, parameters }, { onClose: () => {} });
        } catch (error) {
          if ((error as Error).name !== 'Refusal') t.fail(`${command} ${JSON.stringify(parameters)}: ${error}`);
        }
      }
  t.same(failures, []);
  t.ok(table.size > 20);
});
