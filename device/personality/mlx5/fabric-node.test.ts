// SPDX-License-Identifier: Apache-2.0
/**
 * Devices of the personality mlx5 as nodes of a fabric, beside our own adapter: their ports come
 * and go with the function, a subnet manager configures them, software hears of it, and a recording
 * replays byte for byte.
 */
import t from 'tap';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { HEALTH_COUNTER_OFFSET, TIMER_OFFSET } from '../../../protocol/mlx5/gen/constants.gen.ts';
import { CommandOpcode, EventType, PortChange, SendOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import { PortChange as SettingChange } from '../../fabric/port/end-port.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import type { DriverEventQueue, Mlx5Driver } from '../../rig/mlx5/driver/mlx5-driver.ts';
import { Mlx5Fabric, mlx5Node } from '../../rig/mlx5/driver/mlx5-fabric.ts';
import { findFabricError } from '../../topology/fabric-errors.ts';
import { encodeFault } from '../shared/injected-faults.ts';

const PORT_EVENTS = 1n << BigInt(EventType.PORT_CHANGE);
const MTU = 4096;

/** The changes of port 1 that software has been told of; events of other ports fail. */
function takeChanges(driver: Mlx5Driver, queue: DriverEventQueue): number[] {
  return driver.takeEvents(queue).map(({ type, subType, data }) => {
    if (type !== EventType.PORT_CHANGE || data.getUint8(8) !== 0x10) throw new Error(`event ${type}`);
    return subType;
  });
}

t.test('ports come and go with the function', async (t) => {
  const fabric = new Mlx5Fabric();
  const { machine, m } = fabric;
  const { device, driver } = m;
  const [port] = device.ports;
  machine.runUntilIdle();
  t.equal(port.state, PortState.DOWN, 'no driver is there');
  driver.start();
  fabric.awaitActive(m);
  t.not(port.lid, 0, 'a subnet manager has given it a LID');
  t.equal(port.mtuBytes, MTU);
  const neighbour = fabric.built.switches[0].ports[0];
  t.ok(neighbour.active);
  const queue = driver.createEventQueue(driver.allocateUar(), PORT_EVENTS);
  driver.expect(CommandOpcode.DESTROY_EQ, { fill: (view) => view.setUint32(8, queue.number) });
  driver.expect(CommandOpcode.TEARDOWN_HCA);
  t.same([port.state, neighbour.state], [PortState.DOWN, PortState.DOWN], 'both ends of the link');
  driver.expect(CommandOpcode.INIT_HCA, { inputBytes: 0x20 });
  fabric.awaitActive(m);
  driver.expect(CommandOpcode.DISABLE_HCA);
  t.equal(port.state, PortState.DOWN);
  for (const kind of ['function', 'lost', 'device', 'software'] as const) {
    driver.start();
    fabric.awaitActive(m);
    machine.reset(0, kind);
    t.equal(port.state, PortState.DOWN, `a reset: ${kind}`);
    machine.resume(0);
  }
});

t.test('no program takes its node for one of the vendor', async (t) => {
  const { vendorId, deviceId } = new Mlx5Fabric().m.device;
  t.not(vendorId, 0x0002c9);
  // infiniband-diags ask these for a further attribute, whatever the vendor is.
  t.notOk(deviceId >= 0x1003 && deviceId <= 0x1017, `device ${deviceId.toString(16)}`);
});

t.test('software hears of its port', async (t) => {
  const fabric = new Mlx5Fabric();
  const { machine, m, n } = fabric;
  for (const { driver } of [m, n]) driver.start();
  for (const end of [m, n]) fabric.awaitActive(end);
  const [events, others] = [m, n].map(({ driver }) => driver.createEventQueue(driver.allocateUar(), PORT_EVENTS));
  machine.functionAt(0).plantFault(encodeFault(['link-flap']));
  fabric.awaitActive(m);
  t.match(takeChanges(m.driver, events), [PortChange.DOWN, PortChange.INITIALIZED, PortChange.ACTIVE]);
  const [port] = m.device.ports;
  for (const [change, event] of [
    [SettingChange.LID, PortChange.LID],
    [SettingChange.SM, PortChange.LID],
    [SettingChange.PKEY, PortChange.PKEY],
    [SettingChange.GID, PortChange.GUID],
    [SettingChange.CLIENT_REREGISTER, PortChange.CLIENT_REREGISTER],
  ] as const) {
    port.onChange?.(port, change);
    t.same(takeChanges(m.driver, events), [event]);
  }
  m.driver.expect(CommandOpcode.DESTROY_EQ, { fill: (view) => view.setUint32(8, events.number) });
  t.same(takeChanges(m.driver, events), [], 'nothing more');
  m.driver.port.reset('function');
  t.same(takeChanges(n.driver, others), [], 'the other device has a port of its own');
});

t.test('a message waits for no adapter that it does not pass', async (t) => {
  const fabric = new Mlx5Fabric();
  const { machine, m, n, built } = fabric;
  const fixtures = [m, n].map(({ driver }) => new DataFixture(driver));
  for (const end of [m, n]) fabric.awaitActive(end);
  const [a, b] = fixtures.map((fixture) => fixture.queuePair());
  a.start(b.number, n.device.ports[0].lid);
  b.start(a.number, m.device.ports[0].lid);
  b.postReceive(fixtures[1].memory(64));
  const source = fixtures[0].memory(64);
  machine.runUntilIdle();
  const runs: string[] = [];
  for (const [index, node] of [...built.adapters, ...built.switches].entries()) {
    const run = node.run.bind(node);
    node.run = (budget) => {
      runs.push('mvns'[index]);
      return run(budget);
    };
  }
  a.post({ opcode: SendOpcode.SEND, pieces: [source] });
  machine.runUntil(() => b.setup.cq.peek() !== undefined, 'the message');
  t.equal(runs.indexOf('v'), -1, 'the third adapter has not run');
  machine.runUntilIdle();
  t.ok(a.setup.cq.peek(), 'it is acknowledged');
  // A node runs again when its neighbour has taken a packet.
  t.equal(runs.join(''), 'msm' + 'nsm' + 'ns' + 'v', 'each of the others runs once before the device rests');
});

t.test('a recording of it replays, with all that the driver has read', async (t) => {
  const fabric = new Mlx5Fabric();
  const { machine, m, n } = fabric;
  for (const { driver } of [m, n]) {
    driver.start();
    const queue = driver.createEventQueue(driver.allocateUar(), PORT_EVENTS | (1n << BigInt(EventType.COMMAND)));
    driver.arm(queue);
  }
  for (const end of [m, n]) fabric.awaitActive(end);
  for (let look = 0; look < 5; look++) {
    for (const offset of [TIMER_OFFSET, TIMER_OFFSET + 4, HEALTH_COUNTER_OFFSET]) m.driver.readRegister(offset);
    n.driver.port.readRegister(TIMER_OFFSET, 8);
    machine.clock.advance(123_456_789);
    machine.runUntilIdle();
  }
  machine.functionAt(0).plantFault(encodeFault(['lost-commands']));
  m.driver.post(CommandOpcode.NOP);
  machine.functionAt(0).plantFault(encodeFault(['fatal', 'cause=temperature']));
  machine.runUntilIdle();
  m.driver.readRegister(0x23c);
  m.driver.setInterface(7);
  m.driver.start();
  fabric.awaitActive(m);
  t.match(fabric.replay(), { divergence: undefined, truncated: false });
});

t.test('options of a plan', async (t) => {
  const plan = (changes: object) => ({
    adapters: [{ ...mlx5Node('m', 1), options: { ...mlx5Node('m', 1).options, ...changes } }],
    switches: [],
    links: [],
    subnet: 'fixed' as const,
  });
  t.equal(findFabricError(plan({})), undefined);
  for (const [changes, says] of [
    [{ portCount: 2 }, /adapter m: option portCount is 2; it must be 1$/],
    [{ nodeGuid: '12' }, /adapter m: option nodeGuid is 12; it must be 16 hex digits/],
    [{ portLids: [0, 1] }, /adapter m: option portLids is 0,1; a unicast LID is 1 to 49151/],
    [{ portQueuePackets: 1 }, /adapter m: option portQueuePackets is 1; it must be 2 to 1024/],
  ] as const)
    t.match(findFabricError(plan(changes)), says);
  const odd = { ...mlx5Node('m', 1), personality: 'constructor' as never };
  t.match(findFabricError({ ...plan({}), adapters: [odd] }), /personality is constructor; it must be mthca or mlx5$/);
});
