// SPDX-License-Identifier: Apache-2.0
/**
 * The package as a user gets it: packed, installed in an empty folder whose node_modules is then
 * made read-only, and used. The guest's kernel, QEMU and libvfio-user come from the machine's
 * cache, npm packages from the registry or the cache of npm.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import t from 'tap';
import { InspectorClient } from '../cli/debugger/inspector-client.ts';
import { makeDirectory } from '../cli/testing/directory.ts';
import { checkArchive } from './testing/check-archive.ts';
import { AS_USER, PackedPackage, ROOT, TSC } from './testing/packed-package.ts';

const MODES = [
  ['node16', 'node16'],
  ['nodenext', 'nodenext'],
  ['esnext', 'bundler'],
] as const;
const CASE = `#!/bin/sh
[ -e /sys/bus/pci/drivers/vuhca/0000:01:00.0 ] && echo the driver has bound
exit 7
`;
/**
 * A program of a user: it prints the identity of the vfio-user device at a socket. Its folder has
 * no types of Node.
 */
const CONSUMER = `import { GuestMemory, loadLibrary, msix, type RegionHandler, VfioUserError } from 'vuhca/vfio-user';
import { CONFIG_REGION, VfioUserClient } from 'vuhca/vfio-user/client';

// The folder has no types of Node.
declare const process: { argv: string[]; stdout: { write(text: string): void } };

export const handler: RegionHandler = {
  read: (offset: number, sizeBytes: number, data: DataView) => data.setUint32(0, offset + sizeBytes, true),
  write: () => {},
};
export const capability = msix({ vectors: 1, tableBar: 0, tableOffset: 0, pbaBar: 0, pbaOffset: 4096 });

// @ts-expect-error The path is a string; without types this line would be none.
export const misuse = () => loadLibrary(5);

function refuses(path: string): boolean {
  try {
    loadLibrary(path);
    return false;
  } catch (error) {
    return error instanceof VfioUserError;
  }
}

const client = VfioUserClient.connect(process.argv[2]);
const identity = client.read32(CONFIG_REGION, 0).toString(16).padStart(8, '0');
client.close();
process.stdout.write(\`\${identity} \${typeof GuestMemory} \${refuses('/none')}\\n\`);
`;
/** Vendor and device of the two devices, as config space begins. */
const VUHCA = /^[0-9a-f]{8} function true$/;
const EDU = '11e81234 function true';

// The first run on a machine also compiles the kernel modules.
t.setTimeout(0);

const pack = new PackedPackage(makeDirectory(t));
const { folder } = pack;
const installed = join(folder, 'node_modules/vuhca');

/** Every file and folder of node_modules with size and times: writing anything changes one. */
function listInstalled(): string[] {
  const { stdout } = pack.run('find', 'node_modules', '-printf', '%p %s %T@ %C@\n');
  return stdout.split('\n').sort();
}

/**
 * Runs a program in the folder that serves a device, and prints `ready` on standard output or
 * error. Calls `use` with its output, then ends it by a signal; returns its exit status.
 */
async function serve(
  command: readonly string[],
  ready: RegExp,
  use: (said: readonly string[]) => unknown,
): Promise<number | null> {
  const env = { ...process.env, XDG_RUNTIME_DIR: folder };
  const child = spawn('env', [...AS_USER, ...command], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((done) => child.once('close', done));
  const said: string[] = [];
  const served = new Promise<true>((done) => {
    for (const input of [child.stdout, child.stderr])
      createInterface({ input }).on('line', (line) => {
        said.push(line);
        if (ready.test(line)) done(true);
      });
  });
  if ((await Promise.race([served, ended])) !== true) throw new Error(`${command.join(' ')}: ${said.join('\n')}`);
  try {
    await use(said);
  } finally {
    child.kill('SIGTERM');
  }
  return ended;
}

/** The source map of each script that a debugger of the process sees, by the script's path. */
async function findSourceMaps(said: string): Promise<Map<string, string>> {
  const inspector = await InspectorClient.connect(/ws:\S+/.exec(said)?.[0] ?? '');
  const maps = new Map<string, string>();
  inspector.onEvent(({ method, params }) => {
    if (method === 'Debugger.scriptParsed') maps.set(params.url.replace(/^file:\/\//, ''), params.sourceMapURL);
  });
  await inspector.call('Debugger.enable');
  await inspector.close();
  return maps;
}

interface Compiled {
  readonly what: string;
  readonly status: number | null;
  readonly stdout: string;
}

/** Checks and translates the consumer in each way to look for modules. */
function compileConsumer(): Compiled[] {
  writeFileSync(join(folder, 'consumer.mts'), CONSUMER);
  return MODES.map(([module, moduleResolution]) => {
    const words = ['--module', module, '--moduleResolution', moduleResolution, '--types', '', '--outDir', 'out'];
    return compile(`types with ${moduleResolution}`, 'consumer.mts', words);
  });
}

/** Checks the device in the README of the binding, which uses Node and pino too. */
function compileReadme(): Compiled {
  const readme = readFileSync(join(ROOT, 'protocol/vfio-user/README.md'), 'utf8');
  writeFileSync(join(folder, 'device.mts'), /```ts\n(.*?)```/s.exec(readme)?.[1] ?? '');
  const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
  return compile('the device in the README', 'device.mts', ['--module', 'nodenext', '--noEmit', ...types]);
}

function compile(what: string, file: string, words: readonly string[]): Compiled {
  return {
    what,
    ...pack.run(process.execPath, TSC, '--strict', '--target', 'es2023', '--lib', 'es2023', ...words, file),
  };
}

t.test('the archive has what the commands need, and no more', async (t) =>
  checkArchive(t, pack.files, makeDirectory(t)),
);

t.test('it works from an empty folder and writes nothing there', async (t) => {
  const install = pack.run('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', pack.archive);
  t.equal(install.status, 0, install.stderr);
  pack.run('chmod', '-R', 'a-w', 'node_modules');
  t.teardown(() => pack.run('chmod', '-R', 'u+w', 'node_modules'));
  const before = listInstalled();

  t.match(pack.run('npx', 'vuhca', '--help'), { status: 0, stdout: /^Usage: vuhca COMMAND/ });
  for (const { what, status, stdout } of [...compileConsumer(), compileReadme()])
    t.equal(status, 0, `${what}: ${stdout}`);

  // The command itself: npx would stay between it and a signal.
  const vuhca = join(folder, 'node_modules/.bin/vuhca');
  const device = [
    vuhca,
    'device',
    '--inspect=0',
    '--socket',
    join(folder, 'a.sock'),
    '--record',
    join(folder, 'a.rec'),
  ];
  const status = await serve(device, /^listening on /, async (said) => {
    t.match(identify('a.sock'), VUHCA);
    const maps = await findSourceMaps(said.join('\n'));
    t.match(maps.get(join(installed, 'device/hca/adapter/adapter.ts')), /^data:/, 'a debugger can stop in the sources');
  });
  t.equal(status, 0);
  const replay = pack.run('npx', 'vuhca', 'replay', 'a.rec');
  t.match(replay, { status: 0, stdout: /a\.rec: identical: / }, replay.stderr);

  const viewed = [vuhca, 'device', '--socket', join(folder, 'b.sock'), '--view'];
  const page = await serve(viewed, /^the page is at /, async (said) => {
    const [, origin, token] = /(http:\/\/\S+)\/\?token=(\S+)/.exec(said.join('\n')) ?? [];
    for (const path of ['/', '/page.js', '/page.css']) {
      const { status } = await fetch(origin + path, { headers: { authorization: `Bearer ${token}` } });
      t.equal(status, 200, `the page was packed: ${path}`);
    }
  });
  t.equal(page, 0);

  const library = pack.run('npx', 'vuhca', 'setup', 'library').stdout.trim();
  const edu = [
    `LIBVFIO_USER=${library}`,
    'node',
    'node_modules/vuhca/dist/vfio-user/examples/edu.js',
    '--socket',
    join(folder, 'edu.sock'),
  ];
  t.equal(await serve(edu, /"msg":"serving"/, () => t.equal(identify('edu.sock'), EDU)), 0);

  writeFileSync(join(folder, 'case.sh'), CASE);
  const test = pack.run('npx', 'vuhca', 'test', 'node_modules/vuhca/guest-tests/example');
  t.match(test, { status: 0, stdout: /^passed: /m }, test.stderr);
  const guest = pack.run('npx', 'vuhca', 'run', '--case', 'case.sh');
  t.match(guest, { status: 7, stdout: /^the driver has bound$/m }, guest.stderr);
  t.same(listInstalled(), before, 'nothing was written into node_modules');
});

function identify(socket: string): string {
  const { stdout, stderr } = pack.run(process.execPath, 'out/consumer.mjs', join(folder, socket));
  return stdout.trim() || stderr;
}

t.test('source maps of the binding name files of the package', (t) => {
  const maps = pack.files.filter((file) => file.endsWith('.js.map'));
  t.ok(maps.length > 10);
  const missing = maps.flatMap((map) => {
    const { sources } = JSON.parse(readFileSync(join(installed, map), 'utf8')) as { sources: string[] };
    return sources.filter((source) => !existsSync(join(installed, dirname(map), source)));
  });
  t.same(missing, []);
  t.end();
});
