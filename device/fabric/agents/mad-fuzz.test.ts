// SPDX-License-Identifier: Apache-2.0
/**
 * Malformed, foreign and forged datagrams: none makes a node throw, leaves a port in a state that
 * the specification does not allow, or changes a port whose management key it lacks (IBTA 14.2).
 */
import t from 'tap';
import { isUnicastLid } from '../../../protocol/infiniband/addresses.ts';
import { MadClass, MadMethod, PortState, SubnetAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { TestClock, TestManager, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import { Cable } from '../link/cable.ts';
import { generalAddress, type MadAddress, newMadAddress, subnetAddress } from './mad-packet.ts';

const SEEDS = seedsOf(2, 6);
const DATAGRAMS = 2500;
const CLASSES = [...Object.values(MadClass), 0, 0x82, 0xff];
const METHODS = [MadMethod.GET, MadMethod.SET, MadMethod.SET, MadMethod.TRAP_REPRESS, MadMethod.TRAP, 0x81, 0x44];
const ATTRIBUTES = [...Object.values(SubnetAttribute), 0x0001, 0x0012, 0x001d, 0x7777];

/** A datagram that is near enough to a good one to reach a handler. */
function fuzz(random: Random): { address: MadAddress; mad: Uint8Array } {
  const mad = Uint8Array.from({ length: 256 }, () => (random.oneIn(3) ? random.below(256) : 0));
  const view = new DataView(mad.buffer);
  const isVl15 = !random.oneIn(4);
  const managementClass = random.oneIn(20)
    ? CLASSES[random.below(CLASSES.length)]
    : isVl15
      ? [MadClass.SUBNET, MadClass.SUBNET_DIRECTED_ROUTE][random.below(2)]
      : MadClass.PERFORMANCE;
  mad.set([random.oneIn(50) ? 7 : 1, managementClass, random.oneIn(50) ? 2 : 1, METHODS[random.below(METHODS.length)]]);
  view.setUint16(4, 0);
  view.setUint16(6, random.oneIn(5) ? random.below(65536) : 0x0101);
  if (managementClass === MadClass.SUBNET_DIRECTED_ROUTE && !random.oneIn(10)) {
    view.setUint32(32, 0xffffffff);
    mad.set([0, 1], 128);
  }
  view.setUint16(16, ATTRIBUTES[random.below(ATTRIBUTES.length)]);
  view.setUint32(20, random.oneIn(4) ? random.next() : random.below(4));
  const address = isVl15 ? (random.oneIn(2) ? newMadAddress() : subnetAddress(1, 2)) : generalAddress(1, 2);
  return { address, mad };
}

/** What is not allowed at the ports of a node; undefined when all is right. */
function findIllegal(node: TestNode): string | undefined {
  for (const port of node.endPorts) {
    if (port.lid !== 0 && !isUnicastLid(port.lid)) return `LID ${port.lid}`;
    if (port.lmc > 7 || (port.lid & ((1 << port.lmc) - 1)) !== 0) return `LID ${port.lid} with LMC ${port.lmc}`;
    if (port.smLid !== 0 && !isUnicastLid(port.smLid)) return `manager at LID ${port.smLid}`;
    if (!port.gids.subarray(0, 8).every((byte, index) => byte === port.subnetPrefix[index])) return 'prefix of GID 0';
    if (!port.gids.subarray(8, 16).every((byte, index) => byte === port.guid[index])) return 'GUID 0';
  }
  for (const { settings, activeMtuCode, transmitQueues, state } of node.ports) {
    if (activeMtuCode < 1 || activeMtuCode > 5) return `MTU code ${activeMtuCode}`;
    if (settings.linkWidthEnabled === 0 || (settings.linkWidthEnabled & ~settings.linkWidthSupported) !== 0)
      return `width ${settings.linkWidthEnabled}`;
    if (settings.linkSpeedEnabled === 0 || (settings.linkSpeedEnabled & ~settings.linkSpeedSupported) !== 0)
      return `speed ${settings.linkSpeedEnabled}`;
    if (transmitQueues.operationalVls < 1) return 'no lane in use';
    if (state < PortState.DOWN || state > PortState.ACTIVE) return `state ${state}`;
  }
  return undefined;
}

function build(isSwitch: boolean): { clock: TestClock; near: TestNode; far: TestNode } {
  const clock = new TestClock();
  const near = new TestNode('near', 0x10, clock);
  const far = new TestNode('far', 0x20, clock, 2, isSwitch, 2);
  new Cable(near.ports[0], far.ports[0]);
  return { clock, near, far };
}

for (const isSwitch of [false, true])
  t.test(`forged datagrams to ${isSwitch ? 'a switch' : 'an adapter'} leave only legal values`, async (t) => {
    ledger(t, '14.2.5', 'No datagram, however malformed, gives a port an illegal value');
    for (const seed of SEEDS) {
      const random = new Random(seed);
      const { clock, near, far } = build(isSwitch);
      let illegal: string | undefined;
      for (let count = 0; count < DATAGRAMS && illegal === undefined; count++) {
        clock.nowNs += 1000 + (random.oneIn(100) ? 2e9 : 0);
        const { address, mad } = fuzz(random);
        far.mads.receive(isSwitch && random.oneIn(3) ? 0 : 1, address, mad);
        while (far.run() || near.run()) clock.nowNs += 1000;
        illegal = findIllegal(far);
      }
      t.equal(illegal, undefined, `seed ${seed}`);
    }
  });

t.test('what lacks the management key changes nothing', async (t) => {
  ledger(t, '14.2.4', 'No forged datagram changes a port whose management key it lacks');
  for (const seed of SEEDS) {
    const random = new Random(seed);
    const { clock, near, far } = build(false);
    for (const { subnet } of far.ports) {
      subnet.mKey.set([0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4]);
      subnet.mKeyProtect = 2;
    }
    const before = settingsOf(far);
    for (let count = 0; count < DATAGRAMS; count++) {
      clock.nowNs += 1000;
      const { address, mad } = fuzz(random);
      if (!address.isVl15) continue;
      far.mads.receive(1, address, mad);
      while (far.run() || near.run()) clock.nowNs += 1000;
    }
    t.same(settingsOf(far), before, `seed ${seed}`);
    t.ok(far.ports[0].subnet.mKeyViolations > 100, 'the forgeries are counted');
  }
});

t.test('after all that a manager can bring the port up', async (t) => {
  const random = new Random(99);
  const { clock, near, far } = build(false);
  for (let count = 0; count < DATAGRAMS; count++) {
    const { address, mad } = fuzz(random);
    far.mads.receive(1, address, mad);
    while (far.run() || near.run()) clock.nowNs += 1000;
  }
  far.ports[0].subnet.mKey.fill(0);
  far.ports[0].restart(2);
  const manager = new TestManager(near.mads.openPort(1), [near, far], clock);
  const info = manager.askDirected([1], { method: MadMethod.GET, attribute: SubnetAttribute.PORT_INFO });
  t.equal(info?.status, 0);
});

/** Everything that a manager can set. */
function settingsOf(node: TestNode): unknown {
  return node.ports.map(({ lid, lmc, smLid, pkeys, gids, subnetPrefix, settings, state, activeMtuCode, subnet }) => {
    const { mKeyViolations: _violations, leaseEndNs: _lease, ...rest } = subnet;
    return structuredClone({ lid, lmc, smLid, pkeys, gids, subnetPrefix, settings, state, activeMtuCode, rest });
  });
}
