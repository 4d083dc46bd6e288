// SPDX-License-Identifier: Apache-2.0
/** The other values of management-fields.test.ts. */
import { takeFurtherSeeds } from '../../rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./management-fields.test.ts');
