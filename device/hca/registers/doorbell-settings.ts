// SPDX-License-Identifier: Apache-2.0
/**
 * DOORBELL_POLICY and DOORBELL_THRESHOLDS of a function as numbers, for the virtual machine manager
 * (US 9,069,485 par. 72, 90, 92). It reads the units, because the adaptive threshold moves, and
 * writes the registers as software does. `adapter/pcie-function.ts` calls it.
 */
import {
  CSR,
  setCsrDoorbellPolicyAdaptive,
  setCsrDoorbellPolicyHostQueue,
  setCsrDoorbellPolicyLinkCheck,
  setCsrDoorbellPolicyOverflow,
  setCsrDoorbellPolicySpillBuffered,
  setCsrDoorbellPolicySpillCommands,
  setCsrDoorbellThresholdsHigh,
  setCsrDoorbellThresholdsLow,
} from '../../../protocol/layout/gen/registers.gen.ts';
import type { RegisterParts } from './register-parts.ts';

/** How doorbells of one function are processed. */
interface DoorbellRegisterValues {
  readonly policy: number;
  readonly linkCheck: number;
  readonly adaptive: number;
  readonly hostQueue: number;
  readonly spillBuffered: number;
  readonly spillCommands: number;
  readonly low: number;
  readonly high: number;
}

/** The present values, and the entries of the scheduler buffer, which bound the thresholds. */
export function readDoorbellSettings({ doorbells }: RegisterParts) {
  const { policy, linkCheck, adaptive, spillBuffered, spillCommands, spilled, thresholds, buffer } = doorbells;
  const { low, high } = thresholds;
  return {
    policy,
    linkCheck,
    adaptive: Number(adaptive),
    hostQueue: Number(spilled.hostQueue),
    spillBuffered: Number(spillBuffered),
    spillCommands: Number(spillCommands),
    low,
    high,
    entries: buffer.entries,
  };
}

/** Writes the registers whose values differ. */
export function writeDoorbellSettings(parts: RegisterParts, settings: DoorbellRegisterValues): void {
  const { registers } = parts;
  const { low, high } = settings;
  const now = readDoorbellSettings(parts);
  const stored = registers.getStored(CSR.DOORBELL_POLICY);
  const policy = encodePolicy(stored, settings);
  if (policy !== encodePolicy(stored, now)) registers.write(CSR.DOORBELL_POLICY, 4, policy, 0);
  if (low !== now.low || high !== now.high) {
    const word = setCsrDoorbellThresholdsHigh(setCsrDoorbellThresholdsLow(0, low), high);
    registers.write(CSR.DOORBELL_THRESHOLDS, 4, word, 0);
  }
}

/** DOORBELL_POLICY with these values; reserved bits are those of `stored`. */
function encodePolicy(stored: number, settings: DoorbellRegisterValues): number {
  let word = setCsrDoorbellPolicyOverflow(stored, settings.policy);
  word = setCsrDoorbellPolicyLinkCheck(word, settings.linkCheck);
  word = setCsrDoorbellPolicyAdaptive(word, settings.adaptive);
  word = setCsrDoorbellPolicySpillBuffered(word, settings.spillBuffered);
  word = setCsrDoorbellPolicySpillCommands(word, settings.spillCommands);
  return setCsrDoorbellPolicyHostQueue(word, settings.hostQueue);
}
