// SPDX-License-Identifier: Apache-2.0
/** Gives the units of an adapter a timeline to note their steps in, or takes it away. */

import type { Timeline } from '../function/timeline.ts';
import type { Adapter } from './adapter.ts';

/** `undefined`: nothing is noted any more. */
export function attachTimeline(adapter: Adapter, timeline: Timeline | undefined): void {
  adapter.lanes.timeline = timeline;
  for (const owner of adapter.functions) {
    owner.timeline = timeline;
    owner.collect.timeline = timeline;
    owner.msix.timeline = timeline;
  }
}
