// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca device --functions N` with a raw vfio-user client on each socket: its screens, the
 * physical function that stops and starts all functions, and a start that fails. functions.long.ts
 * has more.
 */
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { LiveTenant } from '../../../device/rig/live/tenant.ts';
import { FUNCTION_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  CSR_ADAPTER_CONTROL_DISABLE_MASK,
  getCsrDeviceStatusAdapterDisabled,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { makeDirectory } from '../testing/directory.ts';
import { start } from '../testing/many-functions.ts';
import { runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

/** Commands posted in a while in which an adapter that is not disabled executes them. */
const WAITING_COMMANDS = 16;

// Nothing here waits for a time; a machine that is busy with other tests may need long.
t.setTimeout(0);

t.test('status and top show each function of a running adapter', async (t) => {
  // Without a fixed time the pump has a line only after longer polls.
  const running = await start(t, 3, '--spin=50');
  const { sockets, environment } = running;
  const tenants = [0, 1].map((number) => new LiveTenant(sockets[number], number));
  for (const tenant of tenants) tenant.work();
  t.match(await runWords(['status'], environment), {
    status: 0,
    stdout: /^0 +enabled .*\n1 +enabled .*\n(.*\n){7}no guest has attached function 2 yet$/m,
  });
  t.match(await runWords(['status', '--function', '1'], environment), { status: 0, stdout: /^function 1 +enabled/m });
  const list = await runWords(['status', '--qp', '--function', '1'], environment);
  t.match(list, { status: 0, stdout: /^QP .*\n(\d+ +1 +(UD|RC) +RTS .*\n)+peer: / }, 'only those of the function');
  const qpn = /^\d+/m.exec(list.stdout)?.[0] ?? '';
  t.match(await runWords(['status', '--qp', qpn], environment), {
    status: 0,
    stdout: new RegExp(`^QP ${qpn} +\\w+, RTS, function 1, `),
  });
  t.match(await runWords(['status', '--function', '3'], environment), {
    status: 2,
    stderr: /option --function is 3; the last function is 2/,
  });
  t.match(await runWords(['top', '--count', '2'], environment), {
    status: 0,
    stdout:
      /^(vuhca \d+ +up .*\npump .*, --spin=50\nfn .*\n0 +enabled .*\n1 +enabled .*\n(.+\n){2}fn .*\n0 +enabled .* 0\n1 +enabled .* 0\n(.+\n)+){2}$/,
  });
  const top = await runWords(['top', '--count', '1', '--json', '--function', '1'], environment);
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

t.test('the physical function stops the commands of all; nothing is lost', async (t) => {
  const running = await start(t, 3);
  const { sockets, status } = running;
  let physical = new LiveTenant(sockets[0], 1);
  const virtual = [1, 2].map((number) => new LiveTenant(sockets[number], number + 1));
  const set = ({ access }: LiveTenant, value: number): void => access.writeRegister(CSR.ADAPTER_CONTROL, 4, value, 0);
  const isDisabled = ({ access }: LiveTenant): boolean =>
    getCsrDeviceStatusAdapterDisabled(access.readRegister(CSR.DEVICE_STATUS, 4)) === 1;
  const isReady = ({ pair }: LiveTenant): boolean => pair.a.parts.sendCq.ready;
  /**
   * Posts commands, then as many management commands, which the adapter executes in every state, to
   * give it time.
   */
  const postInVain = (tenants: readonly LiveTenant[]): void => {
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

  physical = new LiveTenant(sockets[0], 4);
  for (const tenant of [physical, ...virtual]) tenant.work();
  const { functions } = (await status()).adapters[0];
  t.same(
    functions.map(({ faults }) => faults.counts),
    [{}, { NOT_PERMITTED: 1 }, {}],
  );
  for (const tenant of [physical, ...virtual]) tenant.close();
  await running.stop();
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
