// SPDX-License-Identifier: Apache-2.0
/**
 * The picture of an adapter from inside: units in the order of the way of a command, arrows with
 * the traffic along them, rates over the last minute. Where there are several functions, one can be
 * chosen. The shell of the page gives it each state and the one before.
 */
import { useRef, useState } from 'preact/hooks';
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { type FlowRate, findRates } from './changes.ts';
import { describeInside } from './inside.ts';
import type { Kind, Picture, UnitId } from './picture.ts';
import { RateCharts } from './rate-charts.tsx';
import { RateHistory, shortNumber } from './rates.ts';
import { UnitBox } from './unit-box.tsx';

interface InsideProps {
  readonly state: ViewState;
  /** The state with which this one is compared. */
  readonly previous?: ViewState | undefined;
}

/** Units of both places of a personality and an adapter, from left to right, line by line. */
const BELOW: readonly UnitId[] = ['completions', 'events'];

export function InsideView({ state, previous }: InsideProps) {
  const [chosen, setChosen] = useState<number>();
  const history = useRef(new RateHistory());
  const functions = state.adapter?.functions ?? [];
  const one = functions.some(({ number }) => number === chosen) ? chosen : undefined;
  const picture = pictureOf(state, one);
  const before = pictureOf(previous !== undefined && nameOf(previous) === nameOf(state) ? previous : undefined, one);
  history.current.add(state);
  if (picture === undefined) return <p class="nothing">No adapter is chosen.</p>;
  const isPersonality = state.personality !== undefined;
  const unitOf = (id: UnitId) => before?.units.find((unit) => unit.id === id);
  return (
    <div class="inside">
      <div class="inside-tools">
        {functions.length > 1 && <FunctionChoice count={functions.length} chosen={one} onChoose={setChosen} />}
        <Legend isPersonality={isPersonality} />
      </div>
      <div class={isPersonality ? 'way of-personality' : 'way'}>
        {picture.units
          .filter(({ id }) => !BELOW.includes(id))
          .map((unit) => (
            <UnitBox key={unit.id} unit={unit} before={unitOf(unit.id)} />
          ))}
        {findRates(picture, before).map((flow) => (
          <FlowArrow key={`${flow.from} ${flow.to}`} flow={flow} />
        ))}
        <div class="below">
          <div class="queues">
            {picture.units
              .filter(({ id }) => BELOW.includes(id))
              .map((unit) => (
                <UnitBox key={unit.id} unit={unit} before={unitOf(unit.id)} />
              ))}
          </div>
          <RateCharts rates={history.current.rates} />
        </div>
      </div>
    </div>
  );
}

/** Pictures of states: that of a state is needed again as the previous one of the next state. */
const pictures = new WeakMap<
  ViewState,
  { readonly chosen: number | undefined; readonly picture: Picture | undefined }
>();

function pictureOf(state: ViewState | undefined, chosen: number | undefined): Picture | undefined {
  if (state === undefined) return undefined;
  const known = pictures.get(state);
  if (known !== undefined && known.chosen === chosen) return known.picture;
  const picture = describeInside(state, chosen);
  pictures.set(state, { chosen, picture });
  return picture;
}

function nameOf({ adapter, personality }: ViewState): string | undefined {
  return (adapter ?? personality)?.name;
}

interface ChoiceProps {
  readonly count: number;
  readonly chosen: number | undefined;
  onChoose(chosen: number | undefined): void;
}

function FunctionChoice({ count, chosen, onChoose }: ChoiceProps) {
  return (
    <label>
      Show{' '}
      <select
        value={chosen ?? ''}
        onChange={({ currentTarget: { value } }) => onChoose(value === '' ? undefined : Number(value))}
      >
        <option value="">{`all ${count} functions`}</option>
        {Array.from({ length: count }, (_, number) => (
          <option key={number} value={number}>{`function ${number}`}</option>
        ))}
      </select>
    </label>
  );
}

const legend: readonly (readonly [Kind, string])[] = [
  ['free', 'free'],
  ['filling', 'filling'],
  ['waiting', 'waits'],
  ['running', 'executes'],
  ['refused', 'without a PCB, spilled'],
  ['own', 'own credit'],
  ['shared', 'shared credit'],
];

function Legend({ isPersonality }: { readonly isPersonality: boolean }) {
  return (
    <ul class="legend" aria-label="Legend">
      {legend
        .filter(([kind]) => !isPersonality || !['filling', 'refused'].includes(kind))
        .map(([kind, words]) => (
          <li key={kind}>
            <svg viewBox="-1 -1 16 12" width={16} height={12} aria-hidden="true">
              <rect class={`cell-${kind}`} width={14} height={10} rx={2} />
            </svg>
            {words}
          </li>
        ))}
      {!isPersonality && (
        <li>
          <svg viewBox="-1 -1 16 12" width={16} height={12} aria-hidden="true">
            <rect class="cell-free" width={14} height={10} rx={2} />
            <path class="cell-high" d="M8 0h6v6z" />
          </svg>
          level 1
        </li>
      )}
    </ul>
  );
}

/** Traffic since the previous state, or since the start. */
function FlowArrow({ flow: { from, to, name, count, perSecond } }: { readonly flow: FlowRate }) {
  const words = perSecond === undefined ? shortNumber(count) : `${shortNumber(perSecond)}/s`;
  return (
    <div class={`flow flow-${from}-${to}${perSecond ? ' moving' : ''}`}>
      <span>{name}</span>
      <svg viewBox="0 0 40 10" aria-hidden="true">
        <path d="M0 5h34m-6 -4l6 4l-6 4" />
      </svg>
      <b>{words}</b>
    </div>
  );
}
