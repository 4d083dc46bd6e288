// SPDX-License-Identifier: Apache-2.0
/**
 * The cases for every pair of ends: all of them on a lossless link, those without `losslessOnly` on
 * a faulty one. Run by `two-ends.test.ts` in process, by tests of `device/process` between
 * processes.
 */
import { End, type EndPlace, Ends } from './ends.ts';
import { failureCases } from './failures.ts';
import { reliableCases } from './reliable.ts';
import type { TwoEndsCase } from './two-ends-case.ts';
import { unreliableCases } from './unreliable.ts';

/** All cases. */
export const twoEndsCases: readonly TwoEndsCase[] = [...reliableCases, ...failureCases, ...unreliableCases];

/** Runs a case and resets both ends for the next one. An error names the seed. */
export function runTwoEndsCase(twoEnds: TwoEndsCase, requester: EndPlace, responder: EndPlace, seed = 1): void {
  const ends = bringUp(requester, responder, seed);
  try {
    twoEnds.run(ends);
  } catch (cause) {
    throw new Error(`${twoEnds.name}, seed ${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
  ends.reset();
}

/** Brings both ends up. Ends on one function share its driver. */
export function bringUp(requester: EndPlace, responder: EndPlace, seed: number): Ends {
  const first = new End(requester);
  return new Ends(first, new End(responder, responder.access === requester.access ? first.driver : undefined), seed);
}
