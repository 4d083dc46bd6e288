// SPDX-License-Identifier: Apache-2.0
/**
 * The names of the things that set-up provides, without the code that does it: help and completion
 * load this file only. Called by `vuhca setup` and things.ts.
 */

export const THINGS = [
  'all',
  'library',
  'include',
  'qemu',
  'kernel',
  'busybox',
  'toolchain',
  'modules',
  'infiniband-tools',
  'distribution',
  'disk-image',
  'debug-kernel',
  'symbols',
] as const;
export type ThingName = (typeof THINGS)[number];

/** What lies in the cache beside things: `--sizes` shows it, `--remove` removes it. */
export const REMAINS = ['images', 'programs', 'packages', 'sources'] as const;

/** A thing, or what else lies in the cache. */
export type CacheKind = ThingName | (typeof REMAINS)[number];
