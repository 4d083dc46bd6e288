// SPDX-License-Identifier: Apache-2.0
/** Further seeds of adapter-load.test.ts. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./adapter-load.test.ts');
