// SPDX-License-Identifier: Apache-2.0
/** Keys of the page: single characters, which have no effect while a field has the focus. */

const FIELDS: readonly string[] = ['INPUT', 'TEXTAREA', 'SELECT'];

/** A listener that does what the map says for a key. */
export function keyHandler(actions: ReadonlyMap<string, () => void>): (event: KeyboardEvent) => void {
  return (event) => {
    const { key, ctrlKey, altKey, metaKey, target } = event;
    if (ctrlKey || altKey || metaKey || (target instanceof Element && FIELDS.includes(target.tagName))) return;
    const action = actions.get(key);
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
}
