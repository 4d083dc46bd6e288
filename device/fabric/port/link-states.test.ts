// SPDX-License-Identifier: Apache-2.0
/** States of the ends of a link, and how a link trains (IBTA 5.6, 7.2.7, 14.2.5.6). */
import t from 'tap';
import { LinkSpeed, LinkWidth, PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { Cable } from '../link/cable.ts';
import { FaultyLink } from '../link/faulty-link.ts';
import { LinkEnd } from './link.ts';

const GUID = new Uint8Array(8);

function managedEnds(dataVls = 1): [LinkEnd, LinkEnd] {
  const [first, second] = [1, 2].map((number) => new LinkEnd(number, GUID, 4, dataVls));
  first.selfActivating = false;
  second.selfActivating = false;
  return [first, second];
}

t.test('a link that trains takes both ends to INITIALIZE, and no further', async (t) => {
  ledger(t, '7.2.7', 'A link that comes up leaves its ports in Initialize until a subnet manager arms them');
  for (const join of [
    (first: LinkEnd, second: LinkEnd) => new Cable(first, second),
    (first: LinkEnd, second: LinkEnd) => new FaultyLink(first, second, {}, new Random(1)),
  ]) {
    const [first, second] = managedEnds();
    join(first, second);
    t.equal(first.state, PortState.INITIALIZE);
    t.equal(second.state, PortState.INITIALIZE);
    t.equal(first.physicalState, PortPhysicalState.LINK_UP);
  }
});

t.test('a manager may ask for the next state only', async (t) => {
  ledger(t, '14.2.5.6', 'Armed follows Initialize, Active follows Armed, and Down is always allowed');
  const [end] = managedEnds();
  const { DOWN, INITIALIZE, ARMED, ACTIVE } = PortState;
  const legal = new Map([
    [DOWN, [DOWN]],
    [INITIALIZE, [DOWN, ARMED]],
    [ARMED, [DOWN, ARMED, ACTIVE]],
    [ACTIVE, [DOWN, ACTIVE]],
  ] as const);
  for (const [state, allowed] of legal) {
    end.state = state;
    const found = [DOWN, INITIALIZE, ARMED, ACTIVE].filter((requested) => end.allows(requested));
    t.same(found, allowed, `from ${state}`);
  }
});

t.test('the first data packet makes an armed port active, and no other one', async (t) => {
  ledger(t, '7.2.7', 'An armed port that receives a data packet becomes active');
  const [end] = managedEnds();
  for (const state of [PortState.DOWN, PortState.INITIALIZE, PortState.ACTIVE]) {
    end.state = state;
    end.noteData();
    t.equal(end.state, state);
  }
  end.state = PortState.ARMED;
  end.noteData();
  t.equal(end.state, PortState.ACTIVE);
});

t.test('an end that is restarted takes the link down, and it trains again', async (t) => {
  ledger(t, '14.2.5.6', 'Setting PortState to Down takes the link down and trains it again');
  const [first, second] = managedEnds();
  new Cable(first, second);
  first.state = PortState.ACTIVE;
  second.state = PortState.ACTIVE;
  const seen: PortState[] = [];
  second.onStateChange = (end) => seen.push(end.state);
  first.restart(PortPhysicalState.POLLING);
  t.equal(first.state, PortState.INITIALIZE);
  t.same(seen, [PortState.DOWN, PortState.INITIALIZE], 'at the other end, too');
  t.equal(first.counters.linkDowned, 0, 'the end that was asked counts no error');
  t.equal(second.counters.linkDowned, 1);
});

t.test('a link with a disabled end stays down until the end is enabled', async (t) => {
  ledger(t, '14.2.5.6', 'A port whose physical state is Disabled does not train');
  for (const isFaulty of [false, true]) {
    const [first, second] = managedEnds();
    if (isFaulty) new FaultyLink(first, second, {}, new Random(2));
    else new Cable(first, second);
    first.restart(PortPhysicalState.DISABLED);
    t.equal(first.state, PortState.DOWN);
    t.equal(first.physicalState, PortPhysicalState.DISABLED);
    t.equal(second.state, PortState.DOWN);
    t.equal(second.physicalState, PortPhysicalState.POLLING);
    second.restart(PortPhysicalState.POLLING);
    t.equal(second.state, PortState.DOWN, 'the other end cannot wake it');
    first.restart(PortPhysicalState.POLLING);
    t.equal(first.state, PortState.INITIALIZE);
    t.equal(second.state, PortState.INITIALIZE);
  }
});

t.test('a sleeping end wakes when the other end polls', async (t) => {
  const [first, second] = managedEnds();
  new Cable(first, second);
  first.restart(PortPhysicalState.SLEEP);
  t.equal(first.state, PortState.INITIALIZE, 'the other end polls');
  first.settings.linkDownDefaultState = PortPhysicalState.SLEEP;
  second.settings.linkDownDefaultState = PortPhysicalState.SLEEP;
  second.restart(PortPhysicalState.SLEEP);
  t.equal(first.state, PortState.DOWN, 'both sleep');
  second.restart(PortPhysicalState.POLLING);
  t.equal(first.state, PortState.INITIALIZE);
});

t.test('the ends agree on the best width and speed that both have enabled', async (t) => {
  ledger(t, '14.2.5.6', 'Enabled widths and speeds take effect when the link trains');
  const [first, second] = managedEnds();
  new Cable(first, second);
  t.equal(first.settings.linkWidthActive, LinkWidth.WIDTH_4X);
  t.equal(first.settings.linkSpeedActive, LinkSpeed.QDR);
  first.settings.linkWidthEnabled = LinkWidth.WIDTH_1X;
  second.settings.linkSpeedEnabled = LinkSpeed.SDR | LinkSpeed.DDR;
  t.equal(first.settings.linkWidthActive, LinkWidth.WIDTH_4X, 'not before it trains');
  first.restart(PortPhysicalState.POLLING);
  for (const end of [first, second]) {
    t.equal(end.settings.linkWidthActive, LinkWidth.WIDTH_1X);
    t.equal(end.settings.linkSpeedActive, LinkSpeed.DDR);
  }
  second.settings.linkSpeedEnabled = LinkSpeed.QDR;
  first.settings.linkSpeedEnabled = LinkSpeed.SDR;
  second.restart(PortPhysicalState.POLLING);
  t.equal(first.state, PortState.DOWN, 'no speed in common');
});

t.test('lanes that are not in use discard their packets', async (t) => {
  ledger(t, '14.2.5.6', 'Packets of a service level that maps to a lane not in use are discarded');
  const [{ transmitQueues }] = managedEnds(4);
  transmitQueues.setVirtualLane(5, 3);
  t.equal(transmitQueues.ringOf(5), transmitQueues.rings[3]);
  transmitQueues.operationalVls = 2;
  t.equal(transmitQueues.ringOf(5), undefined);
  t.equal(transmitQueues.ringOf(0), transmitQueues.rings[0]);
  t.equal(transmitQueues.getVirtualLane(5), 3, 'the table keeps what was written');
  transmitQueues.operationalVls = 4;
  t.equal(transmitQueues.ringOf(5), transmitQueues.rings[3]);
  transmitQueues.setVirtualLane(6, 15);
  t.equal(transmitQueues.ringOf(6), undefined);
});

t.test('packets count as sent when they leave, and not when they are discarded', async (t) => {
  const [first, second] = managedEnds();
  new Cable(first, second);
  const ring = first.transmitQueues.rings[0];
  for (const length of [100, 60]) first.transmit(ring, length);
  t.equal(first.transmitQueues.transmittedPackets, 0);
  ring.shift();
  t.equal(first.transmitQueues.transmittedPackets, 1);
  t.equal(first.transmitQueues.transmittedBytes, 100);
  first.restart(PortPhysicalState.POLLING);
  t.equal(first.transmitQueues.transmittedBytes, 100);
  t.equal(first.transmitDiscards, 1);
});
