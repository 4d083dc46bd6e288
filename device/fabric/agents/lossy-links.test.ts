// SPDX-License-Identifier: Apache-2.0
/**
 * A manager brings a port up over links that lose, repeat, damage and reorder subnet management
 * packets: with a repetition of its requests it always succeeds (IBTA 13.4.6.2, 14.2).
 */
import t from 'tap';
import { decodePortInfo, encodePortInfo, newPortInfo } from '../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { MadMethod, PortState, SubnetAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { TestClock, TestManager, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';
import { FaultyLink } from '../link/faulty-link.ts';

const SEEDS = seedsOf(100, 1000);
const RETRIES = 40;
const FAULTS = { drop: 0.2, duplicate: 0.1, reorder: 0.1, corrupt: 0.1, delay: 0.1 };

/** Sets the state of the port at the other end; asks again when the answer got lost. */
function setState(manager: TestManager, portState: PortState): number | undefined {
  const attribute = SubnetAttribute.PORT_INFO;
  const current = manager.askDirected([1], { method: MadMethod.GET, attribute }, RETRIES);
  if (current === undefined) return undefined;
  const info = decodePortInfo(current.view, 64, newPortInfo());
  const data = new Uint8Array(64);
  Object.assign(info, { lid: 2, masterSmLid: 1, portState, portPhysicalState: 0 });
  encodePortInfo(new DataView(data.buffer), 0, info);
  return manager.askDirected([1], { method: MadMethod.SET, attribute, data }, RETRIES)?.status;
}

t.test('lossy links: the port becomes active over each', async (t) => {
  ledger(t, '13.4.6.2', 'A request whose answer got lost can be sent again');
  ledger(t, '14.2.5.6', 'Setting the state that a port has already changes nothing and succeeds');
  const failed: number[] = [];
  let lost = 0;
  const clock = new TestClock();
  const near = new TestNode('near', 0x10, clock);
  const far = new TestNode('far', 0x20, clock);
  const manager = new TestManager(near.mads.openPort(1), [near, far], clock);
  for (const seed of SEEDS) {
    // A new link takes the ports down, and begins at INITIALIZE.
    far.ports[0].lid = 0;
    const link = new FaultyLink(near.ports[0], far.ports[0], { faults: FAULTS, lateNs: 50_000 }, new Random(seed));
    const isUp = setState(manager, PortState.ARMED) === 0 && setState(manager, PortState.ACTIVE) === 0;
    if (!isUp || !far.ports[0].active || far.ports[0].lid !== 2) failed.push(seed);
    for (const { counters } of link.directions) lost += counters.dropped + counters.corrupted;
  }
  t.same(failed, [], 'seeds');
  t.ok(lost > SEEDS.length, `${lost} packets were lost or damaged`);
});
