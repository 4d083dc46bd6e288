// SPDX-License-Identifier: Apache-2.0
/**
 * The levels of the adapter's log. They are apart from log.ts, so that the options of a command are
 * described without loading the logging library.
 */
import type { Option } from 'commander';
import { wordOf } from './option-values.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The option that chooses a level. */
export function logLevelOption(preset: LogLevel): Option {
  return wordOf('--log-level <LEVEL>', "Level of the adapter's log", LOG_LEVELS).default(preset, preset);
}
