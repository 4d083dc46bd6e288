// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca device --functions N`: the largest number of functions start and work; guests come, go,
 * crash and return without effect on the others; the process ends at once.
 */
import { existsSync } from 'node:fs';
import t from 'tap';
import { Random } from '../../../device/random.ts';
import { LinkedProcess } from '../../../device/rig/live/linked-process.ts';
import { LiveTenant } from '../../../device/rig/live/tenant.ts';
import type { VfioUserAccess } from '../../../device/rig/live/vfio-user-access.ts';
import {
  DEVICE_ID_PF,
  DEVICE_ID_VF,
  FUNCTION_MAX,
  PAGE_BYTES,
  PCB_MAX,
  VCB_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { CONFIG_REGION, VfioUserClient } from '../../../protocol/vfio-user/client/client.ts';
import { isSame, snapshot, start, until } from '../testing/many-functions.ts';

const PCI_DEVICE_ID = 2;
const SEED = 7;

// Nothing here waits for a time; a machine that is busy with other tests may need long.
t.setTimeout(0);

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
  const tenants = sockets.map((path, number) => new LiveTenant(path, number));
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

/** True if a command is being collected in the page. */
function bindsPage(access: VfioUserAccess, page: number): boolean {
  const word = access.readRegister(CSR.VCB_IN_USE + 4 * Math.floor(page / 32), 4);
  return ((word >>> (page % 32)) & 1) === 1;
}

t.test('one function with all the VCBs and PCBs there can be', async (t) => {
  const running = await start(t, 1, '--vcbs', `${VCB_MAX}`, '--pcbs', `${PCB_MAX}`);
  const tenant = new LiveTenant(running.sockets[0], 1);
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
  const [busy, quiet] = [new LiveTenant(sockets[0], 1), new LiveTenant(sockets[3], 2)];
  quiet.work();
  const before = await snapshot(running, 3, quiet);

  // One whose socket closes in the middle of its traffic, with a command half-written.
  const first = new LiveTenant(sockets[1], 3);
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

  const returned = [1, 2].map((number) => new LiveTenant(sockets[number], 5 + number));
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

t.test(`clients that come and go at any moment, seed ${SEED}`, async (t) => {
  const random = new Random(SEED);
  const running = await start(t, 3);
  const { sockets } = running;
  const busy = new LiveTenant(sockets[2], SEED);
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
      const tenant = new LiveTenant(path, round);
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

t.test('it ends while guests are at work on many functions', async (t) => {
  const { device, sockets } = await start(t, FUNCTION_MAX);
  const tenants = [0, 1, 17, 33].map((number) => new LiveTenant(sockets[number], number));
  for (const tenant of tenants) tenant.post();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.notOk(
    sockets.some((path) => existsSync(path)),
    'no socket is left',
  );
  for (const tenant of tenants) tenant.close();
});
