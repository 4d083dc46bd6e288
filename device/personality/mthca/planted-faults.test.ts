// SPDX-License-Identifier: Apache-2.0
/** Faults that a host plants: lost completions and commands, and a reset that ends them. */
import t from 'tap';
import { HCR_OFFSET } from '../../../protocol/mthca/gen/constants.gen.ts';
import { CommandOpcode, CommandStatus, EventKind, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';
import { MthcaDriver } from '../../rig/mthca/driver/mthca-driver.ts';

const STATUS_OFFSET = HCR_OFFSET + 0x18;
const GO = 1 << 23;
const BY_EVENT = 1 << 22;

t.test('completions of one QP are lost, and nothing else is', (t) => {
  const fixture = new DataFixture();
  const [[a, b], [c, d]] = [fixture.connect(), fixture.connect()];
  const piece = fixture.memory(64);
  const { planted } = fixture.driver.device.hca;
  planted.loseCompletions(2, a.number);
  for (const receiver of [b, d]) for (let index = 0; index < 4; index++) receiver.postReceive(piece);
  for (const sender of [a, c]) {
    for (let index = 0; index < 3; index++) sender.post({ opcode: WorkOpcode.SEND, pieces: [piece] });
  }
  fixture.run();
  t.match(a.take(), [{ request: a.sendOffset(2), syndrome: 0 }], 'the third one comes');
  t.equal(b.take().length, 3, 'the peer has received all');
  t.equal(c.take().length, 3);
  t.equal(d.take().length, 3);
  t.same([planted.completions, planted.lostCompletions], [0, 2]);
  a.cq.arm();
  planted.loseCompletions(1);
  fixture.takeEvents();
  a.post({ opcode: WorkOpcode.SEND, pieces: [piece] });
  fixture.run();
  t.equal(b.take().length + a.take().length, 1, 'the first one of any QP');
  t.end();
});

t.test('a lost command has no effect, and no event', (t) => {
  const fixture = new DataFixture();
  const { driver } = fixture;
  const { planted } = driver.device.hca;
  const { regions } = driver.device.hca;
  const { key } = fixture.memory(64);
  const count = regions.table.count;
  planted.loseCommands(1, CommandOpcode.HW2SW_MPT);
  driver.expect(CommandOpcode.NOP);
  fixture.takeEvents();
  const lost = driver.command(CommandOpcode.HW2SW_MPT, { modifier: key >>> 8, opcodeModifier: 1, byEvent: true });
  t.equal(lost.status, 0, 'the register is free again');
  fixture.run();
  t.same(fixture.takeEvents(), [], 'no event');
  t.equal(regions.table.count, count, 'nothing was executed');
  t.equal(planted.lostCommands, 1);
  driver.expect(CommandOpcode.HW2SW_MPT, { modifier: key >>> 8, opcodeModifier: 1, byEvent: true });
  t.match(fixture.takeEvents(), [{ kind: EventKind.COMMAND }]);
  t.equal(regions.table.count, count - 1);
  t.end();
});

t.test('a lost command that software polls for blocks the register until a reset', (t) => {
  const fixture = new DataFixture();
  const { driver } = fixture;
  driver.device.hca.planted.loseCommands(5);
  driver.writeRegister(STATUS_OFFSET, GO | CommandOpcode.NOP);
  fixture.run();
  t.equal(driver.readRegister(STATUS_OFFSET) & GO, GO, 'it never ends');
  driver.writeRegister(STATUS_OFFSET, GO | BY_EVENT | CommandOpcode.NOP);
  fixture.run();
  t.equal(driver.readRegister(STATUS_OFFSET) & BY_EVENT, 0, 'and takes the place of others');
  driver.reset();
  t.equal(driver.readRegister(STATUS_OFFSET) & GO, 0);
  const next = new MthcaDriver(driver.machine);
  next.start();
  t.equal(next.command(CommandOpcode.NOP).status, CommandStatus.OK, 'no further command is lost');
  t.end();
});
