// SPDX-License-Identifier: Apache-2.0
/** Adapters that answer no management datagram for a while keep their LIDs and their routes. */
import t from 'tap';
import { ManagedFabric } from '../../../rig/fixtures/managed-fabric.ts';

/** Longer than the manager repeats one request. */
const SILENCE_NS = 15e9;

/** A fabric whose last adapter is mute while `isMute`. */
function makeFabric() {
  const fabric = new ManagedFabric({
    switches: [4, 4],
    adapters: 2,
    links: [
      ['s0', 's1'],
      ['s0', 'a0'],
      ['s1', 'a1'],
    ],
  });
  const [manager] = fabric.managers;
  const [, { port, mads }] = fabric.adapters;
  const setup = { fabric, manager, port, isMute: false, unheard: 0 };
  const receive = mads.receivePacket.bind(mads);
  mads.receivePacket = (...packet) => {
    if (!setup.isMute) return receive(...packet);
    setup.unheard++;
    return true;
  };
  fabric.runUntil(() => fabric.allActive && manager.isSettled);
  return setup;
}

function sweep({ fabric, manager }: ReturnType<typeof makeFabric>): boolean {
  const { heavySweeps } = manager.sweeper;
  manager.sweeper.sweepNow();
  return fabric.runUntil(() => manager.sweeper.heavySweeps > heavySweeps && manager.isSettled);
}

t.test('a silent adapter behind a link that stands', (t) => {
  const setup = makeFabric();
  const { fabric, manager, port } = setup;
  const { lid } = port;
  const routes = () => fabric.switches.map(({ switchTables }) => switchTables.linear[lid]);
  const before = routes();
  const { writes } = manager.sweeper.counters;
  setup.isMute = true;
  const start = fabric.clock.now();
  t.ok(sweep(setup));
  t.ok(setup.unheard > 0, 'it was asked');
  t.same(routes(), before, 'its routes stay');
  t.equal(manager.sweeper.subnet.portOfLid(lid)?.isSilent, true);
  t.equal(manager.sweeper.counters.writes, writes, 'nothing is written');
  t.ok(fabric.runUntil(() => fabric.clock.now() > start + SILENCE_NS));
  setup.isMute = false;
  t.ok(
    fabric.runUntil(() => manager.sweeper.subnet.portOfLid(lid)?.isSilent === false),
    'it is asked again, without a reason of its own',
  );
  t.same([port.lid, port.active, routes()], [lid, true, before]);
  t.end();
});

t.test('a silent adapter whose link went down meanwhile is left out', (t) => {
  const setup = makeFabric();
  const { fabric, manager, port } = setup;
  const { lid } = port;
  const { subnet } = manager.sweeper;
  setup.isMute = true;
  fabric.unplug(fabric.links[2]);
  fabric.join('s1', 'a1');
  t.ok(sweep(setup));
  t.equal(manager.sweeper.subnet.portOfLid(lid), undefined, 'another node may be there');
  setup.isMute = false;
  t.ok(fabric.runUntil(() => port.active && manager.isSettled));
  t.equal(manager.sweeper.subnet.portOfLid(lid)?.guid, subnet.portOfLid(lid)?.guid, 'its LID was kept for it');
  t.end();
});

t.test('a port that tells of new capabilities and is silent then is swept', (t) => {
  const setup = makeFabric();
  const { fabric, manager } = setup;
  const { heavySweeps } = manager.sweeper;
  fabric.adapters[1].mads.traps.raiseLocalChange(1);
  setup.isMute = true;
  t.ok(fabric.runUntil(() => manager.sweeper.heavySweeps > heavySweeps, SILENCE_NS));
  t.end();
});
