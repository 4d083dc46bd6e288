// SPDX-License-Identifier: Apache-2.0
/** Short names of layers, as the tables of layers use them. */

/** Those of `protocol/` that have short names. */
const PROTOCOL = ['layout', 'infiniband', 'system'];

/**
 * Names of layers, divided by spaces. A name without a folder is that of a layer of `device/`,
 * except those of PROTOCOL.
 */
export function of(names: string): string[] {
  return names
    .split(' ')
    .filter(Boolean)
    .map((name) => {
      if (name.includes('/') || name === 'qemu') return name;
      return PROTOCOL.includes(name) ? `protocol/${name}` : `device/${name}`;
    });
}
