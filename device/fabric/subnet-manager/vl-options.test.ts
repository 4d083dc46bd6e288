// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of the SL to VL and VL arbitration tables that the manager writes (IBTA 14.2.5.8,
 * 14.2.5.9): the default, the options, ports with one lane, and what the administration says of
 * them.
 */
import t from 'tap';
import {
  getPathRecordServiceLevel,
  PATH_RECORD_SIZE,
  setPathRecordServiceLevel,
} from '../../../protocol/infiniband/mad/gen/path-record.gen.ts';
import { AdministrationAttribute, MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { AdministrationClient } from '../../rig/fixtures/administration-client.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { ManagedFabric, type ManagedFabricPlan } from '../../rig/fixtures/managed-fabric.ts';
import type { LinkEnd } from '../port/link.ts';
import { defaultVlOptions, findVlError, type VlOptions } from './vl-options.ts';

const LEVELS = Array.from({ length: 16 }, (_, level) => level);

function planOf(virtualLanes: number, lanes?: Partial<VlOptions>): ManagedFabricPlan {
  return {
    virtualLanes,
    switches: [4, 4],
    adapters: 2,
    links: [
      ['s0', 's1'],
      ['s0', 'a0'],
      ['s1', 'a1'],
    ],
    managers: [{ at: 's0', ...(lanes && { options: { lanes: { ...defaultVlOptions, ...lanes } } }) }],
  };
}

function up(plan: ManagedFabricPlan): ManagedFabric {
  const fabric = new ManagedFabric(plan);
  const [manager] = fabric.managers;
  t.ok(fabric.runUntil(() => manager.isMaster && manager.isSettled && fabric.allActive));
  return fabric;
}

/** VLs of all service levels from the trunk to the adapter at the first switch. */
function switchLanes({ switches }: ManagedFabric): number[] {
  return LEVELS.map((level) => switches[0].switchTables.getVirtualLane(1, 2, level));
}

function adapterLanes({ adapters }: ManagedFabric): number[] {
  return LEVELS.map((level) => adapters[0].port.transmitQueues.getVirtualLane(level));
}

/** The turns with a weight of a table. */
function turns(table: Uint8Array): number[][] {
  return Array.from({ length: table.length / 2 }, (_, row) => [table[row * 2], table[row * 2 + 1]]).filter(
    ([, weight]) => weight > 0,
  );
}

function ends({ switches, adapters }: ManagedFabric): LinkEnd[] {
  return [...adapters.map(({ port }) => port), ...switches.map(({ ports: [port] }) => port)];
}

t.test('without options, service levels are spread over the lanes, which have equal turns', async (t) => {
  ledger(t, '14.2.5.8', 'The manager writes a map of service levels for each pair of ports of a switch.');
  ledger(t, '14.2.5.9', 'The manager writes the arbitration tables of ports with several lanes.');
  const fabric = up(planOf(4));
  const spread = LEVELS.map((level) => level % 4);
  t.same(switchLanes(fabric), spread);
  t.same(adapterLanes(fabric), spread);
  t.same(
    LEVELS.map((level) => fabric.switches[0].switchTables.getVirtualLane(0, 1, level)),
    spread,
    'also from port 0',
  );
  for (const { settings } of ends(fabric)) {
    t.same(
      turns(settings.vlArbitrationLow),
      [0, 1, 2, 3].map((lane) => [lane, 64]),
    );
    t.same(turns(settings.vlArbitrationHigh), []);
  }
  const [{ sweeper }] = fabric.managers;
  const { writes } = sweeper.counters;
  sweeper.sweepNow();
  fabric.runUntil(() => sweeper.heavySweeps > 1 && fabric.managers[0].isSettled);
  t.equal(sweeper.counters.writes, writes, 'the next sweep writes nothing');
});

t.test('fifteen lanes', async (t) => {
  const fabric = up(planOf(15));
  t.same(
    switchLanes(fabric),
    LEVELS.map((level) => level % 15),
  );
  t.ok(ends(fabric).every(({ transmitQueues }) => transmitQueues.operationalVls === 15));
});

t.test('options: a map, both tables, the limit', async (t) => {
  const serviceLevels = LEVELS.map((level) => (level === 3 ? 15 : level >>> 1));
  const arbitrationHigh = [[1, 10]] as const;
  const arbitrationLow = Array.from({ length: 40 }, (_, turn) => [turn % 3, 1 + turn] as const);
  const fabric = up(planOf(4, { serviceLevels, arbitrationHigh, arbitrationLow, highLimit: 7 }));
  const wanted = serviceLevels.map((lane) => (lane === 15 ? 15 : lane % 4));
  t.same(switchLanes(fabric), wanted);
  t.same(adapterLanes(fabric), wanted);
  for (const end of ends(fabric)) {
    t.same(turns(end.settings.vlArbitrationHigh), arbitrationHigh);
    t.same(turns(end.settings.vlArbitrationLow), arbitrationLow, 'both blocks of the table');
    t.equal(end.transmitQueues.arbiter.highLimit, 7);
  }
});

t.test('ports with one lane are left alone, unless there are options', async (t) => {
  const plain = up(planOf(1));
  const { requests } = plain.managers[0].client;
  t.same(switchLanes(plain), new Array(16).fill(0));
  const chosen = up(planOf(1, { serviceLevels: LEVELS.map((level) => (level === 1 ? 15 : 2)) }));
  t.same(switchLanes(chosen).slice(0, 3), [0, 15, 0]);
  t.ok(chosen.managers[0].client.requests > requests);
});

t.test('paths of a service level: where a lane carries it', async (t) => {
  const fabric = up(planOf(4, { serviceLevels: LEVELS.map((level) => (level === 3 ? 15 : level)) }));
  const client = new AdministrationClient(fabric.adapters[0], (isDone) => fabric.runUntil(isDone, 5e9));
  const ask = (level: number) => {
    const data = new Uint8Array(PATH_RECORD_SIZE);
    setPathRecordServiceLevel(viewOf(data), 0, level);
    const request = { attribute: AdministrationAttribute.PATH_RECORD, record: 'path-record', data };
    const answer = client.ask({ ...request, method: MadMethod.GET_TABLE, components: ['serviceLevel'] });
    return answer?.records.map((record) => getPathRecordServiceLevel(viewOf(record), 0)) ?? [];
  };
  t.ok(ask(2).length > 0 && ask(2).every((level) => level === 2));
  t.same(ask(3), [], 'its packets are dropped');
});

t.test('mistakes in the options', async (t) => {
  const errorOf = (options: object) => findVlError({ ...defaultVlOptions, ...options });
  t.equal(errorOf({}), undefined);
  t.equal(errorOf({ serviceLevels: LEVELS, arbitrationHigh: [[14, 255]], highLimit: 255 }), undefined);
  for (const [options, message] of [
    [{ serviceLevels: [1, 2] }, /serviceLevels has 2 VLs; it must have 16, or none/],
    [{ serviceLevels: LEVELS.map(() => 16) }, /VL 16 of service level 0 must be 0 to 15/],
    [{ arbitrationLow: [[15, 1]] }, /arbitrationLow: turn \[15,1\] must be/],
    [{ arbitrationHigh: [[1, 256]] }, /arbitrationHigh: turn \[1,256\] must be/],
    [{ arbitrationHigh: [7] }, /arbitrationHigh: turn 7 must be/],
    [{ arbitrationLow: new Array(65).fill([1, 1]) }, /arbitrationLow has 65 turns; it must have at most 64/],
    [{ highLimit: 1.5 }, /highLimit 1.5 must be 0 to 255/],
  ] as const)
    t.match(errorOf(options), message);
});
