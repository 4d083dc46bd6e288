// SPDX-License-Identifier: Apache-2.0
/**
 * Asynchronous events: of ports and objects, to the event queues that ask for their type, in the
 * form that the Linux driver reads.
 */
import t from 'tap';
import { PortState, EventType as ReportedEvent } from '../../../../protocol/layout/gen/values.gen.ts';
import { CommandOpcode, EventType, PortChange as PortEvent } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { PortChange } from '../../../fabric/port/end-port.ts';
import { EventRecord } from '../../../hca/function/event-record.ts';
import { Random } from '../../../random.ts';
import { type DriverEventQueue, Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { LOG_EVENT_QUEUES } from './capabilities.ts';

/** Place of the number of a QP or shared receive queue in the data of an event. */
const NUMBER = 0x18;
const ENTRY_BYTES = 64;

function start(...types: number[]) {
  const driver = new Mlx5Driver();
  driver.start();
  const uar = driver.allocateUar();
  const queue = driver.createEventQueue(uar, maskOf(...types));
  const { hca, ports } = driver.device;
  return { driver, uar, queue, hca, port: ports[0] };
}

function maskOf(...types: number[]): bigint {
  return types.reduce((mask, type) => mask | (1n << BigInt(type)), 0n);
}

/** Variants and ports of the events of ports in a queue. */
function takePortEvents(driver: Mlx5Driver, queue: DriverEventQueue): (readonly [number, number])[] {
  const first = queue.consumed;
  return driver.takeEvents(queue).map(({ type, data }, index) => {
    if (type !== EventType.PORT_CHANGE) throw new Error(`event ${type}`);
    const entry = (first + index) % 2 ** queue.logEntries;
    return [driver.memory.view(queue.address + entry * ENTRY_BYTES, ENTRY_BYTES).getUint8(3), data.getUint8(8) >>> 4];
  });
}

t.test('a port goes through its states', async (t) => {
  const { driver, queue, port } = start(EventType.PORT_CHANGE);
  const take = (): number[] => takePortEvents(driver, queue).map(([event]) => event);
  port.setLinkUp(true);
  t.same(takePortEvents(driver, queue), [
    [PortEvent.INITIALIZED, 1],
    [PortEvent.ACTIVE, 1],
  ]);
  port.setLinkUp(false);
  t.same(take(), [PortEvent.DOWN]);
  port.selfActivating = false;
  port.setLinkUp(true);
  t.same(take(), [PortEvent.INITIALIZED]);
  port.setState(PortState.ARMED);
  t.same(take(), [], 'no event stands for ARMED');
  port.setState(PortState.ACTIVE);
  t.same(take(), [PortEvent.ACTIVE]);
  port.setLinkUp(false);
  port.setLinkUp(true);
  port.setLinkUp(false);
  t.same(take(), [PortEvent.DOWN, PortEvent.INITIALIZED, PortEvent.DOWN], 'it was never active again');
});

t.test('a port that is switched off has no events', async (t) => {
  const { driver, queue, port, hca } = start(EventType.PORT_CHANGE);
  port.setLinkUp(true);
  driver.takeEvents(queue);
  port.disable();
  port.onChange?.(port, PortChange.LID);
  t.same(driver.takeEvents(queue), []);
  t.equal(hca.events.unwanted, 0);
});

t.test('what a subnet manager changes', async (t) => {
  const { driver, queue, port } = start(EventType.PORT_CHANGE);
  const expected = [
    [PortChange.LID, PortEvent.LID],
    [PortChange.SM, PortEvent.LID],
    [PortChange.PKEY, PortEvent.PKEY],
    [PortChange.GID, PortEvent.GUID],
    [PortChange.CLIENT_REREGISTER, PortEvent.CLIENT_REREGISTER],
  ] as const;
  t.equal(expected.length, Object.values(PortChange).length, 'all changes');
  for (const [change, event] of expected) {
    port.onChange?.(port, change);
    t.same(takePortEvents(driver, queue), [[event, 1]]);
  }
});

t.test('QPs, as the transport reports them', async (t) => {
  const types = [
    [ReportedEvent.QP_FATAL, EventType.QUEUE_CATASTROPHIC],
    [ReportedEvent.QP_REQUEST_ERROR, EventType.INVALID_REQUEST],
    [ReportedEvent.QP_ACCESS_ERROR, EventType.ACCESS_ERROR],
    [ReportedEvent.COMMUNICATION_ESTABLISHED, EventType.COMMUNICATION_ESTABLISHED],
    [ReportedEvent.SEND_QUEUE_DRAINED, EventType.SEND_QUEUE_DRAINED],
    [ReportedEvent.LAST_WQE_REACHED, EventType.LAST_WQE],
    [ReportedEvent.XRC_DOMAIN_VIOLATION, EventType.INVALID_REQUEST],
    [ReportedEvent.XRC_INVALID_HEADER, EventType.INVALID_REQUEST],
  ] as const;
  const { driver, queue, hca } = start(...types.map(([, type]) => type));
  const record = new EventRecord();
  for (const [reported, type] of types) {
    Object.assign(record, { type: reported, objectNumber: 0xabcdef });
    hca.objectEvents.post(record);
    const [event, ...rest] = driver.takeEvents(queue);
    t.same(
      [event?.type, event?.data.getUint32(NUMBER), event?.data.getUint8(0x14), rest.length],
      [type, 0xabcdef, 0, 0],
    );
  }
  Object.assign(record, { type: ReportedEvent.PORT_ACTIVE });
  hca.objectEvents.post(record);
  t.same(driver.takeEvents(queue), [], 'ports report their own');
});

t.test('shared receive queues and CQs report their own', async (t) => {
  const { driver, queue, hca } = start(EventType.SRQ_LIMIT, EventType.SRQ_CATASTROPHIC, EventType.CQ_ERROR);
  hca.events.postObject(EventType.SRQ_LIMIT, 0x123456);
  hca.events.postObject(EventType.SRQ_CATASTROPHIC, 0x654321);
  hca.events.postCompletionError(0x111213, 2);
  const [limit, failed, cq] = driver.takeEvents(queue);
  t.same([limit.type, limit.data.getUint32(NUMBER)], [EventType.SRQ_LIMIT, 0x123456]);
  t.same([failed.type, failed.data.getUint32(NUMBER)], [EventType.SRQ_CATASTROPHIC, 0x654321]);
  t.same([cq.type, cq.data.getUint32(0), cq.data.getUint8(0xb)], [EventType.CQ_ERROR, 0x111213, 2]);
});

for (let seed = 1; seed <= 3; seed++) {
  t.test(`an event goes to the queues that ask for it, and is lost without one, seed ${seed}`, async (t) => {
    const { driver, uar, hca } = start();
    const random = new Random(seed);
    const types = [EventType.PORT_CHANGE, EventType.QUEUE_CATASTROPHIC, EventType.SRQ_LIMIT, EventType.CQ_ERROR];
    const queues = [1, 2, 3].map(() => {
      const asked = types.filter(() => random.below(2) === 0);
      return { asked, queue: driver.createEventQueue(uar, maskOf(...asked), 6), seen: 0 };
    });
    let lost = 0;
    for (let round = 0; round < 40; round++) {
      const type = random.pick(types);
      if (type === EventType.PORT_CHANGE) hca.events.postPort(1, PortEvent.LID);
      else if (type === EventType.CQ_ERROR) hca.events.postCompletionError(round, 1);
      else hca.events.postObject(type, round);
      const takers = queues.filter(({ asked }) => asked.includes(type));
      if (takers.length === 0) lost++;
      for (const { asked, queue } of queues) {
        const seen = driver.takeEvents(queue).map((event) => event.type);
        const wanted = asked.includes(type) ? [type] : [];
        if (`${seen}` !== `${wanted}`) t.fail(`seed ${seed}, round ${round}: ${seen}, not ${wanted}`);
        driver.arm(queue);
      }
    }
    t.equal(hca.events.unwanted, lost);
    driver.port.reset('function');
    t.equal(hca.events.unwanted, 0);
  });
}

t.test('an event that a full queue cannot take is lost, and others get it', async (t) => {
  const { driver, uar, queue, hca } = start(EventType.PORT_CHANGE);
  for (let entry = 0; entry < 2 ** queue.logEntries; entry++) hca.events.postPort(1, PortEvent.LID);
  t.equal(hca.events.lost, 0);
  hca.events.postPort(1, PortEvent.PKEY);
  t.equal(hca.events.lost, 1);
  const other = driver.createEventQueue(uar, maskOf(EventType.PORT_CHANGE));
  hca.events.postPort(1, PortEvent.PKEY);
  t.equal(hca.events.lost, 2, 'of the queue that has failed');
  t.same(takePortEvents(driver, other), [[PortEvent.PKEY, 1]]);
});

t.test('numbers of queues are used again, and what queues that are gone have seen is kept', async (t) => {
  const { driver, uar, queue, hca } = start(EventType.PORT_CHANGE);
  const { events } = hca;
  for (let event = 0; event <= 2 ** queue.logEntries; event++) events.postPort(1, PortEvent.LID);
  const posted = 2 ** queue.logEntries;
  t.same([events.retired, events.lost], [0, 1]);
  const numbers = Array.from({ length: 2 ** LOG_EVENT_QUEUES - 1 }, () => driver.createEventQueue(uar, 0n, 0).number);
  t.equal(new Set([queue.number, ...numbers]).size, 2 ** LOG_EVENT_QUEUES);
  t.equal(events.findNumber(), undefined, 'as many as the capabilities tell');
  driver.expect(CommandOpcode.DESTROY_EQ, { fill: (view) => view.setUint32(8, queue.number) });
  t.same([events.findNumber(), events.size], [queue.number, 2 ** LOG_EVENT_QUEUES - 1]);
  t.same([events.retired, events.lost], [posted, 1]);
  const next = driver.createEventQueue(uar, maskOf(EventType.PORT_CHANGE), 0);
  for (let event = 0; event < 2; event++) events.postPort(1, PortEvent.LID);
  t.same([next.number, events.lost], [queue.number, 2]);
  events.reset();
  t.same([events.retired, events.lost, events.size, [...events.values()]], [posted + 1, 2, 0, []]);
  events.postPort(1, PortEvent.LID);
  t.equal(events.unwanted, 1, 'nobody takes it');
});

t.test('an armed queue interrupts for an asynchronous event', async (t) => {
  const { driver, queue, port } = start(EventType.PORT_CHANGE);
  const { raised } = driver.machine.hostAt(0);
  driver.arm(queue);
  port.onChange?.(port, PortChange.LID);
  driver.machine.step();
  t.equal(raised[0], 1);
});

t.test('no event comes from a function that stops', async (t) => {
  const { driver, queue, port } = start(EventType.PORT_CHANGE);
  port.setLinkUp(true);
  driver.takeEvents(queue);
  driver.expect(CommandOpcode.DISABLE_HCA, { outputBytes: 0xc });
  t.same(driver.takeEvents(queue), []);
});
