// SPDX-License-Identifier: Apache-2.0
/** Links allocate nothing per packet. */
import t from 'tap';
import { countAllocation } from '../../../scripts/bench/allocation-count.ts';
import { Random } from '../../random.ts';
import { newPort, send } from '../../rig/fixtures/port-pair.ts';
import type { Link } from '../port/link.ts';
import { Cable } from './cable.ts';
import { FaultyLink } from './faulty-link.ts';

const PACKETS = 4096;
/** Packets between two calls of a link, which allocate their argument, the time. */
const BATCH = 32;
/** Half of the smallest object for each packet: calls and the faults of a few packets take 5. */
const BOUND_BYTES = 8;
const PASS_NS = 50_000;
/** From here on V8 keeps times in objects of their own where functions pass them on. */
const START_NS = 2 ** 31;

t.test('cable and faulty link allocate nothing per packet', async (t) => {
  for (const kind of ['cable', 'faulty']) {
    const [first, second] = [newPort(1), newPort(2)];
    const faults = { drop: 0.05, duplicate: 0.05, reorder: 0.05, corrupt: 0.05, delay: 0.05 };
    const options = { bitsPerSecond: 1e10, delayNs: 100, faults };
    const link: Link =
      kind === 'cable' ? new Cable(first, second) : new FaultyLink(first, second, options, new Random(1));
    let nowNs = START_NS;
    let sent = 0;
    let arrived = 0;
    const { settled, bytesPerMessage, rounds } = countAllocation(
      () => {
        for (let id = 1; id <= PACKETS; id++) {
          if (send(first, id)) sent++;
          if (id % BATCH !== 0) continue;
          // Once to send, once more to land the packets that waited for that.
          for (let pass = 0; pass < 2; pass++) {
            nowNs += PASS_NS;
            link.carry(nowNs, 100);
            for (let ring = link.arrival(second); ring !== undefined; ring = link.arrival(second)) {
              ring.shift();
              arrived++;
            }
          }
        }
      },
      PACKETS,
      BOUND_BYTES,
    );
    t.equal(sent, rounds * PACKETS, `${kind}: all are sent`);
    t.ok(arrived > sent * 0.9, `${kind}: ${arrived} arrived`);
    t.ok(settled, `${kind}: ${bytesPerMessage} bytes per packet after ${rounds} rounds`);
  }
});
