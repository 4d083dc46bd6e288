// SPDX-License-Identifier: Apache-2.0
/** Further seeds of chaos.test.ts. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./chaos.test.ts');
