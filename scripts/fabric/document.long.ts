// SPDX-License-Identifier: Apache-2.0
/**
 * The commands of docs/FABRIC.md, as the page shows them, and its promises about them. Only the UDP
 * port and the path of the socket differ, because tests run side by side.
 */
import { createSocket } from 'node:dgram';
import t, { type Test } from 'tap';
import type { FabricNodeReport, FabricReport } from '../../device/process/reports/fabric-report.ts';
import { commandBlocksOf, ROOT } from '../cli/testing/document-blocks.ts';
import { Line, Terminal } from '../cli/testing/terminal.ts';
import { findCollisions, placeTexts } from '../picture/testing/read-svg.ts';

// The programs of others have bounds of their own.
t.setTimeout(0);

const DOCUMENT = 'docs/FABRIC.md';

/** The lines of the block that begins so. */
const blockOf = (begins: string): readonly string[] => commandBlocksOf(DOCUMENT, begins)[0];

/** A UDP port that was free a moment ago. */
async function findPort(): Promise<number> {
  const probe = createSocket('udp4');
  await new Promise<void>((resolve) => probe.bind(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise<void>((resolve) => probe.close(resolve));
  return port;
}

const READY = /^listening on /m;
const UP = /SUBNET UP/;

const [fetch] = blockOf('tools=');
const first = new Line(`${fetch}; echo "$tools"`, ROOT, process.env);
await first.whenEnded;
const tools = first.output.trim().split('\n').at(-1) ?? '';

/** A terminal whose door for tools has a port of its own. */
async function openTerminal(t: Test): Promise<Terminal> {
  const port = `${await findPort()}`;
  return new Terminal(t, { PORT: port, tools }, [
    ['7171', port],
    ['/tmp/', ''],
  ]);
}

t.test('one adapter, opensm, and the diagnostics', async (t) => {
  const terminal = await openTerminal(t);
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
  const terminal = await openTerminal(t);
  const [make, device, opensm, discover, trace] = blockOf('echo ');
  await terminal.run(make);
  await terminal.beginUntil(device, READY);
  await terminal.beginUntil(opensm, UP, 'opensm.log');
  const found = await terminal.run(discover);
  t.equal(found.match(/^Switch\t/gm)?.length, 6);
  t.equal(found.match(/^Ca\t/gm)?.length, 16);
  t.match(await terminal.run('SIM_HOST=a1:1 $tools sminfo'), /SMINFO_MASTER/, 'opensm is the master');
  t.match(await terminal.run(trace), /^From switch .*"leaf1"\n(\[.*\n){3}To ca /m, 'a way over a spine');
  await checkPicture(t, terminal);
  const capture = await terminal.beginUntil(`exec ${blockOf('scripts/vuhca capture')[0]}`, /capturing to /);
  await terminal.run(discover);
  capture.child.kill('SIGINT');
  t.equal(await capture.whenEnded, 0, capture.output);
  t.match(capture.output, /[1-9]\d* packets, \d+ bytes in /);
});

/**
 * The picture of a subnet with opensm and traffic, of which one link damages all packets and one
 * port was disabled by a datagram. The report of the process says what must be in it.
 */
async function checkPicture(t: Test, terminal: Terminal): Promise<void> {
  const [screen, , picture] = blockOf('scripts/vuhca fabric');
  const readNodes = async (): Promise<readonly FabricNodeReport[]> =>
    (JSON.parse(await terminal.run(`${screen} --json`)) as FabricReport).nodes;
  const leaf = (await readNodes()).find(({ name }) => name === 'leaf1')?.ports[0].lid;
  await terminal.run(`SIM_HOST=a1:1 $tools ibportstate ${leaf} 3 disable`);
  await terminal.run('scripts/vuhca link set a2:1 corrupt=1 seed=7');
  // A datagram may be late on a busy machine.
  terminal.begin('while :; do SIM_HOST=a1:1 $tools sminfo; done');
  const drawn = /(?=.* [kMG]b\/s, )(?=.* symbol errors at a2:1)(?=.*disabled).*<\/svg>/s;
  const { found: svg } = await terminal.beginUntil(`${picture} --watch`, drawn, 'fabric.svg');
  t.same(findCollisions(svg), []);
  const texts = placeTexts(svg).map(({ text }) => text);
  const nodes = await readNodes();
  t.same(texts.filter((text) => text === 'master SM').length, 1);
  for (const { name, type, ports } of nodes) {
    t.ok(texts.includes(name), name);
    for (const { number, lid = 0, link } of ports) {
      const isShown = number === 0 || link?.peer !== undefined;
      const label = `${number === 0 ? '' : `${number}: `}${lid === 0 ? 'no LID' : `LID ${lid}`}`;
      if (isShown && (type === 'adapter' || number === 0)) t.ok(texts.includes(label), `${name}: ${label}`);
    }
  }
  const stateOf = (name: string) => nodes.find((node) => node.name === name)?.ports[0].link?.state;
  t.same([stateOf('a1'), stateOf('a3')], ['ACTIVE', 'DOWN']);
  t.not(stateOf('a2'), 'ACTIVE', 'no manager reaches it');
  for (const state of ['a2', 'a3'].map(stateOf)) t.ok(texts.includes(`${state}`), `${state}`);
  t.ok(texts.includes('leaf1:3 disabled'));
}

t.test('devices with switches of their own', async (t) => {
  for (const begins of ['--fabric switch', '--functions 3 --port-model vswitch']) {
    const terminal = await openTerminal(t);
    await terminal.beginUntil(blockOf(`scripts/vuhca device --socket /tmp/vuhca.sock ${begins}`)[0], READY);
    t.match(await terminal.run('scripts/vuhca fabric'), /master/i, begins);
  }
});
