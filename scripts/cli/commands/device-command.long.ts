// SPDX-License-Identifier: Apache-2.0
/** Personalities and failures that device-command.test.ts leaves out. */
import { takeFurtherSeeds } from '../../../device/rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./device-command.test.ts');
