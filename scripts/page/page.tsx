// SPDX-License-Identifier: Apache-2.0
/** The script of the page: shows the shell in the document of index.html. */
import { render } from 'preact';
import { restoreTheme } from './dom/theme.ts';
import { Shell } from './shell/shell.tsx';

restoreTheme();
render(<Shell />, document.getElementById('page') as HTMLElement);
