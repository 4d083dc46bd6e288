// SPDX-License-Identifier: Apache-2.0
/** Further seeds of sanitize.test.ts. */
import { takeFurtherSeeds } from '../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./sanitize.test.ts');
