// SPDX-License-Identifier: Apache-2.0
/** Further situations of on-demand-random.test.ts. */
import { takeFurtherSeeds } from '../../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./on-demand-random.test.ts');
