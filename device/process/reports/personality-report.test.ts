// SPDX-License-Identifier: Apache-2.0
/**
 * The status of adapters of personalities, and their rows in `vuhca show`, during a session of
 * their drivers.
 */
import t from 'tap';
import {
  CommandOpcode,
  EventType,
  QpService,
  ReceiveQueueType,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { FatalKind, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { SharedForm } from '../../personality/mlx5/queues/shared-receive-queue.ts';
import { showViews } from '../../personality/shared/contents.ts';
import { Firmware } from '../../personality/shared/firmware.ts';
import { encodeFault } from '../../personality/shared/injected-faults.ts';
import { CompletionFixture } from '../../rig/mlx5/driver/completion-fixture.ts';
import { DataFixture as Mlx5DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import { Mlx5Driver } from '../../rig/mlx5/driver/mlx5-driver.ts';
import { Mlx5DriverSharedQueue } from '../../rig/mlx5/driver/shared-queue.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';
import { MthcaDriver, makeMthcaMachine } from '../../rig/mthca/driver/mthca-driver.ts';
import { reportPersonality } from './personality-report.ts';

const { SEND, RDMA_WRITE } = WorkOpcode;

t.test('from power-on to a failure', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  t.match(reportPersonality(driver.device), {
    state: 'reset',
    commands: { executed: 0 },
    queuePairs: {},
    objects: { contextPages: 0 },
  });
  driver.startFirmware();
  t.match(reportPersonality(driver.device), { state: 'firmware started', commands: { executed: 4, refused: 0 } });
  const fixture = new DataFixture();
  const { device } = fixture.driver;
  const [a, b] = fixture.connect();
  fixture.queuePair();
  const local = fixture.memory(4096);
  b.postReceive(local);
  a.post({ opcode: SEND, pieces: [local] });
  fixture.run();
  const report = reportPersonality(device);
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
  const { contextPages = 0, memoryRegions = 0 } = report.objects;
  t.ok(contextPages > 0 && memoryRegions > 5 && report.dmaBytesRead > 4096, 'sums');
  a.post({ opcode: RDMA_WRITE, pieces: [{ ...local, key: 0x7f00 }], remote: local });
  fixture.run();
  t.match(reportPersonality(device).queuePairs, { ERR: 1, RTS: 1, INIT: 1 });
  device.hca.fail(FatalKind.BUS, Firmware.REFUSES);
  t.match(reportPersonality(device), { state: 'failed', queuePairs: {}, completionQueues: { count: 0, posted: 3 } });
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
  t.throws(
    () => show('vcbs'),
    /the personality mthca has nothing to show as vcbs; it has lanes, commands, connections, queues, ev/,
  );
  t.throws(() => show('moon'), /view must be vcbs, /);
  t.throws(() => show('queues', { first: -1 }), /first must be a whole number/);
  a.cq.arm();
  b.postReceive(local);
  fixture.driver.machine.runUntil(() => show('queues', { qp })[0].inFlight === 0, 'the end of the message');
  t.match(show('queues')[2], { queue: 'CQ', number: cq, state: 'FIRED', next: 1, unread: 1 });
  t.match(show('completions'), [{ cq, state: 'FIRED', next: 1, unread: 1, eq: null }, { cq: b.cq.number }]);
  t.end();
});

t.test('mlx5: from power-on to a failure', async (t) => {
  const driver = new Mlx5Driver();
  const { device, machine } = driver;
  t.match(reportPersonality(device), {
    personality: 'mlx5',
    state: 'reset',
    commands: { executed: 0 },
    queuePairs: {},
  });
  driver.connect();
  driver.expect(CommandOpcode.ENABLE_HCA, { outputBytes: 0xc });
  driver.command(0x7ff);
  t.match(reportPersonality(device), { state: 'enabled', commands: { executed: 2, refused: 1 } });
  driver.port.reset('software');
  driver.start();
  const queue = driver.createEventQueue(driver.allocateUar(), 1n << BigInt(EventType.COMMAND), 2, 5);
  for (let command = 0; command < 6; command++) driver.expect(CommandOpcode.NOP);
  t.match(reportPersonality(device), {
    state: 'running',
    resets: { software: 1 },
    objects: { userPages: 1, firmwarePages: 80 },
    eventQueues: { count: 1, posted: 4, errors: 1 },
    eventsLost: 2,
    ports: [{ number: 1, state: 'DOWN', mtuBytes: 4096 }],
  });
  t.match(device.hca.objectCounts, { eqs: 1, uars: 1 });
  const show = (view: string) => showViews(device, { view }).rows;
  t.match(show('events'), [{ eq: queue.number, vector: 5, state: 'OVERFLOW', entries: 4, posted: 4, unread: 4 }]);
  t.throws(
    () => show('vcbs'),
    /the personality mlx5 has nothing to show as vcbs; it has lanes, commands, connections, queues, events/,
  );
  driver.port.plantFault(encodeFault(['fatal']));
  machine.runUntilIdle();
  t.match(reportPersonality(device), { state: 'failed' });
  driver.port.reset('software');
  t.match(reportPersonality(device), {
    state: 'reset',
    eventQueues: { count: 0, posted: 4, errors: 0 },
  });
});

t.test('mlx5: completion queues', async (t) => {
  const fixture = new CompletionFixture();
  const { driver } = fixture;
  const cq = fixture.create({ logCqSize: 2 });
  const show = () => showViews(driver.device, { view: 'queues' }).rows;
  t.match(show(), [{ queue: 'CQ', number: cq.number, state: 'FIRED', entries: 4, next: 0, unread: 0 }]);
  for (let value = 1; value <= 5; value++) fixture.post(cq, value);
  t.match(show(), [{ state: 'OVERFLOW', next: 4, unread: 4 }]);
  t.match(reportPersonality(driver.device), { completionQueues: { count: 1, posted: 4, errors: 1 } });
  driver.port.reset('software');
  t.same(show(), []);
  t.match(reportPersonality(driver.device), { completionQueues: { count: 0, posted: 4, errors: 0 } });
});

t.test('mlx5: queue pairs and shared receive queues', (t) => {
  const fixture = new Mlx5DataFixture();
  const { driver } = fixture;
  const show = (more: object = {}) => showViews(driver.device, { view: 'queues', ...more }).rows;
  const [a, b] = fixture.connect();
  const special = fixture.queuePair({ service: QpService.QP1 });
  const umr = fixture.queuePair({ service: QpService.UMR });
  const [srqn, armed] = [0, 3].map((lwm) => {
    const plain = { lwm, logSrqSize: 2, logRqStride: 1 };
    return new Mlx5DriverSharedQueue(driver, { form: SharedForm.PLAIN, pd: fixture.pd, plain }).number;
  });
  const user = fixture.queuePair({ context: { rqType: ReceiveQueueType.SHARED, srqnRmpnXrqn: srqn } });
  const local = fixture.memory(4096);
  // Without a receive the messages wait for the timer of the receiver.
  a.post({ opcode: SendOpcode.SEND, pieces: [local] }, { opcode: SendOpcode.SEND, inline: new Uint8Array(100) });
  fixture.run();
  const [cq, other] = [a.setup.cq.number, b.setup.cq.number];
  t.match(show(), [
    {
      ...{ queue: 'QP', number: a.number, state: 'RTS', service: 'RC', entries: 16, next: 2, inFlight: 2, unread: 0 },
      ...{ sendCq: cq, receiveCq: cq, srq: null },
    },
    { queue: 'QP', number: b.number, state: 'RTS', service: 'RC', next: 0, inFlight: 0, sendCq: other },
    { queue: 'QP', number: special.number, state: 'RESET', service: 'GSI' },
    { queue: 'QP', number: umr.number, state: 'RESET', service: 'UMR' },
    { queue: 'QP', number: user.number, state: 'RESET', service: 'RC', srq: srqn },
    { queue: 'CQ', number: cq, next: 0 },
    { queue: 'CQ', number: other },
    { queue: 'CQ' },
    { queue: 'CQ' },
    { queue: 'CQ' },
    { queue: 'SRQ', number: srqn, state: 'UNARMED', entries: 4, next: 0, unread: 0 },
    { queue: 'SRQ', number: armed, state: 'ARMED', entries: 4 },
  ]);
  t.match(show({ qp: a.number }), [{ queue: 'QP', number: a.number }]);
  const commands = showViews(driver.device, { view: 'commands', qp: a.number }).rows;
  t.match(commands, [{ where: 'completion list', service: 'RC', sequence: 0, opcode: 'SEND' }, { sequence: 1 }]);
  t.match(reportPersonality(driver.device), {
    queuePairs: { RTS: 2, RESET: 3 },
    objects: { sharedReceiveQueues: 2 },
    completionQueues: { count: 5 },
  });
  a.command(CommandOpcode.QP_2ERR);
  t.match(show()[0], { state: 'ERR' });
  b.write({ opcode: SendOpcode.SEND, inline: new Uint8Array(100) });
  b.ring();
  t.match(show()[1], { next: 0, unread: 2 }, 'a request of 2 blocks that is not read');
  driver.port.reset('software');
  t.same(show(), []);
  t.end();
});
