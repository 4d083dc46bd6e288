// SPDX-License-Identifier: Apache-2.0
/**
 * Software that clears the place of a response behind the command is found, and software that does
 * it before is not blamed (docs/HAZARDS.md, "What a doorbell announces").
 */
import t from 'tap';
import { MANAGEMENT_RESPONSE_SIZE } from '../../../protocol/layout/gen/management-response.gen.ts';
import { ManagementOpcode, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';

const MEMORY_BYTES = 1 << 20;

t.test('a store to the place of a response is found between command and response', async (t) => {
  for (const when of ['before', 'behind'] as const) {
    const fixture = new AdapterFixture({ memoryBytes: MEMORY_BYTES, adapter: { orderCheck: true } });
    const { machine, access } = fixture;
    const { management } = fixture.driver;
    machine.expectsLateStores = true;
    const place = access.view(management.responseAddress, MANAGEMENT_RESPONSE_SIZE);
    const command = management.build({ opcode: ManagementOpcode.QUERY_ADAPTER });
    if (when === 'before') place.setUint8(24, 0xee);
    management.lock();
    management.write(command);
    if (when === 'behind') place.setUint8(24, 0xee);
    fixture.settle();
    management.unlock();
    if (when === 'before') t.same(machine.lateStores, []);
    else t.match(machine.lateStores, [{ kind: 'response', offset: 24, differing: 1, seen: 'fetch' }]);
  }
});

t.test('commands that share the place of their responses are not blamed', async (t) => {
  const adapter = { orderCheck: true, managementBufferCount: 2 };
  const fixture = new AdapterFixture({ memoryBytes: MEMORY_BYTES, adapter });
  const { management } = fixture.driver;
  for (let count = 0; count < 20; count++)
    t.equal(management.execute({ opcode: ManagementOpcode.QUERY_ADAPTER }).status, ManagementStatus.OK);
  fixture.finish();
});
