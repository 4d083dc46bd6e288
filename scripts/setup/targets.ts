// SPDX-License-Identifier: Apache-2.0
/**
 * Names of the targets of set-up: what it provides. The code that does so is in provide-target.ts;
 * help and completion load the names only. Called by `vuhca setup`.
 */

export const TARGETS = [
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
export type TargetName = (typeof TARGETS)[number];

/** Other contents of the cache: `--sizes` shows it, `--remove` removes it. */
export const REMAINS = ['images', 'sets', 'programs', 'packages', 'sources'] as const;

/** A target, or what else lies in the cache. */
export type CacheKind = TargetName | (typeof REMAINS)[number];
