// SPDX-License-Identifier: Apache-2.0
/** Further seeds of fuzz.test.ts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./fuzz.test.ts');
