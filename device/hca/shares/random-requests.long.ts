// SPDX-License-Identifier: Apache-2.0
/** Further seeds of random-requests.test.ts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./random-requests.test.ts');
