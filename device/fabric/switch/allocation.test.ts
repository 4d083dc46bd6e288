// SPDX-License-Identifier: Apache-2.0
/**
 * A switch allocates nothing per packet: the heap grows by less than the smallest object for each
 * packet, unicast and multicast, also while packets wait with a limit of time.
 */
import t from 'tap';
import { SwitchFabric } from '../../rig/fixtures/switch-fabric.ts';

const PACKETS = 30_000;
const SMALLEST_OBJECT_BYTES = 16;
const GROUP = 0xc000;

t.test('a switch allocates nothing per packet', async (t) => {
  for (const [dlid, payload] of [
    [2, 64],
    [2, 250],
    [GROUP, 64],
  ]) {
    const fabric = new SwitchFabric({ ends: [0, 0, 0], queuePackets: 4, virtualLanes: 2 });
    const [{ switchTables }] = fabric.switches;
    switchTables.lifeTime = 18;
    switchTables.setMulticastPorts(0, 0, 0b1100);
    const receivers = fabric.ends.slice(1);
    const exchange = (packets: number): number => {
      let arrived = 0;
      for (let id = 0; id < packets; id++) {
        fabric.send(0, dlid, id, payload, id % 2);
        // Every fourth packet finds the queues full.
        if (id % 16 < 12) fabric.switches[0].run(8);
        else continue;
        for (const end of receivers) {
          for (let ring = end.link?.arrival(end); ring !== undefined; ring = end.link?.arrival(end)) {
            ring.shift();
            arrived++;
          }
        }
      }
      return arrived;
    };
    exchange(PACKETS);
    const before = process.memoryUsage().heapUsed;
    const arrived = exchange(PACKETS);
    const grownBytes = process.memoryUsage().heapUsed - before;
    t.ok(arrived > PACKETS / 2, `${arrived} arrived`);
    t.ok(grownBytes < PACKETS * SMALLEST_OBJECT_BYTES, `LID ${dlid}: heap grew by ${grownBytes} bytes`);
  }
});
