// SPDX-License-Identifier: Apache-2.0
/**
 * The commands of docs/FABRIC.md, as they stand there, and what the text promises of them. Only
 * the UDP port and the path of the socket are others, because tests run side by side.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { makeDirectory } from '../cli/testing/directory.ts';
import { ROOT, readBlocks } from '../cli/testing/document-blocks.ts';

// The programs of others have bounds of their own.
t.setTimeout(0);

const DOCUMENT = 'docs/FABRIC.md';
const POLL_MS = 20;
const blocks = readBlocks(DOCUMENT).map(({ lines }) => lines.map((line) => line.replace(/\s+#.*$/, '')));

/** The lines of the block that begins so. */
function blockOf(begins: string): readonly string[] {
  const found = blocks.find(([first]) => first.startsWith(begins));
  if (found === undefined) throw new Error(`${DOCUMENT} does not say \`${begins}\` any more`);
  return found;
}

/** A UDP port that was free a moment ago. */
async function findPort(): Promise<number> {
  const probe = createSocket('udp4');
  await new Promise<void>((resolve) => probe.bind(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise<void>((resolve) => probe.close(resolve));
  return port;
}

/** A line of a shell that runs, and what it has printed. */
class Line {
  output = '';
  readonly child: ChildProcess;
  readonly whenEnded: Promise<number | null>;

  constructor(command: string, cwd: string, environment: NodeJS.ProcessEnv) {
    this.child = spawn('sh', ['-c', command], { cwd, env: environment, detached: true });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.on('data', (part) => {
        this.output += part;
      });
    this.whenEnded = new Promise((resolve) => this.child.once('close', resolve));
  }

  /** Ends it and the programs that it has started. */
  end(): void {
    const { exitCode, signalCode, pid } = this.child;
    if (exitCode === null && signalCode === null && pid !== undefined) process.kill(-pid, 'SIGTERM');
  }
}

/** A folder in which the lines of the document run. */
class Terminal {
  readonly folder: string;
  readonly #port: number;
  readonly #t: Test;
  readonly #environment: NodeJS.ProcessEnv;

  constructor(t: Test, port: number, tools: string) {
    this.folder = makeDirectory(t);
    symlinkSync(join(ROOT, 'scripts'), join(this.folder, 'scripts'));
    this.#port = port;
    this.#t = t;
    this.#environment = { ...process.env, XDG_RUNTIME_DIR: this.folder, PORT: `${port}`, tools };
  }

  /** Begins a line; it ends with the test. */
  begin(command: string): Line {
    const own = command.replaceAll('7171', `${this.#port}`).replaceAll('/tmp/vuhca.sock', join(this.folder, 'a.sock'));
    const line = new Line(own, this.folder, this.#environment);
    this.#t.teardown(async () => {
      line.end();
      await line.whenEnded;
    });
    return line;
  }

  /** Runs a line to its end; returns what it printed. */
  async run(command: string): Promise<string> {
    const line = this.begin(command);
    const status = await line.whenEnded;
    this.#t.equal(status, 0, `${command}\n${line.output}`);
    return line.output;
  }

  /** Begins a line and waits until it prints, or a file has, what is wanted. */
  async beginUntil(command: string, pattern: RegExp, file?: string): Promise<Line> {
    const line = this.begin(command);
    const path = file === undefined ? undefined : join(this.folder, file);
    if (path !== undefined) rmSync(path, { force: true });
    for (;;) {
      const text = path === undefined ? line.output : existsSync(path) ? readFileSync(path, 'utf8') : '';
      if (pattern.test(text)) return line;
      if (line.child.exitCode !== null) throw new Error(`ended without ${pattern}: ${command}\n${line.output}${text}`);
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }
}

const READY = /^listening on /m;
const UP = /SUBNET UP/;

const [fetch] = blockOf('tools=');
const first = new Line(`${fetch}; echo "$tools"`, ROOT, process.env);
await first.whenEnded;
const tools = first.output.trim().split('\n').at(-1) ?? '';

t.test('one adapter, opensm, and the diagnostics', async (t) => {
  const terminal = new Terminal(t, await findPort(), tools);
  await terminal.beginUntil(blockOf('scripts/vuhca device --socket /tmp/vuhca.sock --ibsim')[0], READY);
  await terminal.beginUntil(blockOf('SIM_HOST=a:1')[0], UP, 'opensm.log');
  const [host, ...commands] = blockOf('export SIM_HOST');
  t.ok(commands.length > 8);
  for (const command of commands) {
    const output = await terminal.run(`${host}; ${command}`);
    if (command.includes('ibstat')) t.match(output, /State: Active/);
    if (command.includes('sminfo')) t.match(output, /SMINFO_MASTER/);
  }
  const [fabric] = blockOf('scripts/vuhca fabric');
  t.match(await terminal.run(fabric), /^manager +a:1 at LID 1, master of 2 of 2 ports$/m);
  await terminal.beginUntil(`${fabric} --watch`, /manager +a:1 at LID 1/);
});

t.test('a fat tree whose manager is opensm', async (t) => {
  const terminal = new Terminal(t, await findPort(), tools);
  const [make, device, opensm, discover] = blockOf('echo ');
  await terminal.run(make);
  await terminal.beginUntil(device, READY);
  await terminal.beginUntil(opensm, UP, 'opensm.log');
  const found = await terminal.run(discover);
  t.equal(found.match(/^Switch\t/gm)?.length, 6);
  t.equal(found.match(/^Ca\t/gm)?.length, 16);
  t.match(await terminal.run('SIM_HOST=a1:1 $tools sminfo'), /SMINFO_MASTER/, 'opensm is the master');
  const capture = await terminal.beginUntil(`exec ${blockOf('scripts/vuhca capture')[0]}`, /capturing to /);
  await terminal.run(discover);
  capture.child.kill('SIGINT');
  t.equal(await capture.whenEnded, 0, capture.output);
  t.match(capture.output, /[1-9]\d* packets, \d+ bytes in /);
});

t.test('devices with switches of their own', async (t) => {
  for (const begins of ['--fabric switch', '--functions 3 --port-model vswitch']) {
    const terminal = new Terminal(t, await findPort(), tools);
    await terminal.beginUntil(blockOf(`scripts/vuhca device --socket /tmp/vuhca.sock ${begins}`)[0], READY);
    t.match(await terminal.run('scripts/vuhca fabric'), /master/i, begins);
  }
});
