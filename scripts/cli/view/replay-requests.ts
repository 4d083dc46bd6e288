// SPDX-License-Identifier: Apache-2.0
/**
 * The lines of JSON between `vuhca view` and the processes of a replay (replay-process.ts): events
 * of the one that replays, and requests to those that stay behind as checkpoints.
 */
import type { PartialSearch } from './recorded-search.ts';
import type { RouteQuery, StoryQuery, ViewQuery, ViewSession } from './view-protocol.ts';
import type { ViewRefusal } from './view-source.ts';

/** First word of the command line of a process that replays; a ReplayCall as JSON follows. */
export const REPLAY_PROCESS = 'replay-process';

/** Descriptors of the process: its events, and then a socket for each checkpoint. */
export const EVENTS_FD = 3;
export const FIRST_CHECKPOINT_FD = 4;

export interface ReplayCall {
  readonly path: string;
  /** Most checkpoints; at least 2. The last one is the end of the recording. */
  readonly checkpoints: number;
  /** Least distance of two of them, in steps. */
  readonly apart: number;
  /** Approximate memory of all of them together. */
  readonly memoryBytes: number;
}

/** Defaults of a ReplayCall; a checkpoint takes 10 to 25 MiB. */
export const replayBounds = { checkpoints: 64, apart: 1000, memoryBytes: 1024 * 1024 * 1024 };

export type ReplayEvent =
  | { readonly kind: 'began'; readonly adapters: ViewSession['adapters'] }
  /** The recording cannot be replayed at all. */
  | { readonly kind: 'refused'; readonly sentence: string }
  /** The state before `step` is kept. */
  | { readonly kind: 'checkpoint'; readonly place: number; readonly step: number }
  /** `part`: of all records, from 0 to 1. */
  | { readonly kind: 'progress'; readonly steps: number; readonly part: number }
  | { readonly kind: 'ended'; readonly steps: number; readonly trouble?: string };

export type ReplayRequest =
  | { readonly kind: 'state'; readonly step: number; readonly query: ViewQuery }
  | { readonly kind: 'route'; readonly step: number; readonly query: RouteQuery }
  | { readonly kind: 'stories'; readonly step: number; readonly query: StoryQuery }
  | { readonly kind: 'search'; readonly search: PartialSearch };

export type ReplayAnswer =
  /** Process `pid` has searched the steps before `step`; more answers follow. */
  | { readonly kind: 'looked'; readonly pid: number; readonly step: number }
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'refusal'; readonly status: ViewRefusal['status']; readonly sentence: string }
  /** The process that should have answered ended with this status. */
  | { readonly kind: 'failure'; readonly status: number };
