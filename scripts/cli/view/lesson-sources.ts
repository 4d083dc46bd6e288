// SPDX-License-Identifier: Apache-2.0
/**
 * Recordings of lessons as sources of `vuhca view`. Any page may open any lesson, whatever else the
 * server shows: the first request that names a lesson opens it, and only that one. Called by
 * view-server.ts.
 */
import type { RouteReport } from '../../../device/process/reports/route-report.ts';
import { type OpenLesson, openLesson } from './lessons.ts';
import type {
  Act,
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
import { ViewRefusal, type ViewSource } from './view-source.ts';

export class LessonSources {
  readonly #openRecording: (path: string) => Promise<ViewSource>;
  readonly #sources = new Map<string, Promise<LessonSource>>();

  /** `openRecording`: makes the source of a recording. */
  constructor(openRecording: (path: string) => Promise<ViewSource>) {
    this.#openRecording = openRecording;
  }

  /** Rejects with ViewRefusal when there is no lesson of this name. */
  sourceOf(name: string): Promise<ViewSource> {
    const known = this.#sources.get(name);
    if (known !== undefined) return known;
    const source = this.#open(name);
    this.#sources.set(name, source);
    void this.#forget(name, source);
    return source;
  }

  /** Ends all of them. May be called twice. */
  async close(): Promise<void> {
    const sources = await Promise.allSettled(this.#sources.values());
    for (const source of sources) if (source.status === 'fulfilled') await source.value.close();
  }

  /** A lesson that could not be opened, or whose replay has ended, is opened anew next time. */
  async #forget(name: string, source: Promise<LessonSource>): Promise<void> {
    const opened = await source.catch(() => undefined);
    await opened?.whenEnded;
    this.#sources.delete(name);
    await opened?.close();
  }

  async #open(name: string): Promise<LessonSource> {
    const opened = await openLesson(name).catch((error: Error) => {
      throw error instanceof RangeError ? new ViewRefusal('unknown', error.message) : error;
    });
    try {
      return new LessonSource(opened, await this.#openRecording(opened.path));
    } catch (error) {
      opened.close();
      throw error;
    }
  }
}

/** The source of a recording, whose session has the lesson. */
class LessonSource implements ViewSource {
  readonly whenEnded: Promise<string>;
  readonly #opened: OpenLesson;
  readonly #source: ViewSource;

  constructor(opened: OpenLesson, source: ViewSource) {
    this.#opened = opened;
    this.#source = source;
    this.whenEnded = source.whenEnded;
  }

  async session(): Promise<ViewSession> {
    const { lesson } = this.#opened;
    // The source may still be reading; a lesson has been read before.
    return { ...(await this.#source.session()), title: lesson.title, steps: lesson.steps, lesson };
  }

  state(query: ViewQuery): Promise<ViewState> {
    return this.#source.state(query);
  }

  subscribe(query: ViewQuery, onState: (state: ViewState) => void): () => void {
    return this.#source.subscribe(query, onState);
  }

  route(query: RouteQuery): Promise<RouteReport> {
    return this.#source.route(query);
  }

  stories(query: StoryQuery): Promise<StoryList> {
    return this.#source.stories(query);
  }

  act(act: Act): Promise<ActAnswer> {
    return this.#source.act(act);
  }

  find(query: FindQuery): Promise<Found> {
    return this.#source.find(query);
  }

  async close(): Promise<void> {
    await this.#source.close();
    this.#opened.close();
  }
}
