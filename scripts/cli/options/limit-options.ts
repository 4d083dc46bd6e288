// SPDX-License-Identifier: Apache-2.0
/** Options with the largest size of a file that an adapter process writes while it serves. */
import type { Option } from 'commander';
import { FILE_LIMIT_BYTES, RECORDING_LIMIT_MAX_BYTES } from '../../../device/hosts/file-limits.ts';
import { wholeNumber } from './option-values.ts';

export const BYTES_PER_MIB = 2 ** 20;
export const LIMIT_MAX_MIB = 2 ** 30;

/** An option with a size in MiB. */
export function limitOption(flags: string, description: string, maxMiB: number): Option {
  return wholeNumber(flags, description, 1, maxMiB).default(FILE_LIMIT_BYTES / BYTES_PER_MIB);
}

/** That of a recording. */
export function recordLimitOption(): Option {
  const most = RECORDING_LIMIT_MAX_BYTES / BYTES_PER_MIB;
  return limitOption('--record-limit <MIB>', 'Ends the recording, not the session, before it becomes longer', most);
}
