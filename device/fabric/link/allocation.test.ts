// SPDX-License-Identifier: Apache-2.0
/**
 * Links allocate nothing per packet: the heap grows by less than the smallest object for each
 * packet.
 */
import t from 'tap';
import { Random } from '../../random.ts';
import { newPort, send } from '../../rig/fixtures/port-pair.ts';
import type { Link } from '../port/link.ts';
import { Cable } from './cable.ts';
import { FaultyLink } from './faulty-link.ts';

const PACKETS = 50_000;
const SMALLEST_OBJECT_BYTES = 16;
const BATCH = 8;

t.test('cable and faulty link allocate nothing per packet', async (t) => {
  for (const kind of ['cable', 'faulty']) {
    const [first, second] = [newPort(1), newPort(2)];
    const faults = { drop: 0.05, duplicate: 0.05, reorder: 0.05, corrupt: 0.05, delay: 0.05 };
    const options = { bitsPerSecond: 1e10, delayNs: 100, faults };
    const link: Link =
      kind === 'cable' ? new Cable(first, second) : new FaultyLink(first, second, options, new Random(1));
    let nowNs = 0;
    const exchange = (packets: number): number => {
      let arrived = 0;
      for (let id = 0; id < packets; id++) {
        send(first, id);
        if (id % BATCH !== 0) continue;
        nowNs += 100_000;
        // Once to send, once more to land the packets that waited for that.
        for (let pass = 0; pass < 2; pass++) {
          link.carry(nowNs + pass * 50_000, 100);
          for (let ring = link.arrival(second); ring !== undefined; ring = link.arrival(second)) {
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
    t.ok(arrived > PACKETS / 2, `${kind}: ${arrived} arrived`);
    t.ok(
      grownBytes < PACKETS * SMALLEST_OBJECT_BYTES,
      `${kind}: heap grew by ${grownBytes} bytes over ${PACKETS} packets`,
    );
  }
});
