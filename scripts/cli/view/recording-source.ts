// SPDX-License-Identifier: Apache-2.0
/**
 * A recording as the source of `vuhca view`: states and stories at any step, and the steps at which
 * a condition becomes true. The processes of ReplayFamily replay it.
 */
import type { RouteReport } from '../../../device/process/reports/route-report.ts';
import { checkCondition } from './recorded-search.ts';
import { ReplayFamily } from './replay-family.ts';
import { type ReplayCall, replayBounds } from './replay-requests.ts';
import type {
  ActAnswer,
  FindQuery,
  Found,
  RouteQuery,
  StoryList,
  StoryQuery,
  ViewQuery,
  ViewSession,
  ViewState,
} from './view-protocol.ts';
import { type SearchWatch, ViewRefusal, type ViewSource } from './view-source.ts';

/**
 * Most distances of checkpoints that one copy searches. A copy costs time, and its checkpoint
 * answers nothing else meanwhile.
 */
const PARTS_MAX = 8;

export interface RecordingOptions extends Partial<Omit<ReplayCall, 'path'>> {
  /** Version of the package, for the page. */
  readonly version: string;
}

export class RecordingSource implements ViewSource {
  readonly whenEnded: Promise<string>;
  readonly #path: string;
  readonly #version: string;
  readonly #family: ReplayFamily;

  /**
   * Resolves when the state before the first step can be shown; the others follow while it is read.
   * Rejects with SetupError, in one sentence, when the file is no recording that can be replayed.
   */
  static async open(path: string, { version, ...bounds }: RecordingOptions): Promise<RecordingSource> {
    return new RecordingSource(path, version, await ReplayFamily.start({ path, ...replayBounds, ...bounds }));
  }

  private constructor(path: string, version: string, family: ReplayFamily) {
    this.#path = path;
    this.#version = version;
    this.#family = family;
    this.whenEnded = family.untilGone().then(() => 'the process that replays the recording has ended');
  }

  /** The process that replays; its copies are of the same group. */
  get pid(): number {
    return this.#family.pid;
  }

  /** The steps whose states are kept, ascending; an answer replays from the previous one. */
  get kept(): readonly number[] {
    return this.#family.kept;
  }

  async session(): Promise<ViewSession> {
    const { adapters, steps, part, isComplete, trouble } = this.#family;
    return {
      kind: 'recording',
      title: this.#path,
      version: this.#version,
      mayAct: false,
      adapters,
      steps,
      ...(!isComplete && { reading: part }),
      ...(trouble !== undefined && { trouble }),
    };
  }

  /** Resolves when all of the recording has been read. */
  async whenRead(): Promise<void> {
    await this.#family.untilReached(Number.POSITIVE_INFINITY);
  }

  async state(query: ViewQuery): Promise<ViewState> {
    const step = await this.#reach(query.step);
    return this.#family.ask(step, { kind: 'state', step, query });
  }

  subscribe(): () => void {
    throw new ViewRefusal('bad', 'a recording does not change; ask for the state before a step');
  }

  async route(query: RouteQuery): Promise<RouteReport> {
    const step = await this.#reach(query.step);
    return this.#family.ask(step, { kind: 'route', step, query });
  }

  async stories(query: StoryQuery): Promise<StoryList> {
    const step = await this.#reach(query.step);
    return this.#family.ask(step, { kind: 'stories', step, query });
  }

  async act(): Promise<ActAnswer> {
    throw new ViewRefusal('forbidden', 'nothing can be done to a recording');
  }

  async find({ condition, from, backward = false }: FindQuery, watch?: SearchWatch): Promise<Found> {
    // Mistakes are reported at once, not after a search.
    checkCondition(condition);
    return backward ? this.#findLast(condition, from, watch) : this.#findFirst(condition, from, watch);
  }

  close(): Promise<void> {
    return this.#family.close();
  }

  async #reach(step = 0): Promise<number> {
    const family = this.#family;
    await family.untilReached(step);
    if (step > family.steps)
      throw new ViewRefusal('bad', `there is no step ${step}; the recording has ${family.steps}`);
    return step;
  }

  async #findFirst(condition: string, first: number, watch: SearchWatch | undefined): Promise<Found> {
    const family = this.#family;
    await family.untilReached(first);
    for (let from = first, parts = 1; ; parts = Math.min(PARTS_MAX, parts * 2)) {
      const to = await family.findPartEnd(from, parts);
      if (to <= from) return {};
      const search = { condition, from, to, backward: false };
      const found = await family.ask<Found>(from, { kind: 'search', search }, watch);
      if (found.step !== undefined) return found;
      from = to;
    }
  }

  async #findLast(condition: string, end: number, watch: SearchWatch | undefined): Promise<Found> {
    const family = this.#family;
    await family.untilReached(end);
    for (let to = Math.min(end, family.steps), parts = 1; to > 0; parts = Math.min(PARTS_MAX, parts * 2)) {
      const from = family.findPartBegin(to, parts);
      const search = { condition, from, to, backward: true };
      const found = await family.ask<Found>(from, { kind: 'search', search }, watch);
      if (found.step !== undefined) return found;
      to = from;
    }
    return {};
  }
}
