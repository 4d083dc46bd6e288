// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca device` as a user calls it: it starts, answers, leaves nothing behind, and reports each
 * mistake in one sentence. device-command.long.ts has the personalities and failures that are left
 * out here.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { partOf } from '../../../device/rig/fixtures/seeds.ts';
import { CONFIG_REGION, VfioUserClient } from '../../../protocol/vfio-user/client/client.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

/** The command register of config space, and its bits. */
const PCI_COMMAND = 4;
const MEMORY_AND_BUS_MASTER = 6;
const READY = /^listening on (\S+) control (\S+)$/m;

t.setTimeout(0);

/** Ends it by a signal. */
async function end(t: Test, device: CliProcess, signal: NodeJS.Signals): Promise<void> {
  device.child.kill(signal);
  t.equal(await device.whenExited, 0, signal);
}

/** Checks that only the folder for control sockets is there, and that it is empty. */
function checkNothingIsLeft(t: Test, directory: string): void {
  t.same(readdirSync(directory), ['vuhca'], 'no socket is left');
  t.same(readdirSync(join(directory, 'vuhca')), []);
}

/** Checks the identity that a guest sees: vendor and device. */
function checkIdentity(t: Test, socketPath: string, identity: number): void {
  const client = new VfioUserClient(socketPath);
  client.negotiate();
  t.equal(client.read32(CONFIG_REGION, 0), identity);
  client.close();
}

/** A running adapter with its files in `directory`. */
async function start(t: Test, directory: string, args: readonly string[] = []) {
  const socketPath = join(directory, 'vuhca.sock');
  const device = new CliProcess(['device', '--socket', socketPath, ...args], { XDG_RUNTIME_DIR: directory });
  t.teardown(() => device.child.kill('SIGKILL'));
  const [, , controlPath] = await device.until(READY);
  return { device, socketPath, controlPath };
}

t.test('it serves until it is asked to end, and leaves nothing', async (t) => {
  const directory = makeDirectory(t);
  const { device, socketPath, controlPath } = await start(t, directory, ['--spin=300']);
  t.equal(statSync(socketPath).mode & 0o777, 0o600);
  const client = await ControlClient.connect(controlPath);
  t.match(await client.request('status'), {
    pid: device.child.pid,
    pump: { fixedSpinUs: 300, spinNs: 300_000 },
    adapters: [{ name: 'a', functions: [{ number: 0 }] }],
  });
  checkIdentity(t, socketPath, 0x10f51af4);
  // The control client stays connected, and does not delay the end.
  await end(t, device, 'SIGTERM');
  checkNothingIsLeft(t, directory);
  client.close();
});

t.test('it ends while a client hangs in the middle of a message', async (t) => {
  const directory = makeDirectory(t);
  const { device, socketPath } = await start(t, directory);
  const client = createConnection(socketPath);
  client.on('error', () => {});
  await once(client, 'connect');
  client.write(Buffer.from([1, 0, 1]));
  await end(t, device, 'SIGINT');
  checkNothingIsLeft(t, directory);
  client.destroy();
});

t.test('a client of another protocol, one that vanishes, and memory that is not shared do not end it', async (t) => {
  const directory = makeDirectory(t);
  const { device, socketPath, controlPath } = await start(t, directory);
  const strange = createConnection(socketPath);
  strange.on('error', () => {});
  await once(strange, 'connect');
  // A VERSION message of major 9: id 1, command 1, 20 bytes in all.
  const message = Buffer.alloc(20);
  message.writeUInt16LE(1, 0);
  message.writeUInt16LE(1, 2);
  message.writeUInt32LE(20, 4);
  message.writeUInt16LE(9, 16);
  strange.resume();
  strange.write(message);
  await once(strange, 'close');
  const vanishing = createConnection(socketPath);
  vanishing.on('error', () => {});
  await once(vanishing, 'connect');
  vanishing.write(message.subarray(0, 7));
  vanishing.destroy();
  await device.until(/client refused/);
  const client = await ControlClient.connect(controlPath);
  t.match(await client.request('status'), { adapters: [{ sockets: [{ attached: false }] }] });
  client.close();
  shareNoMemory(t, socketPath);
  await device.until(/warn {2}guest memory is not shared, so every DMA will fail: start QEMU with .*share=on/);
  await end(t, device, 'SIGHUP');
  checkNothingIsLeft(t, directory);
  t.equal(device.stderr.match(/guest memory is not shared/g)?.length, 1, 'it is called by its name, once');
});

/** A guest whose memory is not shared becomes bus master twice. */
function shareNoMemory(t: Test, socketPath: string): void {
  const client = new VfioUserClient(socketPath);
  t.teardown(() => client.close());
  client.negotiate();
  client.mapDma({ address: 0, sizeBytes: 2 ** 20 });
  const setBusMaster = (on: boolean): void =>
    client.writeRegion(CONFIG_REGION, PCI_COMMAND, Uint8Array.of(on ? MEMORY_AND_BUS_MASTER : 0, 0));
  for (const on of [true, false, true]) setBusMaster(on);
}

t.test('sockets: the living are left alone, the dead replaced', async (t) => {
  const directory = makeDirectory(t);
  const { device, socketPath, controlPath } = await start(t, directory);
  const second = await runCli(['device', '--socket', socketPath], { XDG_RUNTIME_DIR: directory });
  t.equal(second.status, 1);
  t.match(
    second.stderr,
    /^vuhca device: \S+vuhca\.sock is in use by a running server: stop it or choose another path\n$/,
  );
  const other = ['device', '--socket', join(directory, 'other'), '--control', controlPath];
  t.match(await runCli(other), { status: 1, stderr: /\.control is in use by a running server/ });
  t.notOk(existsSync(join(directory, 'other')), 'nothing is left of the one that could not start');
  device.child.kill('SIGKILL');
  await device.whenExited;
  t.ok(existsSync(socketPath), 'a killed process leaves its sockets');
  const third = await start(t, directory);
  third.device.child.kill('SIGTERM');
  t.equal(await third.device.whenExited, 0, 'the next one takes the path over');
});

t.test('mistakes get a sentence and a status', async (t) => {
  const directory = makeDirectory(t);
  const plain = join(directory, 'plain');
  writeFileSync(plain, '');
  const socket = ['--socket', join(directory, 'x')];
  const mistakes: [words: string[], stderr: RegExp][] = [
    [[], /^vuhca device: option --socket is missing/],
    [['--sokcet', 'x'], /^vuhca device: unknown option --sokcet/],
    [[...socket, '--log-level', 'loud'], /option --log-level is loud; it must be trace, debug,/],
    [[...socket, '--ordering', 'late'], /option --ordering is late; it must be strict, pcie or adversarial:SEED/],
    [[...socket, '--ordering=adversarial:4294967296'], /adversarial:4294967296; .* with a seed below 2\^32/],
    [[...socket, '--ordering'], /option --ordering needs a value/],
    [[...socket, '--inspect=nowhere:x'], /option --inspect is nowhere:x; it must be PORT or HOST:PORT/],
  ];
  for (const [words, stderr] of mistakes) {
    const result = await runWords(['device', ...words]);
    t.match(result, { status: 2, stderr, stdout: '' }, words.join(' '));
    t.notMatch(result.stderr, /\n +at /, 'no stack');
  }
  const failures: [words: string[], stderr: RegExp][] = [
    [['--socket', plain], /plain exists and is no socket: remove it or choose another path/],
    [
      [...socket, '--record', join(directory, 'none', 'x')],
      /^vuhca device: the recording .* cannot be written \(ENOENT\)/m,
    ],
    [['--socket', join(directory, 'none', 'x')], /none for socket \S+ does not exist: make it with/],
    [['--socket', '/proc/x'], /^vuhca device: socket \/proc\/x cannot be made: /m],
    [['--socket', join(directory, 'x'.repeat(110))], /has \d+ bytes, at most 107 fit: use a shorter directory/],
  ];
  for (const [words, stderr] of partOf(failures, 2)) {
    const result = await runCli(['device', ...words], { XDG_RUNTIME_DIR: directory });
    t.match(result, { status: 1, stderr, stdout: '' }, words.join(' '));
    t.notMatch(result.stderr, /\n +at /, 'no stack');
  }
  const library = await runCli(['device', ...socket], { LIBVFIO_USER: plain });
  t.match(library, { status: 1, stderr: /plain is not a shared library \(it is no ELF file\).*Unset LIBVFIO_USER/ });
  const missing = await runCli(['device', ...socket], { LIBVFIO_USER: join(directory, 'none') });
  t.match(missing, { status: 1, stderr: /LIBVFIO_USER names \S+none, which does not exist/ });
  t.same(readdirSync(directory).sort(), ['plain', 'vuhca']);
});

t.test(
  'a directory that is not writable',
  { skip: process.getuid?.() === 0 && 'root may write everywhere' },
  async (t) => {
    const directory = makeDirectory(t);
    chmodSync(directory, 0o500);
    const result = await runCli(['device', '--socket', join(directory, 'x')]);
    chmodSync(directory, 0o700);
    t.match(result, { status: 1, stderr: /is not writable: choose one you own/ });
  },
);

t.test('the command itself', async (t) => {
  t.match(await runCli([]), { status: 2, stderr: /Usage: vuhca COMMAND/ });
  t.match(await runWords(['--help']), {
    status: 0,
    stdout:
      / run .*\n +test .*\n +device .*\n +cluster .*\n +topology .*\n +status .*\n +top .*\n +show .*\n +fabric .*\n +resources .*\n +capture .*\n +trace .*\n +explain .*\n +inject .*\n +link .*\n +step .*\n +replay /,
  });
  t.match(await runWords(['dance']), {
    status: 2,
    stderr: /unknown command dance; the commands are run, test, device/,
  });
  for (const name of [
    'run',
    'device',
    'status',
    'top',
    'show',
    'resources',
    'capture',
    'trace',
    'replay',
    'completion',
  ])
    t.match(await runWords([name, '--help']), { status: 0, stdout: new RegExp(`^Usage: vuhca ${name} `) });
});

t.test('a personality: the identity that a guest sees, and options that it does not take', async (t) => {
  const others: [personality: string, identity: number][] = [
    ['mlx5', 0x101715b3],
    ['mthca-one-port', 0x627415b3],
  ];
  for (const [personality, identity] of partOf(others, 1)) {
    const { device, socketPath } = await start(t, makeDirectory(t), ['--personality', personality]);
    checkIdentity(t, socketPath, identity);
    await end(t, device, 'SIGTERM');
  }
  const words = ['--personality', 'mthca', '--fabric', 'switch'];
  const { device, socketPath, controlPath } = await start(t, makeDirectory(t), words);
  checkIdentity(t, socketPath, 0x628215b3);
  const control = await ControlClient.connect(controlPath);
  t.match(await control.request('fabric'), {
    nodes: [
      { name: 'a', ports: [{ link: { peer: 's:1' } }, { link: { peer: 's:2' } }] },
      { name: 's', ports: [{ isManager: true }] },
    ],
  });
  t.match(await control.request('status'), {
    adapters: [],
    personalities: [{ name: 'a', personality: 'mthca', state: 'reset' }],
    links: [{ kind: 'cable' }, { kind: 'cable' }],
  });
  await t.rejects(control.request('resources'), /adapter a has the personality mthca, which does not have this/);
  control.close();
  await end(t, device, 'SIGTERM');
  const mthca = ['device', '--socket', '/nowhere/x', '--personality', 'mthca'];
  for (const [words, stderr] of [
    [['--vcbs', '4'], /option --vcbs cannot be given with --personality mthca/],
    [['--lids', '0,2'], /option --lids is 0,2; a unicast LID is 1 to 49151/],
    [['--node-guid', 'xyz'], /option --node-guid is xyz; it must be 16 hex digits/],
    [['--port-queue', '0'], /option --port-queue is 0; it must be 2 to 1024/],
    [['--fault', 'drop=0.1', '--personality', 'mthca-one-port'], /--fault is about the link between two ports/],
    [['--lids', '0,2', '--personality', 'mlx5'], /option --lids is 0,2; a unicast LID/],
    [['--fault', 'drop=0.1', '--personality', 'mlx5'], /--fault is about the link between two ports/],
    [['--functions', '2'], /option --functions cannot be given with --personality mthca/],
    [
      ['--functions', '2', '--personality', 'mthca-one-port'],
      /--functions cannot be given with --personality mthca-one/,
    ],
    [
      ['--functions', '0', '--personality', 'mlx5'],
      /option --functions is 0; a device of --personality mlx5 has 1 or 2/,
    ],
    [
      ['--functions', '3', '--personality', 'mlx5'],
      /option --functions is 3; a device of --personality mlx5 has 1 or 2/,
    ],
    [['--functions', '2', '--lids', '5,5', '--personality', 'mlx5'], /adapters a and a\/1 both have LID 5/],
    [
      ['--functions', '2', '--ports', '2', '--personality', 'mlx5'],
      /option --ports cannot be given with --personality/,
    ],
    [
      ['--functions', '2', '--link', '3=listen:/nowhere/y', '--personality', 'mlx5'],
      /option --link is 3=listen:\/nowhere\/y; it must be .* with a port up to 2/,
    ],
    [
      ['--functions', '2', '--link', '2=listen:/x', '--link', '2=connect:/y', '--personality', 'mlx5'],
      /option --link names port 2 twice; a port has one link/,
    ],
    [['--link', '2=listen:/nowhere/y', '--personality', 'mlx5'], /--link names port 2; --personality mlx5 has port 1/],
    [['--topology', 'x.json'], /option --socket cannot be given with --topology/],
    [
      ['--link', '2=listen:/nowhere/y', '--personality', 'mthca-one-port'],
      /--link names port 2; --personality mthca-one-port/,
    ],
  ] as const)
    t.match(await runWords([...mthca, ...words]), { status: 2, stderr, stdout: '' }, words.join(' '));
});

t.test('a port of the host door that is taken gets a sentence', async (t) => {
  const directory = makeDirectory(t);
  const other = createSocket('udp4').bind(0, '127.0.0.1');
  t.teardown(() => other.close());
  await once(other, 'listening');
  const args = ['device', '--socket', join(directory, 'x.sock'), '--ibsim', String(other.address().port)];
  const { status, stderr } = await runCli(args, { XDG_RUNTIME_DIR: directory });
  t.equal(status, 1);
  t.match(stderr, /^vuhca device: the host door cannot listen at UDP port \d+ \(EADDRINUSE\): choose another one\n$/);
  checkNothingIsLeft(t, directory);
});
