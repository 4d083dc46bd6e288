// SPDX-License-Identifier: Apache-2.0
/**
 * Tests of ports with several LIDs (LMC, IBTA 7.11.1): assignment, a way of its own for each LID,
 * path records, and changes of the option.
 */
import t from 'tap';
import {
  getPathRecordDlid,
  getPathRecordSlid,
  PATH_RECORD_DGID_OFFSET,
  PATH_RECORD_SGID_OFFSET,
  PATH_RECORD_SIZE,
  setPathRecordDlid,
  setPathRecordPathCount,
} from '../../../../protocol/infiniband/mad/gen/path-record.gen.ts';
import { AdministrationAttribute, MadMethod } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { AdministrationClient } from '../../../rig/fixtures/administration-client.ts';
import { ledger } from '../../../rig/fixtures/ledger.ts';
import { ManagedFabric } from '../../../rig/fixtures/managed-fabric.ts';

const LMC = 2;
const COUNT = 1 << LMC;

/** Two leaf switches with two adapters each, joined by two spines. */
function up(lmc: number): ManagedFabric {
  const links = [0, 1].flatMap((leaf): [string, string][] => [
    [`s${leaf}`, 's2'],
    [`s${leaf}`, 's3'],
    [`s${leaf}`, `a${2 * leaf}`],
    [`s${leaf}`, `a${2 * leaf + 1}`],
  ]);
  const managers = [{ at: 's2', options: { lmc } }];
  const fabric = new ManagedFabric({ switches: [4, 4, 4, 4], adapters: 4, links, managers });
  t.ok(fabric.runUntil(() => settled(fabric) && fabric.allActive));
  return fabric;
}

function settled({ managers }: ManagedFabric): boolean {
  const living = managers.filter(({ isStopped }) => !isStopped);
  return living.some(({ isMaster }) => isMaster) && living.every(({ isSettled }) => isSettled);
}

t.test('each port of an adapter has 2^LMC LIDs, a switch has one', async (t) => {
  ledger(t, '7.11.1', 'The base LID of a port with an LMC is a multiple of 2^LMC, and all its LIDs are its own.');
  for (const lmc of [1, LMC, 7]) {
    const fabric = up(lmc);
    const all = fabric.adapters.flatMap(({ port }) => {
      t.equal(port.lmc, lmc);
      t.equal(port.lid % (1 << lmc), 0);
      return Array.from({ length: 1 << lmc }, (_, index) => port.lid + index);
    });
    for (const { endPorts } of fabric.switches) {
      t.equal(endPorts[0].lmc, 0);
      all.push(endPorts[0].lid);
    }
    t.equal(new Set(all).size, all.length, 'no LID is given twice');
    t.same([fabric.managers[0].sweeper.counters.refusals, fabric.managers[0].sweeper.lids.homeless], [0, 0]);
  }
});

t.test('each LID is routed, and the ways of a port differ', async (t) => {
  const { switches, adapters } = up(LMC);
  for (const { port } of adapters)
    for (let lid = port.lid; lid < port.lid + COUNT; lid++)
      t.ok(
        switches.every(({ switchTables }) => switchTables.getPort(lid) < 5),
        `LID ${lid}`,
      );
  const far = adapters[3].port.lid;
  const ways = new Set([0, 1, 2, 3].map((index) => switches[0].switchTables.getPort(far + index)));
  t.equal(ways.size, 2, 'both spines');
});

t.test('path records: one for each pair of LIDs, or those that are asked for', async (t) => {
  const fabric = up(LMC);
  const client = new AdministrationClient(fabric.adapters[0], (isDone) => fabric.runUntil(isDone, 5e9));
  const [from, to] = [fabric.adapters[0].port, fabric.adapters[3].port];
  const ask = (fill: (view: DataView) => void, ...components: string[]) => {
    const data = new Uint8Array(PATH_RECORD_SIZE);
    data.set(from.gids.subarray(0, 16), PATH_RECORD_SGID_OFFSET);
    data.set(to.gids.subarray(0, 16), PATH_RECORD_DGID_OFFSET);
    fill(viewOf(data));
    const request = { attribute: AdministrationAttribute.PATH_RECORD, record: 'path-record', data };
    const answer = client.ask({ ...request, method: MadMethod.GET_TABLE, components: ['sgid', 'dgid', ...components] });
    return answer?.records.map(viewOf).map((view) => [getPathRecordSlid(view, 0), getPathRecordDlid(view, 0)]);
  };
  const pairs = [0, 1, 2, 3].map((index) => [from.lid + index, to.lid + index]);
  t.same(
    ask(() => {}),
    pairs,
  );
  t.same(
    ask((view) => setPathRecordPathCount(view, 0, 2), 'pathCount'),
    pairs.slice(0, 2),
  );
  t.same(
    ask((view) => setPathRecordDlid(view, 0, to.lid + 3), 'dlid'),
    pairs.map(([slid]) => [slid, to.lid + 3]),
  );
  t.same(
    ask((view) => setPathRecordDlid(view, 0, to.lid + COUNT), 'dlid'),
    [],
    'a LID of another port',
  );
});

t.test('a manager with another LMC changes the base LIDs that do not fit, and no others', async (t) => {
  const fabric = up(0);
  const before = fabric.adapters.map(({ port }) => port.lid);
  fabric.managers[0].stop();
  const next = fabric.addManager('s3', { lmc: LMC });
  t.ok(fabric.runUntil(() => next.isMaster && settled(fabric)));
  for (const [index, { port }] of fabric.adapters.entries())
    if (before[index] % COUNT === 0) t.equal(port.lid, before[index]);
  t.ok(fabric.adapters.every(({ port }) => port.lmc === LMC && port.active));
  t.ok(next.sweeper.lids.clashes > 0);
});
