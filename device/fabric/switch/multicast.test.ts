// SPDX-License-Identifier: Apache-2.0
/** Multicast relay of switches: every member once, never back, and slow members lose nothing. */
import t from 'tap';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { SwitchFabric } from '../../rig/fixtures/switch-fabric.ts';
import { NO_LIMIT_CODE } from './wait-limits.ts';

const GROUP = 0xc005;

/** Sets the ports of the group in a switch. */
function setGroup({ switches }: SwitchFabric, ports: readonly number[], at = 0): void {
  for (let position = 0; position < 3; position++) {
    const mask = ports.reduce((sum, port) => (port >> 4 === position ? sum | (1 << (port & 15)) : sum), 0);
    switches[at].switchTables.setMulticastPorts(GROUP - 0xc000, position, mask);
  }
}

t.test('every port of the group has the packet once, except the port of arrival', async (t) => {
  ledger(t, '18.2.4', 'A multicast packet is sent once by each port of its entry');
  ledger(t, '18.2.4', 'A multicast packet never leaves by the port of its arrival');
  // Ports in all positions of the table.
  const fabric = new SwitchFabric({ ends: new Array(36).fill(0) });
  const members = [1, 2, 15, 16, 17, 31, 32, 33, 36];
  setGroup(fabric, members);
  for (const from of [1, 3, 16, 32, 36]) {
    fabric.send(from - 1, GROUP, from);
    fabric.settle();
    const got = fabric.ends.flatMap((_, at) => fabric.take(at).map(({ id }) => [at + 1, id]));
    t.same(
      got,
      members.filter((port) => port !== from).map((port) => [port, from]),
      `from port ${from}`,
    );
  }
});

t.test('a slow member loses nothing, and other members do not wait for it', async (t) => {
  const fabric = new SwitchFabric({ ends: [0, 0, 0, 0], queuePackets: 4 });
  setGroup(fabric, [1, 2, 3]);
  const got: number[][] = [[], [], [], []];
  const collect = (at: number, limit?: number): void => {
    got[at].push(...fabric.take(at, limit).map(({ id }) => id));
  };
  let sent = 0;
  for (let round = 0; round < 100; round++) {
    if (fabric.send(0, GROUP, sent)) sent++;
    fabric.settle();
    collect(1);
    if (round % 3 === 0) collect(2, 1);
  }
  t.ok(got[1].length > got[2].length, 'the fast member is ahead, by the queue of the slow one');
  for (let round = 0; round < 200; round++) {
    fabric.settle();
    collect(1);
    collect(2, 1);
  }
  const all = Array.from({ length: sent }, (_, id) => id);
  t.same(got, [[], all, all, []]);
  t.equal(fabric.count().drops, 0);
});

t.test('two groups through each other do not lock up', async (t) => {
  const fabric = new SwitchFabric({ ends: [0, 0, 0, 0], queuePackets: 2 });
  setGroup(fabric, [1, 2, 3, 4]);
  const counts = [0, 0, 0, 0];
  let sent = 0;
  for (let round = 0; round < 500; round++) {
    for (let from = 0; from < 4; from++) if (fabric.send(from, GROUP, round)) sent++;
    fabric.settle();
    counts[round % 4] += fabric.take(round % 4, 3).length;
  }
  for (let round = 0; round < 1000; round++) {
    fabric.settle();
    for (let at = 0; at < 4; at++) counts[at] += fabric.take(at).length;
  }
  t.equal(
    counts.reduce((sum, count) => sum + count),
    sent * 3,
  );
  t.equal(fabric.countLinks().waiting, 0);
});

t.test('a member whose link is down is dropped alone, and so is a packet that waits too long', async (t) => {
  ledger(t, '18.2.5', 'A multicast packet is discarded for one port of exit and sent by the others');
  const fabric = new SwitchFabric({ ends: [0, 0, 0, 0], queuePackets: 2 });
  setGroup(fabric, [1, 2, 3]);
  const [{ ports, switchTables }] = fabric.switches;
  ports[1].plug(undefined);
  fabric.send(0, GROUP, 1);
  fabric.settle();
  t.match(fabric.take(2), [{ id: 1 }]);
  t.equal(
    ports[1].drops.reduce((sum, count) => sum + count),
    1,
  );
  switchTables.lifeTime = 0;
  for (let id = 2; id < 6; id++) fabric.send(0, GROUP, id);
  for (let step = 0; step < 20; step++) {
    fabric.settle();
    fabric.clock.advance(4096);
  }
  t.equal(fabric.countLinks().waiting, 0);
  switchTables.lifeTime = NO_LIMIT_CODE;
  fabric.send(0, GROUP, 9);
  fabric.settle();
  t.match(fabric.take(2), [{ id: 9 }], 'later packets pass');
});

t.test('a group without ports goes to the default port, and from there to the other one', async (t) => {
  ledger(t, '18.2.4', 'A multicast packet without entry goes to the default primary port');
  ledger(t, '18.2.4', 'A multicast packet without entry from the default primary port goes to the other default port');
  const fabric = new SwitchFabric({ ends: [0, 0, 0] });
  const [{ switchTables }] = fabric.switches;
  switchTables.defaultMulticastPrimaryPort = 2;
  switchTables.defaultMulticastNotPrimaryPort = 3;
  fabric.send(0, GROUP, 1);
  fabric.send(1, GROUP, 2);
  fabric.settle();
  t.match([fabric.take(0), fabric.take(1), fabric.take(2)], [[], [{ id: 1 }], [{ id: 2 }]]);
  switchTables.multicastTop = GROUP - 1;
  setGroup(fabric, [1, 3]);
  fabric.send(1, GROUP, 3);
  fabric.settle();
  t.match(fabric.take(2), [{ id: 3 }], 'a LID above the top has no entry');
  t.same(fabric.take(0), []);
});
