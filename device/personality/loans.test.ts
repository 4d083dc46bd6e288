// SPDX-License-Identifier: Apache-2.0
/**
 * Payload on loan in the personalities (docs/ARCHITECTURE.md, Decisions): its packets carry what
 * was sent, and loans end before a command is executed, by which software may get memory back, and
 * before calls of a host, except for doorbells.
 */
import t, { type Test } from 'tap';
import { CommandOpcode as Mlx5Command, SendOpcode } from '../../protocol/mlx5/gen/values.gen.ts';
import { CommandOpcode as MthcaCommand, WorkOpcode } from '../../protocol/mthca/gen/values.gen.ts';
import type { Piece } from '../rig/machine/personality-driver.ts';
import { DataFixture as Mlx5Fixture } from '../rig/mlx5/driver/data-fixture.ts';
import { DataFixture as MthcaFixture } from '../rig/mthca/driver/data-fixture.ts';

const LONG = 12 * 4096;
/** A loan of which the test hears. */
function lend({ driver }: Mlx5Fixture | MthcaFixture): { readonly ended: number } {
  const seen = { ended: 0 };
  driver.device.loans.enter({
    takeLoans: (book) => {
      seen.ended++;
      book.strike();
    },
  });
  return seen;
}

/** Sends a message over a connection by `post`, and makes the calls that end loans. */
function judge(t: Test, fixture: Mlx5Fixture | MthcaFixture, post: (source: Piece, target: Piece) => void): void {
  const { machine, device } = fixture.driver;
  machine.hostAt(0).lends = true;
  const [source, target] = [fixture.memory(LONG), fixture.memory(LONG)];
  fixture.bytes(source).set(machine.random.bytes(LONG));
  const sent = fixture.bytes(source).slice();
  post(source, target);
  fixture.run();
  t.equal(Buffer.compare(fixture.bytes(target), sent), 0, 'the data');
  t.ok(machine.hostAt(0).loans >= LONG / 4096, 'packets placed from where they were lent');
  const port = machine.functionAt(0);
  for (const [name, call] of [
    ['a register read', () => port.readRegister(0, 4)],
    ['a register write', () => port.writeRegister(0x80, 4, 0, 0)],
    ['an unmapped region', () => port.memoryUnmapped(0, 4096)],
    ['bus mastering', () => port.setBusMaster(true)],
  ] as const) {
    const seen = lend(fixture);
    machine.core.run(1);
    t.equal(seen.ended, 0, `before ${name}`);
    call();
    t.equal(seen.ended, 1, `${name} ends loans`);
  }
  const seen = lend(fixture);
  machine.reset(0, 'function');
  t.equal(seen.ended, 1, 'a reset ends loans');
  t.equal(device.loans.count, 0);
}

t.test('mlx5', async (t) => {
  const fixture = new Mlx5Fixture();
  const seen = lend(fixture);
  fixture.driver.expect(Mlx5Command.ALLOC_PD);
  t.equal(seen.ended, 1, 'a command ends loans');
  const [a] = fixture.connect();
  judge(t, fixture, (source, target) => {
    const remote = { address: target.address, key: target.key };
    a.post({ opcode: SendOpcode.WRITE, pieces: [source], remote });
  });
});

t.test('mthca', async (t) => {
  const fixture = new MthcaFixture();
  const seen = lend(fixture);
  fixture.driver.expect(MthcaCommand.NOP);
  t.equal(seen.ended, 1, 'a command ends loans');
  const [a] = fixture.connect();
  judge(t, fixture, (source, target) => {
    const remote = { address: target.address, key: target.key };
    a.post({ opcode: WorkOpcode.RDMA_WRITE, pieces: [source], remote });
  });
});
