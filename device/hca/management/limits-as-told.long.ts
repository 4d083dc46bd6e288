// SPDX-License-Identifier: Apache-2.0
/** limits-as-told.test.ts with one function, which has all objects of the adapter. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./limits-as-told.test.ts');
