// SPDX-License-Identifier: Apache-2.0
/** Further seeds of trace-truth.test.ts. */
import { takeFurtherSeeds } from '../../../device/rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./trace-truth.test.ts');
