// SPDX-License-Identifier: Apache-2.0
/**
 * Payload on loan in the personalities (docs/ARCHITECTURE.md, Decisions): a device alone ends its
 * loans with each run, and any device ends them before it executes a command, by which software may
 * get memory back.
 */
import t, { type Test } from 'tap';
import { CommandOpcode as Mlx5Command, SendOpcode } from '../../protocol/mlx5/gen/values.gen.ts';
import { CommandOpcode as MthcaCommand, WorkOpcode } from '../../protocol/mthca/gen/values.gen.ts';
import { DataFixture as Mlx5Fixture } from '../rig/mlx5/driver/data-fixture.ts';
import { DataFixture as MthcaFixture } from '../rig/mthca/driver/data-fixture.ts';

const LONG = 12 * 4096;
/** Calls of the host in which a message ends, and many more. */
const RUNS_MAX = 1000;

function judge(
  t: Test,
  { driver }: Mlx5Fixture | MthcaFixture,
  ends: { source: Uint8Array; target: Uint8Array },
): void {
  const { machine, device } = driver;
  const { source, target } = ends;
  const sent = source.slice();
  let views = 0;
  for (let run = 0; machine.core.run(1); run++) {
    if (run === RUNS_MAX) throw new Error('the message does not end');
    if (device.loans.count > 0) views++;
  }
  t.equal(views, 0, 'no loan is left after a run');
  t.equal(Buffer.compare(target, sent), 0, 'the data');
}

/** A loan of which the test hears. */
function lend({ driver }: Mlx5Fixture | MthcaFixture): { readonly ended: number } {
  const seen = { ended: 0 };
  driver.device.loans.lasting = true;
  driver.device.loans.enter({
    takeLoans: (book) => {
      seen.ended++;
      book.strike();
    },
  });
  return seen;
}

t.test('mlx5', async (t) => {
  const fixture = new Mlx5Fixture();
  fixture.driver.machine.hostAt(0).lends = true;
  const [a] = fixture.connect();
  const [source, target] = [fixture.memory(LONG), fixture.memory(LONG)];
  fixture.bytes(source).set(fixture.driver.machine.random.bytes(LONG));
  a.post({ opcode: SendOpcode.WRITE, pieces: [source], remote: { address: target.address, key: target.key } });
  judge(t, fixture, { source: fixture.bytes(source), target: fixture.bytes(target) });
  const seen = lend(fixture);
  fixture.run();
  t.equal(seen.ended, 0, 'a fabric lets loans last');
  fixture.driver.expect(Mlx5Command.ALLOC_PD);
  t.equal(seen.ended, 1, 'a command ends them');
});

t.test('mthca', async (t) => {
  const fixture = new MthcaFixture();
  fixture.driver.machine.hostAt(0).lends = true;
  const [a] = fixture.connect();
  const [source, target] = [fixture.memory(LONG), fixture.memory(LONG)];
  fixture.bytes(source).set(fixture.driver.machine.random.bytes(LONG));
  a.post({ opcode: WorkOpcode.RDMA_WRITE, pieces: [source], remote: { address: target.address, key: target.key } });
  judge(t, fixture, { source: fixture.bytes(source), target: fixture.bytes(target) });
  const seen = lend(fixture);
  fixture.run();
  t.equal(seen.ended, 0, 'a fabric lets loans last');
  fixture.driver.expect(MthcaCommand.NOP);
  t.equal(seen.ended, 1, 'a command ends them');
});
