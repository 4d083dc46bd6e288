// SPDX-License-Identifier: Apache-2.0
/**
 * Two moments side by side: the moment that the reader has marked and the present one, as pictures
 * of the fabric and a table of everything that differs.
 */
import { useMemo, useState } from 'preact/hooks';
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { findChangedParts } from '../fabric/changed-parts.ts';
import { hasPlaces, modelFabric } from '../fabric/fabric-model.ts';
import { FabricPicture } from '../fabric/fabric-picture.tsx';
import { useLayout } from '../fabric/use-layout.tsx';
import type { View } from '../shell/use-view.tsx';
import { count, duration, pointOfTime } from '../words/numbers.ts';
import { type Difference, findDifferences } from './differences.ts';

/** Rows that are shown; the reader narrows the rest by words. */
const MOST_ROWS = 300;

export function CompareView({ view }: { view: View }) {
  const { mark, setMark, moments, session } = view;
  const state = moments.at(-1) as ViewState;
  const [words, setWords] = useState('');
  const differences = useMemo(() => (mark === undefined ? [] : findDifferences(mark, state)), [mark, state]);
  const shown = differences.filter(({ group, place }) => `${group} ${place}`.includes(words.trim().toLowerCase()));
  if (mark === undefined)
    return (
      <section class="compare empty">
        <h2>Two moments</h2>
        <p>
          {session?.kind === 'live'
            ? 'Mark the present moment; then everything that has changed since is listed here.'
            : 'Go to a step and mark it; then go to another one: everything that differs is listed here.'}
        </p>
        <button type="button" class="primary" onClick={() => setMark(state)}>
          Mark this moment
        </button>
      </section>
    );
  return (
    <section class="compare">
      <div class="heading">
        <h2>
          {count(shown.length)} differences in {duration(state.timeNs - mark.timeNs)}
        </h2>
        <input
          type="search"
          value={words}
          placeholder="only those with these words"
          aria-label="Only those with these words"
          onInput={({ currentTarget }) => setWords(currentTarget.value)}
        />
        <button type="button" onClick={() => setMark(state)}>
          Mark this moment
        </button>
        <button type="button" onClick={() => setMark(undefined)}>
          Forget the mark
        </button>
      </div>
      <Pictures before={mark} now={state} />
      <div class="table">
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">{nameOf(mark)}</th>
              <th scope="col">{nameOf(state)}</th>
              <th scope="col">Change</th>
            </tr>
          </thead>
          <tbody>
            {shown.slice(0, MOST_ROWS).map((one) => (
              <Row key={`${one.group} ${one.place}`} {...one} />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length > MOST_ROWS && <p class="muted">and {count(shown.length - MOST_ROWS)} more</p>}
    </section>
  );
}

const NO_PARTS: ReadonlySet<string> = new Set();

/** The fabric at both moments, in the same places, with the differences marked. */
function Pictures({ before, now }: { before: ViewState; now: ViewState }) {
  const [ofBefore, ofNow] = [useLayout(before).layout, useLayout(now).layout];
  // One of both may lack a link that was there at the other moment.
  const hasBoth = ofBefore !== undefined && hasPlaces(before, ofBefore) && hasPlaces(now, ofBefore);
  const layout = hasBoth ? ofBefore : ofNow;
  const moments = useMemo(() => {
    if (layout === undefined) return [];
    const model = modelFabric(now, undefined, layout);
    const changed = findChangedParts(before, now, model);
    return [
      { state: before, model: modelFabric(before, undefined, layout), changed },
      { state: now, model, changed },
    ];
  }, [before, now, layout]);
  if (layout === undefined || layout.nodes.length < 2) return null;
  return (
    <div class="moments">
      {moments.map(({ state, model, changed }, index) => (
        <figure key={index}>
          <figcaption>{nameOf(state)}</figcaption>
          <FabricPicture
            {...{ layout, model, changed }}
            chosen={[]}
            way={NO_PARTS}
            label={`Fabric, ${nameOf(state)}`}
          />
        </figure>
      ))}
    </div>
  );
}

function Row({ group, place, before, after }: Difference) {
  return (
    <tr>
      <th scope="row">
        <span class="muted">{group}</span> {place}
      </th>
      <td>{textOf(before)}</td>
      <td>{textOf(after)}</td>
      <td class="change">{changeOf(before, after)}</td>
    </tr>
  );
}

function nameOf({ step, timeNs }: ViewState): string {
  return step === undefined ? pointOfTime(timeNs) : `step ${count(step)}, ${pointOfTime(timeNs)}`;
}

function textOf(value: Difference['before']): string {
  if (value === undefined) return '–';
  return typeof value === 'number' ? count(value) : `${value}`;
}

function changeOf(before: Difference['before'], after: Difference['after']): string {
  if (before === undefined) return 'new';
  if (after === undefined) return 'gone';
  if (typeof before !== 'number' || typeof after !== 'number') return '';
  return after > before ? `+${count(after - before)}` : `−${count(before - after)}`;
}
