// SPDX-License-Identifier: Apache-2.0
/**
 * The JSON lines that probe.c and the guest modules print, collected by round. A line that begins
 * with `{` must be a sample; other lines are ignored. Times are in ns. Called by raw.ts and
 * guest.ts; summary.ts reads the rounds.
 */
import { SetupError } from '../../qemu/setup/tools/errors.ts';

/** Waiting reads of one device in one round, or messages from post to visible completion. */
export interface LatencySample {
  readonly kind: 'read' | 'latency';
  /** `adapter` or `twin`; for messages the way of posting: `collect` or `doorbell`. */
  readonly device: string;
  /** For messages: the completion, `sent` or `received`. */
  readonly until?: string;
  readonly count: number;
  readonly p50Ns: number;
  readonly p99Ns: number;
}

/** A batch of one device in one round. */
export interface BatchSample {
  /** `write`: to SCRATCH; `doorbell`: to SEND_DOORBELL; `rate`: messages. */
  readonly kind: 'write' | 'doorbell' | 'rate';
  readonly device: string;
  readonly count: number;
  readonly totalNs: number;
  /** Writes that the device did not see. */
  readonly lost?: number;
}

export type Sample = LatencySample | BatchSample;

/** The samples of one round, measured side by side. */
export type Round = Sample[];

const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  read: ['count', 'p50Ns', 'p99Ns'],
  latency: ['count', 'p50Ns', 'p99Ns'],
  write: ['count', 'totalNs', 'lost'],
  doorbell: ['count', 'totalNs', 'lost'],
  rate: ['count', 'totalNs'],
};

/** Gathers lines into rounds. */
export class SampleCollector {
  readonly rounds: Round[] = [];

  /** Takes one line. Throws SetupError for a malformed sample. */
  push(line: string): void {
    if (!line.startsWith('{')) return;
    const value = parse(line);
    if (value.kind === 'round') {
      this.rounds.push([]);
      return;
    }
    const numbers = NUMBERS[String(value.kind)];
    const sound = numbers?.every((name) => Number.isFinite(value[name])) && typeof value.device === 'string';
    if (!sound)
      throw new SetupError(`the benchmark got a malformed sample; correct the program that printed it: ${line}`);
    if (this.rounds.length === 0) throw new SetupError(`the benchmark got a sample before any round: ${line}`);
    this.rounds[this.rounds.length - 1].push(value as unknown as Sample);
  }
}

function parse(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    throw new SetupError(`the benchmark got a line that is not JSON; correct the program that printed it: ${line}`);
  }
}
