// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of the taker of a datagram: every cell of class, method, attribute, door, kind of node and
 * presence of software, against a statement of the rules in other words, and through a real node.
 */
import t from 'tap';
import {
  MadClass,
  MadMethod,
  MadStatus,
  madMethodNames,
  PerformanceAttribute,
  performanceAttributeNames,
  SubnetAttribute,
  subnetAttributeNames,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { TestClock, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { generalAddress, newMadAddress } from './mad-packet.ts';
import { performanceRows, responsibility, subnetRows } from './responsibilities.ts';
import { subnetHandlers } from './subnet-management-agent.ts';

const doors = ['subnet', 'general'] as const;
const classes = [...Object.values(MadClass), 0x09, 0x30];
const methods = [...Object.values(MadMethod), 0x00, 0x44, 0x7f];
const subnetAttributes = [...Object.values(SubnetAttribute), 0x0001, 0xff00];
const performanceAttributes = [...Object.values(PerformanceAttribute), 0x0002, 0x00ff];

const SWITCH_ATTRIBUTES: readonly number[] = [
  SubnetAttribute.SWITCH_INFO,
  SubnetAttribute.LINEAR_FORWARDING_TABLE,
  SubnetAttribute.MULTICAST_FORWARDING_TABLE,
];
const READ_ONLY: readonly number[] = [
  SubnetAttribute.NODE_DESCRIPTION,
  SubnetAttribute.NODE_INFO,
  SubnetAttribute.VENDOR_DIAG,
];
const ABSENT: readonly number[] = [SubnetAttribute.RANDOM_FORWARDING_TABLE, SubnetAttribute.SM_INFO];

/** The rules of subnet management in other words. */
function expectSubnet(method: number, attribute: number, isSwitch: boolean, hasSoftware: boolean): string {
  if (method >= 0x80 || method === 0x05 || method === 0x06) return 'software';
  if (method === 0x07) return attribute === SubnetAttribute.NOTICE ? 'sma' : 'dropped';
  if (method !== 0x01 && method !== 0x02) return 'refused 8';
  if (attribute === SubnetAttribute.SM_INFO && hasSoftware) return 'software';
  const known = Object.values(SubnetAttribute) as number[];
  if (!known.includes(attribute) || ABSENT.includes(attribute)) return 'refused 12';
  if (SWITCH_ATTRIBUTES.includes(attribute) && !isSwitch) return 'refused 12';
  return method === 0x02 && READ_ONLY.includes(attribute) ? 'refused 12' : 'sma';
}

function expectPerformance(method: number, attribute: number): string {
  if (method >= 0x80 || method === 0x05 || method === 0x06) return 'software';
  if (method === 0x07) return 'dropped';
  if (method !== 0x01 && method !== 0x02) return 'refused 8';
  const known = Object.values(PerformanceAttribute) as number[];
  if (!known.includes(attribute)) return 'refused 12';
  const readOnly: number[] = [PerformanceAttribute.CLASS_PORT_INFO, PerformanceAttribute.PORT_SAMPLES_RESULT];
  return method === 0x02 && readOnly.includes(attribute) ? 'refused 12' : 'pma';
}

t.test('every cell of the table', async (t) => {
  for (const { attribute, methods: served, switchOnly } of subnetRows) {
    const name = subnetAttributeNames[attribute].toLowerCase().replaceAll('_', ' ');
    const which = switchOnly === true ? 'a switch' : 'a node';
    const how = served.map((method) => madMethodNames[method].toLowerCase().replaceAll('_', ' ')).join(' and ');
    ledger(t, '14.2.5', `The subnet management agent of ${which} serves ${how} of ${name}`);
  }
  for (const { attribute, methods: served } of performanceRows) {
    const name = performanceAttributeNames[attribute].toLowerCase().replaceAll('_', ' ');
    const how = served.map((method) => madMethodNames[method].toLowerCase()).join(' and ');
    ledger(t, '16.1.2', `The performance management agent serves ${how} of ${name}`);
  }
  ledger(t, '14.2.3', 'A node that is no switch has no attributes of switches');
  ledger(t, '13.4.5', 'A method that an agent lacks has the status of an unsupported method');
  ledger(t, '13.4.9', 'TrapRepress has no response');
  ledger(t, '13.4.5', 'An agent answers Get and Set of its class; responses, traps and reports go to software');
  ledger(t, '13.5.1', 'Subnet management is taken by QP0 only, and the other classes by QP1 only');
  let cells = 0;
  const wrong: string[] = [];
  for (const door of doors)
    for (const managementClass of classes)
      for (const method of methods)
        for (const attribute of new Set<number>([...subnetAttributes, ...performanceAttributes]))
          for (const isSwitch of [false, true])
            for (const hasSoftware of [false, true]) {
              cells++;
              const isSubnet = managementClass === 0x01 || managementClass === 0x81;
              let expected = 'software';
              if (isSubnet !== (door === 'subnet')) expected = 'dropped';
              else if (isSubnet) expected = expectSubnet(method, attribute, isSwitch, hasSoftware);
              else if (managementClass === 0x04) expected = expectPerformance(method, attribute);
              const found = responsibility(door, managementClass, method, attribute, isSwitch, hasSoftware);
              const text = found.taker === 'refused' ? `refused ${found.status}` : found.taker;
              const cell = `${door} class ${managementClass} method ${method} attribute ${attribute}`;
              if (text !== expected) wrong.push(`${cell} switch ${isSwitch} software ${hasSoftware}: ${text}`);
            }
  t.same(wrong, [], `${cells} cells`);
});

t.test('what the table gives to an agent has a handler', async (t) => {
  for (const { attribute, methods: served } of subnetRows) {
    if (attribute === SubnetAttribute.NOTICE) continue;
    const handler = subnetHandlers.get(attribute);
    t.ok(handler, `attribute ${attribute}`);
    t.equal(handler?.set !== undefined, served.includes(MadMethod.SET), `Set of attribute ${attribute}`);
  }
});

t.test('a node does what the table says, exactly once', async (t) => {
  ledger(t, '13.4.7', 'Each request has one answer: of an agent or of software');
  for (const isSwitch of [false, true])
    for (const hasSoftware of [false, true])
      for (const [managementClass, isVl15, rows] of [
        [MadClass.SUBNET, true, subnetRows],
        [MadClass.PERFORMANCE, false, performanceRows],
      ] as const)
        for (const { attribute } of [...rows, { attribute: SubnetAttribute.SM_INFO }, { attribute: 0x7777 }])
          for (const method of [MadMethod.GET, MadMethod.SET, MadMethod.TRAP_REPRESS, 0x44, MadMethod.GET_RESPONSE]) {
            const node = new TestNode('node', 0x40, new TestClock(), 2, isSwitch);
            const mad = new Uint8Array(256);
            mad.set([1, managementClass, 1, method]);
            new DataView(mad.buffer).setUint16(16, attribute);
            if (attribute === SubnetAttribute.VL_ARBITRATION_TABLE) new DataView(mad.buffer).setUint32(20, 0x10001);
            if (!isVl15) mad[65] = 1;
            const address = isVl15 ? newMadAddress() : generalAddress(1, 2);
            const expected = responsibility(
              isVl15 ? 'subnet' : 'general',
              managementClass,
              method,
              attribute,
              isSwitch,
              hasSoftware,
            );
            const found = node.mads.agents.take(isSwitch ? 0 : 1, address, mad, hasSoftware);
            // A TrapRepress that names no trap of the agents is for software that has sent one.
            const repress = expected.taker === 'sma' ? 'software' : 'dropped';
            const outcome = { software: 'software', dropped: 'dropped' }[expected.taker as string];
            t.equal(
              found,
              outcome ?? (method === MadMethod.TRAP_REPRESS ? repress : 'answered'),
              `${managementClass} ${method} ${attribute}`,
            );
            if (found === 'answered') t.equal(mad[3], MadMethod.GET_RESPONSE);
            if (expected.taker === 'refused') t.equal(new DataView(mad.buffer).getUint16(4), expected.status);
          }
});

t.test('without software SMInfo is an unsupported attribute', async (t) => {
  ledger(t, '14.4.1', 'A port without a subnet manager answers SMInfo with an unsupported attribute');
  const { taker, status } = responsibility('subnet', 0x81, MadMethod.GET, SubnetAttribute.SM_INFO, false, false);
  t.equal(taker, 'refused');
  t.equal(status, MadStatus.UNSUPPORTED_ATTRIBUTE);
});
