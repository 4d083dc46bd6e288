// SPDX-License-Identifier: Apache-2.0
/**
 * The figures of docs/PERFORMANCE.md: what accesses and messages cost, each with its limit of the
 * same run. main.ts measures them and keeps them in performance.json; page.ts and plots.ts read
 * them. Times are in ns.
 */
import { readFileSync } from 'node:fs';
import type { QueuePairCost, SizeCost } from '../bench/core-costs.ts';
import type { BatchSample, LatencySample, Round, Sample } from '../bench/samples.ts';
import { median } from '../bench/statistics.ts';

/** Where the figures are kept. */
export const PERFORMANCE_URL = new URL('performance.json', import.meta.url);

/** The machine of a run, and how busy it was. */
export interface MeasuredMachine {
  readonly processors: string;
  readonly system: string;
  readonly node: string;
  readonly qemu: string;
  readonly date: string;
  /** Load averages. */
  readonly load: { readonly before: number; readonly after: number };
}

/** Something beside its limit; the ratio is the median of those of the rounds. */
export interface Limited {
  readonly ns: number;
  readonly limitNs: number;
  readonly ratio: number;
}

/** A kind of access, by the adapter and by its C twin, each as a multiple of a limit. */
export interface AccessCost {
  readonly adapter: Limited;
  /** Of the twin on the socket; in a guest the twin is the limit. */
  readonly twin?: Limited;
}

/** Datagrams of 64 bytes through the driver in a guest. */
export interface MessageCost {
  /** From the post to the completion of the receiver. */
  readonly receivedNs: number;
  /** A message of a stream. */
  readonly streamNs: number;
}

export interface Performance {
  readonly machine: MeasuredMachine;
  /** An access of the guest that QEMU itself answers. */
  readonly trapNs: number;
  readonly guest: Readonly<Record<AccessName, AccessCost>>;
  readonly socket: Readonly<Record<'read' | 'write', AccessCost>>;
  readonly messages: Readonly<Record<'collect' | 'doorbell', MessageCost>>;
  readonly sizes: readonly SizeCost[];
  readonly queuePairs: readonly QueuePairCost[];
}

export type AccessName = 'read' | 'write' | 'doorbell';

/** Accesses of a guest: the C twin is the limit. */
export function summarizeGuest(rounds: readonly Round[]): Pick<Performance, 'trapNs' | 'guest'> {
  const access = (kind: AccessName): AccessCost => ({ adapter: compareSides(rounds, kind, 'adapter', 'twin') });
  return {
    trapNs: median(timesOf(rounds, 'read', 'trap')),
    guest: { read: access('read'), write: access('write'), doorbell: access('doorbell') },
  };
}

/** Accesses on the socket: a process that only answers is the limit. */
export function summarizeSocket(rounds: readonly Round[]): Performance['socket'] {
  const access = (kind: AccessName): AccessCost => ({
    adapter: compareSides(rounds, kind, 'adapter', 'socket'),
    twin: compareSides(rounds, kind, 'twin', 'socket'),
  });
  return { read: access('read'), write: access('write') };
}

export function summarizeMessages(rounds: readonly Round[]): Performance['messages'] {
  const message = (by: string): MessageCost => ({
    receivedNs: median(timesOf(rounds, 'latency', by, 'received')),
    streamNs: median(timesOf(rounds, 'rate', by)),
  });
  return { collect: message('collect'), doorbell: message('doorbell') };
}

/** The figures that are kept. */
export function readPerformance(): Performance {
  return JSON.parse(readFileSync(PERFORMANCE_URL, 'utf8')) as Performance;
}

/** The text of the file; four digits are more than repeat. */
export function encodePerformance(performance: Performance): string {
  const short = (_: string, value: unknown): unknown =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
  return `${JSON.stringify(performance, short, 2)}\n`;
}

function compareSides(rounds: readonly Round[], kind: AccessName, one: string, limit: string): Limited {
  const ratios = rounds.flatMap((round) => {
    const [own, other] = [one, limit].map((device) => timesOf([round], kind, device)[0]);
    return own === undefined || other === undefined ? [] : [own / other];
  });
  return {
    ns: median(timesOf(rounds, kind, one)),
    limitNs: median(timesOf(rounds, kind, limit)),
    ratio: median(ratios),
  };
}

/** The time of one access or message in each round. */
function timesOf(rounds: readonly Round[], kind: Sample['kind'], device: string, until?: string): number[] {
  return rounds.flat().flatMap((sample) => {
    if (sample.kind !== kind || sample.device !== device) return [];
    if ('until' in sample && sample.until !== until) return [];
    return [isLatency(sample) ? sample.p50Ns : sample.totalNs / sample.count];
  });
}

function isLatency(sample: LatencySample | BatchSample): sample is LatencySample {
  return 'p50Ns' in sample;
}
