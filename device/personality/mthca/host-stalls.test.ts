// SPDX-License-Identifier: Apache-2.0
/**
 * A host that stops the device's process for longer than an ACK timeout (IBTA 9.7.6.1.3), at any
 * moment: each retry sends a packet, and a connection whose packets arrive does not fail.
 */
import t from 'tap';
import { CompletionSyndrome, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';

const RETRIES = 7;
/** Timeouts of the connections are 4.2 ms. */
const STALL_NS = 10e6;

/** A fixture whose time leaps whenever the device looks at the clock. */
function makeStalling(): DataFixture {
  const fixture = new DataFixture();
  const { clock } = fixture.driver.machine;
  const now = clock.now.bind(clock);
  clock.now = () => {
    clock.advance(STALL_NS);
    return now();
  };
  return fixture;
}

t.test('each retry of a request without answer is a packet', (t) => {
  const fixture = makeStalling();
  const a = fixture.queuePair();
  a.start(0x999, 2);
  const piece = fixture.memory(8);
  const { connected } = fixture.driver.device.engine;
  const before = connected.requester.packets;
  a.post({ opcode: WorkOpcode.SEND, pieces: [piece] });
  const taken = a.take();
  fixture.driver.machine.runUntil(() => taken.push(...a.take()) > 0, 'a completion');
  t.match(taken, [{ syndrome: CompletionSyndrome.RETRIES_EXCEEDED }]);
  t.equal(connected.requester.packets - before, RETRIES + 1);
  t.end();
});

t.test('a connection whose packets arrive outlives the stalls', (t) => {
  const fixture = makeStalling();
  const [a, b] = fixture.connect();
  const piece = fixture.memory(8);
  for (let message = 0; message < 50; message++) {
    const [from, to] = message % 2 === 0 ? [a, b] : [b, a];
    to.postReceive(piece);
    from.post({ opcode: WorkOpcode.SEND, pieces: [piece] });
    const taken = from.take();
    fixture.driver.machine.runUntil(() => taken.push(...from.take(), ...to.take()) >= 2, 'two completions');
    t.match(taken, [{ syndrome: 0 }, { syndrome: 0 }]);
  }
  t.end();
});
