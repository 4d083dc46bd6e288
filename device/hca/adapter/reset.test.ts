// SPDX-License-Identifier: Apache-2.0
/**
 * Every kind of reset, in every phase, leaves no object, no late write, no interrupt, and loses no
 * buffer and no credit. docs/PROGRAMMING.md, reset; docs/DOCUMENTS.md decision 15.
 */
import t, { type Test } from 'tap';
import { MSIX_PBA_OFFSET } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  csrRegisters,
  getCsrDeviceStatusBusMaster,
  getCsrDeviceStatusEnabled,
  getCsrDeviceStatusResetCount,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, ManagementOpcode, ManagementStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { ResetKind } from '../../host.ts';
import { mrPayload, pdPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture, COMPLETION_VECTOR } from '../../rig/fixtures/adapter-fixture.ts';
import { findLeak } from '../../rig/fixtures/invariants.ts';
import { SamePages } from '../../rig/fixtures/page-lists.ts';
import { countObjects } from '../../rig/fixtures/state-digest.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';

const KINDS: readonly ResetKind[] = ['device', 'function', 'lost', 'software'];
/**
 * Registers that a reset does not change, or that have side effects: ports, lanes, time, the lock.
 */
const LASTING = new Set([
  'DEVICE_STATUS',
  'LOCAL_TIME',
  'USER_TIME',
  'DEDICATED_LOCK',
  'LANE_LAUNCHES',
  'TVL_LAUNCHES',
  'PORT_TRANSMIT_PACKETS',
  'PORT_RECEIVE_PACKETS',
  'PORT_RECEIVE_DROPS',
]);

/** What a machine is in the middle of when it is reset. */
const phases: Record<string, (fixture: AdapterFixture) => void> = {
  idle: () => {},
  'half a command collected': (fixture) => {
    const { sender, to } = fixture.createPair();
    sender.collect(sender.fill(to()).subarray(8));
  },
  'half a management command written, lock held': (fixture) => {
    const { management } = fixture.driver;
    management.lock();
    management.write(management.build({ opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}) }).subarray(0, 40));
  },
  'a management command whole and not executed': (fixture) => {
    const { management } = fixture.driver;
    management.write(management.build({ opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}) }));
  },
  'a long page list half read': (fixture) => {
    const { driver, pd } = fixture;
    const region = new SamePages(driver).region(pd, 2 ** 20);
    const { management } = driver;
    management.write(management.build({ opcode: ManagementOpcode.CREATE_MR, payload: mrPayload(region) }));
    for (let step = 0; step < 3; step++) fixture.machine.step();
  },
  'commands kicked and not launched': (fixture) => {
    const { sender, receiver, to } = fixture.createPair();
    for (let count = 0; count < 8; count++) {
      fixture.postReceive(receiver, 40);
      sender.post(to());
    }
  },
  'doorbells rung and not served': (fixture) => {
    const { sender, to } = fixture.createPair();
    for (let count = 0; count < 16; count++) sender.post(to(), 'slot');
    sender.ring();
  },
  'a few steps under way': (fixture) => {
    const { sender, receiver, to } = fixture.createPair({
      sender: { sendEntriesLog2: 6 },
      receiver: { receiveEntriesLog2: 6 },
    });
    for (let count = 0; count < 64; count++) {
      fixture.postReceive(receiver, 40);
      sender.post(to(), count % 2 === 0 ? 'collect' : 'slot');
    }
    sender.ring();
    for (let step = 0; step < 7; step++) fixture.machine.step();
  },
  'a vector pending': (fixture) => {
    fixture.host.masked[COMPLETION_VECTOR] = 1;
    const qp = fixture.createQueuePair();
    qp.parts.sendCq.notify();
    qp.post({ header: { opcode: SendOpcode.NOP } });
    fixture.settle();
  },
  'an event asked for, completions to come': (fixture) => {
    const qp = fixture.createQueuePair();
    qp.parts.sendCq.notify();
    qp.post({ header: { opcode: SendOpcode.NOP } });
  },
};

function reset(fixture: AdapterFixture, kind: ResetKind): void {
  if (kind === 'software') {
    fixture.driver.reset();
    fixture.host.quietBecause = 'the function was reset (software)';
  } else fixture.machine.reset(0, kind);
}

for (const [phase, prepare] of Object.entries(phases)) {
  t.test(`reset while ${phase}`, async (t) => {
    for (const kind of KINDS) {
      const fixture = new AdapterFixture({ budget: 3, memoryBytes: 2 * 1024 * 1024 });
      prepare(fixture);
      const memory = fixture.host.memory.bytes.slice();
      const resets = getCsrDeviceStatusResetCount(fixture.read(CSR.DEVICE_STATUS));
      const raised = fixture.host.raised.slice();
      const { [kind]: before } = fixture.machine.device.functions[0].underlying.resets;
      reset(fixture, kind);
      t.equal(findLeak(fixture.access), undefined, `${kind}: buffers and credits are back at once`);
      fixture.host.masked.fill(0);
      for (let step = 0; step < 50; step++) fixture.machine.step();
      fixture.machine.clock.advance(1e12);
      fixture.settle();
      t.ok(Buffer.compare(fixture.host.memory.bytes, memory) === 0, `${kind}: memory is untouched`);
      t.same(fixture.host.raised, raised, `${kind}: no interrupt`);
      checkEmpty(t, fixture, kind);
      t.equal(getCsrDeviceStatusResetCount(fixture.read(CSR.DEVICE_STATUS)), resets + 1);
      t.equal(fixture.machine.device.functions[0].underlying.resets[kind], before + 1, `counted as ${kind}`);
      fixture.machine.resume();
      fixture.bringUp();
      fixture.proveItWorks();
      fixture.finish();
    }
  });
}

/** Objects, buffers, credits, vectors, lock and registers are as after power-on. */
function checkEmpty(t: Test, fixture: AdapterFixture, kind: ResetKind): void {
  for (const [name, count] of Object.entries(countObjects(fixture))) t.equal(count, 0, `${kind}: ${name}`);
  t.equal(findLeak(fixture.access), undefined, `${kind}: leaks`);
  const status = fixture.read(CSR.DEVICE_STATUS);
  t.equal(getCsrDeviceStatusEnabled(status), 0, `${kind}: not enabled`);
  if (kind !== 'software') t.equal(getCsrDeviceStatusBusMaster(status), 0, `${kind}: no bus master`);
  t.equal(fixture.access.readRegister(MSIX_PBA_OFFSET, 8), 0, `${kind}: nothing pending`);
  t.equal(fixture.read(CSR.DEDICATED_LOCK), 1, `${kind}: the lock is free`);
  fixture.access.writeRegister(CSR.DEDICATED_LOCK, 4, 0, 0);
  const fresh = new InProcessAccess(new InProcessMachine());
  for (const { name, offset, bits, count } of csrRegisters) {
    if (LASTING.has(name)) continue;
    for (let index = 0; index < count; index++) {
      const at = offset + (index * bits) / 8;
      const [actual, expected] = [fixture.access, fresh].map((access) => access.readRegister(at, bits / 8));
      if (actual !== expected) t.fail(`${kind}: ${name} ${index} is ${actual}; it was ${expected} at power-on`);
    }
  }
}

t.test('numbers and keys of before a reset mean nothing afterwards', async (t) => {
  const fixture = new AdapterFixture();
  const old = { qp: fixture.createQueuePair(), pd: fixture.pd, region: fixture.region };
  reset(fixture, 'function');
  fixture.machine.resume();
  fixture.bringUp();
  const { management } = fixture.driver;
  for (const [opcode, objectNumber] of [
    [ManagementOpcode.QUERY_QP, old.qp.qpn],
    [ManagementOpcode.QUERY_CQ, old.qp.parts.sendCq.cqn],
    [ManagementOpcode.QUERY_PD, old.pd],
    [ManagementOpcode.QUERY_MR, old.region.number],
  ] as const) {
    t.equal(management.execute({ opcode, objectNumber }).status, ManagementStatus.BAD_OBJECT);
  }
  fixture.finish();
});

t.test('hundreds of resets lose nothing', async (t) => {
  const fixture = new AdapterFixture({ seed: 71, budget: 5, memoryBytes: 1024 * 1024 });
  for (let round = 0; round < 300; round++) {
    const { sender, to } = fixture.createPair();
    for (let count = 0; count < 6; count++) sender.post(to(), fixture.random.pick(['collect', 'slot'] as const));
    sender.collect(sender.fill(to()).subarray(8));
    sender.ring();
    for (let steps = fixture.random.below(6); steps > 0; steps--) fixture.machine.step();
    reset(fixture, fixture.random.pick(KINDS));
    fixture.settle();
    fixture.machine.resume();
    fixture.bringUp();
  }
  t.equal(fixture.read(CSR.PCB_AVAILABLE), 256 - 64);
  fixture.proveItWorks();
  fixture.finish();
});

t.test('without bus mastering nothing is written and nothing raised; with it things go on', async (t) => {
  const fixture = new AdapterFixture();
  fixture.access.port.setBusMaster(false);
  fixture.host.quietBecause = 'bus mastering is off';
  fixture.access.writeRegister(CSR.INTERRUPT_TRIGGER, 4, 30, 0);
  const { management } = fixture.driver;
  management.write(management.build({ opcode: ManagementOpcode.QUERY_ADAPTER }));
  fixture.settle();
  t.equal(fixture.faults(FaultKind.BUS_MASTER_OFF), 1, 'the response could not be written');
  fixture.host.quietBecause = '';
  fixture.access.port.setBusMaster(true);
  fixture.settle();
  t.equal(fixture.host.raised[30], 1, 'the interrupt was pending');
  fixture.proveItWorks();
  fixture.finish();
});
