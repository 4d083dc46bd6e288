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
  setCsrDoorbellThresholdsHigh,
  setCsrDoorbellThresholdsLow,
} from '../../protocol/layout/gen/registers.gen.ts';
import type { RegisterParts } from './register-parts.ts';

/** How doorbells of one function are processed. */
interface DoorbellRegisterValues {
  readonly policy: number;
  readonly linkCheck: number;
  readonly adaptive: number;
  readonly hostQueue: number;
  readonly low: number;
  readonly high: number;
}

/** The present values, and the entries of the scheduler buffer, which bound the thresholds. */
export function readDoorbellSettings({ doorbells }: RegisterParts) {
  const { policy, linkCheck, adaptive, spilled, thresholds, buffer } = doorbells;
  const { low, high } = thresholds;
  const { entries } = buffer;
  return { policy, linkCheck, adaptive: Number(adaptive), hostQueue: Number(spilled.hostQueue), low, high, entries };
}

/** Writes the registers whose values differ. */
export function writeDoorbellSettings(parts: RegisterParts, settings: DoorbellRegisterValues): void {
  const { registers } = parts;
  const { low, high } = settings;
  const now = readDoorbellSettings(parts);
  const { policy, linkCheck, adaptive, hostQueue } = settings;
  let word = setCsrDoorbellPolicyOverflow(registers.getStored(CSR.DOORBELL_POLICY), policy);
  word = setCsrDoorbellPolicyLinkCheck(word, linkCheck);
  word = setCsrDoorbellPolicyAdaptive(word, adaptive);
  word = setCsrDoorbellPolicyHostQueue(word, hostQueue);
  if (policy !== now.policy || linkCheck !== now.linkCheck || adaptive !== now.adaptive || hostQueue !== now.hostQueue)
    registers.write(CSR.DOORBELL_POLICY, 4, word, 0);
  if (low !== now.low || high !== now.high) {
    const word = setCsrDoorbellThresholdsHigh(setCsrDoorbellThresholdsLow(0, low), high);
    registers.write(CSR.DOORBELL_THRESHOLDS, 4, word, 0);
  }
}
