// SPDX-License-Identifier: Apache-2.0
/** Which blocks of linear forwarding tables are read and written. */
import t from 'tap';
import { MadMethod, MadStatus, NodeType, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { NO_PORT } from '../routing/routing-graph.ts';
import type { SmpAnswer, SmpJob, SmpRequest } from '../smp-client.ts';
import { SubnetNode, SubnetPort } from '../subnet.ts';
import { writeLinearTables } from './forwarding.ts';

const BLOCK_BYTES = 64;
const LIDS = 300;
const BLOCKS = Math.ceil(LIDS / BLOCK_BYTES);

function makeSwitch(number: number): SubnetNode {
  const node = new SubnetNode(`${number}`, NodeType.SWITCH, 4, new Uint8Array(64));
  node.ports[0] = new SubnetPort(node, 0, `${number}`, [number]);
  return node;
}

/** Carries out a job on the tables of switches, by their paths; returns the blocks asked for. */
function perform(job: SmpJob, tables: readonly Uint8Array[]): string[] {
  const asked: string[] = [];
  const answer = ({ to, method, attributeId, modifier, data }: SmpRequest): SmpAnswer => {
    let bytes = data?.slice() ?? new Uint8Array(BLOCK_BYTES);
    if (attributeId === SubnetAttribute.LINEAR_FORWARDING_TABLE) {
      const [number] = to as readonly number[];
      asked.push(`${method === MadMethod.SET ? 'set' : 'get'} ${number}:${modifier}`);
      const table = tables[number];
      if (data !== undefined) table.set(data, modifier * BLOCK_BYTES);
      bytes = table.slice(modifier * BLOCK_BYTES, (modifier + 1) * BLOCK_BYTES);
    }
    return { status: MadStatus.SUCCESS, data: bytes, view: viewOf(bytes) };
  };
  for (let step = job.next(); step.done !== true; ) step = job.next(step.value.map(answer));
  return asked;
}

t.test('a table is read where it may be right, and written where it is not', async (t) => {
  const wanted = Uint8Array.from({ length: LIDS }, (_, lid) => lid % 4);
  const inSwitch = (change: (table: Uint8Array) => void = () => {}): Uint8Array => {
    const table = new Uint8Array(BLOCKS * BLOCK_BYTES).fill(NO_PORT);
    table.set(wanted);
    change(table);
    return table;
  };
  const tables = [inSwitch((table) => table.fill(NO_PORT)), inSwitch(), inSwitch((table) => table.fill(9, 200, 201))];
  const nodes = tables.map((_, number) => makeSwitch(number));
  const counters = { writes: 0, refusals: 0, silent: 0, cutKeys: 0 };
  const write = () =>
    perform(
      writeLinearTables(
        nodes,
        nodes.map(() => wanted),
        counters,
      ),
      tables,
    );
  const all = (verb: string, number: number, from = 0) =>
    Array.from({ length: BLOCKS - from }, (_, index) => `${verb} ${number}:${from + index}`);
  t.same(write(), [
    ...['get 0:0', 'get 1:0', 'get 2:0'],
    ...[...all('get', 1, 1), ...all('get', 2, 1)],
    ...[...all('set', 0), 'set 2:3'],
  ]);
  for (const table of tables) t.same(table, inSwitch());
  t.same(write(), [], 'then all is known');
  wanted[70] = 7;
  t.same(write(), ['set 0:1', 'set 1:1', 'set 2:1']);
});
