// SPDX-License-Identifier: Apache-2.0
/**
 * Forwarding tables for switches without a subnet manager: up/down routes, which are free of credit
 * loops in any topology. A route goes towards switch 0 first and away from it afterwards. Tests and
 * benchmarks of switches use it.
 */
import type { Switch } from '../switch/switch.ts';

/** A way out of a switch: to another switch, or to an end with a LID. */
export interface Exit {
  readonly port: number;
  readonly to: { readonly switch: number } | { readonly lid: number };
}

/** Writes the linear tables; `exits[n]` are the ways out of `switches[n]`. */
export function writeStaticRoutes(switches: readonly Switch[], exits: readonly (readonly Exit[])[]): void {
  const ranks = rankSwitches(exits);
  for (const [home, ways] of exits.entries()) {
    for (const { port, to } of ways) {
      if (!('lid' in to)) continue;
      switches[home].switchTables.linear[to.lid] = port;
      routeTo(switches, exits, ranks, home, to.lid);
    }
  }
}

/** Rank of each switch: its distance from switch 0, then its number. */
function rankSwitches(exits: readonly (readonly Exit[])[]): number[] {
  const distances: number[] = exits.map((_, index) => (index === 0 ? 0 : Number.POSITIVE_INFINITY));
  const queue = [0];
  for (let at = 0; at < queue.length; at++) {
    for (const { to } of exits[queue[at]]) {
      if (!('switch' in to) || distances[to.switch] !== Number.POSITIVE_INFINITY) continue;
      distances[to.switch] = distances[queue[at]] + 1;
      queue.push(to.switch);
    }
  }
  return distances.map((distance, index) => distance * exits.length + index);
}

/** Writes the routes of all other switches to a LID at switch `home`. */
function routeTo(
  switches: readonly Switch[],
  exits: readonly (readonly Exit[])[],
  ranks: readonly number[],
  home: number,
  lid: number,
): void {
  const hops: number[] = ranks.map((_, index) => (index === home ? 0 : Number.POSITIVE_INFINITY));
  const isDown = ranks.map((_, index) => index === home);
  // First the routes that only go down, then the others, which go up to a switch with a route.
  for (const down of [true, false]) {
    for (let changed = true; changed; ) {
      changed = false;
      for (const [from, ways] of exits.entries()) {
        if (!down && isDown[from]) continue;
        for (const { port, to } of ways) {
          if (!('switch' in to) || ranks[to.switch] > ranks[from] !== down) continue;
          if (down ? !isDown[to.switch] : hops[to.switch] === Number.POSITIVE_INFINITY) continue;
          if (hops[to.switch] + 1 >= hops[from]) continue;
          hops[from] = hops[to.switch] + 1;
          isDown[from] ||= down;
          switches[from].switchTables.linear[lid] = port;
          changed = true;
        }
      }
    }
  }
}
