// SPDX-License-Identifier: Apache-2.0
/**
 * The switch between light and dark. Without it the page follows the reader's preference; the
 * choice lasts as long as the tab of the browser.
 */

const KEY = 'theme';
const DARK = '(prefers-color-scheme: dark)';

/** Shows the theme that was chosen before. */
export function restoreTheme(): void {
  const chosen = sessionStorage.getItem(KEY);
  if (chosen !== null) document.documentElement.dataset.theme = chosen;
}

export function toggleTheme(): void {
  const { dataset } = document.documentElement;
  const shown = dataset.theme ?? (matchMedia(DARK).matches ? 'dark' : 'light');
  const next = shown === 'dark' ? 'light' : 'dark';
  dataset.theme = next;
  sessionStorage.setItem(KEY, next);
}
