// SPDX-License-Identifier: Apache-2.0
/** Further seeds of completion-races.test.ts. */
import { takeFurtherSeeds } from '../../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./completion-races.test.ts');
