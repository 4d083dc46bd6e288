// SPDX-License-Identifier: Apache-2.0
/**
 * The time of a recording: a slider over all of its steps, buttons, the call that comes next, and a
 * search for conditions. The server knows the conditions (view-protocol.ts, FindQuery).
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ViewSession } from '../../cli/view/view-protocol.ts';
import { client } from '../dom/client.ts';
import type { View } from '../shell/use-view.tsx';
import { count, percentage, pointOfTime } from '../words/numbers.ts';
import { ConditionInput } from './condition-input.tsx';

const FAR = 100;

export function TimeBar({ view, session }: { view: View; session: ViewSession }) {
  const { step, goTo, moments } = view;
  const last = session.steps ?? 0;
  const state = moments.at(-1);
  const isThere = state !== undefined && (state.step === step || state.step === undefined);
  return (
    <section class="time-bar" aria-label="Time">
      <div class="steps">
        {BUTTONS.map(({ sign, label, by }) => (
          <button key={label} type="button" aria-label={label} title={label} onClick={() => goTo(by(step, last))}>
            {sign}
          </button>
        ))}
      </div>
      <input
        type="range"
        min={0}
        max={last}
        value={step}
        aria-label="Step"
        aria-valuetext={`step ${step} of ${last}`}
        onInput={({ currentTarget }) => goTo(currentTarget.valueAsNumber)}
      />
      <p class={isThere ? 'place' : 'place busy'}>
        step <b>{count(step)}</b> of {count(last)}
        {session.reading !== undefined && <span> (read: {percentage(session.reading)})</span>}
        {state !== undefined && <span> · {pointOfTime(state.timeNs)}</span>}
        {state?.call !== undefined && <span> · next: {state.call}</span>}
      </p>
      <Search view={view} last={last} />
      <button
        type="button"
        disabled={state === undefined}
        onClick={() => view.setMark(state)}
        title="Compare others with this moment (m)"
      >
        Mark
      </button>
    </section>
  );
}

const BUTTONS = [
  { sign: '|◀', label: 'First step', by: () => 0 },
  { sign: '−100', label: '100 steps back', by: (step: number) => step - FAR },
  { sign: '◀', label: 'A step back', by: (step: number) => step - 1 },
  { sign: '▶', label: 'A step on', by: (step: number) => step + 1 },
  { sign: '+100', label: '100 steps on', by: (step: number) => step + FAR },
  { sign: '▶|', label: 'Last step', by: (_: number, last: number) => last },
];

/** Goes to the state after the next step, or the last one, at which a condition becomes true. */
function Search({ view: { step, goTo }, last }: { view: View; last: number }) {
  const running = useRef<AbortController | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const [condition, setCondition] = useState('');
  const [answer, setAnswer] = useState('');
  const search = async (backward: boolean): Promise<void> => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setBusy(true);
    setAnswer('searching ...');
    const onLooked = (looked: number): void => setAnswer(`searching: step ${count(looked)} of ${count(last)}`);
    try {
      // The state before step n is that after step n - 1, which was found last.
      const from = backward ? Math.max(0, step - 1) : step;
      const found = await client.find({ condition, from, ...(backward && { backward }) }, onLooked, own.signal);
      if (found.step !== undefined) goTo(found.step + 1);
      setAnswer(
        found.step === undefined ? `not ${backward ? 'before' : 'from here on'}` : `by step ${count(found.step)}`,
      );
    } catch (error) {
      // The next search says something, or nobody looks any more.
      if (running.current !== own) return;
      setAnswer(own.signal.aborted ? 'ended' : (error as Error).message);
    }
    setBusy(false);
  };
  useEffect(
    () => () => {
      running.current?.abort();
      running.current = undefined;
    },
    [],
  );
  const isEmpty = condition.trim() === '';
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        void search(false);
      }}
    >
      <ConditionInput value={condition} onChange={setCondition} />
      <button
        type="button"
        aria-label="Find before"
        title="The last time before"
        disabled={isEmpty}
        onClick={() => void search(true)}
      >
        ◀
      </button>
      <button type="submit" disabled={isEmpty}>
        Find
      </button>
      {isBusy && (
        <button type="button" onClick={() => running.current?.abort()}>
          Cancel
        </button>
      )}
      <output aria-live="polite">{answer}</output>
    </form>
  );
}
