// SPDX-License-Identifier: Apache-2.0
/**
 * Random load on a fabric of switches under an oracle: every packet that an end sends arrives once
 * and in order, or is lost for a counted cause; when all is quiet no buffer holds a packet and no
 * link counts one in flight. Called by tests and by `npm run switches`.
 */
import { Random } from '../random.ts';
import { SwitchFabric, type SwitchFabricPlan } from './switch-fabric.ts';

/** Rounds of 1 us in which a fabric must come to rest. */
const REST_ROUNDS = 3000;
const LONGEST_PAYLOAD = 300;
const SERVICE_LEVELS = 4;

export interface SwitchLoad {
  readonly fabric: SwitchFabric;
  readonly sent: number;
  readonly arrived: number;
  /** Packets dropped by switches, by cause; and lost by links, ends and links that went down. */
  readonly dropped: number;
  readonly lost: number;
  /** Sentences about broken rules. */
  readonly errors: readonly string[];
}

/** Sends `packets` packets at random and lets time pass until all is quiet. */
export function loadSwitches(plan: SwitchFabricPlan, seed: number, packets: number, lifeTime = 31): SwitchLoad {
  const load = new Load(plan, seed, lifeTime);
  const { random, fabric } = load;
  const count = fabric.ends.length;
  for (let id = 1; id <= packets; id++) {
    const from = random.below(count);
    const to = (from + 1 + random.below(count - 1)) % count;
    load.send(from, to, id);
    if (random.oneIn(4)) fabric.settle();
    if (random.oneIn(8)) load.takeAll(true);
    if (random.oneIn(4)) fabric.clock.advance(random.below(2000));
  }
  // Links flap for ever, so time is bounded.
  for (let round = 0; round < REST_ROUNDS && fabric.countLinks().waiting > 0; round++) {
    fabric.settle();
    load.takeAll(false);
    fabric.clock.advance(1000);
  }
  return load.finish();
}

class Load {
  readonly fabric: SwitchFabric;
  readonly random: Random;
  readonly #isRepeating: boolean;
  readonly #errors: string[] = [];
  /** By flow (from, to, lane): the id of the last packet to arrive. */
  readonly #last = new Map<number, number>();
  #sent = 0;
  #arrived = 0;

  constructor(plan: SwitchFabricPlan, seed: number, lifeTime: number) {
    this.fabric = new SwitchFabric({ ...plan, seed });
    for (const { switchTables } of this.fabric.switches) switchTables.lifeTime = lifeTime;
    this.random = new Random(seed);
    this.#isRepeating = plan.faults?.faults?.duplicate !== undefined;
  }

  send(from: number, to: number, id: number): void {
    const { random, fabric } = this;
    const isSent =
      fabric.ends[from].active &&
      fabric.send(from, to + 1, id, random.below(LONGEST_PAYLOAD), random.below(SERVICE_LEVELS));
    if (isSent) this.#sent++;
  }

  /** Takes what has arrived; slow ends take up to two packets. */
  takeAll(slow: boolean): void {
    const { fabric, random } = this;
    for (let at = 0; at < fabric.ends.length; at++)
      for (const { id, slid, dlid, virtualLane } of fabric.take(at, slow ? random.below(3) : 100)) {
        this.#arrived++;
        if (dlid !== at + 1) this.#errors.push(`packet ${id} for LID ${dlid} is at LID ${at + 1}`);
        const flow = (slid * 256 + dlid) * 16 + virtualLane;
        const last = this.#last.get(flow) ?? 0;
        if (id === last && !this.#isRepeating) this.#errors.push(`packet ${id} came twice`);
        if (id < last) this.#errors.push(`packet ${id} from LID ${slid} to ${dlid} came behind packet ${last}`);
        this.#last.set(flow, id);
      }
  }

  finish(): SwitchLoad {
    const { fabric } = this;
    const errors = this.#errors;
    const links = fabric.countLinks();
    const { received, relayed, drops, lost } = fabric.count();
    const endLosses = fabric.ends.reduce((sum, end) => sum + end.transmitDiscards, 0);
    const allLost = fabric.damaged + lost + links.lost + endLosses - links.duplicated;
    const sent = this.#sent;
    const arrived = this.#arrived;
    if (links.waiting !== 0) errors.push(`${links.waiting} packets still wait`);
    if (arrived + drops + allLost !== sent)
      errors.push(`${sent} sent, but ${arrived} arrived, ${drops} dropped and ${allLost} lost`);
    if (received < relayed) errors.push(`${received} packets received, but ${relayed} relayed`);
    if (hasCreditsOut(fabric)) errors.push('a link still counts credits');
    return { fabric, sent, arrived, dropped: drops, lost: allLost, errors };
  }
}

function hasCreditsOut({ links }: SwitchFabric): boolean {
  return links.some(
    (link) =>
      'directions' in link &&
      link.directions.some(({ flightBlocks, flightPackets, buffer }) =>
        [...flightBlocks, ...flightPackets, ...buffer.rings.map(({ blocks }) => blocks)].some((one) => one !== 0),
      ),
  );
}

/** Three switches in a row over links with every fault, for long runs. */
export const faultyLine: SwitchFabricPlan = {
  trunks: [
    [0, 1],
    [1, 2],
  ],
  ends: [0, 0, 1, 1, 2, 2],
  virtualLanes: 2,
  queuePackets: 4,
  faults: {
    faults: { drop: 0.01, corrupt: 0.01, delay: 0.02, duplicate: 0.01 },
    flapEveryNs: 2e6,
    flapLengthNs: 1e4,
    delayNs: 300,
    bufferPackets: 8,
  },
};
