// SPDX-License-Identifier: Apache-2.0
/**
 * Asynchronous events of an mthca device that are rare: a full EQ that another one reports, an SRQ
 * whose memory is gone, the last entry of a QP with an SRQ; vendor syndromes; and resets of all
 * kinds in the middle of traffic, which leave nothing behind.
 */
import t from 'tap';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { ERROR_BUFFER_OFFSET } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { getErrorCompletionVendorSyndrome } from '../../../../protocol/mthca/gen/error-completion.gen.ts';
import { decodeSrqContext, newSrqContext } from '../../../../protocol/mthca/gen/srq-context.gen.ts';
import {
  CommandOpcode,
  CompletionSyndrome,
  EventKind,
  FatalKind,
  QpContextState,
  QpService,
  WorkOpcode,
} from '../../../../protocol/mthca/gen/values.gen.ts';
import { DataFixture } from '../../../rig/mthca/driver/data-fixture.ts';
import { MthcaDriver } from '../../../rig/mthca/driver/mthca-driver.ts';
import { DriverSharedQueue } from '../../../rig/mthca/driver/shared-queue.ts';
import { Firmware } from '../../shared/firmware.ts';

const { SEND, RDMA_READ } = WorkOpcode;
const NO_KEY = 0x7f00;
const OTHER_EQN = 6;

/** A device with a connection whose second end has an SRQ. */
function makeShared() {
  const fixture = new DataFixture();
  const shared = new DriverSharedQueue(fixture.driver, fixture.takeRecords(1));
  const [a, b] = fixture.connect(QpService.RC, {}, { context: { hasSrq: 1, srqn: shared.number } });
  const source = fixture.memory(64);
  const post = (): void => a.post({ opcode: SEND, pieces: [source] });
  return { fixture, shared, a, b, post };
}

t.test('a full EQ is reported by another one', (t) => {
  const fixture = new DataFixture();
  const { driver } = fixture;
  const other = driver.createEventQueue(OTHER_EQN, 2);
  driver.expect(CommandOpcode.MAP_EQ, { input: 2 ** EventKind.EQ_OVERFLOW, modifier: OTHER_EQN });
  for (let entry = 0; entry <= fixture.events.entries; entry++) driver.expect(CommandOpcode.NOP, { byEvent: true });
  const reports = other.take();
  t.equal(reports.length, 1);
  t.equal(reports[0]?.getUint8(1), EventKind.EQ_OVERFLOW);
  t.equal((reports[0]?.getUint32(4) ?? 0) & 0xffffff, fixture.events.number);
  driver.expect(CommandOpcode.NOP, { byEvent: true });
  t.equal(other.take().length, 0, 'once');
  t.end();
});

t.test('an SRQ whose memory is gone fails, and its QPs do', (t) => {
  const { fixture, shared, b, post } = makeShared();
  shared.post(fixture.memory(64));
  const { output } = fixture.driver.expect(CommandOpcode.QUERY_SRQ, { modifier: shared.number, out: 0x40 });
  const { key } = decodeSrqContext(output, 0, newSrqContext());
  fixture.driver.expect(CommandOpcode.HW2SW_MPT, { modifier: key >>> 8, opcodeModifier: 1 });
  fixture.takeEvents();
  post();
  fixture.run();
  const kinds = fixture.takeEvents().filter(({ kind }) => kind === EventKind.SRQ_FATAL);
  t.same(kinds, [{ kind: EventKind.SRQ_FATAL, number: shared.number }]);
  const state = fixture.driver.device.hca.queuePairs.get(b.number)?.state;
  t.equal(state, QpContextState.ERR);
  t.end();
});

t.test('a QP that fails takes no more entries from its SRQ, and says so', (t) => {
  const { fixture, shared, b, post } = makeShared();
  for (let entry = 0; entry < 3; entry++) shared.post(fixture.memory(64));
  post();
  fixture.run();
  b.take();
  fixture.takeEvents();
  b.fail();
  fixture.run();
  t.same(
    fixture.takeEvents().filter(({ kind }) => kind === EventKind.LAST_WQE_REACHED),
    [{ kind: EventKind.LAST_WQE_REACHED, number: b.number }],
  );
  t.same(b.take(), [], 'entries of the SRQ stay there');
  t.end();
});

t.test('the vendor syndrome of a CQE is the fault that the device has found', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const piece = fixture.memory(64);
  const remote = { ...fixture.memory(64), key: NO_KEY };
  a.post({ opcode: SEND, pieces: [{ ...piece, key: NO_KEY }] });
  fixture.run();
  const view = fixture.driver.memory.view(a.cq.address, 32);
  t.match(a.take(), [{ syndrome: CompletionSyndrome.LOCAL_PROTECTION }]);
  t.not(getErrorCompletionVendorSyndrome(view, 0), FaultKind.NONE);
  const [c] = fixture.connect();
  c.post({ opcode: RDMA_READ, pieces: [piece], remote });
  fixture.run();
  const other = fixture.driver.memory.view(c.cq.address, 32);
  t.match(c.take(), [{ syndrome: CompletionSyndrome.REMOTE_ACCESS }]);
  t.equal(getErrorCompletionVendorSyndrome(other, 0), FaultKind.NONE, 'the peer has found it');
  t.same(b.take(), []);
  t.end();
});

for (const kind of ['function', 'device', 'lost', 'software'] as const) {
  t.test(`a reset (${kind}) in the middle of traffic`, (t) => {
    const fixture = new DataFixture();
    const { driver } = fixture;
    const [a, b] = fixture.connect();
    const piece = fixture.memory(2048);
    for (let index = 0; index < 8; index++) {
      b.postReceive(piece);
      a.post({ opcode: SEND, pieces: [piece] }, { opcode: RDMA_READ, pieces: [piece], remote: piece });
    }
    driver.machine.step();
    driver.device.hca.fail(FatalKind.BUS, Firmware.REFUSES);
    driver.machine.functionAt(0).reset(kind);
    const interrupts = [...driver.machine.hostAt(0).raised];
    fixture.run();
    const { hca, sends, lanes } = driver.device;
    t.same([...driver.machine.hostAt(0).raised], interrupts, 'no interrupt');
    t.equal(driver.readRegister(ERROR_BUFFER_OFFSET), 0);
    t.equal(sends.busyBuffers, 0);
    t.same([lanes.execution.functions[0].used, lanes.completion.functions[0].used], [0, 0]);
    t.same(
      [hca.queuePairs.count, hca.completionQueues.count, hca.regions.table.count, hca.icm.mappedPages],
      [0, 0, 0, 0],
    );
    driver.machine.functionAt(0).setBusMaster(true);
    const next = new DataFixture({}, new MthcaDriver(driver.machine));
    const [c, d] = next.connect();
    const target = next.memory(64);
    d.postReceive(target);
    c.post({ opcode: SEND, pieces: [target] });
    next.run();
    t.match([...c.take(), ...d.take()], [{ syndrome: 0 }, { syndrome: 0 }], 'a driver starts it again');
    t.end();
  });
}
