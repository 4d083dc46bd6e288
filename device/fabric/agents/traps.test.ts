// SPDX-License-Identifier: Apache-2.0
/**
 * Traps of adapters and switches: contents, repetition, repression, rate (IBTA 14.2.5.1, 13.4.9).
 */
import t from 'tap';
import {
  getBadKeyNoticeKey,
  getBadKeyNoticeLid1,
  getBadKeyNoticeQpn2,
} from '../../../protocol/infiniband/mad/gen/bad-key-notice.gen.ts';
import {
  getBadMKeyNoticeAttributeId,
  getBadMKeyNoticeIsDirected,
  getBadMKeyNoticeMKeyLow,
} from '../../../protocol/infiniband/mad/gen/bad-m-key-notice.gen.ts';
import {
  getBadPartitionNoticePKey,
  getBadPartitionNoticePortNumber,
  getBadPartitionNoticeSwitchLid,
} from '../../../protocol/infiniband/mad/gen/bad-partition-notice.gen.ts';
import {
  getLocalChangeNoticeCapabilityMask,
  getLocalChangeNoticeNodeDescriptionChanged,
} from '../../../protocol/infiniband/mad/gen/local-change-notice.gen.ts';
import { getMadHeaderMethod, setMadHeaderMethod } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  getNoticeCount,
  getNoticeIssuerLid,
  getNoticeToggle,
  getNoticeTrapNumber,
  getNoticeType,
  setNoticeToggle,
} from '../../../protocol/infiniband/mad/gen/notice.gen.ts';
import { getPortErrorNoticePortNumber } from '../../../protocol/infiniband/mad/gen/port-error-notice.gen.ts';
import {
  MadMethod,
  NoticeType,
  PortPhysicalState,
  PortState,
  SubnetAttribute,
  TrapNumber,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { TestClock, TestManager, TestNode } from '../../rig/fixtures/mad-fixture.ts';
import { Cable } from '../link/cable.ts';
import { subnetAddress } from './mad-packet.ts';

const NOTICE = 64;
const MANAGER_LID = 1;
const LID = 2;
const SECOND = 1e9;

interface Fixture {
  readonly clock: TestClock;
  readonly far: TestNode;
  readonly manager: TestManager;
  /** Traps that the manager has heard, with their contents. */
  readonly traps: () => readonly DataView[];
  readonly repress: (trap: DataView) => void;
}

function build(isSwitch = false): Fixture {
  const clock = new TestClock();
  const near = new TestNode('near', 0x10, clock);
  const far = new TestNode('far', 0x20, clock, 3, isSwitch);
  new Cable(near.ports[0], far.ports[0]);
  const manager = new TestManager(near.mads.openPort(1), [near, far], clock);
  near.ports[0].state = PortState.ACTIVE;
  near.ports[0].lid = MANAGER_LID;
  far.ports[0].state = PortState.ACTIVE;
  for (const port of far.endPorts) {
    port.lid = LID;
    port.smLid = MANAGER_LID;
  }
  const tables = far.switchTables;
  if (tables !== undefined) {
    tables.linearTop = 2;
    tables.linear.set([255, 1, 0]);
    tables.portStateChange = false;
  }
  return {
    clock,
    far,
    manager,
    traps: () => manager.heard.map(({ mad }) => new DataView(mad.buffer)),
    repress: (trap) => {
      const mad = new Uint8Array(trap.buffer.slice(0));
      setMadHeaderMethod(new DataView(mad.buffer), 0, MadMethod.TRAP_REPRESS);
      manager.door.send(subnetAddress(MANAGER_LID, LID), mad);
      manager.settle();
    },
  };
}

/** Numbers of the traps heard so far. */
function numbers({ traps }: Fixture): number[] {
  return traps().map((view) => getNoticeTrapNumber(view, NOTICE));
}

t.test('a trap is repeated once a second until it is repressed', async (t) => {
  ledger(t, '13.4.9', 'A trap is repeated until its receiver represses it');
  ledger(t, '14.2.5.1', 'Traps of one cause are at least a second apart');
  const fixture = build();
  const { clock, far, manager } = fixture;
  for (let count = 0; count < 100; count++) far.mads.traps.raiseLocalChange(1);
  manager.settle();
  t.same(numbers(fixture), [TrapNumber.LOCAL_CHANGE]);
  clock.nowNs += SECOND / 2;
  manager.settle();
  t.equal(fixture.traps().length, 1);
  clock.nowNs += SECOND / 2;
  manager.settle();
  t.equal(fixture.traps().length, 2);
  const [first, second] = fixture.traps();
  t.same(new Uint8Array(first.buffer), new Uint8Array(second.buffer), 'the same transaction');
  t.equal(getMadHeaderMethod(first, 0), MadMethod.TRAP);
  t.equal(getNoticeIssuerLid(first, NOTICE), LID);
  fixture.repress(first);
  t.equal(far.mads.traps.repressed, 1);
  t.equal(far.mads.nextNs, Number.POSITIVE_INFINITY, 'nothing is left to do');
  clock.nowNs += 10 * SECOND;
  manager.settle();
  t.equal(fixture.traps().length, 2);
});

t.test('a cause that comes again has its next trap a second after the last one', async (t) => {
  ledger(t, '14.2.5.1', 'A repressed trap may be raised again, a second after it was sent');
  const fixture = build();
  const { clock, far, manager } = fixture;
  far.mads.traps.raiseLocalChange(1);
  manager.settle();
  fixture.repress(fixture.traps()[0]);
  far.mads.traps.raiseLocalChange(1);
  manager.settle();
  t.equal(fixture.traps().length, 1);
  clock.nowNs += SECOND;
  manager.settle();
  t.equal(fixture.traps().length, 2);
  t.not(fixture.traps()[0].getUint32(12), fixture.traps()[1].getUint32(12), 'another transaction');
});

t.test('a TrapRepress of another trap or transaction changes nothing', async (t) => {
  ledger(t, '13.4.9', 'TrapRepress ends the trap of its transaction and number only');
  const fixture = build();
  const { far, manager } = fixture;
  far.mads.traps.raiseLocalChange(1);
  manager.settle();
  const [trap] = fixture.traps();
  const other = new DataView(trap.buffer.slice(0));
  other.setUint32(12, 0x777);
  fixture.repress(other);
  const number = new DataView(trap.buffer.slice(0));
  number.setUint16(NOTICE + 4, TrapNumber.BAD_M_KEY);
  fixture.repress(number);
  t.equal(far.mads.traps.repressed, 0);
  fixture.repress(trap);
  t.equal(far.mads.traps.repressed, 1);
});

t.test('without a manager, or while the port is not active, nothing is sent', async (t) => {
  ledger(t, '14.2.5.1', 'A port sends traps to its master subnet manager only, and while it is active');
  const fixture = build();
  const { clock, far, manager } = fixture;
  far.ports[0].smLid = 0;
  far.mads.traps.raiseLocalChange(1);
  manager.settle();
  t.equal(fixture.traps().length, 0);
  far.ports[0].smLid = MANAGER_LID;
  far.mads.traps.raiseLocalChange(1);
  manager.settle();
  t.equal(fixture.traps().length, 1);
  far.ports[0].state = PortState.INITIALIZE;
  clock.nowNs += 5 * SECOND;
  manager.settle();
  t.equal(fixture.traps().length, 1, 'the repetition ends');
  t.equal(far.mads.nextNs, Number.POSITIVE_INFINITY);
});

t.test('trap 256 tells of a request without the management key', async (t) => {
  ledger(t, '14.2.4', 'A request without the management key raises trap 256 with its contents');
  const fixture = build();
  const { far, manager } = fixture;
  far.ports[0].subnet.mKey.fill(9);
  const mKey = Uint8Array.of(0, 0, 0, 0, 1, 2, 3, 4);
  const request = { method: MadMethod.SET, attribute: SubnetAttribute.P_KEY_TABLE, mKey };
  t.equal(manager.askDirected([1], request), undefined);
  const [trap] = fixture.traps();
  t.equal(getNoticeTrapNumber(trap, NOTICE), TrapNumber.BAD_M_KEY);
  t.equal(getNoticeType(trap, NOTICE), NoticeType.SECURITY);
  t.equal(getBadMKeyNoticeAttributeId(trap, NOTICE), SubnetAttribute.P_KEY_TABLE);
  t.equal(getBadMKeyNoticeMKeyLow(trap, NOTICE), 0x01020304);
  t.equal(getBadMKeyNoticeIsDirected(trap, NOTICE), 1);
});

t.test('each trap says what happened', async (t) => {
  ledger(t, '14.2.5.1', 'Trap 129 names the port whose physical errors reached their threshold');
  ledger(t, '14.2.5.1', 'Trap 130 names the port whose overruns reached their threshold');
  ledger(t, '14.2.5.1', 'Trap 131 names the port whose flow control failed');
  ledger(t, '14.2.5.1', 'Trap 144 has the new capability mask, and says whether the description changed');
  ledger(t, '14.2.5.1', 'Trap 257 has the ends of the packet and its P_Key');
  ledger(t, '14.2.5.1', 'Trap 258 has the ends of the packet and its Q_Key');
  const fixture = build();
  const { far, manager } = fixture;
  const { traps } = far.mads;
  const violation = { slid: 7, dlid: LID, serviceLevel: 3, sourceQpn: 0x112233, destQpn: 0x445566, key: 0x8001 };
  traps.raisePortError(TrapNumber.LINK_INTEGRITY, 1);
  traps.raisePortError(TrapNumber.BUFFER_OVERRUN, 1);
  traps.raisePortError(TrapNumber.FLOW_CONTROL_WATCHDOG, 1);
  far.ports[0].subnet.capabilityMask |= 2;
  traps.raiseLocalChange(1, true);
  traps.raiseKeyViolation(TrapNumber.BAD_P_KEY, 1, violation);
  traps.raiseKeyViolation(TrapNumber.BAD_Q_KEY, 1, { ...violation, key: 0x80010000 });
  manager.settle();
  t.same(numbers(fixture), [129, 130, 131, 144, 257, 258]);
  const [integrity, , , local, pKey, qKey] = fixture.traps();
  t.equal(getPortErrorNoticePortNumber(integrity, NOTICE), 1);
  t.equal(getLocalChangeNoticeCapabilityMask(local, NOTICE) & 2, 2);
  t.equal(getLocalChangeNoticeNodeDescriptionChanged(local, NOTICE), 1);
  t.equal(getBadKeyNoticeLid1(pKey, NOTICE), 7);
  t.equal(getBadKeyNoticeQpn2(pKey, NOTICE), 0x445566);
  t.equal(getBadKeyNoticeKey(pKey, NOTICE), 0x8001);
  t.equal(getBadKeyNoticeKey(qKey, NOTICE), 0x80010000);
});

t.test('notices are read one after the other, with their toggle, and cleared by it', async (t) => {
  ledger(t, '13.4.8.1', 'Get(Notice) shows the oldest notice and their number, Set(Notice) clears it');
  const fixture = build();
  const { far, manager } = fixture;
  const ask = (method: MadMethod, data?: Uint8Array) => {
    const answer = manager.askDirected([1], { method, attribute: SubnetAttribute.NOTICE, ...(data && { data }) });
    if (answer === undefined) throw new Error('Get(Notice) has no answer');
    const view = new DataView(answer.data.buffer, answer.data.byteOffset);
    const shown = [getNoticeTrapNumber(view, 0), getNoticeCount(view, 0)];
    return { shown, toggle: getNoticeToggle(view, 0), data: answer.data };
  };
  t.same(ask(MadMethod.GET).shown, [0, 0], 'there is none');
  // Without a manager there is no trap, and the notice waits.
  far.ports[0].smLid = 0;
  for (let count = 0; count < 3; count++) far.mads.traps.raisePortError(TrapNumber.BUFFER_OVERRUN, 1);
  far.mads.traps.raiseLocalChange(1);
  far.mads.traps.raiseLocalChange(2);
  far.ports[0].smLid = MANAGER_LID;
  const first = ask(MadMethod.GET);
  t.same(first.shown, [130, 2], 'the notices of this port, one of each cause');
  const wrong = first.data.slice();
  setNoticeToggle(new DataView(wrong.buffer), 0, 1 - first.toggle);
  t.same(ask(MadMethod.SET, wrong).shown, [130, 2], 'another toggle clears nothing');
  const second = ask(MadMethod.SET, first.data);
  t.same([second.shown, second.toggle], [[144, 1], 1 - first.toggle]);
  t.same(ask(MadMethod.SET, first.data).shown, [144, 1], 'a Set that comes twice clears one');
  t.same(ask(MadMethod.SET, second.data).shown, [0, 0]);
  far.mads.traps.raiseLocalChange(1);
  manager.settle();
  t.same(ask(MadMethod.GET).shown, [144, 1]);
  fixture.repress(fixture.traps()[0]);
  t.same(ask(MadMethod.GET).shown, [0, 0], 'a manager that represses the trap knows it');
});

t.test('trap 128 tells of a changed port of a switch, once until the manager has looked', async (t) => {
  ledger(t, '14.2.5.1', 'Trap 128 is raised when PortStateChange of a switch becomes 1');
  const fixture = build(true);
  const { clock, far, manager } = fixture;
  const other = new TestNode('other', 0x30, clock);
  new Cable(far.ports[1], other.ports[0]);
  manager.settle();
  t.same(numbers(fixture), [TrapNumber.LINK_STATE_CHANGE]);
  fixture.repress(fixture.traps()[0]);
  far.ports[1].restart(PortPhysicalState.POLLING);
  clock.nowNs += 3 * SECOND;
  manager.settle();
  t.equal(fixture.traps().length, 1, 'the flag is still set');
  const data = new Uint8Array(64);
  data.set([0, 0, 0, 0, 0, 0, 0, 2, 0, 255, 255, (18 << 3) | 4]);
  const set = manager.askByLid(subnetAddress(MANAGER_LID, LID), {
    method: MadMethod.SET,
    attribute: SubnetAttribute.SWITCH_INFO,
    data,
  });
  t.equal(set?.status, 0);
  t.equal(far.switchTables?.portStateChange, false, 'writing 1 clears the flag');
  far.ports[1].restart(PortPhysicalState.POLLING);
  manager.settle();
  t.equal(fixture.traps().length, 2);
});

t.test('trap 259 tells of a wrong partition key at a switch', async (t) => {
  ledger(t, '14.2.5.1', 'Trap 259 names packet, switch and port');
  const fixture = build(true);
  const violation = { slid: 7, dlid: 9, serviceLevel: 0, sourceQpn: 1, destQpn: 2, key: 0x8002 };
  fixture.far.mads.traps.raiseBadPartition(3, violation);
  fixture.manager.settle();
  const [trap] = fixture.traps();
  t.equal(getNoticeTrapNumber(trap, NOTICE), TrapNumber.BAD_P_KEY_AT_SWITCH);
  t.equal(getBadPartitionNoticePKey(trap, NOTICE), 0x8002);
  t.equal(getBadPartitionNoticeSwitchLid(trap, NOTICE), LID);
  t.equal(getBadPartitionNoticePortNumber(trap, NOTICE), 3);
});
