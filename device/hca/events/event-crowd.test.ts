// SPDX-License-Identifier: Apache-2.0
/**
 * An event queue takes no more completion queues than it has entries for: each has one entry at
 * most until its EQ pending bit is cleared, so processes cannot overrun it (docs/PROGRAMMING.md,
 * Event queues and interrupts; IPCOM000126453D par. 2).
 */
import t from 'tap';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CQ_ATTRIBUTES_EVENT_QUEUE_OFFSET } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import { CqMask, FaultKind, ManagementOpcode, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { cqPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';

const BLAMED = COMMAND_HEADER_BYTES + CQ_ATTRIBUTES_EVENT_QUEUE_OFFSET;

for (const [entriesLog2, limit] of [
  [0, 1],
  [3, 8],
  [4, 15],
  [6, 60],
] as const)
  t.test(`hazard 45: an event queue of ${2 ** entriesLog2} entries takes ${limit} completion queues`, async (t) => {
    const fixture = new AdapterFixture();
    const { management } = fixture.driver;
    const crowded = fixture.driver.createEventQueue({ entriesLog2, vector: 3 });
    const queues = Array.from({ length: limit }, () => fixture.createCompletionQueue({ eventQueue: crowded }));
    const other = fixture.createCompletionQueue();
    const payload = cqPayload({
      queueAddress: other.buffer.address,
      recordAddress: other.recordAddress,
      entriesLog2: 4,
      eventQueue: crowded.eqn,
      attributeMask: CqMask.EVENT_QUEUE,
    });
    const refused = { status: ManagementStatus.NO_RESOURCES, badOffset: BLAMED, limit };
    t.match(management.execute({ opcode: ManagementOpcode.CREATE_CQ, payload }), refused);
    const move = { opcode: ManagementOpcode.MODIFY_CQ, objectNumber: other.cqn, payload };
    t.match(management.execute(move), refused);
    const stay = { ...move, objectNumber: queues[0]?.cqn ?? 0 };
    t.equal(management.execute(stay).status, ManagementStatus.OK, 'one that is there stays');
    management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: queues[0]?.cqn ?? 0 });
    t.equal(management.execute(move).status, ManagementStatus.OK, 'into the place of one that is gone');
    t.equal(fixture.faults(FaultKind.EQ_OVERRUN), 0);
    fixture.finish();
  });
