// SPDX-License-Identifier: Apache-2.0
/**
 * The steps of a running process that was started stepwise (docs/VIEW.md): buttons, a condition to
 * run to, the present position, and the command line of the last move.
 */
import { useState } from 'preact/hooks';
import type { ActAnswer, ViewState } from '../../cli/view/view-protocol.ts';
import { client } from '../dom/client.ts';
import { count } from '../words/numbers.ts';
import { ConditionInput } from './condition-input.tsx';

type Stepping = NonNullable<ViewState['stepping']>;

/** A move of the process: the parameters of the act `step`. */
export type Move = Readonly<Record<string, number | string | boolean>>;

const BUTTONS: readonly { readonly sign: string; readonly label: string; readonly move: Move }[] = [
  { sign: '▶', label: 'A step on', move: { count: 1 } },
  { sign: '+10', label: '10 steps on', move: { count: 10 } },
  { sign: '+100', label: '100 steps on', move: { count: 100 } },
];

export function StepBar({ stepping, onMove }: { stepping: Stepping; onMove: (move: Move) => Promise<ActAnswer> }) {
  const [condition, setCondition] = useState('');
  const [answer, setAnswer] = useState<ActAnswer>();
  const isStill = stepping.going === 'still';
  const move = async (one: Move): Promise<void> => setAnswer(await onMove(one));
  return (
    <section class="time-bar" aria-label="Steps">
      <div class="steps">
        {BUTTONS.map(({ sign, label, move: one }) => (
          <button key={label} type="button" aria-label={label} title={label} onClick={() => void move(one)}>
            {sign}
          </button>
        ))}
        <button type="button" onClick={() => void move(isStill ? { go: true } : { stop: true })}>
          {isStill ? 'Run' : 'Stand still'}
        </button>
      </div>
      <p class={isStill ? 'place' : 'place busy'}>{placeOf(stepping)}</p>
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          void move({ until: condition.trim() });
        }}
      >
        <ConditionInput value={condition} onChange={setCondition} />
        <button type="submit" disabled={condition.trim() === ''}>
          Run to it
        </button>
      </form>
      <output aria-live="polite">{answer !== undefined && <Said answer={answer} />}</output>
    </section>
  );
}

/** Makes a move; an answer that does not come is an error, too. */
export async function makeMove(move: Move): Promise<ActAnswer> {
  try {
    return await client.act({ command: 'step', parameters: move });
  } catch (error) {
    return { line: '', error: (error as Error).message };
  }
}

function Said({ answer }: { answer: ActAnswer }) {
  if ('error' in answer) return <span class="alarm">{answer.error}</span>;
  return <code class="command">{answer.line}</code>;
}

function placeOf({ going, steps, condition, reached }: Stepping) {
  if (going === 'runs') return 'the adapter runs';
  if (going === 'seeks') return `the adapter runs until ${condition}`;
  return (
    <>
      stands still after <b>{count(steps)}</b> {steps === 1 ? 'step' : 'steps'}
      {reached && `: ${condition}`}
    </>
  );
}
