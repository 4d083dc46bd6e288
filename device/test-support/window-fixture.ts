// SPDX-License-Identifier: Apache-2.0
/** Work requests that bind a memory window (IBTA 10.6.7), for tests of keys. */
import { encodeBindTarget } from '../../protocol/layout/gen/bind-target.gen.ts';
import { SEND_COMMAND_TARGET_OFFSET } from '../../protocol/layout/gen/send-command.gen.ts';
import { AccessFlag, type CompletionStatus, SendOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../hosts/in-process/driver/requests.ts';
import type { Buffer } from './adapter-fixture.ts';

/** A part of a region for a window; `window` is the present R_Key of the window. */
export interface Bind {
  readonly window: number;
  readonly region: DriverMemoryRegion;
  readonly buffer: Buffer;
  readonly length?: number;
  readonly access?: number;
  readonly keyByte?: number;
}

/** Binds a window and takes the completion; returns its status. */
export function bindWindow(qp: DriverQueuePair, request: Bind): CompletionStatus {
  const { window: rkey, region, buffer, access = AccessFlag.REMOTE_WRITE, keyByte = 1 } = request;
  const length = request.length ?? buffer.lengthBytes;
  qp.post({
    opcode: SendOpcode.BIND_WINDOW,
    header: { sgeAddress: buffer.address, sgeLength: length, sgeLkey: region.lkey, sgeCount: 0, messageLength: 0 },
    alter: (view) => encodeBindTarget(view, SEND_COMMAND_TARGET_OFFSET, { rkey, access, keyByte }),
  });
  return qp.parts.sendCq.take().status as CompletionStatus;
}
