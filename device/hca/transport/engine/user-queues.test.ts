// SPDX-License-Identifier: Apache-2.0
/**
 * Send queues that a user process writes: an operation that names guest addresses is refused
 * (docs/FEATURES.md, Collect contexts; IBTA 10.6.6: fast registration is a privileged verb).
 */
import t from 'tap';
import { PAGE_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { encodeRegisterTarget } from '../../../../protocol/layout/gen/register-target.gen.ts';
import { SEND_COMMAND_TARGET_OFFSET } from '../../../../protocol/layout/gen/send-command.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  FaultKind,
  ManagementOpcode,
  MrKind,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../../rig/fixtures/adapter-fixture.ts';

/** Two connected QPs; the first one belongs to a process if `isUser`. */
function connect(fixture: AdapterFixture, isUser: boolean): { user: DriverQueuePair; peer: DriverQueuePair } {
  const create = (userQueue: number): DriverQueuePair =>
    fixture.createQueuePair({ state: 'reset', creation: { serviceType: ServiceType.RC, userQueue } });
  const [user, peer] = [create(Number(isUser)), create(0)];
  user.connect({ reliable: true, port: 1, dlid: fixture.lidOf(2), remoteQpn: peer.qpn });
  peer.connect({ reliable: true, port: 2, dlid: fixture.lidOf(1), remoteQpn: user.qpn });
  return { user, peer };
}

/** A command with the form of a fast registration of one page. */
function registration(fixture: AdapterFixture, lkey: number, opcode: number) {
  const list = fixture.createBuffer(8);
  const page = fixture.driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES);
  new DataView(list.bytes.buffer, list.bytes.byteOffset).setBigUint64(0, BigInt(page), true);
  const target = { pageListAddress: list.address, pageCount: 1, pageShift: 12, access: AccessFlag.LOCAL_WRITE };
  return {
    opcode: opcode as SendOpcode,
    header: { sgeAddress: 0x1000, sgeLength: PAGE_BYTES, sgeLkey: lkey, sgeCount: 0, messageLength: 0 },
    alter: (view: DataView) => encodeRegisterTarget(view, SEND_COMMAND_TARGET_OFFSET, target),
  };
}

for (const isUser of [false, true])
  t.test(`hazard 44: fast registration in a send queue of ${isUser ? 'a process' : 'the kernel'}`, async (t) => {
    const fixture = new AdapterFixture();
    const { user: qp } = connect(fixture, isUser);
    const { pd } = fixture;
    const { number, lkey } = fixture.driver.createMemoryRegion({ pd, kind: MrKind.FAST, access: 0, pageCount: 1 });
    qp.post(registration(fixture, lkey, SendOpcode.FAST_REGISTER));
    const { status, vendorError } = qp.parts.sendCq.take();
    const region = fixture.machine.device.tables.memoryRegions.get(number);
    if (isUser) {
      t.same([status, vendorError], [CompletionStatus.LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_OPCODE]);
      t.equal(qp.query().state, QpState.ERR);
    } else t.equal(status, CompletionStatus.SUCCESS);
    t.equal(region?.valid, !isUser);
    t.equal(region?.pages.length, isUser ? 0 : 1);
    fixture.finish();
  });

t.test('hazard 44: no opcode in a send queue of a process registers pages', async (t) => {
  const fixture = new AdapterFixture({ memoryBytes: 64 * 1024 * 1024 });
  const { pd } = fixture;
  const { number, lkey } = fixture.driver.createMemoryRegion({ pd, kind: MrKind.FAST, access: 0, pageCount: 1 });
  const region = fixture.machine.device.tables.memoryRegions.get(number);
  const before = JSON.stringify(region?.pages);
  for (let opcode = 0; opcode < 256; opcode++) {
    const { user, peer } = connect(fixture, true);
    user.post(registration(fixture, lkey, opcode));
    fixture.settle();
    if (region?.valid || JSON.stringify(region?.pages) !== before) t.fail(`opcode ${opcode}`);
    for (const qp of [user, peer]) {
      qp.destroy();
      const { cqn: objectNumber } = qp.parts.sendCq;
      fixture.driver.management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber });
    }
  }
  t.equal(region?.valid, false);
});
