// SPDX-License-Identifier: Apache-2.0
/**
 * No other user can connect to a socket of the product, whatever mode the process gives to new
 * files: those of functions, control, links, and of a guest's ports. No server listens otherwise.
 */
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { defaultAdapterOptions } from '../../../device/hca/adapter/options.ts';
import { ControlServer } from '../../../device/process/control/control-server.ts';
import { AdapterProcess } from '../../../device/process/host/adapter-process.ts';
import { loneAdapter } from '../../../device/process/host/topology.ts';
import { LONE_NAME } from '../../../device/topology/lone-fabric.ts';
import type { LogTarget } from '../../../protocol/vfio-user/index.ts';
import { libraryPath } from '../../../protocol/vfio-user/test-support/library.ts';
import { GuestPort } from '../../../qemu/guest-port.ts';
import { makeRunDirectory, removeRunDirectory } from '../../../qemu/run-directory.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FOLDERS = ['device', 'guest-tests', 'protocol', 'qemu', 'scripts'];
/** Files that call `listen` of a server, with the reason. */
const mayListen: ReadonlyMap<string, string> = new Map([['protocol/system/private-listen.ts', 'the one function']]);

const silent: LogTarget = { level: 'error', debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Names and modes of the sockets in a folder. */
function listSockets(directory: string): [name: string, mode: string][] {
  return readdirSync(directory)
    .map((name) => ({ name, status: lstatSync(join(directory, name)) }))
    .filter(({ status }) => status.isSocket())
    .map(({ name, status }): [string, string] => [name, (status.mode & 0o777).toString(8)])
    .sort();
}

t.test('sockets have mode 0600 although new files of the process may be open to all', async (t) => {
  const umask = process.umask(0);
  t.teardown(() => process.umask(umask));
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-modes-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const link = {
    port: `${LONE_NAME}:1`,
    role: 'listen' as const,
    endpoint: { path: join(directory, 'link') },
  };
  const adapter = new AdapterProcess({
    libraryPath: libraryPath(),
    topology: loneAdapter(join(directory, 'function'), { ...defaultAdapterOptions, functionCount: 2 }, [link]),
    log: silent,
  });
  t.teardown(() => adapter.close());
  await adapter.start();
  const control = new ControlServer(join(directory, 'control'), new Map(), { failed: () => {}, threw: () => {} });
  t.teardown(() => control.close());
  t.same(listSockets(directory), [
    ['control', '600'],
    ['function', '600'],
    ['function.1', '600'],
    ['link', '600'],
  ]);
  const guest = makeRunDirectory();
  t.teardown(() => removeRunDirectory(guest));
  const port = await GuestPort.listen(join(guest, 'port0'));
  t.teardown(() => port.close());
  t.same(listSockets(guest), [
    ['alive', '600'],
    ['port0', '600'],
  ]);
  t.equal(lstatSync(guest).mode & 0o777, 0o700);
});

t.test('no other code of the product listens', async (t) => {
  const sources = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }).map(({ parentPath, name }) =>
      relative(ROOT, join(parentPath, name)),
    ),
  ).filter((path) => /\.(ts|mjs)$/.test(path) && !/\.(test|long)\.ts$|test-support|\/testing\//.test(path));
  t.ok(sources.length > 500, `${sources.length} files`);
  const listening = sources.filter((path) =>
    /\bserver\.listen\(|createServer\([^;]*\)\.listen\(/i.test(readSource(path)),
  );
  t.same(listening.sort(), [...mayListen.keys()].sort());
});

function readSource(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
