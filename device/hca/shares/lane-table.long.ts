// SPDX-License-Identifier: Apache-2.0
/** Further seeds of lane-table.test.ts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./lane-table.test.ts');
