// SPDX-License-Identifier: Apache-2.0
/**
 * The search for a condition in a part of a recording. Parts that follow each other have the same
 * result as the whole, so a long recording is searched from checkpoint to checkpoint, forwards and
 * backwards. The process of replay-process.ts does it in a copy of its session.
 */
import { Refusal } from '../../../device/hca/adapter/refusal.ts';
import { readCondition } from '../../../device/process/trace/conditions.ts';
import type { RecordedSession } from './recorded-session.ts';
import type { Found } from './view-protocol.ts';
import { ViewRefusal } from './view-source.ts';

export interface PartialSearch {
  readonly condition: string;
  /** The steps `from` to `to - 1` are searched. */
  readonly from: number;
  readonly to: number;
  /** Finds the last step instead of the first one. */
  readonly backward: boolean;
}

/** Steps between two calls of `onLooked`. */
const LOOK_STEPS = 256;

/**
 * The step at which the condition becomes true. The session is at `from` or before, and is
 * advanced. `onLooked` gets the step now and then. Throws ViewRefusal for a condition that is not
 * understood.
 */
export function searchPart(
  session: RecordedSession,
  { condition, from, to, backward }: PartialSearch,
  onLooked: (step: number) => void = () => {},
): Found {
  const begin = refusing(() => readCondition(condition));
  if (!session.advanceTo(from)) return {};
  const watch = refusing(() => begin(session));
  let found: Found = {};
  while (session.step < to && session.advance()) {
    if (session.step % LOOK_STEPS === 0) onLooked(session.step);
    if (!watch()) continue;
    found = { step: session.step - 1, timeNs: session.replay.timeNs };
    if (!backward) return found;
  }
  return found;
}

/** Throws ViewRefusal for a condition that is not understood. */
export function checkCondition(condition: string): void {
  refusing(() => readCondition(condition));
}

function refusing<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof Refusal ? new ViewRefusal('bad', error.message) : error;
  }
}
