// SPDX-License-Identifier: Apache-2.0
/**
 * The plan of a chaos run. It is drawn from the seed before the run starts, so that
 * `npm run simulate -- chaos --replay` can print it.
 */
import { PSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { MwKind, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';

/** Probabilities per packet (0 to 1) and delays of the wire between the two ends. */
export interface WirePlan {
  /** `FaultyLink` of the adapter itself, not `FaultyCable` of this folder. */
  readonly isProduct: boolean;
  readonly drop: number;
  readonly duplicate: number;
  readonly reorder: number;
  readonly corrupt: number;
  readonly delayNs: number;
  readonly jitterNs: number;
  /** Rate; 0: sending takes no time. Over a slow wire ACKs overtake packets that are sent again. */
  readonly bitsPerSecond: number;
  /** Start and end of each time the link is down, ns. */
  readonly flaps: readonly (readonly [number, number])[];
}

/** Attributes and sizes of a connection. */
export interface ConnectionPlan {
  readonly serviceType: ServiceType;
  readonly pathMtu: number;
  /** QP attributes, coded as in the InfiniBand specification. */
  readonly timeout: number;
  readonly retryCount: number;
  readonly rnrRetry: number;
  readonly minRnrTimer: number;
  readonly maxReads: number;
  readonly psns: readonly [number, number];
  readonly signalAll: number;
  readonly largest: number;
  /** CQs of 4 entries may overflow. */
  readonly completionEntriesLog2: number;
  /** Receive entries outstanding at most; few make a slow receiver. */
  readonly receiveDepth: number;
  readonly windowKind: MwKind;
  /** The requests include FLUSH and ATOMIC WRITE. */
  readonly placement: boolean;
}

/** A disturbance of one end of a connection, or of its whole function. */
export type Mishap =
  | 'bad request'
  | 'error'
  | 'reset'
  | 'deregister'
  | 'revoke'
  | 'drain'
  | 'reconnect'
  | 'function reset';

/** A whole run. */
export interface Plan {
  readonly seed: number;
  readonly twoAdapters: boolean;
  /** The QPs of a side share one CQ. */
  readonly sharedCq: boolean;
  /** The QPs of a side share one receive queue. */
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
const SLOW_SEED = 0x18000000;

/**
 * Draws the plan of a seed. `random` is the generator of the whole run; `placement`: with FLUSH and
 * ATOMIC WRITE.
 */
export function drawPlan(seed: number, random: Random, placement = false): Plan {
  const twoAdapters = random.oneIn(2);
  const actions = random.between(20, 70);
  const meanGapNs = random.pick([500, 5_000, 50_000]);
  const connections = Array.from({ length: random.between(1, 3) }, () => drawConnection(random, placement));
  const shared = { sharedCq: random.oneIn(3), sharedReceives: random.oneIn(3) };
  const mishaps = random.oneIn(2) ? [] : drawMishaps(random, actions, connections.length);
  const wire = drawWire(random, actions * meanGapNs);
  return slowDown({ seed, twoAdapters, ...shared, connections, wire, actions, meanGapNs, mishaps });
}

/**
 * One of three wires is so slow that timeouts come while packets wait for it. The draws are from a
 * generator of their own, so that seeds that found a defect keep their plans.
 */
function slowDown(plan: Plan): Plan {
  const random = new Random(plan.seed + SLOW_SEED);
  if (!random.oneIn(3)) return plan;
  const wire = { ...plan.wire, bitsPerSecond: random.pick([3e8, 1e9, 2.5e9]) };
  const connections = plan.connections.map((connection) => ({
    ...connection,
    timeout: random.between(3, 7),
    largest: random.pick([3000, 12_000]),
  }));
  return { ...plan, wire, connections };
}

/** Half of the mishaps are followed by a reconnection. */
function drawMishaps(random: Random, actions: number, connections: number): Plan['mishaps'] {
  return Array.from({ length: random.between(1, 2) }, () => {
    const action = random.below(actions);
    const which = { connection: random.below(connections), end: random.below(2) as 0 | 1 };
    const first = { action, mishap: random.pick(MISHAPS), ...which };
    if (random.oneIn(2)) return [first];
    return [first, { action: random.between(action, actions - 1), mishap: 'reconnect' as const, ...which }];
  }).flat();
}

function drawConnection(random: Random, placement: boolean): ConnectionPlan {
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
    placement,
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
    bitsPerSecond: 0,
    jitterNs: clean ? 0 : random.pick([1, 2_000, 20_000, 300_000]),
    flaps,
  };
}
