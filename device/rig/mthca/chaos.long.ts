// SPDX-License-Identifier: Apache-2.0
/** Further seeds of chaos.test.ts, over the data path of an mthca device. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./chaos.test.ts');
