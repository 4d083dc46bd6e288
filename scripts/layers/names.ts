// SPDX-License-Identifier: Apache-2.0
/** Short names of layers, as the tables of layers use them. */

/**
 * Names of layers, divided by spaces. A name without a folder is that of a layer of `device/`,
 * except `layout` and `infiniband`, which are in `protocol/`.
 */
export function of(names: string): string[] {
  return names
    .split(' ')
    .filter(Boolean)
    .map((name) => {
      if (name.includes('/') || name === 'qemu' || name === 'system') return name;
      return name === 'layout' || name === 'infiniband' ? `protocol/${name}` : `device/${name}`;
    });
}
