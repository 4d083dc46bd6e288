// SPDX-License-Identifier: Apache-2.0
/**
 * Uses that change the shares of functions: requests of the host that move resources between them,
 * and the lane table in memory of the physical function (US 8,484,392 par. 62-86). Each gives
 * everything back in the end: a reset restores what a function chose, and no share.
 */
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import {
  LANE_TABLE_ENTRY_LANES_OFFSET,
  LANE_TABLE_ENTRY_LEVEL0_OFFSET,
  LANE_TABLE_ENTRY_LEVEL1_OFFSET,
  LANE_TABLE_ENTRY_SIZE,
} from '../../../protocol/layout/gen/lane-table-entry.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import type { ResourceChange } from '../../../protocol/layout/gen/resource-change.gen.ts';
import { ResourceKind as Kind, ManagementStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../hosts/in-process/driver/queue-pair.ts';
import type { Random } from '../../random.ts';
import type { AdapterFixture } from '../adapter-fixture.ts';
import { change, encodeChanges } from '../share-model.ts';
import type { Use } from './use.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };
const LANES_PER_WORD = 32;

/** Resources of a function that are counted, and the field of its share. */
const counted = [
  [Kind.VCBS, 'vcbs'],
  [Kind.PCBS, 'pcbs'],
  [Kind.SEND_CONTEXTS, 'sendContexts'],
  [Kind.SEND_BLOCKS, 'sendBlocks'],
  [Kind.SCHEDULER_BUFFERS, 'schedulerBuffers'],
] as const;

/** A request of the host; the answer's status. */
function ask({ machine }: AdapterFixture, ...changes: readonly ResourceChange[]): number {
  return machine.functionAt(0).requestResources(encodeChanges(changes)).status;
}

function mustHave(fixture: AdapterFixture, ...changes: readonly ResourceChange[]): void {
  const status = ask(fixture, ...changes);
  if (status !== ManagementStatus.OK) throw new Error(`shares are not given back: status ${status}`);
}

/** Makes the division that of power-on: takes everything away from all functions, then gives it. */
function giveBack(fixture: AdapterFixture): void {
  const { shareManager } = fixture.machine.device;
  const { functions, lanes } = shareManager.initial;
  const counts = functions.map((_, target) => counted.map(([kind]) => change(kind, target, 0)));
  mustHave(fixture, ...counts.flat(), ...functions.map((_, target) => change(Kind.TVLS, target, 0)));
  for (const [target, share] of functions.entries()) {
    mustHave(fixture, change(Kind.VCB_BASE, target, share.vcbBase));
    mustHave(fixture, ...counted.map(([kind, name]) => change(kind, target, share[name])));
    for (let word = 0; word * LANES_PER_WORD < lanes.length; word++) {
      const owned = lanes.slice(word * LANES_PER_WORD, (word + 1) * LANES_PER_WORD);
      const amount = owned.reduce((map, { owner }, bit) => (owner === target ? map | (1 << bit) : map), 0) >>> 0;
      mustHave(fixture, change(Kind.TVL_MAP, target, amount, { word }));
    }
    // As a reset does: it belongs to the function, not to its share.
    shareManager.resetSplit(target);
  }
  for (const [lane, { executionCredits, completionCredits, sharedCredits, listSize, weight }] of lanes.entries())
    mustHave(
      fixture,
      change(Kind.TVL_SHARED_CREDITS, lane, sharedCredits),
      change(Kind.TVL_EXECUTION_CREDITS, lane, executionCredits),
      change(Kind.TVL_COMPLETION_CREDITS, lane, completionCredits),
      change(Kind.TVL_LIST_SIZE, lane, listSize),
      change(Kind.TVL_WEIGHT, lane, weight),
    );
}

/** Sends by pages that may be out of the share: a doorbell then covers what was dropped. */
function sendSome(fixture: AdapterFixture, qps: readonly DriverQueuePair[]): void {
  for (const qp of qps) for (let count = 0; count < 8; count++) qp.post(NOP, count % 2 === 0 ? 'collect' : 'register');
  fixture.settle();
  for (const qp of qps) qp.parts.sendCq.drain();
}

function createSenders(fixture: AdapterFixture): DriverQueuePair[] {
  return [0, 1].map(() => fixture.createQueuePair());
}

/** A change of any share of any function, or of any lane. */
function anyChange(random: Random, fixture: AdapterFixture): ResourceChange {
  const { functions, lanes } = fixture.machine.device.shareManager.initial;
  const target = random.below(functions.length);
  const lane = random.below(lanes.length);
  return random.pick([
    ...counted.map(([kind, name]) => change(kind, target, random.below(2 * functions[target][name] + 2))),
    change(Kind.TVLS, target, random.below(lanes.length)),
    change(Kind.TVL_MAP, target, random.next() & random.next() & 0xff),
    change(Kind.TVL_WEIGHT, lane, random.between(1, 9)),
    change(Kind.TVL_LIST_SIZE, lane, random.between(1, 9)),
    change(Kind.TVL_EXECUTION_CREDITS, lane, random.below(4)),
    change(Kind.TVL_COMPLETION_CREDITS, lane, random.below(4)),
    change(Kind.TVL_SHARED_CREDITS, lane, random.below(4)),
  ]);
}

function moveShares(fixture: AdapterFixture, random: Random): void {
  const qps = createSenders(fixture);
  for (let round = 0; round < 4; round++) {
    for (let count = 0; count < 12; count++) ask(fixture, anyChange(random, fixture));
    sendSome(fixture, qps);
  }
  giveBack(fixture);
  sendSome(fixture, qps);
}

/** Lanes of an entry, and those of its two levels. */
type Entry = readonly [lanes: number, level0: number, level1: number];

/** Puts a table in memory, with the entry of the physical function. */
function provideTable(fixture: AdapterFixture, [lanes, level0, level1]: Entry): void {
  const { functions } = fixture.machine.device.shareManager.initial;
  const { address, bytes } = fixture.createBuffer(functions.length * LANE_TABLE_ENTRY_SIZE);
  bytes[LANE_TABLE_ENTRY_LANES_OFFSET] = lanes;
  bytes[LANE_TABLE_ENTRY_LEVEL0_OFFSET] = level0;
  bytes[LANE_TABLE_ENTRY_LEVEL1_OFFSET] = level1;
  fixture.access.writeRegister(CSR.LANE_TABLE, 8, lowDword(address), highDword(address));
}

function useLaneTable(fixture: AdapterFixture, random: Random): void {
  const qps = createSenders(fixture);
  const { functions } = fixture.machine.device.shareManager.initial;
  mustHave(fixture, ...functions.map((_, target) => change(Kind.TVLS, target, 0)));
  for (let round = 0; round < 4; round++) {
    const lanes = random.below(256);
    provideTable(fixture, [lanes, lanes & random.below(256), lanes & random.below(256)]);
    ask(fixture, change(Kind.TVL_TABLE_ENTRY, 0, 1));
    sendSome(fixture, qps);
  }
  fixture.access.writeRegister(CSR.LANE_TABLE, 8, 0, 0);
  giveBack(fixture);
  sendSome(fixture, qps);
}

/** An entry is marked, and perhaps being read, for which commands wait. It changes no lanes. */
function leaveEntry(fixture: AdapterFixture, random: Random): void {
  const { initial } = fixture.machine.device.shareManager;
  const { sender, to } = fixture.createPair();
  const maps = [initial.lanesOf(0), initial.lanesOfLevel(0, 0), initial.lanesOfLevel(0, 1)];
  const [lanes, level0, level1] = maps.map((numbers) => numbers.reduce((map, lane) => map | (1 << lane), 0));
  provideTable(fixture, [lanes, level0, level1]);
  ask(fixture, change(Kind.TVL_TABLE_ENTRY, 0, 1));
  for (let count = random.below(5); count > 0; count--) sender.post(to(), count % 2 === 0 ? 'collect' : 'register');
  for (let steps = random.below(4); steps > 0; steps--) fixture.machine.step();
}

export const shareUses: readonly Use[] = [
  { name: 'shares that move between functions', settings: true, run: moveShares },
  { name: 'a lane table in memory', physical: true, settings: true, run: useLaneTable },
];

export const disturbingShareUses: readonly Use[] = [
  { name: 'an entry of the lane table', physical: true, run: leaveEntry },
];
