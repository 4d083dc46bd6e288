// SPDX-License-Identifier: Apache-2.0
/**
 * The views of the page, in the order of their keys: the data that each requests from the server,
 * and its content.
 */
import type { ViewSession, ViewState } from '../../cli/view/view-protocol.ts';
import { FabricView } from '../fabric/fabric-view.tsx';
import { HandsView } from '../hands/hands-view.tsx';
import { INSIDE_VIEWS } from '../inside/inside.ts';
import { InsideView } from '../inside/inside-view.tsx';
import { LessonList } from '../lessons/lesson-list.tsx';
import { StoryView } from '../story/story-view.tsx';
import { CompareView } from '../time/compare-view.tsx';
import type { Tab } from './tab.tsx';

const FABRIC: Tab = {
  id: 'fabric',
  title: 'Fabric',
  hasAdapter: false,
  queryOf: () => ({}),
  show: (context) => <FabricView {...context} />,
};

const INSIDE: Tab = {
  id: 'inside',
  title: 'Inside',
  hasAdapter: true,
  queryOf: (adapter, { adapters }) => {
    const kind = adapters.find(({ name }) => name === adapter)?.personality === undefined ? 'adapter' : 'personality';
    return adapter === undefined ? {} : { adapter, views: INSIDE_VIEWS[kind] };
  },
  // A moment that is marked is what the present one is compared with.
  show: ({ view: { moments, mark } }) => (
    <InsideView state={moments.at(-1) as ViewState} previous={mark ?? moments.at(-2)} />
  ),
};

const STORY: Tab = {
  id: 'story',
  title: 'Story',
  hasAdapter: true,
  queryOf: () => ({}),
  show: ({ view: { moments }, adapter }) => {
    const { step, timeNs } = moments.at(-1) as ViewState;
    if (adapter === undefined) return <p class="empty">There is no adapter.</p>;
    return <StoryView key={adapter} {...{ adapter, step, timeNs }} />;
  },
};

const TIME: Tab = {
  id: 'time',
  title: 'Time',
  hasAdapter: true,
  queryOf: (adapter) => (adapter === undefined ? {} : { adapter }),
  show: ({ view }) => <CompareView view={view} />,
};

const HANDS: Tab = {
  id: 'do',
  title: 'Do',
  hasAdapter: true,
  queryOf: (adapter) => (adapter === undefined ? {} : { adapter }),
  show: (context) => <HandsView {...context} />,
};

const LESSONS: Tab = {
  id: 'lessons',
  title: 'Lessons',
  hasAdapter: false,
  queryOf: () => ({}),
  show: ({ session: { lesson } }) => <LessonList current={lesson?.name} />,
};

/** Hands are hidden where nothing may be changed. */
export function tabsOf({ mayAct }: ViewSession): readonly Tab[] {
  return [FABRIC, INSIDE, STORY, TIME, ...(mayAct ? [HANDS] : []), LESSONS];
}
