// SPDX-License-Identifier: Apache-2.0
/**
 * The picture of an adapter on a page of its own, for tests in a browser: they give it states as
 * text, as a server does.
 */
import { render } from 'preact';
import type { ViewState } from '../../../cli/view/view-protocol.ts';
import { InsideView } from '../inside-view.tsx';

declare global {
  var insidePage: InsidePage;
}

/** What a test can ask of the page. */
export interface InsidePage {
  show(state: string): void;
  /** Keeps a state for `play`. */
  keep(state: string): void;
  /** Shows the states that were kept, each in a frame of its own. */
  play(): Promise<void>;
}

const place = document.getElementById('page') as HTMLElement;
const kept: string[] = [];
let previous: ViewState | undefined;

function show(text: string): void {
  const state = JSON.parse(text) as ViewState;
  render(<InsideView state={state} previous={previous} />, place);
  previous = state;
}

const nextFrame = (): Promise<void> => new Promise((done) => requestAnimationFrame(() => done()));

async function play(): Promise<void> {
  for (const state of kept.splice(0)) {
    await nextFrame();
    show(state);
  }
  await nextFrame();
}

globalThis.insidePage = { show, keep: (state) => kept.push(state), play };
