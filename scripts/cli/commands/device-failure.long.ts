// SPDX-License-Identifier: Apache-2.0
/** Faults of `vuhca device` that device-failure.test.ts leaves out. */
import { takeFurtherSeeds } from '../../../device/rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./device-failure.test.ts');
