// SPDX-License-Identifier: Apache-2.0
/**
 * Software of an adapter in a managed subnet: the built-in manager at port 2 configures both ports;
 * QP1 of port 1 resolves a path, joins groups, and its datagram QPs receive what is sent to them
 * (IBTA 15.2.5.16, 15.2.5.17, 10.5.2).
 */
import t from 'tap';
import {
  encodeMadHeader,
  getMadHeaderMethod,
  getMadHeaderStatus,
  newMadHeader,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  encodeMcMemberRecord,
  getMcMemberRecordMlid,
  getMcMemberRecordQKey,
  MC_MEMBER_RECORD_MGID_OFFSET,
  MC_MEMBER_RECORD_PORT_GID_OFFSET,
  newMcMemberRecord,
} from '../../../protocol/infiniband/mad/gen/mc-member-record.gen.ts';
import {
  getPathRecordDlid,
  getPathRecordSlid,
  PATH_RECORD_DGID_OFFSET,
  PATH_RECORD_SGID_OFFSET,
  setPathRecordPathCount,
} from '../../../protocol/infiniband/mad/gen/path-record.gen.ts';
import { AdministrationAttribute, MadClass, MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES, SA_DATA_OFFSET, SA_HEADER_OFFSET } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { ManagementOpcode, PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../fabric/port/port.ts';
import { SubnetManager } from '../../fabric/subnet-manager/manager/subnet-manager.ts';
import { multicastPayload } from '../driver/payloads.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { MadQueuePair } from '../fixtures/mad-queue-pairs.ts';

const { GET, GET_RESPONSE, SET } = MadMethod;
const SA_CLASS_VERSION = 2;
const COMPONENT_MASK_OFFSET = SA_HEADER_OFFSET + 12;
/** DGID, SGID and NumbPath of a PathRecord. */
const PATH_COMPONENTS = 0x100cn;
/** To create a group: MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState. */
const CREATE_COMPONENTS = 0x130c7n;
const MGID = Uint8Array.of(0xff, 0x12, 0xa0, 0x1b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9);
const GROUP_QKEY = 0x4444;
const ROUNDS = 200;

/** An adapter whose ports a manager at port 2 has made active. */
class ManagedAdapterFixture extends AdapterFixture {
  readonly manager: SubnetManager;
  readonly ports: readonly [Port, Port];

  constructor() {
    super();
    const { device } = this.machine;
    this.ports = device.ports as unknown as [Port, Port];
    for (const port of this.ports) {
      port.selfActivating = false;
      port.lid = 0;
      port.setState(PortState.INITIALIZE);
    }
    this.manager = new SubnetManager(device.mads.openPort(2), device.clock);
    this.work(() => this.manager.isSettled && this.ports.every(({ active }) => active));
  }

  /** Lets adapter and manager work until `isDone`. */
  work(isDone: () => boolean): void {
    for (let round = 0; round < ROUNDS && !isDone(); round++) {
      this.manager.run(64);
      this.settle();
    }
    if (!isDone()) throw new Error('The subnet does not come to rest.');
  }

  /** Sends a request to subnet administration by QP1, and returns the record of the answer. */
  ask(qp1: MadQueuePair, method: number, attributeId: number, components: bigint, record: Uint8Array) {
    const port = this.ports[qp1.port - 1] as Port;
    const mad = new Uint8Array(MAD_BYTES);
    const view = new DataView(mad.buffer);
    const common = { baseVersion: 1, managementClass: MadClass.SUBNET_ADMINISTRATION, classVersion: SA_CLASS_VERSION };
    encodeMadHeader(view, 0, { ...newMadHeader(), ...common, method, attributeId, transactionIdLow: 77 });
    view.setBigUint64(COMPONENT_MASK_OFFSET, components);
    mad.set(record, SA_DATA_OFFSET);
    const handle = this.driver.addressHandles.add({ port: qp1.port, dlid: port.smLid, pd: this.pd });
    qp1.send(handle, mad);
    let answer = qp1.poll();
    this.work(() => {
      answer ??= qp1.poll();
      return answer !== undefined;
    });
    return new DataView((answer as { mad: Uint8Array }).mad.buffer);
  }

  gidOf(port: number): Uint8Array {
    return (this.ports[port - 1] as Port).gids.slice(0, 16);
  }

  join(qp1: MadQueuePair): DataView {
    const record = new Uint8Array(52);
    const fields = { qKey: GROUP_QKEY, pKey: 0xffff, scope: 2, joinState: 1 };
    encodeMcMemberRecord(new DataView(record.buffer), 0, { ...newMcMemberRecord(), ...fields });
    record.set(MGID, MC_MEMBER_RECORD_MGID_OFFSET);
    record.set(this.gidOf(qp1.port), MC_MEMBER_RECORD_PORT_GID_OFFSET);
    return this.ask(qp1, SET, AdministrationAttribute.MC_MEMBER_RECORD, CREATE_COMPONENTS, record);
  }
}

t.test('QP1 resolves paths at subnet administration', async (t) => {
  ledger(t, '15.2.5.16', 'Software resolves a path by QP1, also from a port to itself');
  const fixture = new ManagedAdapterFixture();
  const qp1 = new MadQueuePair(fixture, 'GSI', 1, 8);
  for (const target of [2, 1]) {
    const record = new Uint8Array(64);
    record.set(fixture.gidOf(target), PATH_RECORD_DGID_OFFSET);
    record.set(fixture.gidOf(1), PATH_RECORD_SGID_OFFSET);
    setPathRecordPathCount(new DataView(record.buffer), 0, 1);
    const answer = fixture.ask(qp1, GET, AdministrationAttribute.PATH_RECORD, PATH_COMPONENTS, record);
    t.same([getMadHeaderMethod(answer, 0), getMadHeaderStatus(answer, 0)], [GET_RESPONSE, 0]);
    t.equal(getPathRecordDlid(answer, SA_DATA_OFFSET), fixture.lidOf(target));
    t.equal(getPathRecordSlid(answer, SA_DATA_OFFSET), fixture.lidOf(1));
  }
  fixture.finish();
});

t.test('members of a group of subnet administration receive what is sent to it', async (t) => {
  ledger(t, '15.2.5.17', 'Ports that have joined a group have one multicast LID, by which their QPs receive');
  const fixture = new ManagedAdapterFixture();
  const mlids = [1, 2].map((port) => {
    const answer = fixture.join(new MadQueuePair(fixture, 'GSI', port));
    t.same([getMadHeaderStatus(answer, 0), getMcMemberRecordQKey(answer, SA_DATA_OFFSET)], [0, GROUP_QKEY]);
    return getMcMemberRecordMlid(answer, SA_DATA_OFFSET);
  });
  t.equal(mlids[0], mlids[1]);
  const dlid = mlids[0] as number;
  const members = [1, 2].map((port) => {
    const qp = fixture.createQueuePair({ port, qkey: GROUP_QKEY });
    fixture.postReceive(qp, 64);
    const payload = multicastPayload(MGID, dlid);
    fixture.driver.management.perform({ opcode: ManagementOpcode.ATTACH_MULTICAST, objectNumber: qp.qpn, payload });
    return qp;
  });
  const route = { port: 1, dlid, globalRoute: 1, hopLimit: 1, pd: fixture.pd };
  const addressHandle = fixture.driver.addressHandles.add(route, MGID);
  members[0]?.post({ remoteQpn: 0xffffff, qkey: GROUP_QKEY, addressHandle, inline: Uint8Array.of(5) });
  for (const member of members) {
    fixture.settle();
    t.equal(member.parts.receiveCq.drain().filter(({ receive }) => receive === 1).length, 1);
  }
});

t.test('QP1 at the port of the manager does not see the requests that the manager answers', async (t) => {
  const fixture = new ManagedAdapterFixture();
  const beside = new MadQueuePair(fixture, 'GSI', 2);
  fixture.join(new MadQueuePair(fixture, 'GSI', 1));
  t.equal(beside.poll(), undefined);
  fixture.join(beside);
  t.equal(beside.poll(), undefined, 'it got its own answer, and no request');
  fixture.finish();
});
