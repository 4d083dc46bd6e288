// SPDX-License-Identifier: Apache-2.0
/** The repository keeps its own mechanical rules. */
import t from 'tap';
import { checkTree, formatFinding } from './main.ts';

t.same(checkTree().map(formatFinding), [], 'npm run check -- style');
