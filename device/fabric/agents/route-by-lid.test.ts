// SPDX-License-Identifier: Apache-2.0
/** Directed routes that begin with a part by LID (IBTA 14.2.2): to a switch, then hop by hop. */
import t from 'tap';
import { getNodeInfoNodeGuidLow } from '../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import { MadMethod, SubnetAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ATTRIBUTE_OFFSET } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { TestClock, TestManager, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { Cable } from '../link/cable.ts';
import { subnetAddress } from './mad-packet.ts';

const NODE_INFO = { method: MadMethod.GET, attribute: SubnetAttribute.NODE_INFO };
const [OWN_LID, SWITCH_LID] = [5, 2];

/** Adapter a, a switch, adapter b; the switch has a route to a. */
function makeChain() {
  const clock = new TestClock();
  const [a, b] = [new TestNode('a', 0x100, clock), new TestNode('b', 0x200, clock)];
  const relay = new TestNode('s', 0x300, clock, 2, true);
  new Cable(a.ports[0], relay.ports[0]);
  new Cable(relay.ports[1], b.ports[0]);
  a.endPorts[0].lid = OWN_LID;
  relay.endPorts[0].lid = SWITCH_LID;
  if (relay.switchTables === undefined) throw new Error('a switch has tables');
  relay.switchTables.linear[OWN_LID] = 1;
  relay.switchTables.linearTop = OWN_LID;
  return { clock, a, relay, nodes: [a, relay, b] };
}

t.test('by LID to the switch, then one hop to its neighbour', (t) => {
  const { clock, a, nodes } = makeChain();
  const manager = new TestManager(a.mads.openPort(1), nodes, clock);
  const response = manager.askDirected([2], NODE_INFO, 0, { ...subnetAddress(OWN_LID, SWITCH_LID), drSlid: OWN_LID });
  t.ok(response, 'there is an answer');
  if (response !== undefined) t.equal(getNodeInfoNodeGuidLow(response.view, ATTRIBUTE_OFFSET), 0x200);
  t.end();
});

t.test('by LID to the switch, which is the destination', (t) => {
  const { clock, a, nodes } = makeChain();
  const manager = new TestManager(a.mads.openPort(1), nodes, clock);
  const response = manager.askDirected([], NODE_INFO, 0, { ...subnetAddress(OWN_LID, SWITCH_LID), drSlid: OWN_LID });
  if (response !== undefined) t.equal(getNodeInfoNodeGuidLow(response.view, ATTRIBUTE_OFFSET), 0x300);
  t.ok(response, 'there is an answer');
  t.end();
});

t.test('software of the switch itself begins so at its own LID', (t) => {
  const { clock, relay, nodes } = makeChain();
  const manager = new TestManager(relay.mads.openPort(0), nodes, clock);
  const toItself = { ...subnetAddress(SWITCH_LID, SWITCH_LID), drSlid: SWITCH_LID };
  const response = manager.askDirected([2], NODE_INFO, 0, toItself);
  if (response !== undefined) t.equal(getNodeInfoNodeGuidLow(response.view, ATTRIBUTE_OFFSET), 0x200);
  t.ok(response, 'there is an answer');
  t.end();
});
