// SPDX-License-Identifier: Apache-2.0
/**
 * The colours of all pictures (scripts/picture/colours.ts) as custom properties of the page:
 * `--first` and so on, light or dark as the reader prefers, or as the switch of the page says in
 * the attribute `data-theme` of the document. Called by build-page.ts.
 */
import { FONT, ROLES } from '../../picture/colours.ts';

export function colourRules(): string {
  const declare = (theme: 'light' | 'dark'): string =>
    [`color-scheme:${theme}`, ...Object.entries(ROLES).map(([role, colour]) => `--${role}:${colour[theme]}`)].join(';');
  return [
    `:root{--font:${FONT};${declare('light')}}`,
    `@media (prefers-color-scheme:dark){:root:not([data-theme=light]){${declare('dark')}}}`,
    `:root[data-theme=dark]{${declare('dark')}}`,
    '',
  ].join('\n');
}
