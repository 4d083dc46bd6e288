// SPDX-License-Identifier: Apache-2.0
/**
 * The frame of the page: its subject and time, the connection, the tabs with their keys, and below
 * them the bar of a recording.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ViewQuery, ViewSession } from '../../cli/view/view-protocol.ts';
import { keyHandler } from '../dom/keys.ts';
import { toggleTheme } from '../dom/theme.ts';
import { LessonPanel } from '../lessons/lesson-panel.tsx';
import { useLesson } from '../lessons/use-lesson.tsx';
import { makeMove, StepBar } from '../time/step-bar.tsx';
import { TimeBar } from '../time/time-bar.tsx';
import { pointOfTime } from '../words/numbers.ts';
import { Help } from './help.tsx';
import type { Tab } from './tab.tsx';
import { tabsOf } from './tabs.tsx';
import { type Connection, useView, type View } from './use-view.tsx';

export function Shell() {
  const [chosenTab, setTab] = useState(() => location.hash.slice(1));
  const [chosenAdapter, setAdapter] = useState<string>();
  const [isHelping, setHelping] = useState(false);
  const [query, setQuery] = useState<ViewQuery>({});
  const view = useView(query);
  const { session } = view;
  const tabs = useMemo(() => (session === undefined ? [] : tabsOf(session)), [session]);
  const tab = tabs.find(({ id }) => id === chosenTab) ?? tabs[0];
  const stepping = view.moments.at(-1)?.stepping;
  const adapter = chosenAdapter ?? session?.adapters[0]?.name;
  useEffect(() => {
    if (tab !== undefined) setQuery(tab.queryOf(adapter, session as ViewSession));
  }, [tab, adapter, session]);
  const show = (id: string) => {
    setTab(id);
    history.replaceState(null, '', `#${id}`);
  };
  useEffect(() => {
    const keys = keysOf(view, tabs, show, () => setHelping((is) => !is));
    addEventListener('keydown', keys);
    return () => removeEventListener('keydown', keys);
  });
  useEffect(() => {
    document.title = session === undefined ? 'vuhca' : `${session.title} - vuhca`;
  }, [session]);
  const { lesson, stop, part, goToStop } = useLesson(view, (tab, name) => {
    setAdapter(name);
    show(tab);
  });
  return (
    <div class="shell" data-part={part}>
      <Header view={view} onHelp={() => setHelping(true)} />
      <div class="tabs" role="tablist" aria-label="Views">
        {tabs.map(({ id, title }) => (
          <button
            key={id}
            id={`tab-${id}`}
            type="button"
            role="tab"
            aria-selected={id === tab?.id}
            aria-controls="view"
            onClick={() => show(id)}
          >
            {title}
          </button>
        ))}
        {tab?.hasAdapter && session !== undefined && session.adapters.length > 1 && (
          <label class="choice">
            Adapter
            <select value={adapter} onChange={({ currentTarget }) => setAdapter(currentTarget.value)}>
              {session.adapters.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Notice connection={view.connection} isFrozen={view.isFrozen} trouble={session?.trouble} />
      {lesson !== undefined && <LessonPanel lesson={lesson} stop={stop} onStop={goToStop} />}
      <main>
        <div id="view" role="tabpanel" aria-labelledby={`tab-${tab?.id}`}>
          {tab !== undefined && session !== undefined && view.moments.length > 0 ? (
            tab.show({ view, session, adapter, show })
          ) : (
            <p class="empty">
              {view.connection.kind === 'failed' ? 'There is nothing to show.' : 'Waiting for a state ...'}
            </p>
          )}
        </div>
      </main>
      {session?.kind === 'recording' && <TimeBar view={view} session={session} />}
      {stepping !== undefined && mayStep(view) && <StepBar stepping={stepping} onMove={makeMove} />}
      {isHelping && <Help tabs={tabs} session={session} onClose={() => setHelping(false)} />}
    </div>
  );
}

function Header({ view, onHelp }: { view: View; onHelp: () => void }) {
  const { session, connection, moments, isFrozen } = view;
  const state = moments.at(-1);
  return (
    <header class="header">
      <h1>vuhca</h1>
      <p class="title" title={session?.title}>
        {session?.title}
      </p>
      <p class={`badge ${connection.kind}`}>{badgeOf(view)}</p>
      <p class="clock" title="Time of the adapter">
        {state === undefined ? '' : pointOfTime(state.timeNs)}
      </p>
      {session?.kind === 'live' && (
        <button type="button" aria-pressed={isFrozen} onClick={() => view.setFrozen(!isFrozen)}>
          {isFrozen ? 'Go on' : 'Freeze'}
        </button>
      )}
      <button type="button" aria-label="Light or dark" title="Light or dark" onClick={toggleTheme}>
        ◐
      </button>
      <button type="button" aria-label="Keys and help" title="Keys and help" onClick={onHelp}>
        ?
      </button>
    </header>
  );
}

function badgeOf({ session, connection, isFrozen }: View): string {
  if (connection.kind !== 'open') return connection.kind;
  if (session?.kind === 'recording') return 'recording';
  return isFrozen ? 'frozen' : 'live';
}

interface NoticeProps {
  readonly connection: Connection;
  readonly isFrozen: boolean;
  /** Reason why a recording cannot be shown up to its end. */
  readonly trouble: string | undefined;
}

/** The fault, in a sentence, which screen readers read once. */
function Notice({ connection, isFrozen, trouble }: NoticeProps) {
  return (
    <p class={`notice ${connection.kind}`} role="status" aria-live="polite">
      {sentenceOf(connection) ?? (trouble && `${capital(trouble)}.`) ?? (isFrozen && STANDS_STILL)}
    </p>
  );
}

const STANDS_STILL = 'The picture stands still; the process goes on.';

function sentenceOf(connection: Connection): string | undefined {
  switch (connection.kind) {
    case 'lost':
      return 'The server does not answer; the page shows the last state and tries again.';
    case 'ended':
      return `${capital(connection.sentence)}. The page shows its last state.`;
    case 'failed':
      return `${capital(connection.sentence)}.`;
    default:
      return undefined;
  }
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1).replace(/\.$/, '');
}

const PAGE_STEPS = 100;

function keysOf(view: View, tabs: readonly Tab[], show: (id: string) => void, help: () => void) {
  const { session, step, goTo, isFrozen } = view;
  const ofTabs = tabs.map(({ id }, index): [string, () => void] => [`${index + 1}`, () => show(id)]);
  const last = session?.steps ?? 0;
  const ofTime: [string, () => void][] =
    session?.kind === 'live'
      ? [['f', () => view.setFrozen(!isFrozen)], ...(mayStep(view) ? STEP_KEYS : [])]
      : [
          [',', () => goTo(step - 1)],
          ['.', () => goTo(step + 1)],
          ['<', () => goTo(step - PAGE_STEPS)],
          ['>', () => goTo(step + PAGE_STEPS)],
          ['Home', () => goTo(0)],
          ['End', () => goTo(last)],
        ];
  return keyHandler(new Map([...ofTabs, ...ofTime, ['t', toggleTheme], ['m', () => markNow(view)], ['?', help]]));
}

const STEP_KEYS: readonly [string, () => void][] = [
  ['.', () => void makeMove({ count: 1 })],
  ['>', () => void makeMove({ count: 100 })],
];

function mayStep({ session, moments }: View): boolean {
  return session?.mayAct === true && moments.at(-1)?.stepping !== undefined;
}

function markNow({ moments, setMark }: View): void {
  setMark(moments.at(-1));
}
