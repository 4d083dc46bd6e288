// SPDX-License-Identifier: Apache-2.0
/**
 * The QPs of a device by themselves: doorbells that are theirs, requests on keys that are read
 * again, and what a transition does to transport and queues (IBTA 10.3.1).
 */
import t from 'tap';
import { QpState } from '../../../protocol/layout/gen/values.gen.ts';
import {
  CommandOpcode,
  QpState as ContextState,
  QpService,
  ReceiveQueueType,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import type { KeyHolder } from '../../hca/protection/key-holder.ts';
import { absentReceiveQueue } from '../../hca/queues/absent-queues.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import type { Mlx5DriverQueuePair } from '../../rig/mlx5/driver/queue-pair.ts';
import type { Mlx5QueuePair } from './queues/queue-pair.ts';

class UnitFixture extends DataFixture {
  readonly unit = this.driver.device.queuePairs;

  found({ number }: Mlx5DriverQueuePair): Mlx5QueuePair {
    const found = this.driver.device.hca.queuePairs.get(number);
    if (found === undefined) throw new Error(`there is no QP ${number}`);
    return found;
  }

  /** The receiving half of XRC, which has no queues. */
  target(): Mlx5DriverQueuePair {
    const xrcd = this.driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
    const context = { noSq: 1, xrcd, rqType: ReceiveQueueType.SHARED };
    return this.queuePair({ service: QpService.XRC, context });
  }
}

t.test('a doorbell counts for a QP of its page that has a send queue', async (t) => {
  const fixture = new UnitFixture();
  const { unit, uar } = fixture;
  const [a] = fixture.connect();
  t.notOk(unit.ring(uar, 0x123456), 'no QP');
  t.notOk(unit.ring(uar + 1, a.number), 'another page');
  t.notOk(unit.ring(fixture.found(a).uar, fixture.target().number), 'no send queue');
  t.ok(unit.ring(uar, a.number), 'nothing new is no fault');
  a.post({ opcode: SendOpcode.NOP });
  fixture.run();
  t.equal(a.setup.cq.take().length, 1);
  t.equal(fixture.driver.device.functions[0].strayDoorbells, 0);
});

t.test('what was posted before RTS is sent then', async (t) => {
  const fixture = new UnitFixture();
  const qp = fixture.queuePair();
  for (const opcode of [CommandOpcode.RST2INIT_QP, CommandOpcode.INIT2RTR_QP])
    qp.move(opcode, { remoteQpn: qp.number, nextRcvPsn: 5 }, { rlid: fixture.lid });
  qp.post({ opcode: SendOpcode.NOP });
  fixture.run();
  t.same([qp.query().state, qp.setup.cq.take().length], [ContextState.RTR, 0]);
  qp.move(CommandOpcode.RTR2RTS_QP, { nextSendPsn: 5 });
  fixture.run();
  t.equal(qp.setup.cq.take().length, 1);
});

t.test('a QP uses what it names, until it goes', async (t) => {
  const fixture = new UnitFixture();
  const { hca } = fixture.driver.device;
  const users = (qp: Mlx5DriverQueuePair) => [
    ...[hca.domains.usersOf(fixture.pd), hca.uars.usersOf(fixture.uar)],
    hca.completionQueues.get(qp.setup.cq.number)?.users,
  ];
  const sender = fixture.queuePair({ context: { rqType: ReceiveQueueType.NONE } });
  const [domains, uars] = users(sender).map(Number);
  t.equal(users(sender)[2], 1, 'one half of it completes');
  const whole = fixture.queuePair();
  t.same(users(whole), [domains + 1, uars + 2, 2], 'both halves, and a CQ of its own');
  whole.command(CommandOpcode.DESTROY_QP);
  t.same(users(whole), [domains, uars + 1, 0]);
  const target = fixture.target();
  const xrcd = 1;
  t.same([users(target)[0], hca.xrcDomains.usersOf(xrcd)], [domains, 1], 'its domain alone');
  target.command(CommandOpcode.DESTROY_QP);
  t.equal(hca.xrcDomains.usersOf(xrcd), 0);
  const pd = 9;
  const local = fixture.queuePair({ service: QpService.UMR, pd, context: { rqType: ReceiveQueueType.NONE } });
  while (hca.domains.allocate() !== pd);
  hca.domains.use(pd);
  local.command(CommandOpcode.DESTROY_QP);
  t.equal(hca.domains.usersOf(pd), 1, 'a domain that it did not use');
  Object.assign(hca.queuePairs, { add: () => undefined });
  t.throws(() => fixture.queuePair(), { message: /status 15/ }, 'no number is left');
});

t.test('the transport knows sizes, port and receives of a QP', async (t) => {
  const fixture = new UnitFixture();
  const partsOf = (qp: Mlx5DriverQueuePair) => {
    const { creation, receiveSource } = fixture.found(qp).qp;
    const { specialPort, sendEntriesLog2, receiveEntriesLog2, receiveStrideLog2 } = creation;
    const isAbsent = receiveSource === absentReceiveQueue;
    return [specialPort, sendEntriesLog2, receiveEntriesLog2, receiveStrideLog2, isAbsent];
  };
  t.same(partsOf(fixture.queuePair()), [0, 4, 4, 6, false]);
  t.same(partsOf(fixture.queuePair({ context: { rqType: ReceiveQueueType.NONE } })), [0, 4, 0, 0, true]);
  t.same(partsOf(fixture.queuePair({ service: QpService.QP1 })).slice(0, 1), [1]);
  t.same(partsOf(fixture.target()).slice(2), [0, 0, true]);
});

t.test('completions of datagrams tell their P_Key, and others do not', async (t) => {
  for (const [service, pkey] of [
    [QpService.UD, 0xffff],
    [QpService.RC, 0],
  ]) {
    const fixture = new UnitFixture();
    const [a, b] = fixture.connect(service);
    const memory = fixture.memory(128);
    b.postReceive(memory);
    const to = { remoteQpn: b.number, remoteLid: fixture.lid, qkey: 0x1234 };
    const pieces = [{ ...memory, byteCount: 8 }];
    a.post({ opcode: SendOpcode.SEND, pieces, ...(service === QpService.UD ? { to } : {}) });
    fixture.run();
    t.equal(b.setup.cq.take()[0]?.immediate, pkey, `service ${service}`);
  }
});

t.test('a request of a QP is read again, where there is one', async (t) => {
  const fixture = new UnitFixture();
  const { unit } = fixture;
  const [a] = fixture.connect();
  const [local] = [fixture.queuePair({ service: QpService.UMR, pd: 0, context: { rqType: 3, fre: 0 } })];
  a.post({ opcode: SendOpcode.NOP });
  fixture.run();
  const holderOf = (number: number): KeyHolder => ({ number }) as KeyHolder;
  const read = unit.fetch(holderOf(a.number), 0);
  t.match(read, { lengthBytes: 16, changesAll: false, registers: false });
  t.equal(unit.fetch(holderOf(0x123456), 0), undefined, 'no QP');
  t.equal(unit.fetch(holderOf(fixture.target().number), 0), undefined, 'no send queue');
  fixture.driver.port.setBusMaster(false);
  t.equal(unit.fetch(holderOf(a.number), 0), undefined, 'no memory');
  fixture.driver.port.setBusMaster(true);
  t.same([fixture.found(local).isLocal, fixture.found(local).registersMemory], [true, true]);
});

t.test('a transition moves both sides, and tells once that a QP is ready', async (t) => {
  const fixture = new UnitFixture();
  const { unit } = fixture;
  const ready: number[] = [];
  unit.onReady = ({ number }) => ready.push(number);
  const qp = fixture.queuePair();
  const { qp: own, sends } = fixture.found(qp);
  const states = () => [own.state, qp.query().state];
  t.same(states(), [QpState.RESET, ContextState.RESET]);
  qp.start(qp.number, fixture.lid);
  t.same([states(), ready], [[QpState.RTS, ContextState.RTS], [qp.number]]);
  unit.move(fixture.found(qp), ContextState.SQD);
  t.same(states(), [QpState.RTS, ContextState.RTS], 'a state that commands do not lead to');
  qp.post({ opcode: SendOpcode.NOP });
  fixture.run();
  t.equal(sends?.posted, 1);
  qp.command(CommandOpcode.QP_2ERR);
  t.same([states(), sends?.posted], [[QpState.ERR, ContextState.ERROR], 1]);
  qp.reset();
  t.same([states(), sends?.posted, ready], [[QpState.RESET, ContextState.RESET], 0, [qp.number]]);
  const target = fixture.target();
  target.start(qp.number, fixture.lid);
  target.reset();
  t.equal(fixture.found(target).qp.state, QpState.RESET, 'a QP without a send queue');
});

t.test('a QP begins with the PSNs of its commands, and keeps them when it stays in RTS', async (t) => {
  const fixture = new UnitFixture();
  const [a, b] = fixture.connect();
  const memory = fixture.memory(64);
  const { qp } = fixture.found(a);
  t.same([qp.attributes.receivePsn, qp.sendPsn], [100, 100]);
  b.postReceive(memory);
  a.post({ opcode: SendOpcode.SEND, pieces: [memory] });
  fixture.run();
  t.equal(a.query().nextSendPsn, 101);
  t.equal(b.query().nextRcvPsn, 101);
  t.equal(b.move(CommandOpcode.RTS2RTS_QP).status, 0);
  t.equal(fixture.found(b).qp.attributes.receivePsn, 100);
  t.equal(a.move(CommandOpcode.RTS2RTS_QP, { nextSendPsn: 5, nextRcvPsn: 6 }).status, 0);
  t.same([qp.attributes.receivePsn, qp.sendPsn], [100, 100]);
  b.postReceive(memory);
  a.post({ opcode: SendOpcode.SEND, pieces: [memory] });
  fixture.run();
  t.equal(b.setup.cq.take().length, 2);
});

t.test('QPs that are gone are found no more, and special ones give their place back', async (t) => {
  const fixture = new UnitFixture();
  const { unit } = fixture;
  const general = fixture.queuePair({ service: QpService.QP1 });
  const [a] = fixture.connect();
  t.same([unit.hasSpecial(QpService.QP1), unit.hasSpecial(QpService.QP0)], [true, false]);
  a.command(CommandOpcode.DESTROY_QP);
  t.same([unit.get(a.number), unit.hasSpecial(QpService.QP1)], [undefined, true]);
  const seen: number[] = [];
  unit.forEach(({ number }) => void seen.push(number));
  t.ok(seen.includes(general.number) && !seen.includes(a.number));
  general.command(CommandOpcode.DESTROY_QP);
  t.notOk(unit.hasSpecial(QpService.QP1));
});
