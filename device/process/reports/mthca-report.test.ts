// SPDX-License-Identifier: Apache-2.0
/**
 * The status of an adapter of the personality mthca, and what `vuhca show` lists of it, in the
 * course of a session of its driver.
 */
import t from 'tap';
import { FatalKind, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { showViews } from '../../personality/shared/contents.ts';
import { Firmware } from '../../personality/shared/firmware.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';
import { MthcaDriver, makeMthcaMachine } from '../../rig/mthca/driver/mthca-driver.ts';
import { reportMthca } from './mthca-report.ts';

const { SEND, RDMA_WRITE } = WorkOpcode;

t.test('from power-on to a failure', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  t.match(reportMthca(driver.device), { state: 'reset', commands: { executed: 0 }, queuePairs: {}, contextPages: 0 });
  driver.startFirmware();
  t.match(reportMthca(driver.device), { state: 'firmware started', commands: { executed: 4, refused: 0 } });
  const fixture = new DataFixture();
  const { device } = fixture.driver;
  const [a, b] = fixture.connect();
  fixture.queuePair();
  const local = fixture.memory(4096);
  b.postReceive(local);
  a.post({ opcode: SEND, pieces: [local] });
  fixture.run();
  const report = reportMthca(device);
  t.match(report, {
    state: 'running',
    queuePairs: { RTS: 2, INIT: 1 },
    completionQueues: { count: 3, posted: 2, errors: 0 },
    eventQueues: { count: 1, errors: 0 },
    lanes: { launches: 1, waiting: 0 },
    sendBuffersBusy: 0,
    ports: [
      { number: 1, state: 'ACTIVE', lid: 1, transmitPackets: 2 },
      { number: 2, state: 'ACTIVE', lid: 2 },
    ],
    faults: { counts: {}, first: undefined },
  });
  t.ok(report.contextPages > 0 && report.memoryRegions > 5 && report.dmaBytesRead > 4096, 'sums');
  a.post({ opcode: RDMA_WRITE, pieces: [{ ...local, key: 0x7f00 }], remote: local });
  fixture.run();
  t.match(reportMthca(device).queuePairs, { ERR: 1, RTS: 1, INIT: 1 });
  device.hca.fail(FatalKind.BUS, Firmware.REFUSES);
  t.match(reportMthca(device), { state: 'failed', queuePairs: {}, completionQueues: { count: 0, posted: 3 } });
  t.end();
});

t.test('queues, commands and events', (t) => {
  const fixture = new DataFixture();
  const { device } = fixture.driver;
  const show = (view: string, more: object = {}) => showViews(device, { view, ...more }).rows;
  const [a, b] = fixture.connect();
  const local = fixture.memory(4096);
  // Without a receive the message waits for the timer of the receiver.
  a.post({ opcode: SEND, pieces: [local] });
  fixture.run();
  const [qp, cq] = [a.number, a.cq.number];
  t.match(
    show('queues').map(({ queue, number, state, service, next, inFlight, sendCq }) => [
      queue,
      number,
      state,
      service,
      next,
      inFlight,
      sendCq,
    ]),
    [
      ['QP', qp, 'RTS', 'RC', 1, 1, cq],
      ['QP', b.number, 'RTS', 'RC', 0, 0, b.cq.number],
      ['CQ', cq, 'DISARMED', null, 0, null, null],
      ['CQ', b.cq.number, 'DISARMED'],
    ],
  );
  t.match(show('commands'), [{ where: 'completion list', qp, service: 'RC', sequence: 0, opcode: 'SEND', packets: 2 }]);
  t.same(show('commands', { qp: b.number }), []);
  t.match(show('queues', { qp }), [{ queue: 'QP', number: qp }]);
  t.same(show('lanes'), []);
  t.match(show('events'), [{ eq: fixture.events.number, vector: 1, unread: 0 }]);
  t.throws(() => show('vcbs'), /the personality mthca has nothing to show as vcbs; it has lanes, commands, queues, ev/);
  t.throws(() => show('moon'), /view must be vcbs, /);
  t.throws(() => show('queues', { first: -1 }), /first must be a whole number/);
  a.cq.arm();
  b.postReceive(local);
  fixture.driver.machine.runUntil(() => show('queues', { qp })[0].inFlight === 0, 'the end of the message');
  t.match(show('queues')[2], { queue: 'CQ', number: cq, state: 'FIRED', next: 1, unread: 1 });
  t.end();
});
