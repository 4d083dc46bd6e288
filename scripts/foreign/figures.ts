// SPDX-License-Identifier: Apache-2.0
/**
 * Figures of an adapter beside soft-RoCE in the same guest, as ratios, so that the speed of the
 * machine does not count: reads the lines of guest-tests/foreign/figures.sh, keeps the ratios, and
 * writes them as a table. Called by main.ts and document.ts.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { AdapterName, JudgedAdapter } from './suites.ts';

/**
 * Subjects of measurements beside soft-RoCE: an adapter, or a disk in the same guest without a
 * fabric; `-single` in a guest whose processors take turns on one thread (turns.sh).
 */
export type Measured = JudgedAdapter | 'loop' | `${'vuhca' | 'loop'}-single`;

/** Ratios to soft-RoCE by name of a figure; more is better. */
export type KeptFigures = Partial<Record<Measured, Record<string, number>>>;

interface Kind {
  readonly name: string;
  readonly title: string;
  /** True for a time: less is better. */
  readonly isTime: boolean;
  /** None for an adapter that cannot do it. */
  readonly goals: Readonly<Partial<Record<JudgedAdapter, number>>>;
}

const FILE = new URL('figures.json', import.meta.url);
const LINE = /^ *# figure (\S+) (\S+) ([\d.]+)$/;
const KINDS: readonly Kind[] = [
  {
    name: 'latency-64',
    title: 'latency of `ib_send_lat`, 64 bytes',
    isTime: true,
    goals: { mlx5: 5, mthca: 5, vuhca: 8 },
  },
  {
    name: 'bandwidth-65536',
    title: 'bandwidth of `ib_write_bw`, 64 KiB',
    isTime: false,
    goals: { mlx5: 10, mthca: 10, vuhca: 100 },
  },
  {
    name: 'rate-64',
    title: 'messages of `ib_write_bw`, 64 bytes',
    isTime: false,
    goals: { mlx5: 4, mthca: 4, vuhca: 40 },
  },
  { name: 'nvme-read-4096', title: 'reads of 4 KiB by NVMe over RDMA', isTime: false, goals: { vuhca: 5 } },
  { name: 'nvme-write-4096', title: 'writes of 4 KiB by NVMe over RDMA', isTime: false, goals: { vuhca: 5 } },
];

/** Takes the lines of a report; the median of the rounds counts. */
export class FigureReader {
  readonly #values = new Map<string, number[]>();

  push(line: string): void {
    const [, name, adapter, value] = LINE.exec(line) ?? [];
    if (value === undefined) return;
    const key = `${name} ${adapter}`;
    this.#values.set(key, [...(this.#values.get(key) ?? []), Number(value)]);
  }

  /** The median of the rounds; undefined when there was none. */
  median(name: string, adapter: AdapterName | Measured): number | undefined {
    const values = this.#values.get(`${name} ${adapter}`) ?? [];
    return values.toSorted((a, b) => a - b)[values.length >> 1];
  }

  /** Ratios of `adapter` to soft-RoCE, for the figures that both have. */
  ratios(adapter: AdapterName | Measured): Record<string, number> {
    const found = KINDS.flatMap(({ name, isTime }): [string, number][] => {
      const [own, other] = [this.median(name, adapter), this.median(name, 'rxe')];
      // A run that was too slow for its time shows 0.
      if (!own || !other) return [];
      return [[name, Number((isTime ? other / own : own / other).toPrecision(3))]];
    });
    return Object.fromEntries(found);
  }
}

export function readFigures(): KeptFigures {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as KeptFigures) : {};
}

export function writeFigures(kept: KeptFigures): void {
  writeFileSync(FILE, `${JSON.stringify(kept, null, 2)}\n`);
}

/** Titles of columns that are not those of an adapter beside soft-RoCE in one guest. */
const TITLES: Readonly<Partial<Record<Measured, string>>> = {
  'vuhca-single': 'vuhca, one thread',
  loop: 'without a fabric',
  'loop-single': 'without a fabric, one thread',
};

/** The title of a column. */
export function titleOf(measured: Measured): string {
  return TITLES[measured] ?? measured;
}

/**
 * The head and rows of a table: the adapters, and the goals of those that share a guest with
 * soft-RoCE; then the limits of any fabric in these guests.
 */
export function tabulateFigures(kept: KeptFigures): string[][] {
  const names = (Object.keys(kept) as Measured[]).toSorted((a, b) => Number(isDisk(a)) - Number(isDisk(b)));
  const rows = KINDS.map(({ name, title, goals }) => [
    title,
    ...names.flatMap((one) => {
      const ratio = `${kept[one]?.[name] ?? ''}`;
      return isAdapter(one) ? [ratio, `${goals[one] ?? ''}`] : [ratio];
    }),
  ]);
  return [
    ['times better than soft-RoCE', ...names.flatMap((one) => (isAdapter(one) ? [one, 'goal'] : [titleOf(one)]))],
    ...rows,
  ];
}

function isDisk(measured: Measured): boolean {
  return measured === 'loop' || measured === 'loop-single';
}

function isAdapter(measured: Measured): measured is JudgedAdapter {
  return TITLES[measured] === undefined;
}
