// SPDX-License-Identifier: Apache-2.0
/** Further seeds of second-use.test.ts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./second-use.test.ts');
