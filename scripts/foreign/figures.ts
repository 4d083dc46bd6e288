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
 * fabric.
 */
export type Measured = JudgedAdapter | 'loop';

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

/**
 * The head and rows of a table, with two columns for each adapter. The last column shows the limit
 * of any fabric in that guest.
 */
export function tabulateFigures({ loop, ...kept }: KeptFigures): string[][] {
  const adapters = Object.keys(kept) as JudgedAdapter[];
  const bound = (name: string): string[] => (loop === undefined ? [] : [`${loop[name] ?? ''}`]);
  const rows = KINDS.map(({ name, title, goals }) => [
    title,
    ...adapters.flatMap((adapter) => [`${kept[adapter]?.[name] ?? ''}`, `${goals[adapter] ?? ''}`]),
    ...bound(name),
  ]);
  const head = ['times better than soft-RoCE', ...adapters.flatMap((adapter) => [adapter, 'goal'])];
  return [loop === undefined ? head : [...head, 'without a fabric'], ...rows];
}
