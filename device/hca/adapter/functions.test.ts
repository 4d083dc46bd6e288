// SPDX-License-Identifier: Apache-2.0
/**
 * Isolation of functions (US 8,484,392 par. 30-32): no function reaches objects, memory or results
 * of another one.
 */
import t from 'tap';
import { DOORBELL_QPN_SHIFT } from '../../../protocol/layout/gen/doorbell.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, ManagementOpcode, ManagementStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../../rig/driver/driver.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };

/** A function of the machine, brought up, with a queue pair. */
function bringUp(machine: InProcessMachine, index: number) {
  const access = new InProcessAccess(machine, index);
  const driver = new Driver(access).bringUp();
  const pd = driver.createProtectionDomain();
  const region = driver.createDmaRegion(pd);
  const events = driver.createEventQueue({ vector: index });
  const sendCq = driver.createCompletionQueue({ eventQueue: events });
  const qp = driver.createQueuePair({ pd, sendCq }).start({ port: index + 1 });
  return { access, driver, pd, region, events, sendCq, qp };
}

t.test("one function's commands about the other's objects are refused", async (t) => {
  const machine = new InProcessMachine({ functionCount: 2 });
  const [one, two] = [bringUp(machine, 0), bringUp(machine, 1)];
  t.equal(two.access.readRegister(CSR.FUNCTION_NUMBER, 4), 1);
  const { management } = two.driver;
  for (const [query, number] of [
    [ManagementOpcode.QUERY_PD, one.pd],
    [ManagementOpcode.QUERY_MR, one.region.number],
    [ManagementOpcode.QUERY_CQ, one.sendCq.cqn],
    [ManagementOpcode.QUERY_EQ, one.events.eqn],
    [ManagementOpcode.QUERY_QP, one.qp.qpn],
  ] as const) {
    t.equal(management.execute({ opcode: query, objectNumber: number }).status, ManagementStatus.BAD_OBJECT);
    t.equal(management.execute({ opcode: query + 1, objectNumber: number }).status, ManagementStatus.BAD_OBJECT);
  }
  t.throws(() => two.driver.createQueuePair({ pd: one.pd, sendCq: two.sendCq }), /BAD_OBJECT/);
  t.throws(() => two.driver.createQueuePair({ pd: two.pd, sendCq: one.sendCq }), /BAD_OBJECT/);
  t.throws(() => two.driver.createCompletionQueue({ eventQueue: one.events }), /BAD_OBJECT/);
});

t.test("one function's doorbells and commands for the other's queues do nothing but count against it", async (t) => {
  const machine = new InProcessMachine({ functionCount: 2 });
  const [one, two] = [bringUp(machine, 0), bringUp(machine, 1)];
  const bytes = one.qp.post(NOP, 'slot');
  const faults = (access: InProcessAccess, kind: number) => access.readRegister(CSR.FAULT_COUNT + kind * 4, 4);
  two.qp.collect(bytes);
  two.access.writeRegister(CSR.SEND_DOORBELL, 8, (one.qp.qpn << DOORBELL_QPN_SHIFT) >>> 0, 0);
  two.access.writeRegister(CSR.CQ_NOTIFY, 8, one.sendCq.cqn, 0);
  two.access.writeRegister(CSR.EQ_CONSUMER, 8, one.events.eqn, 5);
  machine.runUntilIdle();
  t.notOk(one.sendCq.ready, 'nothing was executed');
  t.equal(faults(two.access, FaultKind.COMMAND_BAD_QP), 2);
  t.equal(faults(one.access, FaultKind.COMMAND_BAD_QP), 0);
  one.qp.ring();
  t.equal(one.sendCq.take().status, 0);
});

t.test("one function's reset leaves the other at work; they talk to each other", async (t) => {
  const machine = new InProcessMachine({ functionCount: 2, seed: 5, budget: 4 });
  const one = bringUp(machine, 0);
  let two = bringUp(machine, 1);
  for (let round = 0; round < 30; round++) {
    const address = two.driver.allocator.allocate(64);
    two.qp.postReceive([{ address, length: 64, lkey: two.region.lkey }]);
    const handle = round % 16;
    one.driver.addressHandles.set(handle, { port: 1, dlid: one.access.readRegister(CSR.PORT_LID + 4, 4), pd: one.pd });
    one.qp.post({ remoteQpn: two.qp.qpn, addressHandle: handle, inline: Uint8Array.of(round) });
    t.equal(one.sendCq.take().status, 0);
    t.equal(two.sendCq.take().byteLength, 41);
    t.equal(two.access.view(address + 40, 1).getUint8(0), round);
    for (let count = 0; count < 5; count++) two.qp.post(NOP, count % 2 === 0 ? 'collect' : 'slot');
    two.qp.ring();
    for (let steps = round % 4; steps > 0; steps--) machine.step();
    machine.reset(1, 'function');
    machine.runUntilIdle();
    machine.resume(1);
    two = bringUp(machine, 1);
  }
  t.equal(one.access.readRegister(CSR.FIRST_FAULT_KIND, 4), FaultKind.NONE);
});
