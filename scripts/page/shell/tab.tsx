// SPDX-License-Identifier: Apache-2.0
/** A view of the page, and its inputs from the shell. tabs.tsx has all of them. */
import type { ComponentChildren } from 'preact';
import type { ViewQuery, ViewSession } from '../../cli/view/view-protocol.ts';
import type { View } from './use-view.tsx';

/** Inputs of a view, with at least one moment. */
export interface TabContext {
  readonly view: View;
  readonly session: ViewSession;
  readonly adapter: string | undefined;
  /** Shows another tab. */
  show(id: string): void;
}

export interface Tab {
  readonly id: string;
  readonly title: string;
  /** It is about one adapter, which the reader chooses. */
  readonly hasAdapter: boolean;
  queryOf(adapter: string | undefined, session: ViewSession): ViewQuery;
  show(context: TabContext): ComponentChildren;
}
