// SPDX-License-Identifier: Apache-2.0
/**
 * The control commands of devices of personalities: `fail` and what the driver sees of it, faults
 * that are injected, and counts of objects.
 */
import t from 'tap';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { CommandOpcode as MlxOpcode, CommandStatus as MlxStatus } from '../../../protocol/mlx5/gen/values.gen.ts';
import { ERROR_BUFFER_OFFSET } from '../../../protocol/mthca/gen/constants.gen.ts';
import { CommandOpcode, CommandStatus, FatalKind } from '../../../protocol/mthca/gen/values.gen.ts';
import type { FunctionPort } from '../../host.ts';
import { Firmware } from '../../personality/shared/firmware.ts';
import { Mlx5Driver } from '../../rig/mlx5/driver/mlx5-driver.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';
import { MthcaDriver, makeMthcaMachine } from '../../rig/mthca/driver/mthca-driver.ts';
import { portSetup } from '../../rig/mthca/driver/profile.ts';
import type { ControlClientHandle } from './control-server.ts';
import { makePersonalityCommands, type PersonalityTarget } from './personality-commands.ts';

const client = {} as ControlClientHandle;

/** Commands for a device; `woken` counts how often it was told to work. */
function commandsOf({ device, port }: { device: PersonalityTarget['core']; port: FunctionPort }) {
  let woken = 0;
  const commands = makePersonalityCommands(
    () => ({ core: device, functions: [port] }),
    () => woken++,
  );
  const send = (command: string, parameters: object) =>
    commands.get(command)?.({ version: 1, id: 1, command, parameters: { ...parameters } }, client);
  return {
    fail: (parameters: object) => send('fail', parameters),
    inject: (words: unknown) => send('inject', { words }),
    woken: () => woken,
  };
}

t.test('a device fails by command, and recovers by reset', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const { fail } = commandsOf(driver);
  t.throws(() => fail({ cause: 'moon' }), /no cause moon; there are internal, bus, memory, parity/);
  t.equal(driver.readRegister(ERROR_BUFFER_OFFSET), 0, 'nothing has happened');
  t.same(fail({ cause: 'bus' }), { cause: 'bus' });
  t.equal(driver.readRegister(ERROR_BUFFER_OFFSET) >>> 24, FatalKind.BUS);
  t.equal(driver.command(CommandOpcode.NOP).status, CommandStatus.INTERNAL_ERROR);
  driver.reset();
  const next = new MthcaDriver(driver.machine);
  next.start();
  t.same(fail({}), { cause: 'internal' });
  t.not(next.readRegister(ERROR_BUFFER_OFFSET), 0, 'an internal error is seen, too');
  t.end();
});

t.test('faults are injected by words', (t) => {
  const fixture = new DataFixture();
  const { inject, woken } = commandsOf(fixture.driver);
  const { ports, hca } = fixture.driver.device;
  t.same(inject(['lost-completions', 'count=3', 'qp=0x14']), { text: 'the next completions are lost: 3 of QP 20' });
  t.equal(hca.planted.completions, 3);
  t.same(inject(['lost-commands']), { text: 'the next commands are lost: 1' });
  t.equal(hca.planted.commands, 1);
  t.same(inject(['lost-commands', 'count=0']), { text: 'the next commands are lost: 0' }, 'and are not any more');
  inject(['link-down', 'port=2']);
  fixture.run();
  t.same([...ports.map(({ state }) => state)], [PortState.DOWN, PortState.DOWN], 'both ends of the link');
  inject(['link-up', 'port=2']);
  fixture.run();
  t.same([...ports.map(({ state }) => state)], [PortState.ACTIVE, PortState.ACTIVE]);
  inject(['link-down']);
  fixture.driver.expect(CommandOpcode.CLOSE_IB, { modifier: 1 });
  inject(['link-up']);
  fixture.run();
  t.equal(ports[0].state, PortState.DOWN, 'the driver has not enabled the port');
  inject(['link-down']);
  fixture.driver.expect(CommandOpcode.INIT_IB, { modifier: 1, input: portSetup() });
  fixture.run();
  t.equal(ports[0].state, PortState.DOWN, 'the link is held down');
  inject(['link-up']);
  fixture.run();
  t.ok(ports[0].active);
  fixture.takeEvents();
  t.same(inject(['link-flap']), { text: 'the link of port 1 goes down and trains' });
  fixture.run();
  t.equal(fixture.takeEvents().length, 4, 'both ports went down and came up');
  t.ok(ports[0].active);
  t.same(inject(['fatal', 'cause=memory']), { text: 'the device has failed (memory)' });
  t.equal(fixture.driver.readRegister(ERROR_BUFFER_OFFSET) >>> 24, FatalKind.MEMORY);
  t.equal(hca.firmware, Firmware.WORKS);
  inject(['fatal', 'firmware=silent']);
  t.equal(hca.firmware, Firmware.SILENT);
  t.equal(woken(), 12);
  t.end();
});

t.test('words that name no fault', (t) => {
  const { inject, woken } = commandsOf(new DataFixture().driver);
  for (const [words, says] of [
    [['moon'], /no fault moon; there are fatal, lost-completions, lost-commands, link-down, link-up, link-flap/],
    [[], /no fault ;/],
    ['link-up', /words must be a list of strings/],
    [['fatal', 'cause=moon'], /no cause moon; there are internal/],
    [['fatal', 'firmware=moon'], /no firmware moon; there are works, refuses, silent/],
    [['fatal', 'port=1'], /fatal does not know port=1; give cause=, firmware=/],
    [['lost-completions', 'count'], /lost-completions does not know count; give count=, qp=/],
    [['lost-completions', 'count=many'], /count is many; it must be a number up to/],
    [['lost-completions', 'qp=0x1000000'], /qp is 0x1000000; it must be a number up to 16777215/],
    [['link-flap', 'port=3'], /port is 3; it must be a number up to 2/],
    [['link-flap', 'port=0'], /port is 0; it must be 1 to 2/],
  ] as const)
    t.throws(() => inject(words), says);
  t.equal(woken(), 0);
  t.end();
});

t.test('objects are counted', (t) => {
  const fixture = new DataFixture();
  const count = () => fixture.driver.device.hca.objectCounts;
  const before = count();
  const [a, b] = fixture.connect();
  t.same(count(), { ...before, qps: before.qps + 2, cqs: before.cqs + 2, mrs: before.mrs + 4 });
  for (const qp of [a, b]) qp.destroy();
  t.match(count(), { qps: before.qps });
  t.end();
});

t.test('an mlx5 device takes the same words', async (t) => {
  const driver = new Mlx5Driver();
  const { device, machine } = driver;
  driver.start();
  const { fail, inject, woken } = commandsOf(driver);
  for (const [words, says] of [
    [['fatal', 'cause=bus'], /no cause bus; there are internal, processor, hardware, temperature/],
    [['fatal', 'firmware=works'], /no firmware works; there are silent, refuses/],
    [['link-down', 'port=2'], /port is 2; it must be a number up to 1/],
  ] as const)
    t.throws(() => inject(words), says);
  t.equal(woken(), 0);
  t.same(inject(['link-down']), { text: 'the link of port 1 is held down' });
  t.same(inject(['link-up']), { text: 'the link of port 1 trains' });
  t.same(inject(['lost-completions', 'count=2', 'qp=7']), { text: 'the next completions are lost: 2 of QP 7' });
  t.equal(device.hca.planted.completions, 2);
  t.same(fail({ cause: 'hardware' }), { cause: 'hardware' });
  t.equal(device.hca.health.firmware, Firmware.REFUSES);
  t.equal(driver.command(MlxOpcode.NOP).status, MlxStatus.INTERNAL_ERROR);
  t.equal(woken(), 4);
  machine.reset(0, 'function');
  t.match(device.hca.objectCounts, { eqs: 0, uars: 0, pages: 0 });
});
