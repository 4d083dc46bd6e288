// SPDX-License-Identifier: Apache-2.0
/** What one chaos seed does: drawn from the seed before anything happens, so that it can be printed. */
import { PSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { MwKind, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';

/** Probabilities per packet, and times, of the wire between the two ends. */
export interface WirePlan {
  /** It is the link the product models, not the one of the tests. */
  readonly isProduct: boolean;
  readonly drop: number;
  readonly duplicate: number;
  readonly reorder: number;
  readonly corrupt: number;
  readonly delayNs: number;
  readonly jitterNs: number;
  /** Down from, to. */
  readonly flaps: readonly (readonly [number, number])[];
}

export interface ConnectionPlan {
  readonly serviceType: ServiceType;
  readonly pathMtu: number;
  readonly timeout: number;
  readonly retryCount: number;
  readonly rnrRetry: number;
  readonly minRnrTimer: number;
  readonly maxReads: number;
  readonly psns: readonly [number, number];
  readonly signalAll: number;
  readonly largest: number;
  /** CQs this small overflow. */
  readonly completionEntriesLog2: number;
  /** Receive entries posted at most at a time; few make a slow receiver. */
  readonly receiveDepth: number;
  readonly windowKind: MwKind;
}

/** Something that happens to one end of a connection, or to the whole adapter, in place of ordinary work. */
export type Mishap =
  | 'bad request'
  | 'error'
  | 'reset'
  | 'deregister'
  | 'revoke'
  | 'drain'
  | 'reconnect'
  | 'function reset';

export interface Plan {
  readonly seed: number;
  readonly twoAdapters: boolean;
  /** The QPs of a side share one CQ, one receive queue. */
  readonly sharedCq: boolean;
  readonly sharedReceives: boolean;
  readonly connections: readonly ConnectionPlan[];
  readonly wire: WirePlan;
  readonly actions: number;
  readonly meanGapNs: number;
  readonly mishaps: readonly {
    readonly action: number;
    readonly mishap: Mishap;
    readonly connection: number;
    readonly end: 0 | 1;
  }[];
}

const MISHAPS: readonly Mishap[] = [
  'bad request',
  'bad request',
  'error',
  'reset',
  'deregister',
  'revoke',
  'revoke',
  'drain',
  'drain',
  'reconnect',
  'reconnect',
  'function reset',
];
const PERCENT = 100;

export function drawPlan(seed: number, random: Random): Plan {
  const twoAdapters = random.oneIn(2);
  const actions = random.between(20, 70);
  const meanGapNs = random.pick([500, 5_000, 50_000]);
  const connections = Array.from({ length: random.between(1, 3) }, () => drawConnection(random));
  const shared = { sharedCq: random.oneIn(3), sharedReceives: random.oneIn(3) };
  const mishaps = random.oneIn(2) ? [] : drawMishaps(random, actions, connections.length);
  const wire = drawWire(random, actions * meanGapNs);
  return { seed, twoAdapters, ...shared, connections, wire, actions, meanGapNs, mishaps };
}

/** Half of the time the connection that suffered is connected anew. */
function drawMishaps(random: Random, actions: number, connections: number): Plan['mishaps'] {
  return Array.from({ length: random.between(1, 2) }, () => {
    const action = random.below(actions);
    const which = { connection: random.below(connections), end: random.below(2) as 0 | 1 };
    const first = { action, mishap: random.pick(MISHAPS), ...which };
    if (random.oneIn(2)) return [first];
    return [first, { action: random.between(action, actions - 1), mishap: 'reconnect' as const, ...which }];
  }).flat();
}

function drawConnection(random: Random): ConnectionPlan {
  const nearWrap = (): number =>
    random.oneIn(3) ? (PSN_MASK - random.below(20)) & PSN_MASK : random.below(PSN_MASK + 1);
  return {
    serviceType: random.pick([ServiceType.RC, ServiceType.RC, ServiceType.RC, ServiceType.UC, ServiceType.UD]),
    pathMtu: random.between(1, 3),
    timeout: random.between(6, 9),
    retryCount: random.pick([2, 7, 7, 7]),
    rnrRetry: random.pick([1, 7, 7, 7]),
    minRnrTimer: random.pick([1, 2, 5, 9]),
    maxReads: random.pick([1, 2, 4]),
    psns: [nearWrap(), nearWrap()],
    signalAll: random.below(2),
    largest: random.pick([64, 1000, 1000, 3000, 12_000]),
    completionEntriesLog2: random.oneIn(12) ? 2 : 7,
    receiveDepth: random.pick([1, 4, 12]),
    windowKind: random.pick([MwKind.TYPE_1, MwKind.TYPE_2]),
  };
}

function drawWire(random: Random, lengthNs: number): WirePlan {
  const perCent = (limit: number): number => (random.oneIn(2) ? 0 : random.below(limit * 10) / (10 * PERCENT));
  const clean = random.oneIn(6);
  const flaps = Array.from({ length: clean ? 0 : random.pick([0, 0, 0, 1, 2]) }, () => {
    const start = random.below(lengthNs);
    return [start, start + random.between(1_000, 400_000)] as const;
  });
  return {
    isProduct: random.oneIn(2),
    drop: clean ? 0 : perCent(10),
    duplicate: clean ? 0 : perCent(25),
    reorder: clean ? 0 : perCent(20),
    corrupt: clean ? 0 : perCent(4),
    delayNs: random.pick([0, 200, 5_000, 20_000]),
    jitterNs: clean ? 0 : random.pick([1, 2_000, 20_000, 300_000]),
    flaps,
  };
}
