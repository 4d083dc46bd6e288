// SPDX-License-Identifier: Apache-2.0
/**
 * The first fault names its object by kind and number, in the registers: one case for each kind of
 * object (docs/REGISTERS.md, fault-object).
 */
import t from 'tap';
import {
  CANCEL_OFFSET,
  PAGE_BYTES,
  SEND_CONTEXT_WINDOW_BYTES,
  SEND_START_OF_PACKET_OFFSET,
  VECTOR_COUNT,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { getManagementCommandSequence } from '../../../protocol/layout/gen/management-command.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultObject, faultObjectName, ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { SendContextFixture } from '../../rig/fixtures/send-context-fixture.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';

const UNKNOWN = 0xfffff0;
const RESERVED_REGISTER = 0x7ff8;

/** Makes a fault; returns the number of the object that it has to name. */
type Cause = (fixture: AdapterFixture) => number;

/** Takes a page of its own from the device; returns its address. */
function takeAway(
  fixture: AdapterFixture,
  address = fixture.driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES),
): number {
  fixture.host.memory.protect(address, 1, 0);
  fixture.access.port.memoryUnmapped(address, 1);
  return address;
}

const causes: [FaultObject, string, Cause][] = [
  [
    FaultObject.NONE,
    'a reserved register',
    ({ access }) => {
      access.writeRegister(RESERVED_REGISTER, 4, 1, 0);
      return 0;
    },
  ],
  [
    FaultObject.QP,
    'a doorbell for a QP that does not exist',
    ({ access }) => {
      access.writeRegister(CSR.SEND_DOORBELL, 8, (UNKNOWN << 8) >>> 0, 0);
      return UNKNOWN;
    },
  ],
  [
    FaultObject.QP,
    'the send queue of a QP cannot be read',
    (fixture) => {
      const qp = fixture.createQueuePair();
      takeAway(fixture, qp.parts.sendBuffer.slotAddress(0));
      qp.post({ inline: new Uint8Array(8) }, 'doorbell');
      fixture.settle();
      return qp.qpn;
    },
  ],
  [
    FaultObject.CQ,
    'a CQ cannot be written',
    (fixture) => {
      const sendCq = fixture.createCompletionQueue();
      const qp = fixture.createQueuePair({ sendCq });
      takeAway(fixture, sendCq.buffer.address);
      qp.post({ header: { opcode: 0 } });
      fixture.settle();
      return sendCq.cqn;
    },
  ],
  [
    FaultObject.CQ,
    'a notification of a CQ that does not exist',
    ({ access }) => {
      access.writeRegister(CSR.CQ_NOTIFY, 8, UNKNOWN, 0);
      return UNKNOWN;
    },
  ],
  [
    FaultObject.EQ,
    'a consumer position of an EQ that does not exist',
    ({ access }) => {
      access.writeRegister(CSR.EQ_CONSUMER, 8, UNKNOWN, 0);
      return UNKNOWN;
    },
  ],
  [
    FaultObject.SRQ,
    'an impossible tail of an SRQ',
    (fixture) => {
      const srq = fixture.driver.createSharedReceiveQueue({ pd: fixture.pd, entriesLog2: 2, limit: 1 });
      for (let count = 0; count < 9; count++) srq.postReceive([]);
      srq.setLimit(2);
      fixture.settle();
      return srq.srqn;
    },
  ],
  [
    FaultObject.VCB,
    'a store to a reserved part of a collect page',
    ({ access }) => {
      access.writeCollect(3 * PAGE_BYTES + CANCEL_OFFSET - 8, 8, 0, 0);
      return 3;
    },
  ],
  [
    FaultObject.VECTOR,
    'a vector that does not exist',
    ({ access }) => {
      access.writeRegister(CSR.INTERRUPT_TRIGGER, 4, VECTOR_COUNT, 0);
      return VECTOR_COUNT;
    },
  ],
  [
    FaultObject.COMMAND,
    'a response that cannot be written',
    (fixture) => {
      const { management } = fixture.driver;
      const command = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER, responseAddress: takeAway(fixture) });
      management.write(command);
      fixture.settle();
      // The driver's next command has the next sequence number.
      const next = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER });
      return getManagementCommandSequence(new DataView(next.buffer, next.byteOffset), 0) - 1;
    },
  ],
  [
    FaultObject.PAGE_LIST,
    'a page list that cannot be read',
    (fixture) => {
      const pageListAddress = takeAway(fixture);
      const shape = { pd: fixture.pd, kind: 1, access: 1, startAddress: 0, length: 8192, pageCount: 2, pageShift: 12 };
      t.throws(() => fixture.driver.createMemoryRegion({ ...shape, pageListAddress }));
      return 0;
    },
  ],
  [
    FaultObject.OVERFLOW_BUFFER,
    'a bad size of the doorbell overflow buffer',
    ({ access }) => {
      access.writeRegister(CSR.OVERFLOW_CONTROL, 4, 1, 0);
      return 0;
    },
  ],
];

for (const [kind, name, cause] of causes) {
  t.test(`${faultObjectName(kind)}: ${name}`, async (t) => {
    const fixture = new AdapterFixture();
    const number = cause(fixture);
    t.equal(faultObjectName(fixture.read(CSR.FIRST_FAULT_OBJECT_KIND)), faultObjectName(kind));
    t.equal(fixture.read(CSR.FIRST_FAULT_OBJECT), number);
    fixture.access.writeRegister(CSR.FIRST_FAULT_KIND, 4, 0xffffffff, 0);
    t.equal(fixture.read(CSR.FIRST_FAULT_OBJECT_KIND), FaultObject.NONE);
  });
}

t.test('SEND_CONTEXT: a store across two blocks', async (t) => {
  const { adapterFixture, context } = new SendContextFixture();
  adapterFixture.access.writePio(
    SEND_START_OF_PACKET_OFFSET + context.number * SEND_CONTEXT_WINDOW_BYTES + 60,
    8,
    0,
    0,
  );
  adapterFixture.settle();
  t.equal(adapterFixture.read(CSR.FIRST_FAULT_OBJECT_KIND), FaultObject.SEND_CONTEXT);
  t.equal(adapterFixture.read(CSR.FIRST_FAULT_OBJECT), context.number);
});

t.test('FUNCTION: a virtual function writes a control of the physical one', async (t) => {
  const machine = new InProcessMachine({ functionCount: 2, memoryBytes: 1 << 20 });
  const { port } = new InProcessAccess(machine, 1);
  port.writeRegister(CSR.ADAPTER_CONTROL, 4, 1, 0);
  t.equal(port.readRegister(CSR.FIRST_FAULT_OBJECT_KIND, 4), FaultObject.FUNCTION);
  t.equal(port.readRegister(CSR.FIRST_FAULT_OBJECT, 4), 1);
});
