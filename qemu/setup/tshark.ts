// SPDX-License-Identifier: Apache-2.0
/**
 * Finds tshark, which reads captures independently of vuhca. Called by tests, which skip with a
 * reason when it is not installed.
 */
import { findProgram } from './find-program.ts';

/** The path of tshark on PATH, or undefined. */
export function findTshark(): string | undefined {
  return findProgram('tshark');
}
