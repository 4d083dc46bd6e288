// SPDX-License-Identifier: Apache-2.0
/** Further sizes and budgets of shares.test.ts. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./shares.test.ts');
