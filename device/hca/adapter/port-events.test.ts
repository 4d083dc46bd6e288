// SPDX-License-Identifier: Apache-2.0
/** Events of ports: each names its port, and every function gets it (IBTA 11.6.3.1). */
import t from 'tap';
import { EventType } from '../../../protocol/layout/gen/values.gen.ts';
import { PortChange } from '../../fabric/port/end-port.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';

t.test('what a subnet manager changes at a port becomes an event of all functions', async (t) => {
  ledger(t, '11.6.3.1', 'Changes of LID, subnet manager, P_Keys and GIDs of a port are asynchronous events');
  const fixture = new AdapterFixture({ functionCount: 2 });
  const driver = new Driver(new InProcessAccess(fixture.machine, 1)).bringUp();
  const queues = [fixture.asynchronous, driver.createEventQueue({ vector: 3, asynchronous: true })];
  for (const queue of queues) queue.walk();
  const [, port] = fixture.machine.device.ports;
  const seen = (queue: (typeof queues)[number]) =>
    queue.walk().map(({ eventType, port, objectNumber }) => [eventType, port, objectNumber]);
  for (const [change, type] of [
    [PortChange.LID, EventType.LID_CHANGE],
    [PortChange.SM, EventType.SM_CHANGE],
    [PortChange.PKEY, EventType.PKEY_CHANGE],
    [PortChange.GID, EventType.GID_CHANGE],
    [PortChange.CLIENT_REREGISTER, EventType.CLIENT_REREGISTER],
  ] as const) {
    port?.onChange?.(port, change);
    fixture.settle();
    t.same(queues.map(seen), [[[type, 2, 0]], [[type, 2, 0]]]);
  }
  fixture.finish();
});
