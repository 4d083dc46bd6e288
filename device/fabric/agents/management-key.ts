// SPDX-License-Identifier: Apache-2.0
/**
 * The management key (M_Key) of a port (IBTA 14.2.4): which requests need it, the lease after which
 * its protection ends, and the count of violations. The subnet management agent calls it for each
 * request.
 */
import { DIRECTED_ROUTE_SMP_M_KEY_OFFSET } from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import { MAD_HEADER_METHOD_OFFSET } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { EndPort } from '../port/end-port.ts';

const KEY_BYTES = 8;
const NS_PER_SECOND = 1e9;
const COUNTER_MAX = 0xffff;
/** Level from which reading needs the key; level 1 hides the key only. */
const READS_PROTECTED = 2;

/**
 * True when a port serves a request (Get, Set, TrapRepress). A request without the key is counted,
 * and starts the lease; one with the key stops it.
 */
export function passesKey(port: EndPort, mad: Uint8Array, nowNs: number): boolean {
  const { subnet } = port;
  if (nowNs >= subnet.leaseEndNs) {
    subnet.leaseEndNs = Number.POSITIVE_INFINITY;
    // Another manager can read the key now, and then use it.
    subnet.mKeyProtect = 0;
  }
  if (holdsKey(port, mad)) {
    subnet.leaseEndNs = Number.POSITIVE_INFINITY;
    return true;
  }
  if (mad[MAD_HEADER_METHOD_OFFSET] === MadMethod.GET && subnet.mKeyProtect < READS_PROTECTED) return true;
  if (subnet.mKeyViolations < COUNTER_MAX) subnet.mKeyViolations++;
  if (subnet.mKeyLease > 0 && subnet.leaseEndNs === Number.POSITIVE_INFINITY)
    subnet.leaseEndNs = nowNs + subnet.mKeyLease * NS_PER_SECOND;
  return false;
}

/** True when a response must not show the key of the port. */
export function isKeyHidden(port: EndPort, mad: Uint8Array): boolean {
  return port.subnet.mKeyProtect === 1 && !holdsKey(port, mad);
}

/** A port without a key is open to all. */
function holdsKey({ subnet: { mKey } }: EndPort, mad: Uint8Array): boolean {
  let isOpen = true;
  let isSame = true;
  for (let index = 0; index < KEY_BYTES; index++) {
    if (mKey[index] !== 0) isOpen = false;
    if (mKey[index] !== mad[DIRECTED_ROUTE_SMP_M_KEY_OFFSET + index]) isSame = false;
  }
  return isOpen || isSame;
}
