// SPDX-License-Identifier: Apache-2.0
/** The commands that program.test.ts leaves out where each costs a process. */
import { takeFurtherSeeds } from '../../device/rig/fixtures/seeds.ts';

takeFurtherSeeds();
await import('./program.test.ts');
