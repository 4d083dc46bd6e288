// SPDX-License-Identifier: Apache-2.0
/**
 * The table of `npm run demo -- verbs --habits`: habits of software for RoCE, the ways that
 * InfiniBand requires instead, and the results of both on each adapter. Pure. Called by main.ts.
 */
import { table } from '../../console/table.ts';
import { ADAPTER_TITLES, type AdapterName } from '../../foreign/suites.ts';

/** Names of guest-tests/foreign/habits.py, and the trials (docs/verbs/ROCE-HABITS.md). */
export const HABITS: readonly (readonly [name: string, habit: string, instead: string])[] = [
  ['destination', 'a destination by GID only, LID 0', 'the LID of the destination'],
  ['route', 'a GRH within the subnet', 'no GRH: the LID is enough'],
  ['gid-index', 'a GID at index 1 or later', 'GID 0, that of the port'],
  ['gid-content', 'an IPv4 address in a GID', 'subnet prefix and GUID in a GID'],
  ['pkey-index', 'any P_Key index', 'the index that has the P_Key'],
  ['datagram-route', 'datagrams with a GRH', 'datagrams by LID'],
];
const LINE = /^ *# habit (\S+) (habit|instead) (\S+) (.*)$/;
const WIDTH = 44;

/** Takes lines of the report. */
export class HabitReader {
  readonly #results = new Map<string, string>();

  push(line: string): void {
    const [, name, way, adapter, result] = LINE.exec(line) ?? [];
    if (result !== undefined) this.#results.set(`${name} ${way} ${adapter}`, result);
  }

  /** A row for each way, in pairs: the habit, and its replacement. */
  format(adapters: readonly AdapterName[]): string {
    const row = (name: string, way: string, title: string): string[] => [
      way === 'habit' ? title : `  instead: ${title}`,
      ...adapters.map((adapter) => this.#results.get(`${name} ${way} ${adapter}`)?.slice(0, WIDTH) ?? '-'),
    ];
    const rows = HABITS.flatMap(([name, habit, instead]) => [row(name, 'habit', habit), row(name, 'instead', instead)]);
    return table(
      [['a habit of RoCE', ...adapters.map((adapter) => ADAPTER_TITLES[adapter])], ...rows],
      adapters.length + 1,
    );
  }
}
