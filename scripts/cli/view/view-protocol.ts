// SPDX-License-Identifier: Apache-2.0
/**
 * Protocol between the page of `vuhca view` and its server: paths, parameters and the JSON of each
 * answer. The page imports it, so it uses nothing of Node. Both kinds of sources, a running process
 * and a recording, answer the same requests.
 */

import type { FabricReport } from '../../../device/process/reports/fabric-report.ts';
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import type { Sequence } from '../../picture/sequence.ts';
import type { Lesson } from './lesson.ts';

/**
 * Parameter of the printed address. The server answers it with a cookie and an address without it.
 */
export const TOKEN_PARAMETER = 'token';

/**
 * Parameter of requests that refer to a lesson, which it names, instead of the source of the
 * server.
 */
export const LESSON_PARAMETER = 'lesson';

export const viewPaths = {
  /** GET: a ViewSession. */
  session: '/api/session',
  /** GET with the parameters of a ViewQuery: a ViewState. */
  state: '/api/state',
  /**
   * GET with the parameters of a ViewQuery, `views` with commas: server-sent events named `state`,
   * each with a ViewState, when more than the time has changed and at least once a second, and
   * `ended`, whose data is one sentence. Of running processes.
   */
  stream: '/api/stream',
  /** GET with the parameters of a ViewQuery: a FabricLayout. */
  layout: '/api/layout',
  /** GET with the parameters of a RouteQuery: a RouteReport (route-report.ts). */
  route: '/api/route',
  /** GET with the parameters of a StoryQuery: a StoryList. */
  stories: '/api/stories',
  /** POST of an Act: an ActAnswer. */
  act: '/api/act',
  /**
   * GET with the parameters of a FindQuery: a Found. Of recordings. During a long search, lines of
   * JSON come before it, each with a FindProgress; then a ViewError may be the last line. Closing
   * the connection ends the search.
   */
  find: '/api/find',
} as const;

/** Most events of a stream per second. */
export const STREAM_HZ = 10;

export interface ViewSession {
  readonly kind: 'live' | 'recording';
  /** The control socket, or the file. */
  readonly title: string;
  /** `vuhca` of the package. */
  readonly version: string;
  /** The page may change state. Never true for a recording. */
  readonly mayAct: boolean;
  readonly adapters: readonly { readonly name: string; readonly personality?: string }[];
  /**
   * Of a recording: the calls into the adapter that it has. The states before the steps 0 to
   * `steps` can be shown, the last of which is that at its end.
   */
  readonly steps?: number;
  /**
   * Of a recording that is still being read: the part that has been, from 0 to 1. `steps` grows
   * until then.
   */
  readonly reading?: number;
  /** For a recording that cannot be shown up to its end: the reason, in one sentence. */
  readonly trouble?: string;
  /** The lesson that the recording belongs to. */
  readonly lesson?: Lesson;
}

export interface ViewQuery {
  /** The adapter that is shown from inside. */
  readonly adapter?: string;
  /** Views of `vuhca show` of this adapter. */
  readonly views?: readonly string[];
  /** Of a recording: the state before this step. */
  readonly step?: number;
}

/** A row of a view of `vuhca show`. */
export type ViewRow = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** All that the page shows at one moment. */
export interface ViewState {
  /** Adapter time. */
  readonly timeNs: number;
  /** Of a running process that makes steps. */
  readonly stepping?: StatusReport['stepping'];
  /** Of a recording: the step that comes next, from 0, and its call: `write register`. */
  readonly step?: number;
  readonly call?: string;
  readonly fabric: FabricReport;
  /** State of the requested adapter: one of these two, as in the status of a process. */
  readonly adapter?: Omit<StatusReport['adapters'][number], 'sockets'>;
  readonly personality?: Omit<StatusReport['personalities'][number], 'sockets'>;
  /** The rows of each requested view that the adapter has; at most 1000 of each. */
  readonly views?: Readonly<Record<string, readonly ViewRow[]>>;
  readonly links?: StatusReport['links'];
  /** With packets dropped, by cause. */
  readonly switches?: StatusReport['switches'];
}

/** A place in the picture of a fabric, in pixels of an unscaled picture. */
export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Area extends Place {
  readonly width: number;
  readonly height: number;
}

/** Places of nodes and links, which depend only on the wiring. */
export interface FabricLayout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly (Area & {
    /** `elsewhere NAME:PORT`: the peer of a port of another process. */
    readonly name: string;
    readonly kind: 'switch' | 'adapter' | 'outside';
    /** The switch whose box the box of an adapter lies in: all links of the adapter lead to it. */
    readonly home?: string;
  })[];
  readonly links: readonly {
    /** `NAME:PORT`; a name of a node of kind `outside`. */
    readonly ends: readonly [string, string];
    /** From the first end to the second. */
    readonly points: readonly Place[];
    /** Room for a line of text. */
    readonly text?: Area;
    /** Within the box of a switch: the second end is an adapter there. */
    readonly isInside?: boolean;
  }[];
}

/** Names of nodes. */
export interface RouteQuery {
  readonly from: string;
  readonly to: string;
  /** Of a recording: the way before this step. */
  readonly step?: number;
}

export interface StoryQuery {
  readonly adapter: string;
  readonly qp: number;
  /** Of a recording: messages up to this step. */
  readonly step?: number;
}

/** A message with the sentences of `vuhca trace show` and the events of its ladder. */
export interface Story extends Sequence {
  readonly title: string;
  /** `completed`, `failed`, `under way` and the like. */
  readonly outcome: string;
  /** The sentences of `vuhca trace show`, a line each. */
  readonly lines: readonly string[];
}

export interface StoryList {
  /** Queue pairs whose messages are traced. */
  readonly queuePairs: readonly number[];
  readonly stories: readonly Story[];
  /** Reason why there are none: no trace is on. */
  readonly reason?: string;
}

/** An action of a user: a request of the control socket. */
export interface Act {
  readonly command: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** `line`: the command of a shell that does the same. */
export type ActAnswer =
  | { readonly line: string; readonly result: unknown }
  | { readonly line: string; readonly error: string };

export interface FindQuery {
  /**
   * A condition in words: `fault`, `overflow not empty`, `qp 5 leaves RTS`; `at NAME` after it
   * selects one adapter. ViewError lists all when it is not understood.
   */
  readonly condition: string;
  /** The first step to search; with `backward` the step after the last one. */
  readonly from: number;
  /** Looks for the last time before `from`. */
  readonly backward?: boolean;
}

/** Progress of a search: the last step that it has searched. */
export interface FindProgress {
  readonly looked: number;
}

/**
 * The step at which the condition becomes true: it holds after the step, in the state with number
 * `step + 1`, and did not before. The next occurrence is found from `step + 1` on, the previous one
 * by `backward` from `step`. Absent when there is none.
 */
export interface Found {
  readonly step?: number;
  /** Adapter time after the step. */
  readonly timeNs?: number;
}

/** Answers to requests that cannot be fulfilled, with status 400 to 503 (view-source.ts). */
export interface ViewError {
  readonly error: string;
}
