// SPDX-License-Identifier: Apache-2.0
/**
 * The latest states of a running process, as far back as loads and rates are computed. Pure;
 * use-view.ts fills it.
 */
import type { ViewState } from '../../cli/view/view-protocol.ts';

/** Loads are those of about this time. */
const WINDOW_NS = 1e9;
/** A bound, whatever times a process reports. */
const MOST = 64;

/** The states with the new one. Older ones go, except the one just older than the window. */
export function addMoment(moments: readonly ViewState[], state: ViewState): readonly ViewState[] {
  const last = moments.at(-1);
  // Time runs backward when another process listens now, or in a recording.
  if (last !== undefined && state.timeNs < last.timeNs) return [state];
  const all =
    last !== undefined && state.timeNs === last.timeNs ? [...moments.slice(0, -1), state] : [...moments, state];
  const first = all.findLastIndex(({ timeNs }) => state.timeNs - timeNs >= WINDOW_NS);
  return all.slice(Math.max(0, first, all.length - MOST));
}
