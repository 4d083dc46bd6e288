// SPDX-License-Identifier: Apache-2.0
/** Further seeds of control-failures.test.ts. */
import { takeFurtherSeeds } from '../../../device/rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./control-failures.test.ts');
