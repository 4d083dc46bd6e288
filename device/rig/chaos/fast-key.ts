// SPDX-License-Identifier: Apache-2.0
/**
 * A key that one end of a connection registers by a fast-register work request, and that the other
 * end invalidates by SEND with Invalidate (IBTA 9.4.1, 10.6.5). Part of `Endpoint`; also used by
 * the cases of `conformance/two-ends`.
 */

import { withKeyByte } from '../../../protocol/infiniband/memory-keys.ts';
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import { encodeRegisterTarget } from '../../../protocol/layout/gen/register-target.gen.ts';
import { SEND_COMMAND_TARGET_OFFSET } from '../../../protocol/layout/gen/send-command.gen.ts';
import { AccessFlag, MrKind, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { Driver } from '../driver/driver.ts';
import type { HardwareAccess } from '../driver/hardware-access.ts';
import type { SendRequest } from '../driver/send-request.ts';

const PAGE_BYTES = 4096;
const PAGE_SHIFT = 12;
const ADDRESS_BYTES = 8;
const KEY_BYTE = 0x42;

/** The key, its page, and the work request that registers it. */
export class FastKey {
  readonly key: number;
  readonly address: number;
  /** Work request that registers the key. */
  readonly request: SendRequest;
  /** The registration has completed; before that the other end may not use the key. */
  isRegistered = false;
  /** The other end has posted the invalidation. */
  isInvalidated = false;

  constructor(fixture: { driver: Driver; access: HardwareAccess }, pd: number) {
    const region = fixture.driver.createMemoryRegion({ pd, kind: MrKind.FAST, access: 0, pageCount: 1 });
    const page = fixture.driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES);
    const pageListAddress = fixture.driver.allocator.allocate(ADDRESS_BYTES);
    const list = fixture.access.view(pageListAddress, ADDRESS_BYTES);
    list.setUint32(0, lowDword(page), true);
    list.setUint32(4, highDword(page), true);
    this.key = withKeyByte(region.lkey, KEY_BYTE);
    this.address = page;
    const access = AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ;
    const target = { access, pageShift: PAGE_SHIFT, pageCount: 1, pageListAddress };
    this.request = {
      opcode: SendOpcode.FAST_REGISTER,
      header: { sgeAddress: page, sgeLength: PAGE_BYTES, sgeLkey: this.key, sgeCount: 0, messageLength: 0 },
      alter: (view) => encodeRegisterTarget(view, SEND_COMMAND_TARGET_OFFSET, target),
    };
  }
}
