// SPDX-License-Identifier: Apache-2.0
/**
 * Every field of every management command, with one bad or good value at a time: a bad value is
 * refused with the right status and the right `badOffset`, and changes nothing
 * (docs/PROGRAMMING.md, Management commands). The layout tables say which fields there are. The
 * values are in `device/rig/fixtures/management-fields`.
 */
import t from 'tap';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  QP_ATTRIBUTES_CURRENT_STATE_OFFSET,
  QP_ATTRIBUTES_STATE_OFFSET,
} from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import { QP_CREATION_SERVICE_TYPE_OFFSET } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import {
  ManagementOpcode,
  ManagementStatus,
  managementOpcodeName,
  QpMask,
  QpState,
} from '../../../protocol/layout/gen/values.gen.ts';
import { qpCreationPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { collectContextCases } from '../../rig/fixtures/management-fields/collect-context-cases.ts';
import type { CommandCase } from '../../rig/fixtures/management-fields/command-case.ts';
import { deviceMemoryCases } from '../../rig/fixtures/management-fields/device-memory-cases.ts';
import { judgeFields } from '../../rig/fixtures/management-fields/judge.ts';
import { memoryCases } from '../../rig/fixtures/management-fields/memory-cases.ts';
import { multicastCases } from '../../rig/fixtures/management-fields/multicast-cases.ts';
import { portCases } from '../../rig/fixtures/management-fields/port-cases.ts';
import { queueCases } from '../../rig/fixtures/management-fields/queue-cases.ts';
import { queuePairCases } from '../../rig/fixtures/management-fields/queue-pair-cases.ts';
import { resourceCases } from '../../rig/fixtures/management-fields/resource-cases.ts';
import { sendContextCases } from '../../rig/fixtures/management-fields/send-context-cases.ts';
import { traceCases } from '../../rig/fixtures/management-fields/trace-cases.ts';
import { xrcCases } from '../../rig/fixtures/management-fields/xrc-cases.ts';

/** Between UC and UD. */
const NO_SERVICE = 2;

const cases: readonly CommandCase[] = [
  ...resourceCases,
  ...memoryCases,
  ...queueCases,
  ...queuePairCases,
  ...multicastCases,
  ...portCases,
  ...sendContextCases,
  ...traceCases,
  ...collectContextCases,
  ...xrcCases,
  ...deviceMemoryCases,
];

for (const opcode of Object.values(ManagementOpcode)) {
  t.test(managementOpcodeName(opcode), async (t) => {
    const own = cases.filter((command) => command.opcode === opcode);
    if (own.length === 0) t.fail('the command has no case');
    else judgeFields(t, own);
  });
}

t.test('the first of several fields at fault is blamed', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair({ state: 'init' });
  const mask = QpMask.PKEY_INDEX | QpMask.PORT | QpMask.QKEY;
  const refused = (status: number, offset: number) => ({ status, badOffset: COMMAND_HEADER_BYTES + offset });
  t.match(
    qp.modify({ attributeMask: mask | QpMask.CURRENT_STATE, currentState: QpState.RTS, port: 2 }),
    refused(ManagementStatus.BAD_STATE, QP_ATTRIBUTES_CURRENT_STATE_OFFSET),
    'a wrong current state, which INIT does not take',
  );
  t.match(
    qp.modify({ attributeMask: QpMask.STATE | QpMask.SEND_PSN, state: QpState.RTS }),
    refused(ManagementStatus.BAD_STATE, QP_ATTRIBUTES_STATE_OFFSET),
    'from INIT to RTS with what leads from RTR to RTS',
  );
  const { sendBuffer, recordAddress, descriptorAddress, sendCq } = qp.parts;
  const payload = qpCreationPayload({
    pd: fixture.pd,
    serviceType: NO_SERVICE,
    specialPort: 1,
    sendCq: sendCq.cqn,
    receiveCq: sendCq.cqn,
    sendQueueAddress: sendBuffer.address,
    receiveQueueAddress: sendBuffer.address,
    recordAddress,
    descriptorAddress,
    sendStrideLog2: 6,
    receiveStrideLog2: 5,
  });
  t.match(
    fixture.driver.management.execute({ opcode: ManagementOpcode.CREATE_QP, payload }),
    refused(ManagementStatus.BAD_FIELD, QP_CREATION_SERVICE_TYPE_OFFSET),
    'a service that does not exist, with its port',
  );
  fixture.finish();
});
