// SPDX-License-Identifier: Apache-2.0
/** The keys of the page, and the meaning of the marks in its pictures. Opened by `?`. */
import { useEffect, useRef } from 'preact/hooks';
import type { ViewSession } from '../../cli/view/view-protocol.ts';
import type { Tab } from './tab.tsx';

const ALWAYS = [
  ['m', 'mark this moment, to compare others with it'],
  ['+ - 0', 'in the fabric: nearer, farther, all of it'],
  ['arrows', 'in the fabric: move the picture'],
  ['Tab Enter', 'go to a node, choose it; a second one shows the way from the first'],
  ['Escape', 'choose nothing'],
  ['t', 'light or dark'],
  ['?', 'this page'],
] as const;
const OF_LIVE = [
  ['f', 'freeze the picture, or go on'],
  ['. >', 'a step, 100 steps of an adapter that makes steps'],
] as const;
const OF_RECORDING = [
  [', .', 'a step back, a step on'],
  ['< >', '100 steps'],
  ['Home End', 'the first step, the last one'],
] as const;

export function Help({
  tabs,
  session,
  onClose,
}: {
  tabs: readonly Tab[];
  session: ViewSession | undefined;
  onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const keys = [
    ...tabs.map(({ title }, index) => [`${index + 1}`, title] as const),
    ...(session?.kind === 'recording' ? OF_RECORDING : OF_LIVE),
    ...ALWAYS,
  ];
  return (
    <dialog ref={dialog} class="help" onClose={onClose} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl>
        {keys.map(([key, purpose]) => (
          <div key={key}>
            <dt>
              {key.split(' ').map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{purpose}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">vuhca {session?.version}</p>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
