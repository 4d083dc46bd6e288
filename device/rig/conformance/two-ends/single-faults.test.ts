// SPDX-License-Identifier: Apache-2.0
/**
 * Each packet of a connection between two adapters in turn is dropped, duplicated, reordered,
 * damaged or delayed: the results are the same, only the time differs (IBTA 9.9.2).
 */
import t from 'tap';
import { ackTimeoutNs } from '../../../../protocol/infiniband/syndrome.ts';
import { SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import { linkFaults, type ScheduledFault } from '../../../fabric/link/link-options.ts';
import { ledger } from '../../fixtures/ledger.ts';
import type { InProcessAccess } from '../../machine/access.ts';
import { assertBytes, type Ends } from './ends.ts';
import { bringUp } from './suite.ts';
import { onFaultyLink } from './two-adapters.ts';

const MTU = 256;
/** Three packets each of SEND and WRITE, one of READ and FETCH_ADD. */
const REQUEST_PACKETS = 8;
const TIMEOUT = 14;

/** One of each operation, posted together. Throws unless each was executed once with its result. */
function exchange(ends: Ends): void {
  const pair = ends.connect({ pathMtu: 1, timeout: TIMEOUT });
  const source = ends.a.buffer(ends.random.bytes(3 * MTU));
  const [received, written, cell] = [3 * MTU, 3 * MTU, 8].map((lengthBytes) => ends.b.buffer(lengthBytes));
  const [back, found] = [3 * MTU, 8].map((lengthBytes) => ends.a.buffer(lengthBytes));
  pair.b.postReceive([ends.b.sge(received)]);
  pair.a.post({ sges: [ends.a.sge(source)], immediate: 1 }, 'slot');
  pair.a.post(ends.rdma(SendOpcode.RDMA_WRITE, source, written), 'slot');
  pair.a.post(ends.rdma(SendOpcode.RDMA_READ, back, written), 'slot');
  pair.a.post({ ...ends.rdma(SendOpcode.FETCH_ADD, found, cell), atomic: { swapOrAdd: 1n } }, 'slot');
  pair.a.ring();
  ends.sent(pair.a, 4);
  ends.received(pair.b);
  assertBytes(received.bytes, source.bytes, 'SEND');
  assertBytes(back.bytes, source.bytes, 'WRITE and READ');
  assertBytes(found.bytes, new Uint8Array(8), 'what the atomic found');
  ends.settle();
  assertBytes(cell.bytes, Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0), 'the sum');
}

/** Duration of the exchange with this fault, ns. Throws an error with the fault if it failed. */
function measureNs(fault: ScheduledFault | undefined): number {
  const [requester, responder] = onFaultyLink({ delayNs: 700, schedule: fault === undefined ? [] : [fault] }, 1);
  const ends = bringUp(requester, responder, 1);
  const { clock } = (requester.access as InProcessAccess).machine;
  try {
    exchange(ends);
    const elapsedNs = clock.now();
    ends.proveNothingIsLeft(ends.connect());
    return elapsedNs;
  } catch (cause) {
    throw new Error(`with the fault ${JSON.stringify(fault)}`, { cause });
  }
}

for (const fault of linkFaults) {
  t.test(`one packet meets a fault: ${fault}`, async (t) => {
    ledger(t, '9.9.2', `A fault of one request packet (${fault}) costs no timeout when others follow it`);
    ledger(
      t,
      '9.9.2',
      `Each request is executed once, whichever packet of it or of its response meets a fault (${fault})`,
    );
    const undisturbedNs = measureNs(undefined);
    let disturbed = 0;
    for (let packet = 0; packet < REQUEST_PACKETS; packet++) {
      const elapsedNs = measureNs({ fault, direction: 0, packet });
      if (packet < REQUEST_PACKETS - 1) t.ok(elapsedNs < ackTimeoutNs(TIMEOUT), `request packet ${packet}`);
      measureNs({ fault, direction: 1, packet });
      if (elapsedNs !== undisturbedNs) disturbed++;
    }
    if (fault === 'drop') t.equal(disturbed, REQUEST_PACKETS, 'all of them were really lost');
  });
}
