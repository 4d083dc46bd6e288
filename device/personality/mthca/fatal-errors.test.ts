// SPDX-License-Identifier: Apache-2.0
/**
 * Fatal errors with traffic, by what is left of the firmware: it works, so that a driver takes all
 * of its objects back; it refuses commands; or it is silent. A reset ends each.
 */
import t, { type Test } from 'tap';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { ERROR_BUFFER_OFFSET, HCR_OFFSET } from '../../../protocol/mthca/gen/constants.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  CompletionSyndrome,
  EventKind,
  FatalKind,
  WorkOpcode,
} from '../../../protocol/mthca/gen/values.gen.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';
import { MthcaDriver } from '../../rig/mthca/driver/mthca-driver.ts';
import { portSetup } from '../../rig/mthca/driver/profile.ts';
import { Firmware } from '../shared/firmware.ts';

const { SEND } = WorkOpcode;
const { FLUSHED } = CompletionSyndrome;
const STATUS_OFFSET = HCR_OFFSET + 0x18;
const GO = 1 << 23;
const BY_EVENT = 1 << 22;

/** A connection with requests at both ends that have no end yet. */
function makeTraffic() {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const piece = fixture.memory(64);
  a.post({ opcode: SEND, pieces: [piece] });
  fixture.run();
  a.postReceive(piece);
  a.cq.arm();
  fixture.takeEvents();
  return { fixture, a, b, piece, driver: fixture.driver, hca: fixture.driver.device.hca };
}

/** A driver that resets the device and starts it anew has traffic. */
function checkRestart(t: Test, failed: MthcaDriver): void {
  failed.reset();
  t.equal(failed.readRegister(ERROR_BUFFER_OFFSET), 0, 'the error buffer is empty');
  const next = new DataFixture({}, new MthcaDriver(failed.machine));
  const [a, b] = next.connect();
  const piece = next.memory(64);
  b.postReceive(piece);
  a.post({ opcode: SEND, pieces: [piece] });
  next.run();
  t.match([...a.take(), ...b.take()], [{ syndrome: 0 }, { syndrome: 0 }], 'a driver starts it anew');
}

t.test('firmware that works: all is flushed, and the driver takes its objects back', (t) => {
  const { fixture, a, b, piece, driver, hca } = makeTraffic();
  hca.fail(FatalKind.PARITY, Firmware.WORKS);
  fixture.run();
  t.equal(driver.readRegister(ERROR_BUFFER_OFFSET) >>> 24, FatalKind.PARITY, 'the driver polls this');
  t.match(a.take(), [{ syndrome: FLUSHED }, { syndrome: FLUSHED }], 'the send and the receive');
  t.match(
    fixture.takeEvents().filter(({ kind }) => kind === EventKind.COMPLETION),
    [{}],
    'told by event',
  );
  a.post({ opcode: SEND, pieces: [piece] });
  b.post({ opcode: SEND, pieces: [piece] });
  fixture.run();
  t.match([...a.take(), ...b.take()], [{ syndrome: FLUSHED }, { syndrome: FLUSHED }], 'what is posted later');
  t.same([...driver.device.ports.map(({ state }) => state)], [PortState.DOWN, PortState.DOWN]);
  driver.expect(CommandOpcode.CLOSE_IB, { modifier: 1 });
  const { status } = driver.command(CommandOpcode.INIT_IB, { modifier: 1, input: portSetup() });
  t.equal(status, CommandStatus.INTERNAL_ERROR, 'ports stay down');
  for (const { number: modifier, cq } of [a, b]) {
    driver.expect(CommandOpcode.ANY2RST_QP, { modifier, opcodeModifier: 3 });
    driver.expect(CommandOpcode.HW2SW_CQ, { modifier: cq.number, out: 0x40 });
  }
  driver.expect(CommandOpcode.HW2SW_MPT, { modifier: piece.key >>> 8, opcodeModifier: 1 });
  t.same([hca.queuePairs.count, hca.completionQueues.count], [0, 0]);
  driver.expect(CommandOpcode.CLOSE_HCA);
  checkRestart(t, driver);
  t.end();
});

t.test('firmware that refuses commands: nothing completes', (t) => {
  const { fixture, a, piece, driver, hca } = makeTraffic();
  hca.fail(FatalKind.MEMORY, Firmware.REFUSES);
  a.post({ opcode: SEND, pieces: [piece] });
  fixture.run();
  t.same(a.take(), []);
  const { status } = driver.command(CommandOpcode.ANY2RST_QP, { modifier: a.number, opcodeModifier: 3 });
  t.equal(status, CommandStatus.INTERNAL_ERROR);
  checkRestart(t, driver);
  t.end();
});

t.test('silent firmware: no command ends until a reset', (t) => {
  for (const way of [0, BY_EVENT]) {
    const { fixture, a, driver, hca } = makeTraffic();
    hca.fail(FatalKind.BUS, Firmware.SILENT);
    fixture.run();
    fixture.takeEvents();
    driver.writeRegister(STATUS_OFFSET, GO | way | CommandOpcode.NOP);
    fixture.run();
    t.equal(driver.readRegister(STATUS_OFFSET) & GO, GO, 'the register is taken');
    t.same([...fixture.takeEvents(), ...a.take()], [], 'and nothing comes');
    t.equal(driver.device.processor.serve(), false, 'and it costs nothing');
    checkRestart(t, driver);
  }
  t.end();
});
