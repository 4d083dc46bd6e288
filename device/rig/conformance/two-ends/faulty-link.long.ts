// SPDX-License-Identifier: Apache-2.0
/** Further seeds of faulty-link.test.ts. */
import { takeFurtherSeeds } from '../../fixtures/seeds.ts';

takeFurtherSeeds();
await import('./faulty-link.test.ts');
