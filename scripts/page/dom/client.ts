// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of the page to its server (scripts/cli/view/view-protocol.ts). No part of the server's
 * answers ever becomes markup.
 */
import type { RouteReport } from '../../../device/process/reports/route-report.ts';
import {
  type Act,
  type ActAnswer,
  type FabricLayout,
  type FindProgress,
  type FindQuery,
  type Found,
  LESSON_PARAMETER,
  type RouteQuery,
  type StoryList,
  type StoryQuery,
  type ViewError,
  type ViewQuery,
  type ViewSession,
  type ViewState,
  viewPaths,
} from '../../cli/view/view-protocol.ts';

/** The parameters of a request; lists are written with commas. */
type Parameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Events of a stream. */
export interface StreamListener {
  onState(state: ViewState): void;
  /** The process is gone, for the reason in the sentence. */
  onEnded(sentence: string): void;
  /** The server cannot be reached; the browser tries again. */
  onLost(): void;
}

export const client = {
  session: (): Promise<ViewSession> => get(viewPaths.session),
  state: (query: ViewQuery): Promise<ViewState> => get(viewPaths.state, { ...query }),
  stories: (query: StoryQuery): Promise<StoryList> => get(viewPaths.stories, { ...query }),
  layout: (query: ViewQuery): Promise<FabricLayout> => get(viewPaths.layout, { ...query }),
  route: (query: RouteQuery): Promise<RouteReport> => get(viewPaths.route, { ...query }),
  find,
  act,
  follow,
};

/** Follows a running process until the returned function is called. */
function follow(query: ViewQuery, { onState, onEnded, onLost }: StreamListener): () => void {
  const source = new EventSource(addressOf(viewPaths.stream, { ...query }));
  source.addEventListener('state', ({ data }) => onState(JSON.parse(data) as ViewState));
  source.addEventListener('ended', ({ data }) => {
    source.close();
    onEnded(data);
  });
  source.addEventListener('error', onLost);
  return () => source.close();
}

/** `onLooked` is told the step that a long search has come to; `signal` ends it. */
async function find(query: FindQuery, onLooked: (step: number) => void, signal: AbortSignal): Promise<Found> {
  const response = await fetch(addressOf(viewPaths.find, { ...query }), { signal });
  if (!response.ok || response.body === null) return read(response);
  const lines = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let part = await lines.read(); !part.done; part = await lines.read()) {
    const parts = (text + part.value).split('\n');
    text = parts.pop() as string;
    // The last line is the answer, whether it ends or not.
    for (const line of parts) {
      const one = JSON.parse(line) as FindProgress | Found | ViewError;
      if ('looked' in one) onLooked(one.looked);
      else text = line;
    }
  }
  const answer = JSON.parse(text) as Found | ViewError;
  if ('error' in answer) throw new Error(answer.error);
  return answer;
}

async function act(one: Act): Promise<ActAnswer> {
  return read(
    await fetch(viewPaths.act, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(one),
    }),
  );
}

async function get<Answer>(path: string, parameters: Parameters = {}): Promise<Answer> {
  return read(await fetch(addressOf(path, parameters)));
}

/** Throws an error with the server's sentence. */
async function read<Answer>(response: Response): Promise<Answer> {
  const answer = (await response.json()) as Answer | ViewError;
  if (response.ok) return answer as Answer;
  throw new Error((answer as ViewError).error);
}

/** A page whose own address names a lesson shows that lesson. */
function addressOf(path: string, parameters: Parameters): string {
  const lesson = new URLSearchParams(location.search).get(LESSON_PARAMETER) ?? undefined;
  const given = Object.entries({ ...parameters, [LESSON_PARAMETER]: lesson }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
