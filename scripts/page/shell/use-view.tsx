// SPDX-License-Identifier: Apache-2.0
/**
 * The state of the page: the session, the present state, and the source of its changes: the stream
 * of a running process, or the step of a recording. shell.tsx has the only one.
 */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ViewQuery, ViewSession, ViewState } from '../../cli/view/view-protocol.ts';
import { client } from '../dom/client.ts';
import { addMoment } from './moments.ts';

export type Connection =
  | { readonly kind: 'connecting' | 'open' | 'lost' }
  /** Nothing more comes, for the reason in the sentence. */
  | { readonly kind: 'ended' | 'failed'; readonly sentence: string };

export interface View {
  readonly session: ViewSession | undefined;
  readonly connection: Connection;
  /** The states of about the last second; the last one is shown. */
  readonly moments: readonly ViewState[];
  /** Of a running process: the picture stands still, and the process is not asked. */
  readonly isFrozen: boolean;
  setFrozen(isFrozen: boolean): void;
  /** Of a recording: the requested step, whose state may still be loading. */
  readonly step: number;
  goTo(step: number): void;
  /** A moment that is kept to be compared with. */
  readonly mark: ViewState | undefined;
  setMark(mark: ViewState | undefined): void;
}

/** Interval of requests for the length of a recording that is still being read. */
const READING_MS = 500;

/** `query`: requested data besides the fabric; a new object for each change. */
export function useView(query: ViewQuery): View {
  const [session, setSession] = useState<ViewSession>();
  const [connection, setConnection] = useState<Connection>({ kind: 'connecting' });
  const [moments, setMoments] = useState<readonly ViewState[]>([]);
  const [isFrozen, setFrozen] = useState(false);
  const [step, setStep] = useState(0);
  const [mark, setMark] = useState<ViewState>();
  const take = useCallback((state: ViewState) => {
    setMoments((known) => addMoment(known, state));
    setConnection({ kind: 'open' });
  }, []);
  const fail = useCallback((error: Error) => setConnection({ kind: 'failed', sentence: error.message }), []);
  useEffect(() => {
    client.session().then(setSession, fail);
  }, [fail]);
  const isReading = session?.reading !== undefined;
  useEffect(() => {
    if (!isReading) return undefined;
    const timer = setInterval(() => client.session().then(setSession, fail), READING_MS);
    return () => clearInterval(timer);
  }, [isReading, fail]);
  const isLive = session?.kind === 'live';
  const hasEnded = connection.kind === 'ended';
  useEffect(() => {
    if (!isLive || isFrozen || hasEnded) return undefined;
    return client.follow(query, {
      onState: take,
      onEnded: (sentence) => setConnection({ kind: 'ended', sentence }),
      onLost: () => setConnection({ kind: 'lost' }),
    });
  }, [isLive, isFrozen, hasEnded, query, take]);
  const latest = useLatest(take, fail);
  useEffect(() => {
    if (session?.kind === 'recording') latest({ ...query, step });
  }, [session, query, step, latest]);
  const last = session?.steps ?? 0;
  const goTo = useCallback((to: number) => setStep(Math.max(0, Math.min(last, Math.round(to)))), [last]);
  return { session, connection, moments, isFrozen, setFrozen, step, goTo, mark, setMark };
}

/**
 * Requests states one after another. While an answer is pending, only the newest request waits, so
 * that a slider may send one for each move.
 */
function useLatest(take: (state: ViewState) => void, fail: (error: Error) => void): (query: ViewQuery) => void {
  const waiting = useRef<ViewQuery | undefined>(undefined);
  const isBusy = useRef(false);
  return useMemo(() => {
    const next = async (): Promise<void> => {
      isBusy.current = true;
      while (waiting.current !== undefined) {
        const query = waiting.current;
        waiting.current = undefined;
        try {
          take(await client.state(query));
        } catch (error) {
          fail(error as Error);
        }
      }
      isBusy.current = false;
    };
    return (query: ViewQuery) => {
      waiting.current = query;
      if (!isBusy.current) void next();
    };
  }, [take, fail]);
}
