// SPDX-License-Identifier: Apache-2.0
/** Socket paths that a device accepts, and its messages about the others. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import koffi from 'koffi';
import t from 'tap';
import { claimSocketPath } from './socket-path.ts';
import { DeviceProgram, PROBE_PROGRAM } from './test-support/device-program.ts';
import { libraryPath } from './test-support/library.ts';
import { PROBE } from './test-support/probe-layout.ts';

t.test('a socket of datagrams is left to its program', async (t) => {
  const path = join(mkdtempSync(join(tmpdir(), 'vfu-')), 'log');
  const libc = koffi.load(null);
  const fd = libc.func('int socket(int domain, int type, int protocol)')(1, 2, 0) as number;
  const address = Buffer.alloc(110);
  address.writeUInt16LE(1);
  address.write(path, 2);
  t.equal(libc.func('int bind(int fd, const uint8_t *address, uint32_t length)')(fd, address, 110), 0);
  t.throws(() => claimSocketPath(path), { message: /in use by a running server/ });
  t.ok(existsSync(path));
  libc.func('int close(int fd)')(fd);
  claimSocketPath(path);
  t.notOk(existsSync(path), 'its program has ended');
});

t.test('the socket path', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'vfu-'));
  await using dead = await DeviceProgram.start();
  await dead.stop('SIGKILL');
  t.ok(existsSync(dead.sockets[0]), 'a killed device leaves its socket file');
  const taken = await run(['--socket', dead.sockets[0]], { untilServing: true });
  t.equal(taken.code, 0, `the next device takes over its path: ${taken.stderr}`);

  await using live = await DeviceProgram.start();
  const client = live.connect();
  const plain = join(directory, 'file');
  writeFileSync(plain, 'precious');
  const locked = join(directory, 'locked');
  mkdirSync(locked);
  chmodSync(directory, 0o755);
  chmodSync(locked, 0o555);
  const refused: [string, string, RegExp][] = [
    ['in use', live.sockets[0], /in use by a running server/],
    ['too long', join(directory, 'x'.repeat(108)), /at most 107 fit/],
    ['no directory', join(directory, 'absent', 's'), /does not exist.*mkdir -m 0700/],
    ['below a file', join(plain, 's'), /is not a directory/],
    ['a file', plain, /is no socket/],
  ];
  for (const [what, path, expected] of refused) t.throws(() => claimSocketPath(path), { message: expected }, what);
  const second = await run(['--socket', live.sockets[0]]);
  t.equal(second.code, 1);
  t.match(second.stderr, /in use by a running server/);
  t.notMatch(second.stderr, / at .*\.ts:/, 'a sentence, no stack trace');
  t.match(claimAsNobody(join(locked, 's')), /is not writable: choose one you own/);
  t.equal(client.read32(0, 0), PROBE.identityValue, 'the running server is not affected');
  client.close();
  const foreign = createServer().listen(join(directory, 'foreign'));
  await delay(50);
  t.throws(() => claimSocketPath(join(directory, 'foreign')), { message: /in use by a running server/ });
  foreign.close();
});

/** Runs the probe device to its end; `untilServing` sends SIGTERM as soon as it serves. */
async function run(args: string[], options: { untilServing?: boolean } = {}) {
  const child = spawn(process.execPath, ['--import=#typescript', PROBE_PROGRAM, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LIBVFIO_USER: libraryPath() },
  });
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += data;
    if (options.untilServing && stderr.includes('serving')) child.kill('SIGTERM');
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { code, stderr };
}

/**
 * Error of `claimSocketPath` for a user without write access. The user changes after the import: it
 * may not be able to read the sources of a checkout in a private folder.
 */
function claimAsNobody(path: string): string {
  const module = new URL('socket-path.ts', import.meta.url).href;
  const claim = `if (process.getuid() === 0) process.setuid(65534); it.claimSocketPath('${path}')`;
  const script = `import('${module}').then((it) => { ${claim}; }).catch((e) => console.log(e.message))`;
  return spawnSync(process.execPath, ['--import=#typescript', '-e', script], { encoding: 'utf8' }).stdout;
}
