// SPDX-License-Identifier: Apache-2.0
/** The views of the page, in the order of their keys: what each asks the server for and shows. */
import type { ViewSession } from '../../cli/view/view-protocol.ts';
import { FabricView } from '../fabric/fabric-view.tsx';
import { HandsView } from '../hands/hands-view.tsx';
import { CompareView } from '../time/compare-view.tsx';
import type { Tab } from './tab.tsx';

const FABRIC: Tab = {
  id: 'fabric',
  title: 'Fabric',
  hasAdapter: false,
  queryOf: () => ({}),
  show: (context) => <FabricView {...context} />,
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

/** Hands are hidden where nothing may be changed. */
export function tabsOf({ mayAct }: ViewSession): readonly Tab[] {
  return [FABRIC, TIME, ...(mayAct ? [HANDS] : [])];
}
