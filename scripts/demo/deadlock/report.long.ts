// SPDX-License-Identifier: Apache-2.0
/** Further seeds of report.test.ts. */
import { takeFurtherSeeds } from '../../../device/rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./report.test.ts');
