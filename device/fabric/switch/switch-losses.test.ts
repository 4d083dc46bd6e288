// SPDX-License-Identifier: Apache-2.0
/**
 * Packets that switches and the links between them lose are told to the observers of the ports
 * (IBTA 18.2.4, 18.2.5): each once, with its cause. device/process/reports/switch-story.test.ts has
 * the stories of which they are part.
 */
import t from 'tap';
import { Random } from '../../random.ts';
import { SwitchFabric } from '../../rig/fixtures/switch-fabric.ts';
import { PacketLoss } from '../port/packet-loss.ts';
import { DropCause, dropCauseNames } from './drop-causes.ts';
import { NO_PORT } from './relay-tables.ts';

const LINES = { trunks: [[0, 1]], ends: [0, 0, 1, 1], virtualLanes: 2, queuePackets: 1 } as const;

t.test('each drop of a switch and each loss of a link is told once, by its cause', async (t) => {
  const seen = new Set<number>();
  for (let seed = 1; seed <= 12; seed++) {
    const random = new Random(seed);
    const slow = { delayNs: 3000, bitsPerSecond: 2e8, bufferPackets: 1, bufferBlocks: 68 };
    const flaps = { flapEveryNs: 1e5, flapLengthNs: 1e4, delayNs: 300 };
    const faults = { faults: { drop: 0.05, corrupt: 0.05 }, ...(seed % 3 === 0 ? flaps : slow) };
    const fabric = new SwitchFabric({ ...LINES, faults, seed });
    const told = new Map<number, number>();
    const [first] = fabric.switches;
    const ports = [...fabric.ends, ...fabric.switches.flatMap((one) => one.ports)];
    for (const port of ports)
      port.lossObserver = (_view, _at, _bytes, loss) => told.set(loss, (told.get(loss) ?? 0) + 1);
    if (first === undefined) throw new Error('there is no switch');
    for (const { switchTables, ports: own } of fabric.switches) {
      switchTables.lifeTime = 1 + (seed % 2) * 30;
      for (const { settings } of own) settings.headOfQueueLife = seed % 4 === 0 ? 0 : 20;
    }
    first.switchTables.linear[3] = NO_PORT;
    first.switchTables.setVirtualLane(1, 2, 1, 5);
    for (let id = 0; id < 400; id++) {
      fabric.send(random.below(4), 1 + random.below(4), id, 16 + 4 * random.below(60), random.below(2));
      fabric.clock.advance(random.below(3000));
      fabric.settle();
      if (random.below(3) === 0) for (let at = 0; at < 4; at++) fabric.take(at);
    }
    for (const [cause, name] of dropCauseNames.entries()) {
      const count = fabric.switches.flatMap((one) => one.ports).reduce((sum, { drops }) => sum + drops[cause], 0);
      const expected = cause === DropCause.DAMAGED ? 0 : count;
      if ((told.get(PacketLoss.SWITCH + cause) ?? 0) !== expected)
        t.fail(`seed ${seed}: ${name} dropped ${count}, told ${told.get(PacketLoss.SWITCH + cause) ?? 0}`);
      if (expected > 0) seen.add(cause);
    }
    const links = fabric.links.flatMap((link) => ('directions' in link ? link.directions : []));
    const lost = (name: 'dropped' | 'corrupted'): number =>
      links.reduce((sum, { counters }) => sum + counters[name], 0);
    if ((told.get(PacketLoss.DROPPED) ?? 0) !== lost('dropped')) t.fail(`seed ${seed}: losses of links`);
    if ((told.get(PacketLoss.DAMAGED) ?? 0) !== lost('corrupted')) t.fail(`seed ${seed}: damage by links`);
  }
  for (const cause of [DropCause.NO_ROUTE, DropCause.NO_LANE, DropCause.LIFE_TIME, DropCause.HEAD_OF_QUEUE])
    t.ok(seen.has(cause), `some packet was dropped: ${dropCauseNames[cause]}`);
});
