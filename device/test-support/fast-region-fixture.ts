// SPDX-License-Identifier: Apache-2.0
/**
 * A region that work requests register (IBTA 10.6.3.2), with pages in reverse order. Used by tests
 * of keys and of fast registration.
 */
import { withKeyByte } from '../../protocol/infiniband/memory-keys.ts';
import { encodeRegisterTarget } from '../../protocol/layout/gen/register-target.gen.ts';
import { SEND_COMMAND_TARGET_OFFSET } from '../../protocol/layout/gen/send-command.gen.ts';
import { type CompletionStatus, MrKind, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import type { SendRequest } from '../hosts/in-process/driver/send-request.ts';
import type { AdapterFixture } from './adapter-fixture.ts';
import { FULL_ACCESS } from './connected-fixture.ts';

const PAGE = 4096;

/** A FAST region and the request that registers `pages` of fresh memory with it. */
export function fastRegion(fixture: AdapterFixture, qp: DriverQueuePair, pages: number, keyByte: number) {
  const region = fixture.driver.createMemoryRegion({ pd: fixture.pd, kind: MrKind.FAST, access: 0, pageCount: 8 });
  const memory = fixture.createBuffer((pages + 1) * PAGE);
  const first = Math.ceil(memory.address / PAGE) * PAGE;
  const list = fixture.createBuffer(pages * 8);
  const view = new DataView(list.bytes.buffer, list.bytes.byteOffset, list.lengthBytes);
  // Pages in reverse order, so that a straight copy would show.
  for (let page = 0; page < pages; page++) view.setBigUint64(page * 8, BigInt(first + (pages - 1 - page) * PAGE), true);
  const key = withKeyByte(region.lkey, keyByte);
  const request = (iova: number, length: number, sgeLkey = key): SendRequest => ({
    opcode: SendOpcode.FAST_REGISTER,
    header: { sgeAddress: iova, sgeLength: length, sgeLkey, sgeCount: 0, messageLength: 0 },
    alter: (command) =>
      encodeRegisterTarget(command, SEND_COMMAND_TARGET_OFFSET, {
        pageListAddress: list.address,
        pageCount: pages,
        pageShift: 12,
        access: FULL_ACCESS,
      }),
  });
  const post = (iova: number, length: number): CompletionStatus => {
    qp.post(request(iova, length));
    return qp.parts.sendCq.take().status as CompletionStatus;
  };
  return { key, request, post, bytes: memory.bytes.subarray(first - memory.address), region };
}
