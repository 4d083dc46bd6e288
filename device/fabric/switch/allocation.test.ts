// SPDX-License-Identifier: Apache-2.0
/**
 * A switch allocates nothing per packet, unicast and multicast, also while packets wait with a
 * limit of time.
 */
import t from 'tap';
import { countAllocation } from '../../../scripts/bench/allocation-count.ts';
import { SwitchFabric } from '../../rig/fixtures/switch-fabric.ts';

const PACKETS = 4096;
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
    let arrived = 0;
    const { settled, bytesPerMessage, rounds } = countAllocation(() => {
      for (let id = 0; id < PACKETS; id++) {
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
    }, PACKETS);
    t.ok(arrived > (rounds * PACKETS) / 2, `${arrived} arrived`);
    t.ok(settled, `LID ${dlid}: ${bytesPerMessage} bytes per packet after ${rounds} rounds`);
  }
});
