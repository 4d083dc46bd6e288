// SPDX-License-Identifier: Apache-2.0
/** Every kind of reset in every phase leaves nothing behind: no objects, no writes, no interrupts, no lost buffers or credits. PROGRAMMING.md, reset. */
import t, { type Test } from 'tap';
import { MSIX_PBA_OFFSET } from '../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  csrRegisters,
  getCsrDeviceStatusBusMaster,
  getCsrDeviceStatusEnabled,
  getCsrDeviceStatusResetCount,
} from '../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, ManagementOpcode, ManagementStatus, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { ResetKind } from '../host.ts';
import { InProcessAccess } from '../hosts/in-process/access.ts';
import { pdPayload } from '../hosts/in-process/driver/payloads.ts';
import { InProcessMachine } from '../hosts/in-process/machine.ts';
import { Bench, COMPLETION_VECTOR } from '../test-support/adapter-fixture.ts';
import { findLeak } from '../test-support/invariants.ts';
import { countObjects } from '../test-support/state-digest.ts';

const KINDS: readonly ResetKind[] = ['device', 'function', 'lost', 'software'];
/** Registers that outlive a reset of the function, or have side effects: those of the adapter's ports and lane, time, the lock. */
const LASTING = new Set([
  'DEVICE_STATUS',
  'LOCAL_TIME',
  'DEDICATED_LOCK',
  'LANE_LAUNCHES',
  'TVL_LAUNCHES',
  'PORT_TRANSMIT_PACKETS',
  'PORT_RECEIVE_PACKETS',
  'PORT_RECEIVE_DROPS',
]);

/** What a machine is in the middle of when it is reset. */
const phases: Record<string, (bench: Bench) => void> = {
  idle: () => {},
  'half a command collected': (bench) => {
    const { sender, to } = bench.createPair();
    sender.collect(sender.fill(to()).subarray(8));
  },
  'half a management command written, lock held': (bench) => {
    const { management } = bench.driver;
    management.lock();
    management.write(management.build({ opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}) }).subarray(0, 40));
  },
  'a management command whole and not executed': (bench) => {
    const { management } = bench.driver;
    management.write(management.build({ opcode: ManagementOpcode.CREATE_PD, payload: pdPayload({}) }));
  },
  'commands kicked and not launched': (bench) => {
    const { sender, receiver, to } = bench.createPair();
    for (let count = 0; count < 8; count++) {
      bench.postReceive(receiver, 40);
      sender.post(to());
    }
  },
  'doorbells rung and not served': (bench) => {
    const { sender, to } = bench.createPair();
    for (let count = 0; count < 16; count++) sender.post(to(), 'slot');
    sender.ring();
  },
  'a few steps under way': (bench) => {
    const { sender, receiver, to } = bench.createPair({
      sender: { sendEntriesLog2: 6 },
      receiver: { receiveEntriesLog2: 6 },
    });
    for (let count = 0; count < 64; count++) {
      bench.postReceive(receiver, 40);
      sender.post(to(), count % 2 === 0 ? 'collect' : 'slot');
    }
    sender.ring();
    for (let step = 0; step < 7; step++) bench.machine.step();
  },
  'a vector pending': (bench) => {
    bench.host.masked[COMPLETION_VECTOR] = 1;
    const qp = bench.createQueuePair();
    qp.parts.sendCq.notify();
    qp.post({ header: { opcode: SendOpcode.NOP } });
    bench.settle();
  },
  'an event asked for, completions to come': (bench) => {
    const qp = bench.createQueuePair();
    qp.parts.sendCq.notify();
    qp.post({ header: { opcode: SendOpcode.NOP } });
  },
};

function reset(bench: Bench, kind: ResetKind): void {
  if (kind === 'software') {
    bench.driver.reset();
    bench.host.quietBecause = 'the function was reset (software)';
  } else bench.machine.reset(0, kind);
}

for (const [phase, prepare] of Object.entries(phases)) {
  t.test(`reset while ${phase}`, async (t) => {
    for (const kind of KINDS) {
      const bench = new Bench({ budget: 3, memoryBytes: 2 * 1024 * 1024 });
      prepare(bench);
      const memory = bench.host.memory.bytes.slice();
      const resets = getCsrDeviceStatusResetCount(bench.read(CSR.DEVICE_STATUS));
      const raised = bench.host.raised.slice();
      reset(bench, kind);
      t.equal(findLeak(bench.access), undefined, `${kind}: buffers and credits are back at once`);
      bench.host.masked.fill(0);
      for (let step = 0; step < 50; step++) bench.machine.step();
      bench.machine.clock.advance(1e12);
      bench.settle();
      t.ok(Buffer.compare(bench.host.memory.bytes, memory) === 0, `${kind}: memory is untouched`);
      t.same(bench.host.raised, raised, `${kind}: no interrupt`);
      checkEmpty(t, bench, kind);
      t.equal(getCsrDeviceStatusResetCount(bench.read(CSR.DEVICE_STATUS)), resets + 1);
      bench.machine.resume();
      bench.bringUp();
      bench.proveItWorks();
      bench.finish();
    }
  });
}

/** Objects, buffers, credits, vectors, lock and registers are as after power-on. */
function checkEmpty(t: Test, bench: Bench, kind: ResetKind): void {
  for (const [name, count] of Object.entries(countObjects(bench))) t.equal(count, 0, `${kind}: ${name}`);
  t.equal(findLeak(bench.access), undefined, `${kind}: leaks`);
  const status = bench.read(CSR.DEVICE_STATUS);
  t.equal(getCsrDeviceStatusEnabled(status), 0, `${kind}: not enabled`);
  if (kind !== 'software') t.equal(getCsrDeviceStatusBusMaster(status), 0, `${kind}: no bus master`);
  t.equal(bench.access.readRegister(MSIX_PBA_OFFSET, 8), 0, `${kind}: nothing pending`);
  t.equal(bench.read(CSR.DEDICATED_LOCK), 1, `${kind}: the lock is free`);
  bench.access.writeRegister(CSR.DEDICATED_LOCK, 4, 0, 0);
  const fresh = new InProcessAccess(new InProcessMachine());
  for (const { name, offset, bits, count } of csrRegisters) {
    if (LASTING.has(name)) continue;
    for (let index = 0; index < count; index++) {
      const at = offset + (index * bits) / 8;
      const [actual, expected] = [bench.access, fresh].map((access) => access.readRegister(at, bits / 8));
      if (actual !== expected) t.fail(`${kind}: ${name} ${index} is ${actual}; it was ${expected} at power-on`);
    }
  }
}

t.test('numbers and keys of before a reset mean nothing afterwards', async (t) => {
  const bench = new Bench();
  const old = { qp: bench.createQueuePair(), pd: bench.pd, region: bench.region };
  reset(bench, 'function');
  bench.machine.resume();
  bench.bringUp();
  const { management } = bench.driver;
  for (const [opcode, objectNumber] of [
    [ManagementOpcode.QUERY_QP, old.qp.qpn],
    [ManagementOpcode.QUERY_CQ, old.qp.parts.sendCq.cqn],
    [ManagementOpcode.QUERY_PD, old.pd],
    [ManagementOpcode.QUERY_MR, old.region.number],
  ] as const) {
    t.equal(management.execute({ opcode, objectNumber }).status, ManagementStatus.BAD_OBJECT);
  }
  bench.finish();
});

t.test('hundreds of resets lose nothing', async (t) => {
  const bench = new Bench({ seed: 71, budget: 5, memoryBytes: 1024 * 1024 });
  for (let round = 0; round < 300; round++) {
    const { sender, to } = bench.createPair();
    for (let count = 0; count < 6; count++) sender.post(to(), bench.random.pick(['collect', 'slot'] as const));
    sender.collect(sender.fill(to()).subarray(8));
    sender.ring();
    for (let steps = bench.random.below(6); steps > 0; steps--) bench.machine.step();
    reset(bench, bench.random.pick(KINDS));
    bench.settle();
    bench.machine.resume();
    bench.bringUp();
  }
  t.equal(bench.read(CSR.PCB_AVAILABLE), 256 - 64);
  bench.proveItWorks();
  bench.finish();
});

t.test('without bus mastering nothing is written and nothing raised; with it things go on', async (t) => {
  const bench = new Bench();
  bench.access.port.setBusMaster(false);
  bench.host.quietBecause = 'bus mastering is off';
  bench.access.writeRegister(CSR.INTERRUPT_TRIGGER, 4, 30, 0);
  const { management } = bench.driver;
  management.write(management.build({ opcode: ManagementOpcode.QUERY_ADAPTER }));
  bench.settle();
  t.equal(bench.faults(FaultKind.BUS_MASTER_OFF), 1, 'the response could not be written');
  bench.host.quietBecause = '';
  bench.access.port.setBusMaster(true);
  bench.settle();
  t.equal(bench.host.raised[30], 1, 'the interrupt was pending');
  bench.proveItWorks();
  bench.finish();
});
