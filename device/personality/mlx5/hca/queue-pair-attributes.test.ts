// SPDX-License-Identifier: Apache-2.0
/**
 * Contexts of QPs and the attributes of the transport: what a context must have for the next state,
 * what the QP takes of it, and what a query tells of its progress (IBTA 11.2.5).
 */
import t from 'tap';
import { AccessFlag, QpState } from '../../../../protocol/layout/gen/values.gen.ts';
import { type Ads, encodeAds, newAds } from '../../../../protocol/mlx5/gen/ads.gen.ts';
import {
  encodeQpc,
  newQpc,
  QPC_PRIMARY_ADDRESS_PATH_OFFSET,
  QPC_SIZE,
  type Qpc,
} from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  PathMtu,
  QpService,
  ReceiveQueueType,
  SendOpcode,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { DataFixture } from '../../../rig/mlx5/driver/data-fixture.ts';
import { Mlx5DriverSharedQueue } from '../../../rig/mlx5/driver/shared-queue.ts';
import type { Mlx5QueuePair } from '../queues/queue-pair.ts';
import { SharedForm } from '../queues/shared-receive-queue.ts';
import { LOG_READS } from './capabilities.ts';
import { applyAttributes, checkAttributes } from './queue-pair-attributes.ts';

const { OK, BAD_PARAMETER, LIMIT_EXCEEDED } = CommandStatus;
const { INIT, RTR, RTS } = QpState;
const PKEYS = 128;
const CONNECTED: Partial<Qpc> = { mtu: PathMtu.MTU_1024, logRraMax: 2, logSraMax: 2 };

function contextOf(fields: Partial<Qpc>, path: Partial<Ads> = {}): DataView {
  const view = new DataView(new ArrayBuffer(QPC_SIZE));
  encodeQpc(view, 0, { ...newQpc(), ...fields });
  encodeAds(view, QPC_PRIMARY_ADDRESS_PATH_OFFSET, { ...newAds(), vhcaPortNum: 1, rlid: 5, ...path });
  return view;
}

t.test('a context has what the next state needs, and nothing beyond the limits', async (t) => {
  const { ports } = new DataFixture().driver.device;
  const makeQueuePair = (connected: boolean, isLocal = false, specialPort = 0): Mlx5QueuePair =>
    ({ qp: { connected, isSpecial: specialPort > 0, creation: { specialPort } }, isLocal }) as Mlx5QueuePair;
  const [reliable, datagram] = [makeQueuePair(true), makeQueuePair(false)];
  const cases: readonly [string, Mlx5QueuePair, Partial<Qpc>, Partial<Ads>, QpState, CommandStatus][] = [
    ['all as it should be', reliable, CONNECTED, {}, RTR, OK],
    ['no such port', reliable, CONNECTED, { vhcaPortNum: 2 }, RTR, BAD_PARAMETER],
    ['no port', reliable, CONNECTED, { vhcaPortNum: 0 }, INIT, BAD_PARAMETER],
    ['the last P_Key', datagram, {}, { pkeyIndex: PKEYS - 1 }, INIT, OK],
    ['behind the last P_Key', datagram, {}, { pkeyIndex: PKEYS }, INIT, BAD_PARAMETER],
    ['the least MTU', reliable, { ...CONNECTED, mtu: PathMtu.MTU_256 }, {}, RTR, OK],
    ['the largest MTU', reliable, { ...CONNECTED, mtu: PathMtu.MTU_4096 }, {}, RTR, OK],
    ['no MTU', reliable, { ...CONNECTED, mtu: 0 }, {}, RTR, BAD_PARAMETER],
    ['a larger MTU', reliable, { ...CONNECTED, mtu: PathMtu.MTU_4096 + 1 }, {}, RTR, BAD_PARAMETER],
    ['no MTU, which INIT needs not', reliable, { ...CONNECTED, mtu: 0 }, {}, INIT, OK],
    ['no MTU, which datagrams need not', datagram, {}, {}, RTR, OK],
    [
      'as many READs as there can be',
      reliable,
      { ...CONNECTED, logRraMax: LOG_READS, logSraMax: LOG_READS },
      {},
      RTS,
      OK,
    ],
    ['more READs to serve', reliable, { ...CONNECTED, logRraMax: LOG_READS + 1 }, {}, RTR, LIMIT_EXCEEDED],
    ['more READs to send', reliable, { ...CONNECTED, logSraMax: LOG_READS + 1 }, {}, RTR, LIMIT_EXCEEDED],
    ['no such GID', reliable, CONNECTED, { grh: 1, srcAddrIndex: 200 }, RTR, BAD_PARAMETER],
    ['no other end', makeQueuePair(true, true), {}, { vhcaPortNum: 9 }, RTR, OK],
    ['a special QP, which has its port', makeQueuePair(false, false, 1), {}, { vhcaPortNum: 9 }, RTR, OK],
  ];
  for (const [what, queuePair, fields, path, next, status] of cases)
    t.equal(checkAttributes(queuePair, contextOf(fields, path), next, ports), status, what);
});

t.test('a QP takes its attributes from the context', async (t) => {
  const path = { pkeyIndex: 3, ackTimeout: 14 };
  const timers = { retryCount: 5, rnrRetry: 6, minRnrNak: 12 };
  const fields = { ...CONNECTED, ...timers, qKey: 0x1234, remoteQpn: 77, logSraMax: 3, logRraMax: 4 };
  const apply = (connected: boolean, given: Partial<Qpc> = {}) => {
    const qp = { connected, isSpecial: false, attributes: {}, pathMtuBytes: 0 } as QueuePair;
    applyAttributes(qp, contextOf({ ...fields, ...given }, path));
    return qp;
  };
  const common = { port: 1, pkeyIndex: 3, qkey: 0x1234, access: 0 };
  const { retryCount, rnrRetry, minRnrNak: minRnrTimer } = timers;
  const reads = { maxReadsInitiated: 8, maxReadsServed: 16 };
  const connected = { remoteQpn: 77, timeout: 14, retryCount, rnrRetry, minRnrTimer, pathMtu: PathMtu.MTU_1024 };
  t.same(apply(true).attributes, { ...common, ...connected, ...reads });
  t.equal(apply(true).pathMtuBytes, 1024);
  t.same([apply(false).attributes, apply(false).pathMtuBytes], [common, 0], 'datagrams have no other end');
  for (let rights = 0; rights < 8; rights++) {
    const [rwe, rre, rae] = [rights & 1, (rights >>> 1) & 1, rights >>> 2];
    const { access } = apply(true, { rwe, rre, rae }).attributes;
    const { REMOTE_WRITE, REMOTE_READ, REMOTE_ATOMIC } = AccessFlag;
    t.equal(access, (rwe && REMOTE_WRITE) | (rre && REMOTE_READ) | (rae && REMOTE_ATOMIC), `rights ${rights}`);
  }
});

t.test('a query tells how far a QP has come', async (t) => {
  const fixture = new DataFixture();
  const memory = fixture.memory(128);
  const [a, b] = fixture.connect();
  const [source, target] = fixture.connect(QpService.UD);
  for (let count = 0; count < 3; count++) b.postReceive(memory);
  a.post({ opcode: SendOpcode.SEND, inline: new Uint8Array(100) }, { opcode: SendOpcode.SEND, pieces: [memory] });
  source.post({ opcode: SendOpcode.NOP });
  fixture.run();
  a.write({ opcode: SendOpcode.NOP });
  const told = ({ nextSendPsn, nextRcvPsn, hwSqWqebbCounter, swSqWqebbCounter, hwRqCounter }: Qpc) => [
    ...[nextSendPsn, nextRcvPsn],
    ...[hwSqWqebbCounter, swSqWqebbCounter, hwRqCounter],
  ];
  t.same(told(a.query()), [102, 100, 3, 3, 0], 'two messages, in three blocks');
  t.same(told(b.query()), [100, 102, 0, 0, 2]);
  t.same(told(source.query()).slice(2), [1, 1, 0]);
  t.same(told(target.query()).slice(2), [0, 0, 0]);
  a.command(CommandOpcode.QP_2RST);
  t.same(told(a.query()).slice(2), [0, 0, 0]);
});

t.test('a query of a QP without queues of its own tells no counters', async (t) => {
  const fixture = new DataFixture();
  const { hca } = fixture.driver.device;
  const srq = new Mlx5DriverSharedQueue(fixture.driver, { form: SharedForm.PLAIN, pd: fixture.pd });
  const memory = fixture.memory(64);
  const shared = { rqType: ReceiveQueueType.SHARED, srqnRmpnXrqn: srq.number };
  const [a, b] = fixture.connect(QpService.RC, {}, { context: shared });
  for (let count = 0; count < 2; count++) srq.post(memory);
  a.post({ opcode: SendOpcode.SEND, pieces: [memory] }, { opcode: SendOpcode.SEND, pieces: [memory] });
  fixture.run();
  t.match(b.query(), { nextRcvPsn: 102, hwRqCounter: 0 }, 'the shared queue has its own');
  const xrcd = fixture.driver.expect(CommandOpcode.ALLOC_XRCD).getUint32(8);
  const target = fixture.queuePair({ service: QpService.XRC, context: { noSq: 1, xrcd, rqType: 1 } });
  t.match(target.query(), { hwSqWqebbCounter: 0, swSqWqebbCounter: 0, hwRqCounter: 0 });
  t.equal(hca.queuePairs.get(target.number)?.sends, undefined);
});
