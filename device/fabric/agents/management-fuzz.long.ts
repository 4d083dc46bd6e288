// SPDX-License-Identifier: Apache-2.0
/** Further seeds of management-fuzz.test.ts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./management-fuzz.test.ts');
