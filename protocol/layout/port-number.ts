// SPDX-License-Identifier: Apache-2.0
/**
 * Numbers of ports in layouts whose field `port` has two bits: a further field `portHigh` has the
 * third one, so that software of adapters with two ports need not know it. Used by management
 * commands, address vectors and the drivers of tests.
 */
const LOW_BITS = 2;

/** The number of a port, from both fields. */
export function joinPort(low: number, high: number): number {
  return low | (high << LOW_BITS);
}

/** The field `portHigh` of a port. The field `port` takes the low bits of its value. */
export function highOfPort(port: number): number {
  return port >> LOW_BITS;
}
