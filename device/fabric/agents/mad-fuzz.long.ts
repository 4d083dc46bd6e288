// SPDX-License-Identifier: Apache-2.0
/** Further seeds of mad-fuzz.test.ts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./mad-fuzz.test.ts');
