// SPDX-License-Identifier: Apache-2.0
/** Further seeds of fuzz.test.ts, with longer lives. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./fuzz.test.ts');
