// SPDX-License-Identifier: Apache-2.0
/** Destroys all objects of a function by management commands, users before what they use. */
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { AdapterFixture } from '../adapter-fixture.ts';

const REGISTER_BYTES = 4;

interface TableObject {
  readonly number: number;
}

const kinds = [
  ['queuePairs', ManagementOpcode.DESTROY_QP],
  ['sharedReceiveQueues', ManagementOpcode.DESTROY_SRQ],
  ['memoryWindows', ManagementOpcode.DESTROY_MW],
  ['memoryRegions', ManagementOpcode.DESTROY_MR],
  ['completionQueues', ManagementOpcode.DESTROY_CQ],
  ['eventQueues', ManagementOpcode.DESTROY_EQ],
  ['xrcDomains', ManagementOpcode.DESTROY_XRC_DOMAIN],
  ['collectContexts', ManagementOpcode.DESTROY_COLLECT_CONTEXT],
  ['deviceMemory', ManagementOpcode.DESTROY_DEVICE_MEMORY],
  ['protectionDomains', ManagementOpcode.DESTROY_PD],
] as const;

/** Throws when a command is refused. */
export function destroyObjects(fixture: AdapterFixture): void {
  const { management } = fixture.driver;
  const { sendContexts, tables } = fixture.machine.device;
  const destroy = (opcode: ManagementOpcode, objects: { forEach(visit: (object: TableObject) => void): void }): void =>
    objects.forEach(({ number: objectNumber }) => {
      management.perform({ opcode, objectNumber });
    });
  sendContexts.forEach(({ number }) => {
    fixture.access.writeRegister(CSR.SEND_CONTEXT_CONTROL + number * REGISTER_BYTES, REGISTER_BYTES, 0, 0);
  });
  fixture.settle();
  destroy(ManagementOpcode.DESTROY_SEND_CONTEXT, sendContexts);
  takePagesBack(fixture);
  for (const [name, opcode] of kinds) destroy(opcode, tables[name]);
  fixture.access.writeRegister(CSR.FIRST_FAULT_KIND, REGISTER_BYTES, 0xffffffff, 0);
}

/** A collect context is in use while it has pages. */
function takePagesBack(fixture: AdapterFixture): void {
  const opcode = ManagementOpcode.ASSIGN_COLLECT_PAGE;
  const pages = fixture.read(CSR.VCB_COUNT);
  for (let modifier = 0; modifier < pages; modifier++)
    fixture.driver.management.execute({ opcode, objectNumber: 0, modifier });
}
