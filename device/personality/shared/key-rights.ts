// SPDX-License-Identifier: Apache-2.0
/**
 * Rights of memory keys (IBTA 10.6), and those that an access of the transport needs. The keys
 * and queues of personalities check them.
 */
import { AccessFlag } from '../../../protocol/layout/gen/values.gen.ts';

/** Rights of a key, as flags. */
export const KeyRight = { LOCAL_READ: 1, LOCAL_WRITE: 2, REMOTE_READ: 4, REMOTE_WRITE: 8, ATOMIC: 16 } as const;
/** A right that no key has. */
const NO_RIGHT = 32;

/** Rights by the lower bits of an access, of which several may be set. */
const rightsOfAccess = new Uint8Array(
  AccessFlag.LOCAL_WRITE + AccessFlag.REMOTE_WRITE + AccessFlag.REMOTE_READ + AccessFlag.REMOTE_ATOMIC + 1,
);
for (let access = 0; access < rightsOfAccess.length; access++) {
  if (access & AccessFlag.LOCAL_WRITE) rightsOfAccess[access] |= KeyRight.LOCAL_WRITE;
  if (access & AccessFlag.REMOTE_WRITE) rightsOfAccess[access] |= KeyRight.REMOTE_WRITE;
  if (access & AccessFlag.REMOTE_READ) rightsOfAccess[access] |= KeyRight.REMOTE_READ;
  if (access & AccessFlag.REMOTE_ATOMIC) rightsOfAccess[access] |= KeyRight.ATOMIC;
}
rightsOfAccess[0] = KeyRight.LOCAL_READ;

/** Rights that an access needs, which is a set of `AccessFlag`; none is local read. */
export function rightsFor(access: number): number {
  return access < rightsOfAccess.length ? rightsOfAccess[access] : NO_RIGHT;
}
