// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca device --functions N` with a raw vfio-user client on each socket: all functions start and
 * work; guests come, go, crash and return without effect on the others; the physical function stops
 * and starts all of them; the process ends at once, or does not begin, and leaves nothing.
 */
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ControlClient } from '../../device/main/control-client.ts';
import type { StatusReport } from '../../device/main/status-report.ts';
import { LinkedProcess } from '../../device/main/test-support/linked-process.ts';
import { Tenant } from '../../device/main/test-support/tenant.ts';
import type { VfioUserAccess } from '../../device/main/test-support/vfio-user-access.ts';
import { Random } from '../../device/random.ts';
import {
  DEVICE_ID_PF,
  DEVICE_ID_VF,
  FUNCTION_MAX,
  PAGE_BYTES,
  PCB_MAX,
  VCB_MAX,
} from '../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  CSR_ADAPTER_CONTROL_DISABLE_MASK,
  getCsrDeviceStatusAdapterDisabled,
} from '../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import { CONFIG_REGION, VfioUserClient } from '../../protocol/vfio-user/client/client.ts';
import { makeDirectory } from './testing/directory.ts';
import { CliProcess, runCli } from './testing/run-cli.ts';

const READY = /^listening on (.+) control (\S+)$/m;
const PCI_DEVICE_ID = 2;
const POLL_MS = 5;
/** Commands posted in a while in which an adapter that is not disabled executes them. */
const WAITING_COMMANDS = 16;

// Nothing here waits for time to pass; a machine that is busy with other tests may need long.
t.setTimeout(0);

interface Running {
  readonly device: CliProcess;
  readonly environment: Readonly<Record<string, string>>;
  readonly sockets: readonly string[];
  status(): Promise<StatusReport>;
  stop(): Promise<void>;
}

/** A device process. At its end no command, buffer or credit of any function may be held. */
async function start(t: Test, functions: number, ...more: readonly string[]): Promise<Running> {
  const directory = makeDirectory(t);
  const args = [
    'device',
    '--socket',
    join(directory, 's'),
    '--functions',
    `${functions}`,
    '--log-level',
    'warn',
    ...more,
  ];
  const environment = { XDG_RUNTIME_DIR: directory };
  const device = new CliProcess(args, environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  const [, sockets, controlPath] = await device.until(READY);
  const control = await ControlClient.connect(controlPath);
  t.teardown(() => control.close());
  const status = async (): Promise<StatusReport> => (await control.request('status')) as StatusReport;
  const stop = async (): Promise<void> => {
    await until(status, isWhole);
    device.child.kill('SIGTERM');
    t.equal(await device.whenExited, 0);
    t.same(readdirSync(directory), ['vuhca'], 'no socket is left');
  };
  return { device, environment, sockets: sockets.split(' '), status, stop };
}

async function until(
  status: () => Promise<StatusReport>,
  condition: (report: StatusReport) => boolean,
): Promise<StatusReport> {
  for (;;) {
    const report = await status();
    if (condition(report)) return report;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

function isWhole({ adapters: [{ collectBuffers, schedulerBuffers, lanes }] }: StatusReport): boolean {
  const held = [lanes.execution.used, lanes.completion.used, lanes.waiting];
  return (
    [collectBuffers, schedulerBuffers].every(({ free, total }) => free === total) && held.every((one) => one === 0)
  );
}

/** The visible state of a function: its counters, and every byte of its guest's memory. */
async function snapshot({ status }: Running, number: number, { access }: Tenant) {
  const { adapters } = await status();
  const view = access.view(access.memoryAddress, access.memoryBytes);
  const memory = Buffer.from(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return { socket: adapters[0].sockets[number], report: adapters[0].functions[number], memory };
}

/** Whether nothing has changed. The shared PCBs that a function could bind are not its own. */
function isSame(before: Awaited<ReturnType<typeof snapshot>>, after: typeof before): boolean {
  const own = ({ socket, report }: typeof before): string =>
    JSON.stringify([socket, report], (key, value) => (key === 'available' ? undefined : value));
  return own(before) === own(after) && before.memory.equals(after.memory);
}

t.test('as many functions as there can be: each has its device id, comes up and works', async (t) => {
  const vcbs = Math.floor(VCB_MAX / FUNCTION_MAX);
  const running = await start(t, FUNCTION_MAX, '--vcbs', `${vcbs}`, '--pcbs', `${PCB_MAX}`);
  const { sockets } = running;
  t.equal(new Set(sockets).size, FUNCTION_MAX);
  const ids = sockets.map((path) => {
    const client = VfioUserClient.connect(path);
    const id = client.read16(CONFIG_REGION, PCI_DEVICE_ID);
    client.close();
    return id;
  });
  t.same(ids, [DEVICE_ID_PF, ...new Array(FUNCTION_MAX - 1).fill(DEVICE_ID_VF)]);
  const tenants = sockets.map((path, number) => new Tenant(path, number));
  t.same(
    tenants.map(({ access }) => access.readRegister(CSR.FUNCTION_NUMBER, 4)),
    sockets.map((_, number) => number),
  );
  // All of them at once.
  for (const tenant of tenants) tenant.post();
  for (const tenant of tenants) tenant.take();
  for (const { access } of tenants) access.writeCollect((vcbs - 1) * PAGE_BYTES + 8, 8, 0, 0);
  t.ok(
    tenants.every(({ access }) => bindsPage(access, vcbs - 1)),
    'the last VCB of each is bound',
  );
  const { functions } = (await running.status()).adapters[0];
  t.ok(functions.every(({ faults, collect }) => faults.first === undefined && collect.vcbs === vcbs));
  for (const tenant of tenants) tenant.close();
  await running.stop();
});

/** Whether a command is being collected in the page. */
function bindsPage(access: VfioUserAccess, page: number): boolean {
  const word = access.readRegister(CSR.VCB_IN_USE + 4 * Math.floor(page / 32), 4);
  return ((word >>> (page % 32)) & 1) === 1;
}

t.test('one function with all the VCBs and PCBs there can be', async (t) => {
  const running = await start(t, 1, '--vcbs', `${VCB_MAX}`, '--pcbs', `${PCB_MAX}`);
  const tenant = new Tenant(running.sockets[0], 1);
  const { access, pair } = tenant;
  tenant.work();
  for (let page = VCB_MAX - PCB_MAX; page < VCB_MAX; page++) access.writeCollect(page * PAGE_BYTES + 8, 8, 0, 0);
  const inUse = [0, 1].map((level) => access.readRegister(CSR.PCB_IN_USE + 4 * level, 4));
  const refused = [0, 1].map((level) => access.readRegister(CSR.PCB_REFUSALS + 4 * level, 4));
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  t.equal(sum(inUse) + sum(refused), PCB_MAX, 'a PCB, or a refusal, for each');
  t.ok(sum(inUse) > PCB_MAX / 2 && bindsPage(access, VCB_MAX - 1), `${inUse} are bound, ${refused} refused`);
  t.equal((await running.status()).adapters[0].functions[0].collect.vcbsInUse, PCB_MAX);
  const copy = pair.a.post({ header: { opcode: SendOpcode.NOP } }, 'slot');
  pair.a.collect(copy, {}, (VCB_MAX - 1) * PAGE_BYTES);
  t.equal(pair.a.parts.sendCq.take().status, 0, 'the last VCB sends');
  tenant.close();
  await running.stop();
});

t.test('guests go, crash and return; the others do not notice', async (t) => {
  const running = await start(t, 4);
  const { sockets, status } = running;
  const [busy, quiet] = [new Tenant(sockets[0], 1), new Tenant(sockets[3], 2)];
  quiet.work();
  const before = await snapshot(running, 3, quiet);

  // One whose socket closes in the middle of its traffic, with a command half-written.
  const first = new Tenant(sockets[1], 3);
  first.work();
  first.beginCommand();
  busy.post();
  first.post();
  first.close();
  busy.take();
  busy.work(5);

  // One that is killed while it floods.
  const killed = await LinkedProcess.start('tenant-process.ts', sockets[2], '4');
  busy.work(5);
  busy.post();
  await killed.kill();
  busy.take();
  await until(status, ({ adapters }) => !adapters[0].sockets[2].attached);
  busy.work(5);

  const returned = [1, 2].map((number) => new Tenant(sockets[number], 5 + number));
  for (const { access } of returned) {
    const fresh = [CSR.COMMANDS_COLLECTED, CSR.PCB_IN_USE, CSR.FIRST_FAULT_KIND].map((at) =>
      access.readRegister(at, 4),
    );
    t.same(fresh, [0, 0, 0], 'they find a function fresh from reset');
  }
  for (const tenant of returned) tenant.work(3);
  busy.work();
  t.ok(isSame(before, await snapshot(running, 3, quiet)), 'no counter, byte or completion of the quiet one changed');
  quiet.work();
  t.notOk(isSame(before, await snapshot(running, 3, quiet)), 'its own work would have been seen');
  const { functions, sockets: seen } = (await status()).adapters[0];
  t.equal(functions[0].faults.first, undefined);
  t.same(
    seen.map(({ attaches, attached }) => [attaches, attached]),
    [
      [1, true],
      [2, true],
      [2, true],
      [1, true],
    ],
  );
  for (const tenant of [busy, quiet, ...returned]) tenant.close();
  await running.stop();
});

t.test('status and top show each function of a running adapter', async (t) => {
  const running = await start(t, 3);
  const { sockets, environment } = running;
  const tenants = [0, 1].map((number) => new Tenant(sockets[number], number));
  for (const tenant of tenants) tenant.work();
  t.match(await runCli(['status'], environment), {
    status: 0,
    stdout: /^0 +enabled .*\n1 +enabled .*\n(.*\n){7}no guest has attached function 2 yet$/m,
  });
  t.match(await runCli(['status', '--function', '1'], environment), { status: 0, stdout: /^function 1 +enabled/m });
  const list = await runCli(['status', '--qp', '--function', '1'], environment);
  t.match(list, { status: 0, stdout: /^QP .*\n(\d+ +1 +(UD|RC) +RTS .*\n)+peer: / }, 'only those of the function');
  const qpn = /^\d+/m.exec(list.stdout)?.[0] ?? '';
  t.match(await runCli(['status', '--qp', qpn], environment), {
    status: 0,
    stdout: new RegExp(`^QP ${qpn} +\\w+, RTS, function 1, `),
  });
  t.match(await runCli(['status', '--function', '3'], environment), {
    status: 2,
    stderr: /option --function is 3; the last function is 2/,
  });
  t.match(await runCli(['top', '--count', '2'], environment), {
    status: 0,
    stdout:
      /^(vuhca \d+ +up .*\nfn .*\n0 +enabled .*\n1 +enabled .*\n(.+\n){2}fn .*\n0 +enabled .* 0\n1 +enabled .* 0\n(.+\n)+){2}$/,
  });
  const top = await runCli(['top', '--count', '1', '--json', '--function', '1'], environment);
  const { rates, adapters } = JSON.parse(top.stdout);
  t.match(rates.functions, [[{ commands: 0 }, { commands: 0 }, { commands: 0 }]]);
  t.match(adapters[0].functions[1], {
    collect: { levels: [{ refusals: 0 }, { inUse: 0 }] },
    lanes: { waiting: 0, execution: { privateUsed: 0, sharedUsed: 0 }, levels: [{ waiting: 0 }, {}] },
    doorbells: { implicit: Number, listed: [0, 0], overflow: { depth: 0, spilled: 0, drained: 0 }, sweeps: 0 },
  });
  for (const tenant of tenants) tenant.close();
  await running.stop();
});

const SEED = 7;

t.test(`clients that come and go at any moment, seed ${SEED}`, async (t) => {
  const random = new Random(SEED);
  const running = await start(t, 3);
  const { sockets } = running;
  const busy = new Tenant(sockets[2], SEED);
  for (let round = 0; round < 30; round++) {
    busy.post();
    const path = sockets[random.below(2)];
    const stage = random.below(4);
    const client = new VfioUserClient(path);
    if (stage > 0) client.negotiate();
    // A message that ends in its middle.
    if (stage > 1) client.socket.send(random.bytes(1 + random.below(15)));
    if (stage > 2) client.socket.endSending();
    client.close();
    if (random.below(8) === 0) {
      const tenant = new Tenant(path, round);
      tenant.post(1 + random.below(16));
      tenant.close();
    }
    busy.take();
  }
  busy.work();
  t.same((await running.status()).adapters[0].functions[2].faults.counts, {});
  busy.close();
  await running.stop();
});

t.test('the physical function stops the commands of all; nothing is lost', async (t) => {
  const running = await start(t, 3);
  const { sockets, status } = running;
  let physical = new Tenant(sockets[0], 1);
  const virtual = [1, 2].map((number) => new Tenant(sockets[number], number + 1));
  const set = ({ access }: Tenant, value: number): void => access.writeRegister(CSR.ADAPTER_CONTROL, 4, value, 0);
  const isDisabled = ({ access }: Tenant): boolean =>
    getCsrDeviceStatusAdapterDisabled(access.readRegister(CSR.DEVICE_STATUS, 4)) === 1;
  const isReady = ({ pair }: Tenant): boolean => pair.a.parts.sendCq.ready;
  /**
   * Posts commands and gives the adapter time for as many others: management commands, which it
   * executes in every state.
   */
  const postInVain = (tenants: readonly Tenant[]): void => {
    for (const tenant of tenants) tenant.post();
    for (let i = 0; i < WAITING_COMMANDS; i++) for (const { ends } of tenants) ends.a.driver.createProtectionDomain();
    t.notOk(tenants.some(isReady), 'nothing is executed');
  };

  set(virtual[0], CSR_ADAPTER_CONTROL_DISABLE_MASK);
  t.equal(virtual[0].access.readRegister(CSR.FAULT_COUNT + FaultKind.NOT_PERMITTED * 4, 4), 1, 'refused and counted');
  t.notOk(isDisabled(virtual[0]), 'a virtual function cannot');
  for (const tenant of [physical, ...virtual]) tenant.work();

  set(physical, CSR_ADAPTER_CONTROL_DISABLE_MASK);
  t.ok([physical, ...virtual].every(isDisabled));
  postInVain([physical, ...virtual]);
  set(physical, 0);
  for (const tenant of [physical, ...virtual]) tenant.take();

  set(physical, CSR_ADAPTER_CONTROL_DISABLE_MASK);
  t.ok(isDisabled(virtual[0]));
  postInVain(virtual);
  physical.close();
  for (const tenant of virtual) tenant.take();
  t.notOk(isDisabled(virtual[0]), 'the adapter goes on without the guest of its physical function');

  physical = new Tenant(sockets[0], 4);
  for (const tenant of [physical, ...virtual]) tenant.work();
  const { functions } = (await status()).adapters[0];
  t.same(
    functions.map(({ faults }) => faults.counts),
    [{}, { NOT_PERMITTED: 1 }, {}],
  );
  for (const tenant of [physical, ...virtual]) tenant.close();
  await running.stop();
});

t.test('it ends while guests are at work on many functions', async (t) => {
  const { device, sockets } = await start(t, FUNCTION_MAX);
  const tenants = [0, 1, 17, 33].map((number) => new Tenant(sockets[number], number));
  for (const tenant of tenants) tenant.post();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.notOk(
    sockets.some((path) => existsSync(path)),
    'no socket is left',
  );
  for (const tenant of tenants) tenant.close();
});

t.test('one socket of many is in use: a sentence, and none is left behind', async (t) => {
  const directory = makeDirectory(t);
  const other = createServer();
  const path = join(directory, 's');
  await new Promise<void>((done) => other.listen(`${path}.20`, done));
  const args = ['device', '--socket', path, '--functions', `${FUNCTION_MAX}`];
  t.match(await runCli(args, { XDG_RUNTIME_DIR: directory }), {
    status: 1,
    stdout: '',
    stderr: /^vuhca device: \S+s\.20 is in use by a running server: stop it or choose another path\n$/,
  });
  t.same(readdirSync(directory).sort(), ['s.20', 'vuhca']);
  t.same(readdirSync(join(directory, 'vuhca')), []);
  await new Promise((done) => other.close(done));
});
